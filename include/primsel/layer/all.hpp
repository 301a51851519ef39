// Every kind of layer, and the variant that holds any of them.
#pragma once

#include <primsel/layer/activation.hpp>
#include <primsel/layer/combine.hpp>
#include <primsel/layer/conv.hpp>
#include <primsel/layer/conv_gradient.hpp>
#include <primsel/layer/dense.hpp>
#include <primsel/layer/detection.hpp>
#include <primsel/layer/gradient.hpp>
#include <primsel/layer/input.hpp>
#include <primsel/layer/norm.hpp>
#include <primsel/layer/pool.hpp>
#include <primsel/layer/reshape.hpp>
#include <primsel/layer/training.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

/// The parameters of any layer.
using AnyLayer =
    std::variant<InputParams, ConvParams, PoolParams, GlobalPoolParams, ActivationParams, LrnParams, BatchNormParams,
                 ScaleParams, DenseParams, SoftmaxParams, AddParams, ConcatParams, FlattenParams, DropoutParams,
                 PadParams, ChannelShuffleParams, SliceParams, ConstantParams, ReshapeParams, AsStridedParams,
                 BinaryParams, MatMulParams, ReduceParams, ResizeParams, MaxPoolIndicesParams, ConvTransposeParams,
                 TopKParams, NonMaxSuppressionParams, GatherParams, ParameterParams, PoolGradientParams,
                 GlobalPoolGradientParams, ActivationGradientParams, LrnGradientParams, BatchStatisticsParams,
                 NormalizeParams, NormalizeSumsParams, NormalizeGradientParams, ChannelSumParams, SoftmaxGradientParams,
                 RandomDropoutParams, ConvInputGradientParams, ConvWeightGradientParams>;

namespace detail {

template <class Result, std::size_t first, class Function>
constexpr Result visit_from(Function& function, AnyLayer const& layer) {
    constexpr std::size_t count = std::variant_size_v<AnyLayer>;
    constexpr auto at = [](std::size_t i) { return std::min(first + i, count - 1); };
    switch (layer.index() - first) {
        case 0:
            return function(*std::get_if<at(0)>(&layer));
        case 1:
            return function(*std::get_if<at(1)>(&layer));
        case 2:
            return function(*std::get_if<at(2)>(&layer));
        case 3:
            return function(*std::get_if<at(3)>(&layer));
        case 4:
            return function(*std::get_if<at(4)>(&layer));
        case 5:
            return function(*std::get_if<at(5)>(&layer));
        case 6:
            return function(*std::get_if<at(6)>(&layer));
        case 7:
            return function(*std::get_if<at(7)>(&layer));
        default:
            if constexpr (first + 8 < count) {
                return visit_from<Result, first + 8>(function, layer);
            } else {
                throw std::bad_variant_access();
            }
    }
}

}  // namespace detail

/// As std::visit, which takes compilers a fifth of a second a call for so many kinds of layers.
template <class Function>
constexpr decltype(auto) visit_layer(Function&& function, AnyLayer const& layer) {
    using Result = decltype(function(*std::get_if<0>(&layer)));
    return detail::visit_from<Result, 0>(function, layer);
}

[[nodiscard]] constexpr std::string_view kind(AnyLayer const& layer) {
    return visit_layer([](auto const& params) { return std::string_view(params.name()); }, layer);
}

/// Whether only a training step has such layers.
template <class Params>
inline constexpr bool trains = requires { Params::training; };

/// Whether the layer's result belongs to the whole batch: it is computed once, from all images, and there is one of it.
[[nodiscard]] constexpr bool of_batch(AnyLayer const& layer) {
    return visit_layer([]<class Params>(Params const&) { return requires { Params::of_batch; }; }, layer);
}

}  // namespace primsel::inline PRIMSEL_ABI
