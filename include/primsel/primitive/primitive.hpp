#pragma once

#include <primsel/core/simd.hpp>
#include <primsel/core/work.hpp>
#include <primsel/primitive/conv_args.hpp>
#include <primsel/primitive/conv_shape.hpp>
#include <primsel/primitive/kernel_view.hpp>
#include <primsel/primitive/rotated.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// One way to compute a convolution: a plain type with
/// - id: its published name; family; in_layout and out_layout;
/// - supports(shape): whether it can compute the shape;
/// - run<Arch>(shape, args): computes one image; noexcept, allocates nothing, gives the same bits for every executor.
/// Optional members:
/// - pass: the convolution of a layer that it computes (default forward); the shape is always that of the forward one.
/// For gradients see ConvArgs;
/// - whole_batch = true: run takes args.images images; required for the gradient of the weights. scratch_floats and
/// work may then take the number of images as a last argument;
/// - fuses_epilogue = true: run applies bias, residual and clamp itself; otherwise they are null and a separate pass
/// applies them;
/// - bounds_summand = true: run heeds ConvArgs::summand;
/// - strided_output = true: run heeds dst_stride, so that a concatenation of channels needs no copy;
/// - by_rows = true, to hwc from hwc or chw: some rows of the result, computed as a shape of their own (rows_of) from
/// an image of the rows under them, have the same bits as in the whole, and packed weights do not depend on the height;
/// - scratch_floats<Arch>(shape, workers): the floats of scratch that run needs with an executor of so many workers;
/// - pack<Arch>(shape, kernel, dst): rearranges the kernel, k x c/groups x fh x fw, once; or pack<Arch>(shape,
/// kernel_view, dst, executor), noexcept and without allocation, for trainable weights;
/// - packed_floats<Arch>(shape): the floats that pack writes (default: as many as the kernel has);
/// - packs_for_any_size = true: what pack writes depends neither on the height nor on the width of the image, so that
/// images of all sizes share it;
/// - work<Arch>(shape): the work for the analytical cost model;
/// - mixes_pixels = true: outputs are computed from pixels that they do not depend on, as in Winograd's tiles. An
/// infinite, NaN or huge pixel then spoils its neighbours (see PlanOptions::exact_support);
/// - precision = Precision::bf16 or f16: inputs and weights are rounded to it (see PlanOptions::precision);
/// - error_bound: the largest error relative to the output's RMS, for inputs of zero mean (default 2e-5, and 3e-5 for
/// gradients).
///
/// examples/own_primitive.cpp is a minimal model.
template <class P>
concept Primitive = requires(ConvShape const& shape, ConvArgs const& args) {
    { P::id } -> std::convertible_to<std::string_view>;
    { P::family } -> std::convertible_to<Family>;
    requires Layout<typename P::in_layout>;
    requires Layout<typename P::out_layout>;
    { P::supports(shape) } -> std::same_as<Support>;
    { P::template run<default_arch>(shape, args) } noexcept;
};

