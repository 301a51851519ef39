// Chains of convolutions that a plan may compute together in strips of rows (PlannedStrips).
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
#include <span>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Whether a layer can be in a chain: a convolution with a fixed kernel, each row of whose result reads the image.
/// Primitives in strips bound no summand.
[[nodiscard]] inline bool joins_strips(Graph const& graph, std::size_t node) {
    if (!std::holds_alternative<ConvParams>(graph[node].layer)) return false;
    const ConvTask task = *conv_task(graph, node);
    return !task.packs && rows_read_image(task.shape) && !graph[node].epilogue.summand.known();
}
/// Whether the primitive computes some rows without the others, bias and activation included, from hwc to hwc. Strips
/// have no ranges.
[[nodiscard]] inline bool joins_strips(Kernels const& kernels, PrimitiveEntry const& entry) {
    return entry.by_rows && entry.fuses_epilogue && entry.precision != Precision::int8 &&
           kernels.layouts[entry.in_layout].name == hwc::name && kernels.layouts[entry.out_layout].name == hwc::name;
}
/// Whether a layer can be in a chain by the primitive that the plan chose for it.
[[nodiscard]] inline bool joins_strips(Graph const& graph, Kernels const& kernels, PlannedLayer const& planned,
                                       std::size_t node) {
    const auto primitive = kernels.find_if_any(planned.primitive);
    return joins_strips(graph, node) && primitive && joins_strips(kernels, kernels.primitives[*primitive]) &&
           planned.in_layout == hwc::name && planned.out_layout == hwc::name;
}

/// Whether only the next node uses this node's result, and as its image. uses: graph.uses().
[[nodiscard]] inline bool read_by_next(Graph const& graph, std::size_t node, std::vector<std::size_t> const& uses) {
    return node + 1 < graph.size() && uses[node] == 1 && !graph[node + 1].inputs.empty() &&
           graph[node + 1].inputs[0] == node;
}

/// For each layer of a chain, the most rows of its result that memory holds at once when the last layer makes `rows`:
/// for the last layer `rows`, for each other layer those that the next one reads.
[[nodiscard]] inline std::vector<int> strip_rows(std::span<const ConvShape> chain, int rows) {
    std::vector<int> result(chain.size(), rows);
    for (std::size_t i = chain.size() - 1; i > 0; --i) {
        ConvShape const& next = chain[i];
        result[i - 1] = std::min(next.h, (result[i] - 1) * next.stride_h + next.span_h());
    }
    return result;
}
/// The floats of these rows, summed over all layers but the last.
[[nodiscard]] inline std::size_t strip_floats(std::span<const ConvShape> chain, int rows) {
    const std::vector<int> held = strip_rows(chain, rows);
    std::size_t floats = 0;
    for (std::size_t i = 0; i + 1 < chain.size(); ++i) {
        floats += static_cast<std::size_t>(held[i]) * static_cast<std::size_t>(chain[i].out_w()) *
                  static_cast<std::size_t>(chain[i].k);
    }
    return floats;
}
/// The rows of the last layer's result in each strip, about as many in each, with which the rows between the layers
/// take at most three eighths of L2; 0 if not one row fits, or all do. Image, result, weights and scratch share the
/// other five eighths. The share is a choice; bench/results/2026-11-26-strips.md was measured with it.
[[nodiscard]] inline int best_strip_rows(std::span<const ConvShape> chain) {
    constexpr std::size_t room = l2_floats / 8 * 3;
    const int all = chain.back().out_h();
    int rows = 0;
    while (rows < all && strip_floats(chain, rows + 1) <= room) ++rows;
    if (rows == 0 || rows == all) return 0;
    const int strips = (all + rows - 1) / rows;
    return (all + strips - 1) / strips;
}

/// Consecutive convolutions that can be computed in strips: only the next one reads each result.
struct StripChain {
    std::size_t first = 0;  ///< node
    std::vector<ConvShape> shapes;
    int rows = 0;

    [[nodiscard]] bool contains(std::size_t node) const { return node >= first && node < first + shapes.size(); }
    [[nodiscard]] std::size_t last() const { return first + shapes.size() - 1; }
};

/// All chains of a graph between whose layers there is more than half of what L2 holds. A smaller result stays in L2
/// beside one of the same size, which the next layer writes.
[[nodiscard]] inline std::vector<StripChain> strip_chains(Graph const& graph) {
    std::vector<StripChain> result;
    const std::vector<std::size_t> uses = graph.uses();
    for (std::size_t first = 0; first < graph.size(); ++first) {
        StripChain chain{.first = first, .shapes = {}};
        for (std::size_t i = first; i < graph.size() && joins_strips(graph, i); ++i) {
            chain.shapes.push_back(conv_shape_of(graph, i));
            if (chain.shapes.size() > most_strip_layers) break;
            if (chain.shapes.size() > 1) {
                chain.rows = best_strip_rows(chain.shapes);
                if (chain.rows > 0) result.push_back(chain);
            }
            if (!read_by_next(graph, i, uses) || graph[i].shape.size() < l2_floats / 2) break;
        }
    }
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI
