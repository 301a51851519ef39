#pragma once

#include <primsel/core/simd.hpp>
#include <primsel/layer/layer.hpp>
#include <primsel/op/op_args.hpp>
#include <primsel/tensor/layout.hpp>

#include <concepts>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// The kernel of one kind of layer other than convolution: a specialisation of Op for its parameters. All members are
/// static:
/// - constexpr bool in_place: dst may be src[0]; otherwise dst overlaps no src;
/// - double operations(params, span of input shapes, output shape): the floating-point operations for one image, for
/// cost models;
/// - void run<Arch, L>(params, args): for each strided layout L or, if constrained, some of them with chw among them;
/// noexcept, allocates nothing, gives the same bits for every executor. params.check has accepted the shapes.
/// An op with weights also has
/// - std::size_t packed_floats(params, input shape): the floats that pack writes;
/// - void pack<L>(params, input shape, weights, dst): for the same L as run, the same for every Arch; writes all of
/// dst.
template <class Params>
struct Op;

/// True if the op has weights.
template <class Params>
inline constexpr bool has_weights = requires(Params const& params, Shape shape) {
    { Op<Params>::packed_floats(params, shape) } -> std::same_as<std::size_t>;
};

}  // namespace primsel::inline PRIMSEL_ABI
