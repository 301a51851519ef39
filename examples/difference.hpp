#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>

/// The largest difference between values and their reference, relative to the reference's RMS.
inline double difference(std::span<const float> values, std::span<const float> reference) {
    double worst = 0, squares = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const double a = static_cast<double>(values[i]), b = static_cast<double>(reference[i]);
        worst = std::max(worst, std::abs(a - b));
        squares += b * b;
    }
    return worst / std::sqrt(squares / static_cast<double>(values.size()));
}
