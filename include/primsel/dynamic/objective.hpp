#pragma once

#include <primsel/dynamic/operating_point.hpp>

#include <concepts>

namespace primsel::inline PRIMSEL_ABI::dynamic {

/// A preference between two points that keep the budget: prefers(a, b) is true if a is better than b. It must be a
/// strict weak order, and must not prefer a point to one that dominates it.
///
/// A minimal model:
///     struct LeastPower {
///         bool operator()(primsel::dynamic::OperatingPoint const& a,
///                         primsel::dynamic::OperatingPoint const& b) const noexcept {
///             return a.watts < b.watts;
///         }
///     };
template <class O>
concept Objective = requires(O const& prefers, OperatingPoint const& a, OperatingPoint const& b) {
    { prefers(a, b) } noexcept -> std::convertible_to<bool>;
};

/// The highest accuracy; of equal ones the least energy, then the shortest time.
struct MostAccurate {
    [[nodiscard]] bool operator()(OperatingPoint const& a, OperatingPoint const& b) const noexcept {
        if (const int order = detail::compare_gains(a.accuracy, b.accuracy); order != 0) return order < 0;
        if (const int order = detail::compare_costs(a.joules, b.joules); order != 0) return order < 0;
        return detail::compare_costs(a.seconds, b.seconds) < 0;
    }
};
/// The least energy for each image; of equal ones the highest accuracy, then the shortest time. Set a budget of
/// accuracy too, or the smallest sub-network always wins.
struct LeastEnergy {
    [[nodiscard]] bool operator()(OperatingPoint const& a, OperatingPoint const& b) const noexcept {
        if (const int order = detail::compare_costs(a.joules, b.joules); order != 0) return order < 0;
        if (const int order = detail::compare_gains(a.accuracy, b.accuracy); order != 0) return order < 0;
        return detail::compare_costs(a.seconds, b.seconds) < 0;
    }
};
/// The shortest time; of equal ones the highest accuracy, then the least energy.
struct LeastTime {
    [[nodiscard]] bool operator()(OperatingPoint const& a, OperatingPoint const& b) const noexcept {
        if (const int order = detail::compare_costs(a.seconds, b.seconds); order != 0) return order < 0;
        if (const int order = detail::compare_gains(a.accuracy, b.accuracy); order != 0) return order < 0;
        return detail::compare_costs(a.joules, b.joules) < 0;
    }
};

static_assert(Objective<MostAccurate> && Objective<LeastEnergy> && Objective<LeastTime>);

}  // namespace primsel::inline PRIMSEL_ABI::dynamic
