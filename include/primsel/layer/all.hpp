// Every kind of layer, and the variant that holds any of them.
#pragma once

#include <primsel/layer/activation.hpp>
#include <primsel/layer/combine.hpp>
#include <primsel/layer/conv.hpp>
#include <primsel/layer/dense.hpp>
#include <primsel/layer/detection.hpp>
#include <primsel/layer/input.hpp>
#include <primsel/layer/norm.hpp>
#include <primsel/layer/pool.hpp>
#include <primsel/layer/reshape.hpp>

#include <string_view>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

/// The parameters of any layer.
using AnyLayer =
    std::variant<InputParams, ConvParams, PoolParams, GlobalPoolParams, ActivationParams, LrnParams, BatchNormParams,
                 ScaleParams, DenseParams, SoftmaxParams, AddParams, ConcatParams, FlattenParams, DropoutParams,
                 PadParams, ChannelShuffleParams, SliceParams, ConstantParams, ReshapeParams, AsStridedParams,
                 BinaryParams, MatMulParams, ReduceParams, ResizeParams, MaxPoolIndicesParams, ConvTransposeParams,
                 TopKParams, NonMaxSuppressionParams, GatherParams>;

[[nodiscard]] constexpr std::string_view kind(AnyLayer const& layer) {
    return std::visit([](auto const& params) { return std::string_view(params.name()); }, layer);
}

}  // namespace primsel::inline PRIMSEL_ABI
