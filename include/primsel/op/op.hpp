#pragma once

#include <primsel/core/simd.hpp>
#include <primsel/layer/layer.hpp>
#include <primsel/op/op_args.hpp>
#include <primsel/tensor/layout.hpp>

#include <concepts>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// The kernel of one kind of non-convolution layer: a specialisation of Op for its parameters. All members are static:
/// - constexpr bool in_place: dst may be src[0]; otherwise dst overlaps no src;
/// - double operations(params, span of input shapes, output shape): floating-point operations for one image, for the
///   cost models;
/// - void run<Arch, L>(params, args): for each of the strided layouts, or where constrained for some, chw among them;
///   noexcept, no allocation, the same bits whatever
///   the executor. The shapes are those of the layer: params.check found no fault in them.
/// An op with weights also has
/// - std::size_t packed_floats(params, input shape): the room that pack needs;
/// - void pack<L>(params, input shape, weights, dst): for the same L as run, but for any Arch; fills all of dst.
template <class Params>
struct Op;

/// Whether the op has weights.
template <class Params>
inline constexpr bool has_weights = requires(Params const& params, Shape shape) {
    { Op<Params>::packed_floats(params, shape) } -> std::same_as<std::size_t>;
};

}  // namespace primsel::inline PRIMSEL_ABI
