#pragma once

#include <primsel/io/file.hpp>
#include <primsel/network/network.hpp>
#include <primsel/onnx/detail/export.hpp>

#include <string>

namespace primsel::inline PRIMSEL_ABI {

/// The graph and its weights as the bytes of an ONNX model. Layers keep their names, and so do their weights; what
/// simplify folded into a layer is multiplied in. Images are batch x channels x height x width; a result that comes out
/// of a dense layer is batch x channels. With OnnxExportOptions::signature, inputs and results have its names, types
/// and dimensions; an OnnxModel is one:
///
///     save_onnx("thin.onnx", thin.graph, thin.weights, {.signature = model});
///
/// Throws error for weights that do not fit the graph, for a layer that ONNX cannot express, naming it, and for more
/// than 2 GiB.
[[nodiscard]] inline std::string to_onnx(Graph const& graph, Weights const& weights,
                                         OnnxExportOptions const& options = {}) {
    if (options.opset < onnx::min_export_opset || options.opset > onnx::max_export_opset) {
        fail("ONNX export: opset ", options.opset, " is not supported; ", onnx::min_export_opset, " to ",
             onnx::max_export_opset, " are");
    }
    check_weights(graph, weights);
    return onnx::export_graph(graph, weights, options);
}

/// Writes it to a file. As with write_file, `path` is what it was until all is written. Throws error as to_onnx and
/// write_file do.
inline void save_onnx(std::string const& path, Graph const& graph, Weights const& weights,
                      OnnxExportOptions const& options = {}) {
    write_file(path, to_onnx(graph, weights, options));
}
/// For a Network type.
template <NetworkType Net>
void save_onnx(std::string const& path, Weights const& weights, OnnxExportOptions const& options = {}) {
    save_onnx(path, Net::graph(), weights, options);
}

}  // namespace primsel::inline PRIMSEL_ABI
