// How long networks take, and to change their configuration.
#pragma once

#include "networks.hpp"

#include <cstddef>
#include <vector>

namespace reproduce {

/// Median seconds of an image in each configuration, and of all groups where each of two threads has half of them: two
/// engines at once, and so without what waiting for each other would cost. 0 where there are no halves.
struct Timed {
    std::vector<double> one_thread, two_threads;
    double halves = 0;

    [[nodiscard]] double range() const { return one_thread.back() / one_thread.front(); }
};
/// All in turns, so that what disturbs the machine disturbs all.
[[nodiscard]] Timed time_of(Subject const& subject, int runs);

/// Nanoseconds of use(), of so many calls that each change the configuration, and of the first run after one and that
/// after it.
struct Switching {
    double median = 0, worst = 0, first_run = 0, later_run = 0;
};
[[nodiscard]] Switching switching_of(Subject const& subject, std::size_t calls);

[[nodiscard]] std::vector<float> image_of(ps::Shape shape);

}  // namespace reproduce