namespace primitive {

// Tests whether a member can be called, and whether there is one of its name.
template <class P, class Arch>
concept PacksOnce =
    requires(ConvShape const& shape, const float* kernel, float* dst) { P::template pack<Arch>(shape, kernel, dst); };
template <class P, class Arch>
concept PacksAgain = requires(ConvShape const& shape, KernelView kernel, float* dst, ExecutorRef executor) {
    P::template pack<Arch>(shape, kernel, dst, executor);
};
template <class P, class Arch>
concept Packs = PacksOnce<P, Arch> || PacksAgain<P, Arch>;
template <class P, class Arch>
concept NamesPack = requires { &P::pack; } || requires { &P::template pack<Arch>; };
template <class P, class Arch>
concept BooksPacked = requires(ConvShape const& shape) {
    { P::template packed_floats<Arch>(shape) } -> std::convertible_to<std::size_t>;
};
template <class P, class Arch>
concept NamesPackedFloats = requires { &P::packed_floats; } || requires { &P::template packed_floats<Arch>; };
template <class P, class Arch>
concept BooksScratch = requires(ConvShape const& shape, std::size_t workers) {
    { P::template scratch_floats<Arch>(shape, workers) } -> std::convertible_to<std::size_t>;
} || requires(ConvShape const& shape, std::size_t workers, int images) {
    { P::template scratch_floats<Arch>(shape, workers, images) } -> std::convertible_to<std::size_t>;
};
template <class P, class Arch>
concept NamesScratchFloats = requires { &P::scratch_floats; } || requires { &P::template scratch_floats<Arch>; };

/// Fails to compile with a message that names the primitive's member that is missing, or whose signature nobody calls.
template <class P, class Arch>
struct CheckPrimitive {
    static_assert(
        requires {
            { P::id } -> std::convertible_to<std::string_view>;
        }, "primsel: a primitive has no id, its name; see docs/primitive/primitive.md");
    static_assert(
        requires {
            { P::family } -> std::convertible_to<Family>;
        }, "primsel: a primitive has no family; see docs/primitive/primitive.md");
    static_assert(
        requires { requires Layout<typename P::in_layout>; },
        "primsel: a primitive has no in_layout that is a Layout; see docs/primitive/primitive.md");
    static_assert(
        requires { requires Layout<typename P::out_layout>; },
        "primsel: a primitive has no out_layout that is a Layout; see docs/primitive/primitive.md");
    static_assert(
        requires(ConvShape const& shape) {
            { P::supports(shape) } -> std::same_as<Support>;
        }, "primsel: a primitive has no supports(shape) that returns Support; see docs/primitive/primitive.md");
    static_assert(
        requires(ConvShape const& shape, ConvArgs const& args) {
            { P::template run<Arch>(shape, args) } noexcept;
        }, "primsel: a primitive has no noexcept run<Arch>(shape, args); see docs/primitive/primitive.md");

    static_assert(
        Packs<P, Arch> || !NamesPack<P, Arch>,
        "primsel: a primitive's pack is no pack<Arch>(shape, kernel, dst) nor one of (shape, kernel_view, dst, "
        "executor); see docs/primitive/primitive.md");
    static_assert(BooksPacked<P, Arch> || !NamesPackedFloats<P, Arch>,
                  "primsel: a primitive's packed_floats is no packed_floats<Arch>(shape); see "
                  "docs/primitive/primitive.md");
    static_assert(Packs<P, Arch> || !BooksPacked<P, Arch> || NamesPack<P, Arch>,
                  "primsel: a primitive has packed_floats, but no pack that fills them; see "
                  "docs/primitive/primitive.md");
    static_assert(BooksScratch<P, Arch> || !NamesScratchFloats<P, Arch>,
                  "primsel: a primitive's scratch_floats is no scratch_floats<Arch>(shape, workers); see "
                  "docs/primitive/primitive.md");
    static constexpr bool value = true;
};

}  // namespace primitive

/// Returns the shape of one image with as many output rows as so many images have.
[[nodiscard]] constexpr ConvShape tall(ConvShape shape, int images) {
    shape.h = (images * shape.out_h() - 1) * shape.stride_h + shape.span_h() - shape.pad_top - shape.pad_bottom;
    return shape;
}

