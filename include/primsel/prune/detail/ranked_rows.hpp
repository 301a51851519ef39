#pragma once

#include <primsel/network/graph.hpp>
#include <primsel/prune/detail/passes_channels.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::detail {

[[nodiscard]] inline bool makes_channels(Graph const& graph, std::size_t i) {
    const auto* conv = std::get_if<ConvParams>(&graph[i].layer);
    if (conv != nullptr) return conv->groups == 1 || !is_depthwise(*conv, graph[graph[i].inputs[0]].shape.c);
    return std::holds_alternative<DenseParams>(graph[i].layer);
}

/// The batch norm that alone reads the layer.
[[nodiscard]] inline std::optional<std::size_t> norm_behind(Graph const& graph, std::size_t i,
                                                            std::vector<std::size_t> const& uses) {
    for (std::size_t reader = i + 1; reader < graph.size() && uses[i] == 1; ++reader) {
        Node const& node = graph[reader];
        const bool reads = std::ranges::find(node.inputs, i) != node.inputs.end();
        if (reads && std::holds_alternative<BatchNormParams>(node.layer)) return reader;
    }
    return std::nullopt;
}

/// The weights of a convolution or dense layer, those of each channel that it reads one after the other.
[[nodiscard]] inline std::vector<float> by_channels(Graph const& graph, std::size_t i, std::span<const float> values) {
    const Shape input = graph[graph[i].inputs[0]].shape;
    const auto* conv = std::get_if<ConvParams>(&graph[i].layer);
    const auto channels = static_cast<std::size_t>(input.c), filters = static_cast<std::size_t>(graph[i].shape.c);
    const std::size_t parts = conv != nullptr ? static_cast<std::size_t>(conv->groups) : 1;
    const std::size_t width = channels / parts, depth = values.size() / (filters * width);
    std::vector<float> turned;
    turned.reserve(values.size());
    for (std::size_t c = 0; c < channels; ++c) {
        const std::size_t part = c / width, first = part * filters / parts, last = (part + 1) * filters / parts;
        for (std::size_t filter = first; filter < last; ++filter) {
            const auto kernel = values.subspan((filter * width + c % width) * depth, depth);
            turned.insert(turned.end(), kernel.begin(), kernel.end());
        }
    }
    return turned;
}

}  // namespace primsel::inline PRIMSEL_ABI::detail
