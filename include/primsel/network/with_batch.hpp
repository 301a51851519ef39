#pragma once

#include <primsel/network/graph.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// The same layers, with the same weights, for so many images at once. Throws error where they are too large.
[[nodiscard]] inline Graph with_batch(Graph const& graph, int batch) {
    Graph result(batch);
    for (Node const& node : graph.nodes()) {
        result.set_range(result.add(node.name, node.layer, node.inputs, node.epilogue), node.range);
    }
    if (graph.size() > 0) result.set_outputs(graph.outputs());
    result.set_trainable(graph.trainable());
    result.set_shared(graph.shared());
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI
