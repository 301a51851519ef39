// How long networks take, and to change their configuration.
#pragma once

#include "networks.hpp"

#include <cstddef>
#include <vector>

namespace reproduce {

/// Median seconds of an image in each configuration: on one thread; on two that share each layer, that take groups
/// each, and that do whatever was measured to be faster when the engine was made.
struct Timed {
    std::vector<double> one_thread, by_layers, by_groups, two_threads;
    /// The number of threads that take groups in each configuration of the last; 0: they share each layer.
    std::vector<std::size_t> side_by_side;

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
