#pragma once

#include <primsel/core/visit.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/prune/detail/passes_channels.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::prune::detail {

/// Whether the layer makes new channels by filters: a dense layer, or a convolution or transposed convolution that is
/// not depthwise.
[[nodiscard]] inline bool makes_channels(Graph const& graph, std::size_t i) {
    return core::visit(
        [&]<class Params>(Params const& layer) {
            if constexpr (Convolves<Params>) {
                return layer.groups == 1 || !is_depthwise(layer, graph[graph[i].inputs[0]].shape.c);
            } else {
                return std::same_as<Params, DenseParams>;
            }
        },
        graph[i].layer);
}

/// The batch norm that is the only reader of the layer, if there is one.
[[nodiscard]] inline std::optional<std::size_t> norm_behind(Graph const& graph, std::size_t i,
                                                            std::vector<std::size_t> const& uses) {
    for (std::size_t reader = i + 1; reader < graph.size() && uses[i] == 1; ++reader) {
        Node const& node = graph[reader];
        const bool reads = std::ranges::find(node.inputs, i) != node.inputs.end();
        if (reads && std::holds_alternative<BatchNormParams>(node.layer)) return reader;
    }
    return std::nullopt;
}

/// Whether the weights have a row for each channel that the layer reads, rather than for each that it makes.
[[nodiscard]] inline bool has_rows_of_channels(AnyLayer const& layer) {
    return std::holds_alternative<ConvTransposeParams>(layer);
}

/// The weights of a convolution or dense layer, column after column: one column for each channel that it reads, or, for
/// a transposed convolution, that it makes.
[[nodiscard]] inline std::vector<float> by_columns(Graph const& graph, std::size_t i, std::span<const float> values) {
    const auto groups_of = []<class Params>(Params const& layer) {
        if constexpr (Convolves<Params>) return static_cast<std::size_t>(layer.groups);
        return std::size_t{1};
    };
    auto channels = static_cast<std::size_t>(graph[graph[i].inputs[0]].shape.c),
         filters = static_cast<std::size_t>(graph[i].shape.c);
    if (has_rows_of_channels(graph[i].layer)) std::swap(channels, filters);
    const std::size_t parts = core::visit(groups_of, graph[i].layer);
    const std::size_t width = channels / parts, depth = values.size() / (filters * width);
    std::vector<float> columns;
    columns.reserve(values.size());
    for (std::size_t c = 0; c < channels; ++c) {
        const std::size_t part = c / width, first = part * filters / parts, last = (part + 1) * filters / parts;
        for (std::size_t filter = first; filter < last; ++filter) {
            const auto kernel = values.subspan((filter * width + c % width) * depth, depth);
            columns.insert(columns.end(), kernel.begin(), kernel.end());
        }
    }
    return columns;
}

}  // namespace primsel::inline PRIMSEL_ABI::prune::detail