/// The members of a primitive, with defaults for the optional ones.
template <class P, class Arch>
struct PrimitiveTraits {
    [[nodiscard]] static constexpr bool fuses_epilogue() {
        if constexpr (requires { P::fuses_epilogue; }) return P::fuses_epilogue;
        return false;
    }
    [[nodiscard]] static constexpr bool bounds_summand() {
        if constexpr (requires { P::bounds_summand; }) return P::bounds_summand;
        return false;
    }
    [[nodiscard]] static constexpr Pass pass() {
        if constexpr (requires { P::pass; }) return P::pass;
        return Pass::forward;
    }
    [[nodiscard]] static constexpr bool whole_batch() {
        if constexpr (requires { P::whole_batch; }) return P::whole_batch;
        return false;
    }
    [[nodiscard]] static constexpr bool strided_output() {
        if constexpr (requires { P::strided_output; }) return P::strided_output;
        return false;
    }
    [[nodiscard]] static constexpr bool by_rows() {
        if constexpr (requires { P::by_rows; }) return P::by_rows;
        return false;
    }
    [[nodiscard]] static constexpr bool packs_for_any_size() {
        if constexpr (requires { P::packs_for_any_size; }) return P::packs_for_any_size;
        return !primitive::Packs<P, Arch>;
    }
    [[nodiscard]] static constexpr bool mixes_pixels() {
        if constexpr (requires { P::mixes_pixels; }) return P::mixes_pixels;
        return false;
    }
    [[nodiscard]] static constexpr Precision precision() {
        if constexpr (requires { P::precision; }) return P::precision;
        return Precision::float32;
    }
    [[nodiscard]] static constexpr double error_bound() {
        if constexpr (requires { P::error_bound; }) return P::error_bound;
        // Measured over depths up to 8192 channels x 9.
        return pass() == Pass::forward ? 2e-5 : 3e-5;
    }
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& shape, std::size_t workers, int images = 1) {
        if constexpr (requires { P::template scratch_floats<Arch>(shape, workers, images); }) {
            return P::template scratch_floats<Arch>(shape, workers, images);
        } else if constexpr (requires { P::template scratch_floats<Arch>(shape, workers); }) {
            return P::template scratch_floats<Arch>(shape, workers);
        }
        return 0;
    }
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& shape) {
        if constexpr (pass() == Pass::weight_gradient) return 0;
        if constexpr (requires { P::template packed_floats<Arch>(shape); }) {
            return P::template packed_floats<Arch>(shape);
        }
        return shape.kernel_size();
    }
    static void pack(ConvShape const& shape, const float* kernel, float* dst) {
        Sequential here;
        repack(shape, {kernel}, dst, here);
    }
    static void repack(ConvShape const& shape, KernelView kernel, float* dst, ExecutorRef executor) {
        if constexpr (requires { P::template pack<Arch>(shape, kernel, dst, executor); }) {
            P::template pack<Arch>(shape, kernel, dst, executor);
        } else if (kernel.rotated) {
            std::vector<float> rotated(shape.kernel_size());
            rotate_kernel(primsel::rotated(shape), kernel.data, rotated.data());
            repack(shape, {rotated.data()}, dst, executor);
        } else if constexpr (requires { P::template pack<Arch>(shape, kernel.data, dst); }) {
            P::template pack<Arch>(shape, kernel.data, dst);
        } else {
            std::copy_n(kernel.data, shape.kernel_size(), dst);
        }
    }
    /// Returns the work of one run: for one image, or for `images` if the primitive takes whole batches. Only the
    /// blocks of the phases depend on the number of threads, or the phases themselves where they are computed
    /// otherwise.
    [[nodiscard]] static Work work(ConvShape const& shape, int images = 1, int threads = 1) {
        if constexpr (requires { P::template work<Arch>(shape, images, threads); }) {
            return P::template work<Arch>(shape, images, threads);
        } else if constexpr (requires { P::template work<Arch>(shape, images); }) {
            return P::template work<Arch>(shape, images);
        } else if constexpr (requires { P::template work<Arch>(shape); }) {
            return P::template work<Arch>(whole_batch() ? tall(shape, images) : shape);
        }
        const double bytes = 4.0 * static_cast<double>(shape.in_shape().size() + shape.out_shape().size());
        return Work{}.add({.rate = Rate::scalar,
                           .operations = shape.operations(),
                           .bytes = bytes,
                           .working_set = bytes + 4.0 * static_cast<double>(shape.kernel_size())});
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
