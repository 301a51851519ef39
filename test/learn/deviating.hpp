// Machines that deviate from each other, for the tests of what is transferred between them.
#pragma once

#include <primsel/core/statistics.hpp>
#include <primsel/cost/features.hpp>
#include <primsel/cost/table.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace deviating {

inline const std::vector<std::string> labels{"direct", "direct", "im2"};

/// Times that grow with operations and are rough in the channels.
struct Machine {
    [[nodiscard]] primsel::FloatTable predict(primsel::FloatTable const& features) const {
        primsel::FloatTable result(features.rows(), 3);
        for (std::size_t row = 0; row < features.rows(); ++row) {
            for (std::size_t i = 0; i < 3; ++i) {
                result(row, i) = features(row, 6) * (1 + 0.1F * static_cast<float>(i)) + features(row, 15);
            }
        }
        return result;
    }
};

/// Another machine: a factor for each primitive and one that depends on the size of the image.
inline primsel::FloatTable elsewhere(primsel::FloatTable const& features, float by_image) {
    primsel::FloatTable result = Machine{}.predict(features);
    for (std::size_t row = 0; row < features.rows(); ++row) {
        for (std::size_t i = 0; i < 3; ++i) {
            result(row, i) += 0.7F - 0.2F * static_cast<float>(i) + by_image * features(row, 2);
        }
    }
    return result;
}

/// Every `step`th of some 700 configurations.
inline primsel::FloatTable configurations(std::size_t step, std::size_t first = 0) {
    std::vector<float> values;
    std::size_t at = 0;
    for (const int c : {3, 16, 32, 64, 96, 128, 256, 512}) {
        for (const int k : {8, 24, 64, 120, 256}) {
            for (const int im : {7, 13, 14, 28, 56, 112}) {
                for (const int f : {1, 3, 5}) {
                    if (at++ % step != first) continue;
                    const auto row = primsel::ConvFeatures::of({.c = c,
                                                                .k = k,
                                                                .h = im,
                                                                .w = im,
                                                                .fh = f,
                                                                .fw = f,
                                                                .pad_top = f / 2,
                                                                .pad_bottom = f / 2,
                                                                .pad_left = f / 2,
                                                                .pad_right = f / 2});
                    values.insert(values.end(), row.begin(), row.end());
                }
            }
        }
    }
    primsel::FloatTable table;
    table.columns = primsel::ConvFeatures::count;
    table.values = std::move(values);
    return table;
}

inline double median_error(primsel::FloatTable const& predicted, primsel::FloatTable const& wanted) {
    std::vector<double> errors;
    for (std::size_t i = 0; i < wanted.values.size(); ++i) {
        errors.push_back(std::abs(static_cast<double>(predicted.values[i] - wanted.values[i])));
    }
    return primsel::median(errors);
}

}  // namespace deviating
