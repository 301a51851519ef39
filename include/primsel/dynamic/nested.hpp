#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/visit.hpp>
#include <primsel/dynamic/configuration.hpp>
#include <primsel/dynamic/detail/divided_layer.hpp>
#include <primsel/dynamic/detail/several_parts.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/graph_editor.hpp>

#include <cstddef>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::dynamic {

namespace detail {

/// Marks the layers that keep all channels: convolutions and dense layers that make the channels of the network's
/// results, and the layers behind them.
[[nodiscard]] inline std::vector<bool> layers_of_results(Graph const& graph) {
    std::vector<bool> seen(graph.size(), false), whole(graph.size(), false);
    std::vector<std::size_t> left = graph.outputs();
    while (!left.empty()) {
        const std::size_t i = left.back();
        left.pop_back();
        if (seen[i]) continue;
        seen[i] = true;
        const auto* conv = std::get_if<ConvParams>(&graph[i].layer);
        const bool depthwise = conv != nullptr && conv->groups > 1 && conv->groups == graph.input_shapes(i)[0].c;
        whole[i] = std::holds_alternative<DenseParams>(graph[i].layer) || (conv != nullptr && !depthwise);
        if (whole[i]) continue;
        left.insert(left.end(), graph[i].inputs.begin(), graph[i].inputs.end());
    }
    // The layers between these and the results keep all channels too, and so do layers that only those read.
    for (std::size_t i = 0; i < graph.size(); ++i) {
        if (seen[i] && !std::holds_alternative<InputParams>(graph[i].layer)) whole[i] = true;
    }
    return whole;
}

}  // namespace detail

/// Sub-networks nested in each other by channels (Tann et al. 2016, Runtime configurable deep neural networks for
/// energy-accuracy trade-off; Yu et al. 2019, Slimmable neural networks). Element g - 1 has the first g of `parts`
/// equal parts of every layer's channels; the layers that make the results keep all. The last element is the whole
/// network. Throws error if `parts` is below 1, and, naming the layer, if `parts` does not divide its channels or it
/// mixes channels in another way than a convolution of one group, a depthwise convolution or a dense layer does.
[[nodiscard]] inline std::vector<Configuration> nested(Graph const& graph, int parts) {
    if (parts < 1) fail("nested: impossible number of configurations ", parts);
    const std::vector<bool> stay = detail::layers_of_results(graph);
    const detail::DividedLayer divided(graph, parts, false);
    std::vector<Configuration> all;
    for (int part = 1; part <= parts; ++part) {
        GraphEditor edit(graph);
        for (std::size_t i = 0; i < graph.size() && part < parts; ++i) {
            if (stay[i]) continue;
            if (const auto* conv = std::get_if<ConvParams>(&graph[i].layer); conv != nullptr && conv->groups > 1) {
                if (conv->groups != graph.input_shapes(i)[0].c) {
                    fail("nested: layer ", graph[i].name, " is a convolution in ", conv->groups,
                         " groups, of which there is no first part");
                }
            }
            edit.replace(i, core::visit(detail::SeveralParts{graph[i].layer, part}, divided(i)));
        }
        all.push_back(configuration_of(graph, edit.graph()));
    }
    return all;
}

}  // namespace primsel::inline PRIMSEL_ABI::dynamic
