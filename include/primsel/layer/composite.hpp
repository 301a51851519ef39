// Layer types that are composed of several layers of the graph, each of which does the work of one PyTorch module.
#pragma once

#include <primsel/layer/activation.hpp>
#include <primsel/layer/compose.hpp>
#include <primsel/layer/conv.hpp>
#include <primsel/layer/input.hpp>
#include <primsel/layer/norm.hpp>
#include <primsel/layer/pool.hpp>
#include <primsel/layer/reshape.hpp>

#include <cstddef>
#include <ratio>
#include <type_traits>

namespace primsel::inline PRIMSEL_ABI::layer {

namespace detail {

/// (x - mean) / sqrt(variance + Epsilon) along an axis.
template <Axis axis, class Epsilon>
using Normalized =
    Path<Binary<BinaryKind::subtract, Path<>, Reduce<ReduceKind::mean, axis>>,
         Binary<BinaryKind::divide, Path<>,
                Path<Product<Path<>, Path<>>, Reduce<ReduceKind::mean, axis>, ScaleBy<std::ratio<1>, Epsilon>, Sqrt>>>;

/// The layer, or one that has the same fault where its groups do not divide the channels.
template <int groups, Shape in, class Layer>
using IfGroupsDivide =
    std::conditional_t<(groups > 0 && in.c % (groups > 0 ? groups : 1) == 0), Layer, ChannelShuffle<groups>>;

/// (x - mean) / sqrt(variance + Epsilon) over each group of channels and all pixels.
template <int groups, class Epsilon, Shape in>
using NormalizedGroups =
    IfGroupsDivide<groups, in,
                   Path<Reshape<groups, static_cast<int>(in.size()) / (groups > 0 ? groups : 1), 1>,
                        Normalized<Axis::h, Epsilon>, Reshape<in.c, in.h, in.w>>>;

template <int factor, Shape in>
struct PixelShuffleOf {
    static constexpr AsStridedParams params = [] {
        const int r = factor, c = in.c / (r * r);
        const std::ptrdiff_t pixels = std::ptrdiff_t{in.h} * in.w;
        return AsStridedParams{.dims = {c, in.h, r, in.w, r},
                               .strides = {r * r * pixels, in.w, r * pixels, 1, pixels},
                               .offset = 0,
                               .shape = {.c = c, .h = in.h * r, .w = in.w * r}};
    }();
};

}  // namespace detail

/// slope * x below zero, with one trained slope for all channels (slopes = 1) or one for each channel. Weight:
/// `<name>.weight`, of `slopes` values.
template <int slopes = 1>
using PRelu = Binary<BinaryKind::prelu, Path<>, Named<"weight", Parameter<slopes>>>;

/// x times a trained factor a channel (Touvron et al. 2021). Weight: `<name>`, of channels x 1 x 1.
template <FixedString name, int channels>
using LayerScale = Named<"", Product<Path<>, Named<name, Parameter<channels>>>>;

/// A gate for each channel, computed from the channels' means by two 1x1 convolutions named fc1 and fc2 (Hu et al.
/// 2018): x * Gate(fc2(Activation(fc1(mean of x)))).
template <int channels, int squeezed, class Activation = Relu, class Gate = Sigmoid>
using SqueezeExcite =
    Gated<GlobalAvgPool, Named<"fc1", Conv<squeezed, 1>>, Activation, Named<"fc2", Conv<channels, 1>>, Gate>;

/// Layer normalisation over each pixel's channels (Ba et al. 2016): (x - mean) / sqrt(variance + Epsilon) * weight +
/// bias. Weights: `<name>.weight` and `<name>.bias`, each of c. Epsilon is a std::ratio.
template <class Epsilon = std::ratio<1, 100'000>>
using LayerNorm = Whole<"layer_norm", Scale, layer::detail::Normalized<Axis::c, Epsilon>>;

/// Instance normalisation: (x - mean) / sqrt(variance + Epsilon) over each channel's pixels. It has no weights, as
/// PyTorch's InstanceNorm2d by default; add a Scale after it for those of affine=True.
template <class Epsilon = std::ratio<1, 100'000>>
struct InstanceNorm {
    template <Shape in>
    using expansion = layer::detail::NormalizedGroups<in.c, Epsilon, in>;
    static constexpr bool expands = true;
};

namespace detail {
template <int groups, class Epsilon>
struct GroupsOnly {
    template <Shape in>
    using expansion = NormalizedGroups<groups, Epsilon, in>;
    static constexpr bool expands = true;
};
}  // namespace detail
/// Group normalisation over each of `groups` groups of channels and all pixels (Wu and He 2018). Weights:
/// `<name>.weight` and `<name>.bias`, each of c. Epsilon is a std::ratio.
template <int groups, class Epsilon = std::ratio<1, 100'000>>
using GroupNorm = Whole<"group_norm", Scale, layer::detail::GroupsOnly<groups, Epsilon>>;

/// Scales the image's height and width by an integer factor, as PyTorch's Upsample. Options as for Resize.
template <Extent factor, class... Options>
struct Upsample {
    template <Shape in>
    using expansion = Resize<Extent{in.h * factor.h, in.w* factor.w}, Options...>;
    static constexpr bool expands = true;
};

/// Moves factor * factor channels into blocks of factor x factor pixels (Shi et al. 2016), as PyTorch's PixelShuffle.
template <int factor>
struct PixelShuffle {
    template <Shape in>
    using expansion = layer::detail::IfGroupsDivide<factor * factor, in, layer::detail::PixelShuffleOf<factor, in>>;
    static constexpr bool expands = true;
};

}  // namespace primsel::inline PRIMSEL_ABI::layer
