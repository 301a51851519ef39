#pragma once

#include <primsel/network/graph.hpp>

#include <cstddef>
#include <span>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

/// Multiply-adds of a convolution, transposed convolution, dense or recurrent layer or product of matrices, for one
/// image; 0 for any other layer. Padding counts as if it were image.
[[nodiscard]] inline double multiply_adds(AnyLayer const& layer, std::span<const Shape> inputs, Shape const& output) {
    const auto results = static_cast<double>(output.size());
    if (const auto* conv = std::get_if<ConvParams>(&layer)) {
        return results * conv->kernel.h * conv->kernel.w * (inputs[0].c / conv->groups);
    }
    if (const auto* conv = std::get_if<ConvTransposeParams>(&layer)) {
        // Each element that it reads meets every tap of the kernels of its group.
        const auto read = static_cast<double>(inputs[0].size());
        return read * conv->kernel.h * conv->kernel.w * (conv->k / conv->groups);
    }
    if (std::holds_alternative<DenseParams>(layer)) return results * static_cast<double>(inputs[0].size());
    if (const auto* recurrent = std::get_if<RecurrentParams>(&layer)) {
        return static_cast<double>(inputs[0].size()) * recurrent->hidden(inputs[0]);
    }
    const bool of_rows = std::holds_alternative<MatMulParams>(layer) || std::holds_alternative<DenseRowsParams>(layer);
    return of_rows ? results * inputs[0].w : 0;
}

/// Multiply-adds of a network's convolutions, transposed convolutions, dense and recurrent layers and products of
/// matrices, for one image.
[[nodiscard]] inline double multiply_adds(Graph const& graph) {
    double sum = 0;
    for (std::size_t i = 0; i < graph.size(); ++i) {
        sum += multiply_adds(graph[i].layer, graph.input_shapes(i), graph[i].shape);
    }
    return sum;
}

}  // namespace primsel::inline PRIMSEL_ABI
