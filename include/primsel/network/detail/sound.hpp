#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/layer/combine.hpp>
#include <primsel/layer/compose.hpp>
#include <primsel/layer/layer.hpp>
#include <primsel/tensor/shape.hpp>

namespace primsel::inline PRIMSEL_ABI {

namespace network::detail {

/// Parameters by the names that they have in all kinds of layers.
enum class LayerParameter {
    none,
    shape,
    channels,
    kernel,
    stride,
    dilation,
    groups,
    padding,
    output_padding,
    size,
    epsilon,
    other
};

/// The parameter because of which check says that one is impossible.
template <class Params>
constexpr LayerParameter culprit(Params const& p) {
    [[maybe_unused]] constexpr auto small = [](Extent extent) { return extent.h < 1 || extent.w < 1; };
    if constexpr (requires { p.shape.c; }) {
        if (p.shape.c < 1 || p.shape.h < 1 || p.shape.w < 1) return LayerParameter::shape;
    }
    if constexpr (
        requires { p.k < 1; } && !requires { p.alpha; }) {
        if (p.k < 1) return LayerParameter::channels;
    }
    if constexpr (requires { small(p.kernel); }) {
        if (small(p.kernel)) return LayerParameter::kernel;
    }
    if constexpr (requires { small(p.window); }) {
        if (small(p.window)) return LayerParameter::kernel;
    }
    if constexpr (requires { small(p.stride); }) {
        if (small(p.stride)) return LayerParameter::stride;
    }
    if constexpr (requires { small(p.dilation); }) {
        if (small(p.dilation)) return LayerParameter::dilation;
    }
    if constexpr (requires { p.groups < 1; }) {
        if (p.groups < 1) return LayerParameter::groups;
    }
    if constexpr (requires { p.padding.negative(); }) {
        if (p.padding.negative()) return LayerParameter::padding;
    }
    if constexpr (requires { p.front < 0 || p.back < 0; }) {
        if (p.front < 0 || p.back < 0) return LayerParameter::padding;
    }
    if constexpr (requires { p.extra_h < 0 || p.extra_w < 0; }) {
        if (p.extra_h < 0 || p.extra_w < 0) return LayerParameter::output_padding;
    }
    if constexpr (requires { Extent(p.size); }) {
        if (small(Extent(p.size))) return LayerParameter::size;
    }
    if constexpr (requires { p.epsilon >= 0; }) {
        if (is_nan(p.epsilon) || !(p.epsilon >= 0)) return LayerParameter::epsilon;
    }
    return LayerParameter::other;
}

template <class L>
inline constexpr bool is_binary = false;
template <BinaryKind kind, class... Branches>
inline constexpr bool is_binary<layer::Binary<kind, Branches...>> = true;

/// Says at compile time, at the network that has it, what is wrong with a layer.
template <class Layer, Fault fault, LayerParameter culprit = LayerParameter::other>
struct Sound {
    static constexpr LayerParameter wrong = fault == Fault::impossible_parameter ? culprit : LayerParameter::none;
    static_assert(fault != Fault::wrong_input_count, "primsel: this layer has the wrong number of inputs");
    static_assert(wrong != LayerParameter::shape, "primsel: a shape's channels, height or width are below 1");
    static_assert(wrong != LayerParameter::channels, "primsel: this layer's output channels are below 1");
    static_assert(wrong != LayerParameter::kernel, "primsel: this layer's kernel or window is below 1");
    static_assert(wrong != LayerParameter::stride, "primsel: this layer's stride is below 1");
    static_assert(wrong != LayerParameter::dilation, "primsel: this layer's dilation is below 1");
    static_assert(wrong != LayerParameter::groups, "primsel: this layer's groups are below 1");
    static_assert(wrong != LayerParameter::padding, "primsel: this layer's padding is negative");
    static_assert(wrong != LayerParameter::output_padding, "primsel: this layer's output padding is negative");
    static_assert(wrong != LayerParameter::size, "primsel: this layer's size is below 1");
    static_assert(wrong != LayerParameter::epsilon, "primsel: this layer's epsilon is negative");
    static_assert(wrong != LayerParameter::other, "primsel: this layer has an impossible parameter");
    static_assert(fault != Fault::kernel_exceeds_input, "primsel: this layer's kernel is larger than its padded input");
    static_assert(fault != Fault::groups_do_not_divide, "primsel: this layer's groups do not divide the channels");
    static_assert(fault != Fault::shapes_differ || is_binary<Layer>,
                  "primsel: the branches that are added here differ in shape");
    static_assert(fault != Fault::shapes_differ || !is_binary<Layer>,
                  "primsel: the branches that meet here differ where neither has a single element");
    static_assert(fault != Fault::sizes_differ, "primsel: the branches concatenated here differ in height or width");
    static_assert(fault != Fault::slice_outside, "primsel: this slice lies outside the input");
    static_assert(fault != Fault::padding_exceeds_kernel, "primsel: this padding is larger than the pooling window");
    static_assert(fault != Fault::padding_exceeds_input, "primsel: this padding mirrors more than the input has");
    static_assert(fault != Fault::too_large, "primsel: this layer's sizes are beyond the library's bounds");
    static constexpr bool value = fault == Fault::none;
};

}  // namespace network::detail

}  // namespace primsel::inline PRIMSEL_ABI
