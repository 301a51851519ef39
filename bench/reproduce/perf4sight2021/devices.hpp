// Measurements of training and inference on devices, with the loads of their networks.
#pragma once

#include <primsel/forecast/measured_networks.hpp>

#include <array>
#include <string>
#include <vector>

namespace reproduce {

namespace ps = primsel;

using Rows = std::vector<ps::forecast::ProfiledLevel>;

/// A step of training or a run, on a device; the levels of thinning that train, as the paper has them.
struct Device {
    std::string name;
    Rows rows;
    /// Seconds and bytes of each row by a plan that saw no measurement; empty: there are no plans.
    std::vector<std::array<double, 2>> plans = {};
};

/// The devices whose tables the folder has: perf4sight2021/layers.csv and tx2.csv, and perf4sight_h100/steps.csv, whose
/// networks are NETWORK-LEVEL.onnx in the folder `networks`; empty: left out. Throws error for files that are none of
/// the kind.
[[nodiscard]] std::vector<Device> read_devices(std::string const& folder, std::string const& networks);

/// This library's trainer and engine, by the table levels.csv of the folder; none without it. Memory is what they hold.
[[nodiscard]] std::vector<Device> read_own_devices(std::string const& folder);

}  // namespace reproduce
