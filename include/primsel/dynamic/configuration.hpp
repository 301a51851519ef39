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

/// A part of a network that is one by itself: some of its layers, under their names, with some of the channels of each.
/// A plain value.
struct Configuration {
    Graph graph;
    /// For each layer, the channels of the whole network's layer that its result has, ascending.
    std::vector<std::vector<std::size_t>> channels;
};

/// The part of a network with these layers, which are those of the whole network with fewer channels. Throws error,
/// naming the layer, where it cannot be told which channels those are.
[[nodiscard]] inline Configuration configuration_of(Graph const& whole, Graph part) {
    std::vector<std::vector<std::size_t>> channels;
    for (std::size_t i = 0; i < part.size(); ++i) {
        detail::PartChannels of{whole, part, whole.find(part[i].name), i, channels};
        channels.push_back(core::visit(of, part[i].layer));
    }
    return {std::move(part), std::move(channels)};
}

/// A network in groups with the first so many of them: the others are not computed, and what is concatenated is as much
/// smaller. Throws error where there are not as many, and, naming the layer, where anything but a concatenation of
/// channels reads a group.
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

/// All configurations of a network in groups, from one group to all.
[[nodiscard]] inline std::vector<Configuration> configurations(Graph const& graph) {
    std::vector<Configuration> all;
    for (int groups = 1; groups <= group_count(graph); ++groups) {
        all.push_back(configuration_of(graph, configuration(graph, groups)));
    }
    return all;
}

}  // namespace primsel::inline PRIMSEL_ABI::dynamic
