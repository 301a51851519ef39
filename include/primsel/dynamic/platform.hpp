#pragma once

#include <primsel/dynamic/operating_point.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::dynamic {

/// Cores that are alike and share a frequency: a cluster, a processor, or a part of one.
struct CoreSet {
    std::string name;
    /// The system's numbers of its cores.
    std::vector<std::size_t> cores;
    /// The frequencies that can be set, from low to high; one where none can.
    std::vector<double> hertz;
};

/// The part of a core set that can be used at the moment.
struct CoreState {
    /// How many of its cores are online and may be used.
    std::size_t cores = 0;
    /// The highest of its frequencies that is allowed.
    std::size_t top = 0;
    /// How many times longer work takes because of what else runs there; NaN where the platform cannot tell.
    double slowdown = OperatingPoint::unknown;
    double celsius = OperatingPoint::unknown;
};

/// Where a network runs. Set-up may throw; the rest neither throws nor allocates.
///
/// A minimal model:
///     struct OneCore {
///         std::vector<primsel::CoreSet> sets{{"cpu", {0}, {1e9}}};
///         std::span<const primsel::CoreSet> core_sets() const { return sets; }
///         void observe(std::span<primsel::CoreState> states) noexcept { states[0] = {1, 0}; }
///         bool apply(primsel::OperatingPoint const&) noexcept { return true; }
///         double seconds() const noexcept { return my_clock(); }
///         double joules() const noexcept { return primsel::OperatingPoint::unknown; }
///     };
template <class P>
concept Platform = requires(P& platform, std::span<CoreState> states, OperatingPoint const& point) {
    { platform.core_sets() } -> std::convertible_to<std::span<const CoreSet>>;
    /// Writes a state for each core set.
    { platform.observe(states) } noexcept;
    /// Moves what runs next to the point's cores and sets their frequency. False where not all of that could be done.
    { platform.apply(point) } noexcept -> std::convertible_to<bool>;
    /// A clock.
    { platform.seconds() } noexcept -> std::convertible_to<double>;
    /// A counter of energy, as near to what the network uses as the platform can tell; NaN where it cannot.
    { platform.joules() } noexcept -> std::convertible_to<double>;
};

}  // namespace primsel::inline PRIMSEL_ABI::dynamic
