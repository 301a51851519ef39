#pragma once

#include <primsel/network/graph.hpp>

#include <cstddef>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The ranges of layers' results, by the layers' names.
using TensorRanges = std::map<std::string, TensorRange, std::less<>>;

/// Returns whether the layer only moves or selects values, so that its result has its input's range.
[[nodiscard]] inline bool keeps_range(AnyLayer const& layer) {
    const auto* pool = std::get_if<PoolParams>(&layer);
    const auto* global = std::get_if<GlobalPoolParams>(&layer);
    const auto* resize = std::get_if<ResizeParams>(&layer);
    const auto* pad = std::get_if<PadParams>(&layer);
    return (pool != nullptr && pool->kind == PoolKind::max) || (global != nullptr && global->kind == PoolKind::max) ||
           (resize != nullptr && resize->mode == ResizeMode::nearest) ||
           (pad != nullptr && (pad->mode != PadMode::constant || pad->value == 0.0F)) ||
           std::holds_alternative<FlattenParams>(layer) || std::holds_alternative<ReshapeParams>(layer) ||
           std::holds_alternative<DropoutParams>(layer) || std::holds_alternative<SliceParams>(layer) ||
           std::holds_alternative<ChannelShuffleParams>(layer);
}

/// Returns the graph with these ranges; layers without one keep theirs. Throws error if a name is no layer's.
[[nodiscard]] inline Graph with_ranges(Graph graph, TensorRanges const& ranges) {
    for (auto const& [name, range] : ranges) graph.set_range(graph.find(name), range);
    return graph;
}

}  // namespace primsel::inline PRIMSEL_ABI
