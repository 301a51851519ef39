#pragma once

#include <primsel/dynamic/operating_point.hpp>

#include <concepts>

namespace primsel::inline PRIMSEL_ABI::dynamic {

/// Which of two points that keep the budget is preferred: whether a is, a strict weak order. A point that dominates
/// another is never the worse of the two.
///
/// A minimal model:
///     struct LeastPower {
///         bool operator()(primsel::OperatingPoint const& a, primsel::OperatingPoint const& b) const noexcept {
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
/// The least energy an image; of equal ones the highest accuracy, then the shortest time. Set a budget of accuracy
/// beside it.
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
