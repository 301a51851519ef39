#pragma once

#include <primsel/core/error.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/with_batch.hpp>

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// The number of equal parts into which a batch can be divided so that each of these threads runs one of them: the
/// largest that is no larger than the number of threads. 1 where results of a part depend on the others.
[[nodiscard]] inline std::size_t parts_of_batch(Graph const& graph, std::size_t workers) {
    if (workers == 0) fail("a plan for 0 threads");
    const auto images = static_cast<std::size_t>(graph.batch());
    const bool trains = !graph.trainable().empty() || goes_layer_by_layer(graph);
    if (trains) return 1;
    std::size_t parts = std::min(images, workers);
    while (images % parts > 0) --parts;
    return parts;
}
/// The graph for the images of one of these parts.
[[nodiscard]] inline Graph part_of_batch(Graph const& graph, std::size_t parts) {
    return with_batch(graph, graph.batch() / static_cast<int>(parts));
}

}  // namespace primsel::inline PRIMSEL_ABI
