#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/visit.hpp>
#include <primsel/dynamic/detail/part_channels.hpp>
#include <primsel/dynamic/grouped.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/graph_editor.hpp>

#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::dynamic {

/// A sub-network: a network of some layers of a larger one, under the same names, with all or some of the channels of
/// each. Number g of a dynamic network has the first g groups, or the first g parts of the channels.
struct Configuration {
    Graph graph;
    /// For each layer of `graph`, the channels of the whole network's layer that it computes, ascending.
    std::vector<std::vector<std::size_t>> channels;
};

/// The sub-network `part` of `whole`: finds out which channels of `whole` each layer of `part` computes. Layers of both
/// are matched by name. Throws error, naming the layer, if `whole` has no such layer or its channels cannot be told.
[[nodiscard]] inline Configuration configuration_of(Graph const& whole, Graph part) {
    std::vector<std::vector<std::size_t>> channels;
    for (std::size_t i = 0; i < part.size(); ++i) {
        detail::PartChannels of{whole, part, whole.find(part[i].name), i, channels};
        channels.push_back(core::visit(of, part[i].layer));
    }
    return {std::move(part), std::move(channels)};
}

/// The graph of the sub-network with the first `groups` groups of a network in groups. Concatenations of groups have
/// fewer inputs. Throws error if `groups` is not between 1 and the number of groups, and, naming the layer, if a layer
/// other than a concatenation of channels reads a group.
[[nodiscard]] inline Graph configuration(Graph const& graph, int groups) {
    const int count = group_count(graph);
    if (groups < 1 || groups > count) fail("configuration: ", groups, " groups of a network that has ", count);
    GraphEditor edit(graph);
    for (std::size_t i = 0; i < graph.size(); ++i) {
        Node const& node = graph[i];
        if (group_number(node.name) > 0) continue;
        std::vector<std::size_t> kept;
        bool reads_groups = false;
        for (const std::size_t input : node.inputs) {
            const int group = group_number(graph[input].name);
            reads_groups = reads_groups || group > 0;
            if (group <= groups) kept.push_back(input);
        }
        const auto* concat = std::get_if<ConcatParams>(&node.layer);
        if (reads_groups && (concat == nullptr || concat->axis != Axis::c)) {
            fail("configuration: layer ", node.name, " (", layer_kind(node.layer),
                 ") reads a group; only concatenations of channels may");
        }
        if (kept.size() < node.inputs.size()) edit.rewire(i, std::move(kept));
    }
    for (std::size_t i = graph.size(); i-- > 0;) {
        if (group_number(graph[i].name) > groups) edit.remove(i);
    }
    return edit.graph();
}

/// All sub-networks of a network in groups: element g - 1 has the first g groups. Throws error as configuration() and
/// configuration_of().
[[nodiscard]] inline std::vector<Configuration> configurations(Graph const& graph) {
    std::vector<Configuration> all;
    for (int groups = 1; groups <= group_count(graph); ++groups) {
        all.push_back(configuration_of(graph, configuration(graph, groups)));
    }
    return all;
}

}  // namespace primsel::inline PRIMSEL_ABI::dynamic
