#pragma once

#include <primsel/core/simd.hpp>
#include <primsel/core/work.hpp>
#include <primsel/layer/layer.hpp>
#include <primsel/op/op_args.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>

namespace primsel::inline PRIMSEL_ABI {

/// The kernel of one kind of layer other than convolution: a specialisation of Op for its parameters. All members are
/// static:
/// - constexpr bool in_place: dst may be src[0]; otherwise dst overlaps no src;
/// - OpCounts work<Arch, L>(params, span of input shapes, output shape): the work for one image, for cost models, which
/// ask for it thousands of times;
/// - void run<Arch, L>(params, args): for each strided layout L or, if constrained, some of them with chw among them;
/// noexcept, allocates nothing, gives the same bits for every executor. params.check has accepted the shapes.
/// An op that needs room while it runs also has
/// - std::size_t scratch_floats<Arch>(params, span of input shapes, workers): the floats of OpArgs::scratch.
/// An op with weights also has
/// - std::size_t packed_floats(params, input shape): the floats that pack writes;
/// - void pack<L>(params, input shape, weights, dst): for the same L as run, the same for every Arch; writes all of
/// dst.
/// If pack does not need the whole input shape, it also has
/// - Shape packed_for(params, input shape): equal for inputs for which pack writes the same.
template <class Params>
struct Op;

/// An op's kernel for a layout L that is not strided: run<Arch>, work<Arch> and in_place, as in Op; in_place may be
/// missing. It writes also what the layout has between elements. An op with weights has
/// - Precision precision, double error_bound, as a Primitive;
/// - std::size_t packed_bytes(params, input shape) and void pack<L>(params, input shape, weights, dst), as in Op;
/// packed_for is that of Op if it has none.
///
/// Or a kernel of which the weights or products alone have elements like those of L. Its inputs and result are floats
/// in the strided layout `tensors`; it packs for that layout, and also has a std::string_view id. Without weights and
/// with the precision int8 it rounds its inputs to the bytes of their ranges. Either may have scratch_floats, as in Op.
template <class Params, class L>
struct OpIn;

/// True if an op compiled for the Arch gets one image at a time, which Arch::one_image says.
template <class Arch>
inline constexpr bool one_image = requires { requires Arch::one_image; };
/// False if the pools compiled for the Arch get no images whose rows are contiguous, which Arch::no_planes says.
template <class Arch>
inline constexpr bool pools_planes = !requires { requires Arch::no_planes; };

/// True if the op has weights.
template <class Params>
inline constexpr bool has_weights = requires(Params const& params, Shape shape) {
    { Op<Params>::packed_floats(params, shape) } -> std::same_as<std::size_t>;
};

namespace op {
/// Returns the rows of the larger of an op's output and first input, for ops that go through an image element by
/// element: the pixels if the channels of a pixel are contiguous, the rows of all channels otherwise.
template <StridedLayout L>
[[nodiscard]] double image_rows(std::span<const Shape> inputs, Shape output) {
    const auto rows_of = [](Shape const& shape) {
        return static_cast<double>(axis_order<L>()[2] == Axis::c
                                       ? shape.pixels()
                                       : static_cast<std::size_t>(shape.c) * static_cast<std::size_t>(shape.h));
    };
    return inputs.empty() ? rows_of(output) : std::max(rows_of(output), rows_of(inputs[0]));
}
/// Returns the counts of so many operations on the elements of images that are read and written once.
template <StridedLayout L>
[[nodiscard]] OpCounts element_counts(double operations, std::span<const Shape> inputs, Shape output) {
    return {.operations = operations, .rows = image_rows<L>(inputs, output)};
}
}  // namespace op

}  // namespace primsel::inline PRIMSEL_ABI
