// Every kind of layer, and the variant that holds any of them.
#pragma once

#include <primsel/core/visit.hpp>
#include <primsel/layer/activation.hpp>
#include <primsel/layer/combine.hpp>
#include <primsel/layer/conv.hpp>
#include <primsel/layer/conv_gradient.hpp>
#include <primsel/layer/dense.hpp>
#include <primsel/layer/detection.hpp>
#include <primsel/layer/gradient.hpp>
#include <primsel/layer/input.hpp>
#include <primsel/layer/norm.hpp>
#include <primsel/layer/own_layer.hpp>
#include <primsel/layer/pool.hpp>
#include <primsel/layer/recurrent.hpp>
#include <primsel/layer/reshape.hpp>
#include <primsel/layer/sampling.hpp>
#include <primsel/layer/training.hpp>

#include <concepts>
#include <string_view>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

/// The parameters of any layer.
using AnyLayer = std::variant<
    InputParams, ConvParams, PoolParams, GlobalPoolParams, ActivationParams, LrnParams, BatchNormParams, ScaleParams,
    DenseParams, SoftmaxParams, AddParams, ConcatParams, FlattenParams, DropoutParams, PadParams, ChannelShuffleParams,
    SliceParams, ConstantParams, ReshapeParams, AsStridedParams, BinaryParams, MatMulParams, ReduceParams, ResizeParams,
    MaxPoolIndicesParams, ConvTransposeParams, TopKParams, NonMaxSuppressionParams, GatherParams, ScatterParams,
    GridSampleParams, RoiAlignParams, ParameterParams, PoolGradientParams, GlobalPoolGradientParams,
    ActivationGradientParams, LrnGradientParams, BatchStatisticsParams, NormalizeParams, NormalizeSumsParams,
    NormalizeGradientParams, ChannelSumParams, SoftmaxGradientParams, RandomDropoutParams, ConvInputGradientParams,
    ConvWeightGradientParams, RepeatParams, AsStridedGradientParams, ResizeGradientParams, PlacedGradientParams,
    RecurrentGradientParams, DenseRowsParams, StandardizeParams, RecurrentParams, OwnLayerParams>;

/// Whether Params is one of the alternatives of AnyLayer.
template <class Params, class Kinds = AnyLayer>
inline constexpr bool is_kind_of_layer = false;
template <class Params, class... Kinds>
inline constexpr bool is_kind_of_layer<Params, std::variant<Kinds...>> = (std::same_as<Params, Kinds> || ...);

[[nodiscard]] constexpr std::string_view layer_kind(AnyLayer const& layer) {
    return core::visit([](auto const& params) { return std::string_view(params.name()); }, layer);
}

/// Returns the parameters of the user's own type P, or null if the layer is of another type.
template <OwnLayer P>
[[nodiscard]] P const* own_params(AnyLayer const& layer) {
    const auto* own = std::get_if<OwnLayerParams>(&layer);
    return own == nullptr ? nullptr : own->as<P>();
}

/// Whether layers with these parameters occur only in the graph of a training step.
template <class Params>
inline constexpr bool trains = requires { Params::training; };

/// Whether the layer has one result for the whole batch, computed from all images, instead of one result an image.
[[nodiscard]] constexpr bool of_batch(AnyLayer const& layer) {
    return core::visit([]<class Params>(Params const&) { return requires { Params::of_batch; }; }, layer);
}

}  // namespace primsel::inline PRIMSEL_ABI
