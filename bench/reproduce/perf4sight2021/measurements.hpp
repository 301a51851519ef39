// The measurements on the Jetson TX2: layers.csv has the convolutions of each network and pruning level, tx2.csv time
// and memory of a step of training at each batch size.
#pragma once

#include <primsel/forecast/network_model.hpp>

#include <string>
#include <vector>

namespace reproduce {

namespace ps = primsel;

struct Measurement {
    std::string network;
    int level = 0;
    ps::forecast::NetworkLoad load;
    /// NaN where there is none.
    double milliseconds = 0, megabytes = 0;
};

/// Those whose convolutions are known. Throws error for files that are none of the kind.
[[nodiscard]] std::vector<Measurement> read_measurements(std::string const& folder);

}  // namespace reproduce
