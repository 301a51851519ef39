#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/dynamic/operating_point.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace boards {

using primsel::fail, primsel::is_finite, primsel::is_nan;

/// A cluster of cores as a model: what it takes to run the configurations of one network there.
struct SimulatedCores {
    std::string name = {};
    std::size_t count = 1;
    /// Frequency and voltage of each level, from low to high.
    std::vector<double> hertz = {}, volts = {};

    /// The whole network takes fixed_seconds + cycles / hertz on one core.
    double fixed_seconds = 0, cycles = 0;
    /// The share of that for each configuration, the last 1.
    std::vector<double> shares = {};
    /// The share of the cycles that threads divide among them.
    double parallel = 0;

    /// The capacitance that a busy core switches in a cycle, and what the cluster takes even so.
    double farads = 0, static_watts = 0;
    /// How long a change of frequency, or a move to here, takes.
    double change_seconds = 0;

    /// The time of a configuration (1 is the smallest) at a level, undisturbed. Throws error if there is no such
    /// configuration.
    [[nodiscard]] double seconds(int configuration, std::size_t level, std::size_t threads) const {
        if (configuration < 1 || static_cast<std::size_t>(configuration) > shares.size()) {
            fail("simulated cores: configuration ", configuration, " of ", shares.size(), "; the first is 1");
        }
        const double divided = 1 - parallel + parallel / static_cast<double>(std::max<std::size_t>(threads, 1));
        return shares[static_cast<std::size_t>(configuration) - 1] * (fixed_seconds + cycles / hertz[level] * divided);
    }
    /// The power of a busy core at a level.
    [[nodiscard]] double watts_of_core(std::size_t level) const {
        return farads * hertz[level] * volts[level] * volts[level];
    }
    /// With so many cores busy.
    [[nodiscard]] double watts(std::size_t level, double busy) const {
        return static_watts + watts_of_core(level) * busy;
    }
};

/// The cycles and the fixed time of a network from its times at two frequencies: seconds = fixed + cycles / hertz.
inline void calibrate(SimulatedCores& cores, std::array<double, 2> hertz, std::array<double, 2> seconds) {
    cores.cycles = (seconds[0] - seconds[1]) / (1 / hertz[0] - 1 / hertz[1]);
    cores.fixed_seconds = seconds[0] - cores.cycles / hertz[0];
}

inline void check_cores(SimulatedCores const& cores, std::size_t configurations) {
    const auto require = [&](bool holds, auto const&... what) {
        if (!holds) fail("simulated platform: core set ", cores.name, ' ', what...);
    };
    require(cores.count > 0, "has no core");
    require(!cores.hertz.empty() && cores.hertz.size() == cores.volts.size(), "has ", cores.hertz.size(),
            " frequencies and ", cores.volts.size(), " voltages");
    require(cores.hertz[0] > 0 && std::ranges::is_sorted(cores.hertz), "has frequencies that do not rise");
    require(!cores.shares.empty() && cores.shares.size() == configurations, "has ", cores.shares.size(),
            " configurations of ", configurations);
    for (const double share : cores.shares) require(share > 0 && is_finite(share), "has an impossible share");
    require(cores.fixed_seconds >= 0 && cores.cycles > 0, "takes no time");
    require(cores.parallel >= 0 && cores.parallel <= 1, "has an impossible parallel share");
    require(cores.farads >= 0 && cores.static_watts >= 0 && cores.change_seconds >= 0, "has a negative cost");
}

}  // namespace boards
