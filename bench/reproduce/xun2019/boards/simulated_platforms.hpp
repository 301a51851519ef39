// Platforms of Xun et al., Incremental training and group convolution pruning for runtime DNN performance scaling on
// heterogeneous embedded platforms, 2019. How they were calibrated:
// bench/results/2026-11-24-simulated-boards.md.
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

#include "simulated_platform.hpp"

namespace boards {

/// Levels from first to last, `step` apart, whose voltage is that of the first of `steps` that reaches so far.
struct VoltageStep {
    double up_to_hertz, volts;
};
inline void add_levels(SimulatedCores& cores, double first, double last, double step,
                       std::vector<VoltageStep> const& steps) {
    const auto count = static_cast<std::size_t>((last - first) / step + 1.5);
    for (std::size_t i = 0; i < count; ++i) {
        const double hertz = first + step * static_cast<double>(i);
        std::size_t s = 0;
        while (s + 1 < steps.size() && steps[s].up_to_hertz < hertz - step / 2) ++s;
        cores.hertz.push_back(hertz);
        cores.volts.push_back(steps[s].volts);
    }
}
/// Configurations of one to four groups, the time a straight line in their number, and that of one group the given part
/// of that of four.
[[nodiscard]] inline std::vector<double> four_groups(double range) {
    const double one = 1 / range, step = (1 - one) / 3;
    return {one, one + step, one + 2 * step, 1};
}

/// Hardkernel Odroid XU3: a cluster of four A15, one of four A7. Times from table I, of one thread; voltages and
/// switched capacitance from the device trees of Linux (exynos5800.dtsi, exynos5422-cpus.dtsi); static power such that
/// the ranges of energy are those of table III.
[[nodiscard]] inline SimulatedDescription odroid_xu3() {
    SimulatedCores a15{.name = "A15", .count = 4};
    add_levels(a15, 200e6, 1800e6, 100e6, {{800e6, 0.9}, {1200e6, 1.0}, {1500e6, 1.1}, {1800e6, 1.25}});
    calibrate(a15, {200e6, 1800e6}, {1.020, 0.117});
    a15.shares = four_groups(3.53);
    a15.farads = 310e-12;
    a15.static_watts = 0.0914;
    a15.change_seconds = 140e-6;
    SimulatedCores a7{.name = "A7", .count = 4};
    add_levels(a7, 200e6, 1300e6, 100e6, {{300e6, 0.9}, {700e6, 1.0}, {1000e6, 1.1}, {1300e6, 1.25}});
    calibrate(a7, {200e6, 1300e6}, {1.780, 0.280});
    a7.shares = a15.shares;
    a7.farads = 90e-12;
    a7.static_watts = 0.0054;
    a7.change_seconds = 140e-6;
    return {.cores = {a15, a7}};
}

/// Nvidia Jetson Nano: four A57, and its GPU as a core set of one. Times from table I, of one thread; the GPU's range
/// from section IV-D. The paper has no powers of this platform: those here are of its two power modes, 5 and 10 W for
/// the module, and no calibration.
[[nodiscard]] inline SimulatedDescription jetson_nano() {
    SimulatedCores gpu{.name = "GPU", .count = 1, .hertz = {614e6, 921e6}, .volts = {0.82, 0.95}};
    calibrate(gpu, {614e6, 921e6}, {0.00721, 0.00488});
    gpu.shares = four_groups(2.5);
    gpu.farads = 4.2e-9;
    gpu.static_watts = 0.3;
    gpu.change_seconds = 140e-6;
    SimulatedCores a57{.name = "A57", .count = 4, .hertz = {921e6, 1430e6}, .volts = {0.90, 1.05}};
    calibrate(a57, {921e6, 1430e6}, {0.0704, 0.0468});
    a57.shares = four_groups(3.53);
    a57.farads = 0.55e-9;
    a57.static_watts = 0.25;
    a57.change_seconds = 140e-6;
    return {.cores = {gpu, a57}};
}

}  // namespace boards
