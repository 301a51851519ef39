// From a graph to a model: its layers one by one, its outputs.
#pragma once

#include <primsel/core/visit.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/onnx/detail/export_elementwise.hpp>
#include <primsel/onnx/detail/export_movement.hpp>
#include <primsel/onnx/detail/export_normalization.hpp>
#include <primsel/onnx/detail/export_own.hpp>
#include <primsel/onnx/detail/export_products.hpp>
#include <primsel/onnx/detail/export_recurrent.hpp>
#include <primsel/onnx/detail/export_reductions.hpp>

#include <algorithm>
#include <cstddef>
#include <string>

namespace primsel::inline PRIMSEL_ABI::onnx {

inline constexpr int min_export_opset = 13, max_export_opset = 21;

inline void write_layer(LayerWriter& layer, InputParams const& p) { layer.input(p.shape); }
inline void write_layer(LayerWriter& layer, ConstantParams const& p) {
    layer.constant(p.shape, prepare_weights(layer.node(), layer.weights()).kernel);
}
template <class Params>
    requires trains<Params>
void write_layer(LayerWriter& layer, Params const&) {
    layer.refuse("it is a part of a training step");
}

/// original: the graph before it was simplified.
[[nodiscard]] inline std::string write_graph(Graph const& graph, Graph const& original, Weights const& weights,
                                             OnnxExportOptions const& options) {
    LayerWriter layer(graph, original, weights, options);
    for (std::size_t i = 0; i < graph.size(); ++i) {
        layer.begin(i);
        core::visit([&](auto const& params) { write_layer(layer, params); }, graph[i].layer);
        layer.end();
    }
    return layer.finish();
}
/// The graph as the bytes of a model.
[[nodiscard]] inline std::string export_graph(Graph const& graph, Weights const& weights,
                                              OnnxExportOptions const& options) {
    const auto has_range = [](Node const& node) { return node.range.known(); };
    if (options.quantised && std::ranges::none_of(graph.nodes(), has_range)) {
        fail("ONNX export: quantised without the range of any tensor");
    }
    return write_graph(options.quantised ? simplify(graph) : graph, graph, weights, options);
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
