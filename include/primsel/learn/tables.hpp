#pragma once

#include <primsel/core/error.hpp>
#include <primsel/cost/features.hpp>
#include <primsel/cost/table.hpp>
#include <primsel/learn/dataset.hpp>

#include <cmath>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::learn {

/// A row of features for each row of a dataset; throws error unless its inputs are c, k, im, f, s or c, im.
[[nodiscard]] inline FloatTable features_of(Dataset const& data) {
    FloatTable table;
    const auto add = [&](auto const& features) {
        table.columns = features.size();
        table.values.insert(table.values.end(), features.begin(), features.end());
    };
    if (data.inputs == ConvConfiguration::inputs()) {
        for (std::size_t row = 0; row < data.rows(); ++row) add(ConvFeatures::of(data.conv(row)));
    } else if (data.inputs == TensorConfiguration::inputs()) {
        for (std::size_t row = 0; row < data.rows(); ++row) {
            const auto at = TensorConfiguration::of_row(data.configuration(row));
            add(LayoutFeatures::of(at.c, at.im));
        }
    } else {
        fail("dataset: its configurations are neither c, k, im, f, s nor c, im");
    }
    return table;
}
/// The logarithms of all times; NaN where there is none.
[[nodiscard]] inline FloatTable log_times(Dataset const& data) {
    FloatTable table(data.rows(), data.subjects.size());
    for (std::size_t i = 0; i < data.seconds.size(); ++i) {
        if (data.seconds[i] > 0) table.values[i] = static_cast<float>(std::log(data.seconds[i]));
    }
    return table;
}

}  // namespace primsel::inline PRIMSEL_ABI::learn
