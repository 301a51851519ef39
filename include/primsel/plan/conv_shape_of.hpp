#pragma once

#include <primsel/kernels/kernels.hpp>
#include <primsel/layer/conv.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/primitive/conv_shape.hpp>
#include <primsel/primitive/rotated.hpp>
#include <primsel/tensor/shape.hpp>

#include <cstddef>
#include <optional>
#include <string>
#include <utility>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

/// A convolution layer on an input, as primitives know it.
[[nodiscard]] constexpr ConvShape conv_shape_of(ConvParams const& conv, Shape input) {
    return {.c = input.c,
            .k = conv.k,
            .h = input.h,
            .w = input.w,
            .fh = conv.kernel.h,
            .fw = conv.kernel.w,
            .stride_h = conv.stride.h,
            .stride_w = conv.stride.w,
            .pad_top = conv.padding.top,
            .pad_bottom = conv.padding.bottom,
            .pad_left = conv.padding.left,
            .pad_right = conv.padding.right,
            .dilation_h = conv.dilation.h,
            .dilation_w = conv.dilation.w,
            .groups = conv.groups};
}
/// The shape of a layer of a graph, which must be a convolution.
[[nodiscard]] inline ConvShape conv_shape_of(Graph const& graph, std::size_t conv) {
    return conv_shape_of(std::get<ConvParams>(graph[conv].layer), graph[graph[conv].inputs[0]].shape);
}

/// The task of a primitive for a layer: one of the three convolutions of a layer of this (forward) shape.
struct ConvTask {
    Pass pass = Pass::forward;
    ConvShape shape{};
    /// The kernel's name, and whether it changes between runs, so that each run packs it.
    std::string kernel{};
    bool packs = false;
};
/// The task of a layer of a graph; nothing if it needs no primitive.
[[nodiscard]] inline std::optional<ConvTask> conv_task(Graph const& graph, std::size_t layer) {
    Node const& node = graph[layer];
    if (std::holds_alternative<ConvParams>(node.layer)) {
        std::string kernel = network::weight_name(node.name, "weight");
        // A folded weight does not change, nor does the layer it is folded into.
        const bool packs = node.epilogue.folded.empty() && graph.trainable().contains(kernel);
        return ConvTask{Pass::forward, conv_shape_of(graph, layer), std::move(kernel), packs};
    }
    if (const auto* input = std::get_if<ConvInputGradientParams>(&node.layer)) {
        std::string const& kernel = graph[node.inputs[1]].name;
        return ConvTask{Pass::input_gradient, conv_shape_of(input->conv, input->input), kernel,
                        graph.trainable().contains(kernel)};
    }
    if (const auto* weight = std::get_if<ConvWeightGradientParams>(&node.layer)) {
        return ConvTask{Pass::weight_gradient, conv_shape_of(weight->conv, graph[node.inputs[0]].shape)};
    }
    return std::nullopt;
}

/// Whether a forward primitive computes the gradient of the input, with a rotated kernel.
[[nodiscard]] inline bool turns_kernel(PrimitiveEntry const& entry, ConvTask const& task) {
    return task.pass == Pass::input_gradient && entry.pass == Pass::forward;
}
/// Whether the primitive can do the task, or why not.
[[nodiscard]] inline Support supports(PrimitiveEntry const& entry, ConvTask const& task) {
    if (turns_kernel(entry, task)) {
        const Support turning = rotates(task.shape);
        return turning ? entry.supports(rotated(task.shape)) : turning;
    }
    if (entry.pass != task.pass) return Support::no("computes another pass");
    return entry.supports(task.shape);
}
/// The shape by which the primitive does the task.
[[nodiscard]] inline ConvShape shape_for(PrimitiveEntry const& entry, ConvTask const& task) {
    return turns_kernel(entry, task) ? rotated(task.shape) : task.shape;
}

}  // namespace primsel::inline PRIMSEL_ABI
