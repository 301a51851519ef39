// A governor on this machine while another process comes and goes.
#pragma once

#include "networks.hpp"

#include <cstddef>
#include <string>
#include <vector>

namespace reproduce {

struct Contest {
    /// Each with the cores of a set; the other process takes the first core of any of them.
    std::vector<std::vector<std::size_t>> core_sets;
    /// The budget of time, as a multiple of the whole network's time alone.
    double budget = 1.4;
    double seconds = 30;
};

struct ContestResult {
    double budget = 0;  ///< in seconds
    std::size_t images = 0, changes = 0, switches = 0;
    /// Late images; of them the first after a change; late where the whole network always runs on the first core.
    std::size_t late = 0, late_first = 0;
    double fixed_late_share = 0;
    /// The mean share of the groups, while the other process is away and while it is there.
    double share_alone = 0, share_beside = 0;
    std::vector<std::string> limits;

    /// The share of images in time, among those that are not the first after a change.
    [[nodiscard]] double kept() const {
        const std::size_t others = images - changes;
        return 1 - static_cast<double>(late - late_first) / static_cast<double>(others);
    }
};

/// The first image after a change is the one that runs when the change comes or, between two images, the next.
[[nodiscard]] ContestResult compete(Subject const& subject, Contest const& contest);

}  // namespace reproduce
