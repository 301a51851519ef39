#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/number_text.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/prune/coupled_layers.hpp>
#include <primsel/show/dot.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <string>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::show {

/// Which layers of a network lose the same channels, as a graph in the DOT language of Graphviz: a box a layer, those
/// that are coupled in the same colour; grey where all channels must stay. Layers that make channels have a thick
/// frame.
[[nodiscard]] inline std::string to_dot(Graph const& graph, prune::Coupling const& coupling) {
    const std::vector<prune::CoupledLayers> sets = prune::coupled_layers(graph, coupling);
    std::string text =
        "digraph coupling {\n"
        "  node [shape=box, style=filled, fontname=\"sans-serif\"];\n";
    std::map<std::size_t, std::size_t> set_of;
    for (std::size_t set = 0; set < sets.size(); ++set) {
        for (const std::size_t group : sets[set].groups) set_of.emplace(group, set);
    }
    for (std::size_t i = 0; i < graph.size(); ++i) {
        Node const& node = graph[i];
        std::vector<std::size_t> const& groups = coupling.groups_of(i);
        const auto found = groups.empty() ? set_of.end() : set_of.find(groups[0]);
        const bool in_set = found != set_of.end() && sets[found->second].may_go > 0;
        std::string colour = "#e4e7ea";
        if (in_set) {
            // Hues that follow each other lie far apart on the circle.
            colour = core::fixed_text(std::fmod(0.618034 * static_cast<double>(found->second), 1.0), 3) + " 0.4 0.95";
        }
        const bool makes =
            in_set && std::ranges::find(sets[found->second].made_by, node.name) != sets[found->second].made_by.end();
        text += join("  n", i, " [label=",
                     detail::dot_string(join(node.name, '\n', layer_kind(node.layer), ", ", node.shape.c, " channels")),
                     ", fillcolor=", detail::dot_string(colour), makes ? ", penwidth=3" : "", "];\n");
        for (const std::size_t input : node.inputs) text += join("  n", input, " -> n", i, ";\n");
    }
    return text + "}\n";
}

}  // namespace primsel::inline PRIMSEL_ABI::show
