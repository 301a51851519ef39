#pragma once

#include <primsel/network/graph_editor.hpp>
#include <primsel/network/prepare.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// The same layers, with the same weights, on images of another size. Throws error, naming the layer and the shapes,
/// where a layer does not fit any more: a kernel larger than its image, branches that differ in size, a dense layer or
/// batch norm that would need other weights. Resize before simplifying: a layer that simplify removes at one size may
/// be needed at another.
[[nodiscard]] inline Graph resized(Graph const& graph, Shape const& input) {
    GraphEditor editor(graph);
    editor.replace(graph.input(), InputParams{input});
    const Graph result = editor.graph();
    const std::vector<WeightSpec> before = weight_specs(graph), after = weight_specs(result);
    for (std::size_t i = 0; i < before.size(); ++i) {
        if (before[i].dims == after[i].dims) continue;
        fail("resized: on images of ", to_string(input), ", weight ", after[i].name, " would have to be ",
             to_string(after[i].dims), "; it is ", to_string(before[i].dims));
    }
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI
