#pragma once

#include <primsel/core/config.hpp>

#include <algorithm>
#include <cstddef>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The middle one of some values, the upper one of two: a value that was there. 0 where there is none.
[[nodiscard]] inline double median(std::vector<double> values) {
    if (values.empty()) return 0;
    const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
    std::ranges::nth_element(values, middle);
    return *middle;
}

/// The value at a share (0 to 1) of the way through sorted values, between neighbours in proportion: at 0.5 the mean of
/// the two in the middle of an even number. 0 where there is none.
[[nodiscard]] inline double quantile(std::vector<double> values, double share) {
    if (values.empty()) return 0;
    std::ranges::sort(values);
    const double at = share * static_cast<double>(values.size() - 1);
    const auto below = static_cast<std::size_t>(at), above = std::min(below + 1, values.size() - 1);
    return values[below] + (at - static_cast<double>(below)) * (values[above] - values[below]);
}

}  // namespace primsel::inline PRIMSEL_ABI
