#pragma once

#include <primsel/cost/dataset.hpp>
#include <primsel/cost/table.hpp>
#include <primsel/primitive/conv_shape.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// What models see of a convolution: the logarithms of the five numbers that describe it in Mulder et al. 2020, and
/// what can be derived from them: operations, sizes of images, weights and patches, the dimensions of the product, and
/// how much of the last tile, vector or block is wasted. Sides are geometric means, so that a square convolution has
/// the published c, k, im, f, s; groups and batch are not among them.
struct ConvFeatures {
    /// The first five are the raw ones.
    static constexpr std::size_t raw = 5;
    static constexpr std::array<std::string_view, 27> names{"c",          "k",
                                                            "im",         "f",
                                                            "s",          "out",
                                                            "operations", "input",
                                                            "output",     "weights",
                                                            "patches",    "depth",
                                                            "pixels",     "traffic",
                                                            "density",    "c mod 4",
                                                            "c mod 8",    "c mod 16",
                                                            "k mod 4",    "k mod 8",
                                                            "k mod 16",   "out mod 2",
                                                            "out mod 3",  "out mod 4",
                                                            "out mod 6",  "pixels mod 8",
                                                            "im mod 8"};
    static constexpr std::size_t count = names.size();

    [[nodiscard]] static std::array<float, count> of(ConvShape const& s) {
        const double c = s.group_c(), k = s.group_k(), im = side(s.h, s.w), f = side(s.fh, s.fw),
                     stride = side(s.stride_h, s.stride_w), out = side(s.out_h(), s.out_w());
        const double pixels = static_cast<double>(s.out_pixels()), depth = s.depth();
        const double input = c * static_cast<double>(s.in_pixels()), output = k * pixels, weights = k * depth,
                     patches = pixels * depth, operations = 2 * weights * pixels, traffic = input + output + weights;
        std::array<float, count> features{};
        std::size_t at = 0;
        for (const double value : {c, k, im, f, stride, out, operations, input, output, weights, patches, depth, pixels,
                                   traffic, operations / traffic}) {
            features[at++] = static_cast<float>(std::log(value));
        }
        const auto waste = [&](double value, double block) {
            features[at++] = static_cast<float>(std::log(std::ceil(value / block) * block / value));
        };
        for (const double value : {c, k}) {
            for (const double block : {4.0, 8.0, 16.0}) waste(value, block);
        }
        for (const double block : {2.0, 3.0, 4.0, 6.0}) waste(out, block);
        waste(pixels, 8);
        waste(im, 8);
        return features;
    }

private:
    [[nodiscard]] static double side(int h, int w) { return std::sqrt(1.0 * h * w); }
};

/// The same of a change of layout of c channels of im x im pixels.
struct LayoutFeatures {
    /// The first two are the raw ones.
    static constexpr std::size_t raw = 2;
    static constexpr std::array<std::string_view, 10> names{
        "c", "im", "size", "row", "c mod 4", "c mod 8", "c mod 16", "im mod 4", "im mod 16", "pixels mod 16"};
    static constexpr std::size_t count = names.size();

    [[nodiscard]] static std::array<float, count> of(double c, double im) {
        std::array<float, count> features{};
        std::size_t at = 0;
        for (const double value : {c, im, c * im * im, c * im}) features[at++] = static_cast<float>(std::log(value));
        const auto waste = [&](double value, double block) {
            features[at++] = static_cast<float>(std::log(std::ceil(value / block) * block / value));
        };
        for (const double block : {4.0, 8.0, 16.0}) waste(c, block);
        for (const double block : {4.0, 16.0}) waste(im, block);
        waste(im * im, 16);
        return features;
    }
};

/// A row of features for each row of a dataset; throws error unless its inputs are c, k, im, f, s or c, im.
[[nodiscard]] inline Table features_of(Dataset const& data) {
    Table table;
    const auto add = [&](auto const& features) {
        table.columns = features.size();
        table.values.insert(table.values.end(), features.begin(), features.end());
    };
    if (data.inputs == std::vector<std::string>{"c", "k", "im", "f", "s"}) {
        for (std::size_t row = 0; row < data.rows(); ++row) add(ConvFeatures::of(data.conv(row)));
    } else if (data.inputs == std::vector<std::string>{"c", "im"}) {
        for (std::size_t row = 0; row < data.rows(); ++row) {
            add(LayoutFeatures::of(data.configuration(row)[0], data.configuration(row)[1]));
        }
    } else {
        fail("dataset: its configurations are neither c, k, im, f, s nor c, im");
    }
    return table;
}
/// The logarithms of all times; NaN where there is none.
[[nodiscard]] inline Table log_times(Dataset const& data) {
    Table table(data.rows(), data.subjects.size());
    for (std::size_t i = 0; i < data.seconds.size(); ++i) {
        if (data.seconds[i] > 0) table.values[i] = static_cast<float>(std::log(data.seconds[i]));
    }
    return table;
}

/// Makes each column of a matrix zero in the mean and one in the standard deviation (section 3.3 of the paper); columns
/// that do not vary become zero.
class Standardizer {
public:
    Standardizer() = default;
    Standardizer(std::vector<float> mean, std::vector<float> scale)
        : mean_(std::move(mean)), scale_(std::move(scale)) {}
    explicit Standardizer(Table const& table) : mean_(table.columns), scale_(table.columns) {
        auto const& values = table.values;
        const std::size_t columns = table.columns;
        for (std::size_t column = 0; column < columns; ++column) {
            double sum = 0, squares = 0, count = 0;
            for (std::size_t i = column; i < values.size(); i += columns) {
                if (!std::isnan(values[i])) sum += values[i], count += 1;
            }
            const double mean = count > 0 ? sum / count : 0;
            for (std::size_t i = column; i < values.size(); i += columns) {
                if (!std::isnan(values[i])) squares += (values[i] - mean) * (values[i] - mean);
            }
            const double deviation = count > 0 ? std::sqrt(squares / count) : 0;
            mean_[column] = static_cast<float>(mean);
            scale_[column] = deviation > 1e-12 ? static_cast<float>(deviation) : 0;
        }
    }

    [[nodiscard]] std::size_t columns() const { return mean_.size(); }
    [[nodiscard]] std::vector<float> const& mean() const { return mean_; }
    [[nodiscard]] std::vector<float> const& scale() const { return scale_; }
    [[nodiscard]] float forward(float value, std::size_t column) const {
        return scale_[column] > 0 ? (value - mean_[column]) / scale_[column] : 0;
    }
    [[nodiscard]] float back(float value, std::size_t column) const { return value * scale_[column] + mean_[column]; }
    [[nodiscard]] Table forward(Table table) const {
        for (std::size_t i = 0; i < table.values.size(); ++i) {
            table.values[i] = forward(table.values[i], i % table.columns);
        }
        return table;
    }
    [[nodiscard]] Table back(Table table) const {
        for (std::size_t i = 0; i < table.values.size(); ++i)
            table.values[i] = back(table.values[i], i % table.columns);
        return table;
    }

private:
    std::vector<float> mean_, scale_;
};

}  // namespace primsel::inline PRIMSEL_ABI
