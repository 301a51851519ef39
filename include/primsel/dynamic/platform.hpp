#pragma once

#include <primsel/dynamic/operating_point.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::dynamic {

/// Cores of one kind that share a frequency: a cluster, a processor, or a part of one.
struct CoreSet {
    std::string name;
    /// The system's numbers of its cores.
    std::vector<std::size_t> cores;
    /// The frequencies that can be set, in hertz, ascending; a single one if the frequency cannot be set.
    std::vector<double> hertz;
};

/// The present state of a core set.
struct CoreState {
    /// The number of its cores that are online and may be used.
    std::size_t cores = 0;
    /// The index in CoreSet::hertz of the highest frequency that is allowed.
    std::size_t top = 0;
    /// The factor by which other programs' load there lengthens work; NaN if the platform cannot tell.
    double slowdown = OperatingPoint::unknown;
    /// The temperature in degrees Celsius; NaN if unknown.
    double celsius = OperatingPoint::unknown;
};

/// The machine on which a network runs. Set-up may throw; the members neither throw nor allocate.
///
/// A minimal model:
///     struct OneCore {
///         std::vector<primsel::dynamic::CoreSet> sets{{"cpu", {0}, {1e9}}};
///         std::span<const primsel::dynamic::CoreSet> core_sets() const { return sets; }
///         void observe(std::span<primsel::dynamic::CoreState> states) noexcept { states[0] = {1, 0}; }
///         bool apply(primsel::dynamic::OperatingPoint const&) noexcept { return true; }
///         double seconds() const noexcept { return my_clock(); }
///         double joules() const noexcept { return primsel::dynamic::OperatingPoint::unknown; }
///     };
template <class P>
concept Platform = requires(P& platform, std::span<CoreState> states, OperatingPoint const& point) {
    { platform.core_sets() } -> std::convertible_to<std::span<const CoreSet>>;
    /// Writes a state for each core set.
    { platform.observe(states) } noexcept;
    /// Moves what runs next to the point's cores and sets their frequency. Returns false if not all of that could be
    /// done.
    { platform.apply(point) } noexcept -> std::convertible_to<bool>;
    /// The time of a steady clock in seconds.
    { platform.seconds() } noexcept -> std::convertible_to<double>;
    /// A counter of energy in joules, as near to the network's own as the platform can tell; NaN if it has none.
    { platform.joules() } noexcept -> std::convertible_to<double>;
};

}  // namespace primsel::inline PRIMSEL_ABI::dynamic
