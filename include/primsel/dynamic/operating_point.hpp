#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::dynamic {

/// A way to run a dynamic network on a platform, with the predicted or measured costs and accuracy of an image. Costs
/// that are not known are NaN (`unknown`).
struct OperatingPoint {
    static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

    /// The number of the sub-network, as DynamicEngine::use() takes it: 1 is the smallest.
    int configuration = 1;
    /// The index of the core set in Platform::core_sets().
    std::size_t core_set = 0;
    /// The index of the frequency in CoreSet::hertz: 0 is the lowest.
    std::size_t level = 0;
    std::size_t threads = 1;

    /// Time, energy and mean power of one image.
    double seconds = unknown;
    double joules = unknown;
    double watts = unknown;
    /// The share of images that are classified correctly.
    double accuracy = unknown;
    /// The mean score of the correct class, as a share of all scores (Xun et al. 2019, section IV-C).
    double confidence = unknown;
};

/// The most that an image may cost, and the least accuracy that it must have.
struct Budget {
    static constexpr double unlimited = std::numeric_limits<double>::infinity();

    double seconds = unlimited, joules = unlimited, watts = unlimited;
    double accuracy = 0;
};

namespace detail {

/// Compares two costs, of which the smaller is better: negative if a is better, 0 if they are equal. An unknown one is
/// worse than any other.
[[nodiscard]] inline int compare_costs(double a, double b) noexcept {
    if (is_nan(a) || is_nan(b)) return static_cast<int>(is_nan(a)) - static_cast<int>(is_nan(b));
    return static_cast<int>(a > b) - static_cast<int>(a < b);
}
/// Compares two gains, of which the larger is better, in the same way.
[[nodiscard]] inline int compare_gains(double a, double b) noexcept { return compare_costs(-a, -b); }

/// The ratio of a cost to its budget: 0 if there is no budget, infinite if the cost is unknown.
[[nodiscard]] inline double share_of_budget(double cost, double budget) noexcept {
    if (budget == Budget::unlimited) return 0;
    return cost >= 0 ? cost / budget : Budget::unlimited;
}

}  // namespace detail

/// The largest ratio of a cost to its budget, or of the needed accuracy to the point's. The point keeps the budget if
/// it is at most 1. A point with an unknown cost keeps no budget of that cost.
[[nodiscard]] inline double excess(OperatingPoint const& point, Budget const& budget) noexcept {
    double most = std::max({detail::share_of_budget(point.seconds, budget.seconds),
                            detail::share_of_budget(point.joules, budget.joules),
                            detail::share_of_budget(point.watts, budget.watts)});
    if (budget.accuracy > 0) {
        most = std::max(most, point.accuracy > 0 ? budget.accuracy / point.accuracy : Budget::unlimited);
    }
    return most;
}
/// Whether the point keeps the budget.
[[nodiscard]] inline bool keeps(OperatingPoint const& point, Budget const& budget) noexcept {
    return excess(point, budget) <= 1;
}

/// Whether a is better than b in time, energy, power, accuracy or confidence, and worse in none of them. If one of the
/// values is known for only one of the points, neither dominates; a value that is unknown for both is left out.
[[nodiscard]] inline bool dominates(OperatingPoint const& a, OperatingPoint const& b) noexcept {
    const std::array<std::array<double, 2>, 5> costs{{{a.seconds, b.seconds},
                                                      {a.joules, b.joules},
                                                      {a.watts, b.watts},
                                                      {-a.accuracy, -b.accuracy},
                                                      {-a.confidence, -b.confidence}}};
    bool better = false;
    for (auto const& [mine, other] : costs) {
        if (is_nan(mine) != is_nan(other) || mine > other) return false;
        better = better || mine < other;
    }
    return better;
}

/// The points that no other point dominates, the fastest first. Of equal points all are kept.
[[nodiscard]] inline std::vector<OperatingPoint> pareto_front(std::span<const OperatingPoint> points) {
    std::vector<OperatingPoint> front;
    for (OperatingPoint const& point : points) {
        const auto is_better = [&](OperatingPoint const& other) { return dominates(other, point); };
        if (std::ranges::none_of(points, is_better)) front.push_back(point);
    }
    std::ranges::stable_sort(front, [](OperatingPoint const& a, OperatingPoint const& b) {
        return detail::compare_costs(a.seconds, b.seconds) < 0;
    });
    return front;
}

}  // namespace primsel::inline PRIMSEL_ABI::dynamic
