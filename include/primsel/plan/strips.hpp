// Which convolutions of a plan may be computed together in strips of rows (PlannedStrips), and as how many rows.
#pragma once

#include <primsel/core/cache_sizes.hpp>
#include <primsel/kernels/kernels.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/plan/conv_shape_of.hpp>
#include <primsel/plan/plan.hpp>
#include <primsel/primitive/rows_of.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The most convolutions that are computed together.
inline constexpr std::size_t most_strip_layers = 4;

/// A convolution as one of those that are computed together.
struct StripLayer {
    ConvShape shape{};
    std::size_t primitive = 0;
    double seconds = 0;  ///< of its own
};

/// A layer of a plan, if it can be one: a convolution in hwc, whose kernel does not change, by a primitive that
/// computes rows by themselves.
[[nodiscard]] inline std::optional<StripLayer> strip_layer(Graph const& graph, Kernels const& kernels,
                                                           PlannedLayer const& planned, std::size_t node) {
    if (!std::holds_alternative<ConvParams>(graph[node].layer)) return std::nullopt;
    const auto task = conv_task(graph, node);
    const auto primitive = kernels.find_if_any(planned.primitive);
    if (task->packs || !primitive || planned.in_layout != hwc::name || planned.out_layout != hwc::name) {
        return std::nullopt;
    }
    PrimitiveEntry const& entry = kernels.primitives[*primitive];
    if (!entry.by_rows || !entry.fuses_epilogue || !rows_read_image(task->shape)) return std::nullopt;
    return StripLayer{task->shape, *primitive, planned.seconds};
}

/// Whether the node behind this one is the only reader of its result, as its image.
[[nodiscard]] inline bool read_by_next(Graph const& graph, std::size_t node, std::vector<std::size_t> const& readers) {
    const std::vector<std::size_t> outputs = graph.outputs();
    return node + 1 < graph.size() && readers[node] == 1 && !graph[node + 1].inputs.empty() &&
           graph[node + 1].inputs[0] == node && std::ranges::find(outputs, node) == outputs.end();
}
/// How often each node's result is read.
[[nodiscard]] inline std::vector<std::size_t> count_readers(Graph const& graph) {
    std::vector<std::size_t> readers(graph.size(), 0);
    for (Node const& node : graph.nodes()) {
        for (const std::size_t input : node.inputs) ++readers[input];
    }
    return readers;
}

/// For each layer, the most rows of its result that are there at once when the last layer makes so many: those of the
/// last layer itself, and of the others what the next one reads.
[[nodiscard]] inline std::vector<int> strip_rows(std::span<const StripLayer> layers, int rows) {
    std::vector<int> result(layers.size(), rows);
    for (std::size_t i = layers.size() - 1; i > 0; --i) {
        ConvShape const& next = layers[i].shape;
        result[i - 1] = std::min(next.h, (result[i] - 1) * next.stride_h + next.span_h());
    }
    return result;
}
/// Floats of the rows of all layers but the last.
[[nodiscard]] inline std::size_t strip_floats(std::span<const StripLayer> layers, int rows) {
    const std::vector<int> held = strip_rows(layers, rows);
    std::size_t floats = 0;
    for (std::size_t i = 0; i + 1 < layers.size(); ++i) {
        ConvShape const& s = layers[i].shape;
        floats +=
            static_cast<std::size_t>(held[i]) * static_cast<std::size_t>(s.out_w()) * static_cast<std::size_t>(s.k);
    }
    return floats;
}
/// As many rows of the last layer's result as leave those between the layers in L2, about as many in each strip; 0: not
/// one does, or all do.
[[nodiscard]] inline int best_strip_rows(std::span<const StripLayer> layers) {
    constexpr std::size_t room = l2_floats / 8 * 3;
    const int all = layers.back().shape.out_h();
    int rows = 0;
    while (rows < all && strip_floats(layers, rows + 1) <= room) ++rows;
    if (rows == 0 || rows == all) return 0;
    const int strips = (all + rows - 1) / rows;
    return (all + strips - 1) / strips;
}

}  // namespace primsel::inline PRIMSEL_ABI
