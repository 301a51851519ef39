#pragma once

#include <primsel/layer/conv.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/primitive/conv_shape.hpp>
#include <primsel/tensor/shape.hpp>

#include <cstddef>
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
/// That of a layer of a graph, which must be a convolution.
[[nodiscard]] inline ConvShape conv_shape_of(Graph const& graph, std::size_t conv) {
    return conv_shape_of(std::get<ConvParams>(graph[conv].layer), graph[graph[conv].inputs[0]].shape);
}

}  // namespace primsel::inline PRIMSEL_ABI
