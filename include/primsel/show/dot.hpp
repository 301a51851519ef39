#pragma once

#include <primsel/core/error.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/plan/print.hpp>
#include <primsel/show/detail/colours.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI::show {

namespace detail {

/// A string of the DOT language: a backslash would begin an escape.
[[nodiscard]] inline std::string dot_string(std::string_view text) {
    std::string quoted = "\"";
    for (const char c : text) {
        if (c == '"' || c == '\\') quoted += '\\';
        if (c == '\n')
            quoted += "\\n";
        else
            quoted += c;
    }
    return quoted + '"';
}

}  // namespace detail

/// The plan as a graph in the DOT language of Graphviz: a box a layer, with its primitive and predicted time, in the
/// colour that to_svg gives it; edges name the layout, in that layout's colour, or the change of layout and its time.
/// The graph is the simplified one that the plan was made for; throws error when its layers are not the plan's.
[[nodiscard]] inline std::string to_dot(Plan const& plan, Graph const& graph) {
    bool same = plan.layers.size() == graph.size() && graph.size() > 0;
    for (std::size_t i = 0; same && i < graph.size(); ++i) same = plan.layers[i].name == graph[i].name;
    if (!same) fail("plan: the picture needs the simplified graph that the plan was made for");
    const detail::Colours colours(plan);
    std::string text =
        "digraph plan {\n"
        "  node [shape=box, style=filled, fontname=\"sans-serif\"];\n"
        "  edge [fontname=\"sans-serif\", fontsize=10];\n";
    // Readers that want the same layout share one copy: its time stands at each of them.
    const auto edge = [&](std::size_t writer, std::string const& to, std::string_view reader, bool result) {
        std::string const &from = plan.layers[writer].out_layout, &name = plan.layers[writer].name;
        std::string label = from;
        for (PlannedTransform const& transform : plan.transforms) {
            if (transform.writer != name || transform.to != to || transform.reader.empty() != result) continue;
            label = from + " -> " + to + '\n' + milliseconds(transform.seconds) + " ms";
            break;
        }
        text += join("  n", writer, " -> ", reader, " [label=", detail::dot_string(label),
                     ", color=", detail::dot_string(colours.layout(to)), "];\n");
    };
    for (std::size_t i = 0; i < graph.size(); ++i) {
        PlannedLayer const& layer = plan.layers[i];
        const std::string label = layer.name + '\n' + layer.shape + '\n' +
                                  (layer.primitive.empty() ? layer.kind : layer.primitive) + '\n' +
                                  milliseconds(layer.seconds) + " ms";
        text += join("  n", i, " [label=", detail::dot_string(label),
                     ", fillcolor=", detail::dot_string(colours.primitive(layer.primitive)), "];\n");
        for (std::size_t position = 0; position < graph[i].inputs.size(); ++position) {
            const bool residual = position == 1 && !layer.primitive.empty();
            edge(graph[i].inputs[position], residual ? layer.out_layout : layer.in_layout, join('n', i), false);
        }
    }
    const std::vector<std::size_t> outputs = graph.outputs();
    for (std::size_t i = 0; i < outputs.size(); ++i) {
        text += join("  result", i, " [label=", detail::dot_string(outputs.size() == 1 ? "result" : join("result ", i)),
                     ", shape=plaintext, style=\"\"];\n");
        std::string to = plan.layers[outputs[i]].out_layout;
        for (PlannedTransform const& transform : plan.transforms) {
            if (transform.writer == plan.layers[outputs[i]].name && transform.reader.empty()) to = transform.to;
        }
        edge(outputs[i], to, join("result", i), true);
    }
    return text + "}\n";
}

}  // namespace primsel::inline PRIMSEL_ABI::show
