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

/// A way to run a dynamic network on a platform, and what an image costs and gives that way, predicted or measured.
struct OperatingPoint {
    static constexpr double unknown = std::numeric_limits<double>::quiet_NaN();

    /// The network's, by the numbers of DynamicEngine::use(): 1 is the smallest.
    int configuration = 1;
    /// The place in the platform's core sets.
    std::size_t core_set = 0;
    /// The place in the core set's frequencies: 0 is the lowest.
    std::size_t level = 0;
    std::size_t threads = 1;

    double seconds = unknown;
    double joules = unknown;
    double watts = unknown;
    /// The share of images that are classified correctly.
    double accuracy = unknown;
    /// The mean score of the correct class, as a share of all scores (Xun et al. 2019, section IV-C).
    double confidence = unknown;
};

/// The most that an image may cost, and the least that it must give.
struct Budget {
    static constexpr double unlimited = std::numeric_limits<double>::infinity();

    double seconds = unlimited, joules = unlimited, watts = unlimited;
    double accuracy = 0;
};

namespace detail {

/// Negative where a is better, for what should be small; what is unknown comes last.
[[nodiscard]] inline int compare_costs(double a, double b) noexcept {
    if (is_nan(a) || is_nan(b)) return static_cast<int>(is_nan(a)) - static_cast<int>(is_nan(b));
    return static_cast<int>(a > b) - static_cast<int>(a < b);
}
/// The same for what should be large.
[[nodiscard]] inline int compare_gains(double a, double b) noexcept { return compare_costs(-a, -b); }

/// How many times the budget a cost is; infinite where there is a budget for what is unknown.
[[nodiscard]] inline double share_of_budget(double cost, double budget) noexcept {
    if (budget == Budget::unlimited) return 0;
    return cost >= 0 ? cost / budget : Budget::unlimited;
}

}  // namespace detail

/// How far the point is from keeping the budget: the largest ratio of a cost to its budget, or of the accuracy that is
/// needed to the point's. The budget is kept where that is at most 1. A point of which something is unknown keeps no
/// budget for it.
[[nodiscard]] inline double excess(OperatingPoint const& point, Budget const& budget) noexcept {
    double most = std::max({detail::share_of_budget(point.seconds, budget.seconds),
                            detail::share_of_budget(point.joules, budget.joules),
                            detail::share_of_budget(point.watts, budget.watts)});
    if (budget.accuracy > 0) {
        most = std::max(most, point.accuracy > 0 ? budget.accuracy / point.accuracy : Budget::unlimited);
    }
    return most;
}
[[nodiscard]] inline bool keeps(OperatingPoint const& point, Budget const& budget) noexcept {
    return excess(point, budget) <= 1;
}

/// Whether a is better than b in time, energy, power, accuracy or confidence, and worse in none. What is unknown of one
/// of them cannot be compared, so that neither dominates; what is unknown of both does not count.
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

/// The points that no other dominates, the fastest first. Equal points all stay.
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
