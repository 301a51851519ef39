#pragma once

#include <primsel/core/config.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Returns the median of the values; of an even number the upper of the two middle values, so that it is one of them.
/// Returns 0 for no values.
[[nodiscard]] inline double median(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

/// Returns the quantile at `share` (0 to 1), interpolated between neighbouring values: at 0.5, for an even number of
/// values, the mean of the two in the middle. Returns 0 for no values.
[[nodiscard]] inline double quantile(std::vector<double> values, double share) {
    if (values.empty()) return 0;
    std::ranges::sort(values);
    const double at = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(at), above = std::min(below + 1, values.size() - 1);
    return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

}  // namespace primsel::inline PRIMSEL_ABI
