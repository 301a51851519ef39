// Every op, and the check that every kind of layer but input, constant, parameter, convolution and the user's own has
// one.
#pragma once

#include <primsel/layer/all.hpp>
#include <primsel/op/activation.hpp>
#include <primsel/op/activation_gradient.hpp>
#include <primsel/op/affine.hpp>
#include <primsel/op/as_strided.hpp>
#include <primsel/op/as_strided_gradient.hpp>
#include <primsel/op/batch_sums.hpp>
#include <primsel/op/binary.hpp>
#include <primsel/op/combine.hpp>
#include <primsel/op/conv_transpose.hpp>
#include <primsel/op/dense.hpp>
#include <primsel/op/epilogue.hpp>
#include <primsel/op/gather.hpp>
#include <primsel/op/global_pool.hpp>
#include <primsel/op/grid_sample.hpp>
#include <primsel/op/lrn.hpp>
#include <primsel/op/lrn_gradient.hpp>
#include <primsel/op/matmul.hpp>
#include <primsel/op/max_pool_indices.hpp>
#include <primsel/op/non_max_suppression.hpp>
#include <primsel/op/normalize.hpp>
#include <primsel/op/op.hpp>
#include <primsel/op/pad.hpp>
#include <primsel/op/placed_gradient.hpp>
#include <primsel/op/pool.hpp>
#include <primsel/op/pool_gradient.hpp>
#include <primsel/op/random_dropout.hpp>
#include <primsel/op/recurrent.hpp>
#include <primsel/op/recurrent_gradient.hpp>
#include <primsel/op/reduce.hpp>
#include <primsel/op/repeat.hpp>
#include <primsel/op/reshape.hpp>
#include <primsel/op/resize.hpp>
#include <primsel/op/resize_gradient.hpp>
#include <primsel/op/roi_align.hpp>
#include <primsel/op/scatter.hpp>
#include <primsel/op/softmax.hpp>
#include <primsel/op/softmax_gradient.hpp>
#include <primsel/op/standardize.hpp>
#include <primsel/op/top_k.hpp>

#include <variant>

namespace primsel::inline PRIMSEL_ABI {

/// Whether the kind of layer has an op: a kernel in chw at least.
template <class Params>
inline constexpr bool has_op = requires(Params const& params, OpArgs const& args) {
    { Op<Params>::in_place } -> std::convertible_to<bool>;
    { Op<Params>::template work<default_arch, chw>(params, args.src_shape, args.dst_shape) } -> std::same_as<OpCounts>;
    { Op<Params>::template run<default_arch, chw>(params, args) } noexcept;
};

namespace op::detail {
template <class Layer>
struct EveryLayerHasOp;
template <class... Params>
struct EveryLayerHasOp<std::variant<Params...>> {
    static_assert(((has_op<Params> || std::same_as<Params, InputParams> || std::same_as<Params, ConstantParams> ||
                    std::same_as<Params, ParameterParams> || std::same_as<Params, ConvParams> ||
                    std::same_as<Params, ConvInputGradientParams> || std::same_as<Params, ConvWeightGradientParams> ||
                    std::same_as<Params, OwnLayerParams>)&&...));
};
template struct EveryLayerHasOp<AnyLayer>;
}  // namespace op::detail

}  // namespace primsel::inline PRIMSEL_ABI
