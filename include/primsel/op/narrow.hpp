// Layers that run alike in hwc_u8 and hwc_bf16: those that move elements, and those that combine them as
// floats.
#pragma once

#include <primsel/layer/combine.hpp>
#include <primsel/layer/reshape.hpp>
#include <primsel/op/binary.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/detail/narrow.hpp>
#include <primsel/op/detail/narrow_elements.hpp>
#include <primsel/op/op.hpp>
#include <primsel/op/pad.hpp>
#include <primsel/op/reshape.hpp>
#include <primsel/op/resize.hpp>
#include <primsel/tensor/hwc_u8.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <span>

namespace primsel::inline PRIMSEL_ABI {

namespace op::detail {

/// An image whose pixels are words of four bytes: as a pixel is a number of them, ops that only move pixels run in hwc.
template <NarrowLayout L>
[[nodiscard]] constexpr Shape in_words(Shape shape) {
    shape.c = static_cast<int>(L::pixel(shape.c) * sizeof(element_of<L>) / sizeof(float));
    return shape;
}
template <class Arch, NarrowLayout L, class Params>
[[nodiscard]] OpCounts work_in_words(Params const& params, std::span<const Shape> inputs, Shape output) {
    const Shape in = in_words<L>(inputs[0]);
    OpCounts counts = Op<Params>::template work<Arch, hwc>(params, {&in, 1}, in_words<L>(output));
    counts.bytes = narrow_counts<L>(0, inputs, output).bytes;
    return counts;
}
template <class Arch, NarrowLayout L, class Params>
void run_in_words(Params const& params, OpArgs const& args) noexcept {
    const Shape in = in_words<L>(args.src_shape[0]);
    OpArgs words = args;
    words.src_shape = {&in, 1}, words.dst_shape = in_words<L>(args.dst_shape);
    Op<Params>::template run<Arch, hwc>(params, words);
    if constexpr (NeedsRange<L>) {
        if (args.src_range[0] == args.dst_range) return;
        const NarrowImages<L> dst(args.dst, args.dst_shape);
        for_ranges(args.executor, static_cast<std::size_t>(args.batch) * dst.image, 1,
                   [&](std::size_t first, std::size_t last) {
                       copy_elements(args, 0, dst.data + first, last - first, dst.data + first);
                   });
    }
}

}  // namespace op::detail

template <op::detail::NarrowLayout L>
struct OpIn<ConcatParams, L> {
    template <class Arch>
    [[nodiscard]] static OpCounts work(ConcatParams const& params, std::span<const Shape> inputs, Shape output) {
        OpCounts counts = op::detail::narrow_counts<L>(0, inputs, output);
        counts.rows = static_cast<double>(runs_of(params.axis, output) * inputs.size());
        return counts;
    }
    template <class Arch>
    static void run(ConcatParams const& params, OpArgs const& args) noexcept {
        const op::detail::NarrowImages<L> dst(args.dst, args.dst_shape);
        const std::size_t runs = runs_of(params.axis, dst.shape), length = dst.image / runs;
        op::detail::for_ranges(args.executor, static_cast<std::size_t>(args.batch) * runs, length,
                               [&](std::size_t first, std::size_t last) {
                                   for (std::size_t run = first; run < last; ++run) {
                                       join(params.axis, args, runs, run, dst.data + run * length,
                                            dst.data + (run + 1) * length);
                                   }
                               });
    }

private:
    /// Returns the number of the result's runs, to which each input gives a part.
    [[nodiscard]] static std::size_t runs_of(Axis axis, Shape out) {
        if (axis == Axis::c) return out.pixels();
        return axis == Axis::w ? static_cast<std::size_t>(out.h) : 1;
    }
    static void join(Axis axis, OpArgs const& args, std::size_t runs, std::size_t run, element_of<L>* dst,
                     element_of<L>* end) noexcept {
        for (std::size_t i = 0; i < args.src.size(); ++i) {
            const op::detail::NarrowImages<L> src(args.src[i], args.src_shape[i]);
            const std::size_t part = src.image / runs,
                              n = axis == Axis::c ? static_cast<std::size_t>(src.shape.c) : part;
            op::detail::copy_elements(args, i, src.data + run * part, n, dst);
            dst += n;
        }
        std::fill(dst, end, element_of<L>{});
    }
};

template <op::detail::NarrowLayout L>
struct OpIn<SliceParams, L> {
    template <class Arch>
    [[nodiscard]] static OpCounts work(SliceParams const& params, std::span<const Shape> inputs, Shape output) {
        OpCounts counts = params.axis == Axis::c ? op::detail::narrow_counts<L>(0, inputs, output)
                                                 : op::detail::work_in_words<Arch, L>(params, inputs, output);
        counts.bytes = 2.0 * sizeof(element_of<L>) * static_cast<double>(L::size(output));
        return counts;
    }
    template <class Arch>
    static void run(SliceParams const& params, OpArgs const& args) noexcept {
        if (params.axis != Axis::c) return op::detail::run_in_words<Arch, L>(params, args);
        const auto first = static_cast<std::size_t>(params.first), count = static_cast<std::size_t>(args.dst_shape.c);
        op::detail::for_pixels<L>(
            args, [&](auto const* src, auto* dst) { op::detail::copy_elements(args, 0, src + first, count, dst); });
    }
};

template <op::detail::NarrowLayout L>
struct OpIn<ChannelShuffleParams, L> {
    template <class Arch>
    [[nodiscard]] static OpCounts work(ChannelShuffleParams const&, std::span<const Shape> inputs, Shape output) {
        OpCounts counts = op::detail::narrow_counts<L>(0, inputs, output);
        counts.scalars = static_cast<double>(output.size());
        return counts;
    }
    template <class Arch>
    static void run(ChannelShuffleParams const& params, OpArgs const& args) noexcept {
        const auto channels = static_cast<std::size_t>(args.dst_shape.c),
                   groups = static_cast<std::size_t>(params.groups);
        op::detail::for_pixels<L>(args, [&](auto const* src, auto* dst) {
            if (groups == 2) {
                interleave<2>(src, channels / 2, 2, dst);
            } else {
                interleave<0>(src, channels / groups, groups, dst);
            }
            op::detail::copy_elements(args, 0, dst, channels, dst);
        });
    }

private:
    /// Interleaves rows of so many elements; their number may be a constant.
    template <std::size_t known>
    static void interleave(const element_of<L>* PRIMSEL_RESTRICT src, std::size_t row, std::size_t rows,
                           element_of<L>* PRIMSEL_RESTRICT dst) noexcept {
        const std::size_t count = known == 0 ? rows : known;
        for (std::size_t i = 0; i < row; ++i) {
            for (std::size_t j = 0; j < count; ++j) dst[i * count + j] = src[j * row + i];
        }
    }
};

/// A constant has the element of the result's range that is nearest to it.
template <op::detail::NarrowLayout L>
struct OpIn<PadParams, L> {
    template <class Arch>
    [[nodiscard]] static OpCounts work(PadParams const& params, std::span<const Shape> inputs, Shape output) {
        if (params.mode != PadMode::constant) return op::detail::work_in_words<Arch, L>(params, inputs, output);
        return op::detail::narrow_counts<L>(0, inputs, output);
    }
    template <class Arch>
    static void run(PadParams const& params, OpArgs const& args) noexcept {
        if (params.mode != PadMode::constant) return op::detail::run_in_words<Arch, L>(params, args);
        const Images src(args.src[0], args.src_shape[0]), dst(args.dst, args.dst_shape);
        Element value{};
        op::detail::store_value(params.value, args, value);
        const auto rows = static_cast<std::size_t>(dst.shape.h);
        op::detail::for_ranges(args.executor, static_cast<std::size_t>(args.batch) * rows, dst.image / rows,
                               [&](std::size_t first, std::size_t last) {
                                   for (std::size_t row = first; row < last; ++row) {
                                       const int h = static_cast<int>(row % rows) - params.padding.top;
                                       Element* const to = dst.data + row * (dst.image / rows);
                                       if (h < 0 || h >= src.shape.h) {
                                           fill(dst, value, to, dst.shape.w);
                                       } else {
                                           pad_row(params, args, src.at(row / rows, h, 0), src, dst, value, to);
                                       }
                                   }
                               });
    }

private:
    using Element = element_of<L>;
    using Images = op::detail::NarrowImages<L>;

    /// Writes pixels of the value and returns the next.
    static Element* fill(Images const& dst, Element value, Element* to, int pixels) noexcept {
        const auto channels = static_cast<std::size_t>(dst.shape.c);
        for (int i = 0; i < pixels; ++i) {
            to = std::fill_n(to, channels, value);
            to = std::fill_n(to, dst.pixel - channels, Element{});
        }
        return to;
    }
    static void pad_row(PadParams const& params, OpArgs const& args, const Element* from, Images const& src,
                        Images const& dst, Element value, Element* to) noexcept {
        const auto front = static_cast<std::size_t>(params.front), back = static_cast<std::size_t>(params.back),
                   channels = static_cast<std::size_t>(src.shape.c), columns = static_cast<std::size_t>(src.shape.w);
        to = fill(dst, value, to, params.padding.left);
        if (front + back == 0) {
            op::detail::copy_elements(args, 0, from, columns * src.pixel, to);
            to += columns * dst.pixel;
        }
        for (std::size_t w = 0; w < columns && front + back != 0; ++w, from += src.pixel) {
            to = std::fill_n(to, front, value);
            op::detail::copy_elements(args, 0, from, channels, to);
            to = std::fill_n(to + channels, back, value);
            to = std::fill_n(to, dst.pixel - front - channels - back, Element{});
        }
        fill(dst, value, to, params.padding.right);
    }
};

/// Interpolates in floats; the products are rounded in hwc_u8, where the bytes are less their zero point.
template <op::detail::NarrowLayout L>
struct OpIn<ResizeParams, L> {
    /// Pixels that are interpolated are converted, which takes as long again.
    template <class Arch>
    [[nodiscard]] static OpCounts work(ResizeParams const& params, std::span<const Shape> inputs, Shape output) {
        if (params.mode == ResizeMode::nearest) return op::detail::work_in_words<Arch, L>(params, inputs, output);
        OpCounts counts = Op<ResizeParams>::work<Arch, hwc>(params, inputs, output);
        counts.operations *= 2;
        counts.bytes = op::detail::narrow_counts<L>(0, inputs, output).bytes;
        return counts;
    }
    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ResizeParams const& params, std::span<const Shape> inputs,
                                                    std::size_t workers) {
        const Shape room{static_cast<int>(L::pixel(inputs[0].c)), inputs[0].h, inputs[0].w};
        return O::scratch_floats<Arch>(params, {&room, 1}, workers);
    }
    template <class Arch>
    static void run(ResizeParams const& params, OpArgs const& args) noexcept {
        if (params.mode == ResizeMode::nearest) return op::detail::run_in_words<Arch, L>(params, args);
        using Element = element_of<L>;
        const Shape in = args.src_shape[0];
        const std::size_t pixel = L::pixel(in.c), row = static_cast<std::size_t>(in.w) * pixel;
        const Strides from{.c = 1, .h = row, .w = pixel},
            to{.c = 1, .h = static_cast<std::size_t>(args.dst_shape.w) * pixel, .w = pixel};
        const auto elements = op::detail::elements_in<Arch>(L{}, args, factor(args));
        if (O::has_table(params)) {
            O::template by_table<Arch>(elements, params, args, from, to, L::size(in));
        } else {
            O::each_row<Element>(params, args, from, to, L::size(in),
                                 [=](O::Columns const& of, O::Row const& rows, const Element* src, Element* dst) {
                                     O::linear_pixels(elements, rows, row, of, pixel, src, dst);
                                 });
        }
        op::detail::write_zeros_behind<L>(args);
    }

private:
    using O = Op<ResizeParams>;

    [[nodiscard]] static float factor(OpArgs const& args) {
        if (!NeedsRange<L> || args.src_range[0] == args.dst_range) return 1;
        return args.src_range[0].scale * (1 / args.dst_range.scale);
    }
};

/// The function of two values. In hwc_u8 a product is that of the bytes less their zero points, times one factor.
template <op::detail::NarrowLayout L>
struct OpIn<BinaryParams, L> {
    static constexpr bool in_place = true;

    template <class Arch>
    [[nodiscard]] static OpCounts work(BinaryParams const& params, std::span<const Shape> inputs, Shape output) {
        OpCounts counts = Op<BinaryParams>::work<Arch, hwc>(params, inputs, output);
        // Two conversions of inputs and one of the result.
        counts.operations += 3 * static_cast<double>(L::size(output));
        counts.bytes = op::detail::narrow_counts<L>(0, inputs, output).bytes;
        return counts;
    }
    template <class Arch>
    static void run(BinaryParams const& params, OpArgs const& args) noexcept {
        using O = Op<BinaryParams>;
        const Shape a = args.src_shape[0], b = args.src_shape[1], out = args.dst_shape;
        O::Axes axes;
        const auto add = [&](int extent, auto const& step) {
            axes.add(static_cast<std::size_t>(extent),
                     {static_cast<std::ptrdiff_t>(step(a)), static_cast<std::ptrdiff_t>(step(b))});
        };
        const auto pixel = [](Shape const& shape) { return L::pixel(shape.c); };
        add(args.batch, [](Shape const& shape) { return L::size(shape); });
        add(out.h, [&](Shape const& s) { return s.h == 1 ? 0 : static_cast<std::size_t>(s.w) * pixel(s); });
        add(out.w, [&](Shape const& s) { return s.w == 1 ? 0 : pixel(s); });
        add(static_cast<int>(pixel(out)), [&](Shape const& s) { return s.c == out.c ? 1 : 0; });
        if constexpr (NeedsRange<L>) {
            const float scale_a = args.src_range[0].scale, scale_b = args.src_range[1].scale,
                        factor = 1 / args.dst_range.scale;
            if (params.kind == BinaryKind::multiply) {
                return O::rows(op::detail::elements_in<Arch>(L{}, args, scale_a * scale_b * factor), args, axes,
                               [](Floats<Arch> const& x, Floats<Arch> const& y) { return x * y; });
            }
            const auto elements = op::detail::elements_in<Arch>(L{}, args, factor);
            const auto rows = [&](auto const& f) {
                O::rows(elements, args, axes, [=](Floats<Arch> const& x, Floats<Arch> const& y) {
                    return f(rounded_product<Arch>(x, Floats<Arch>(scale_a)),
                             rounded_product<Arch>(y, Floats<Arch>(scale_b)));
                });
            };
            O::with_function<Arch>(params.kind, rows, rows);
        } else {
            const auto rows = [&](auto const& f) {
                O::rows(op::detail::elements_in<Arch>(L{}, args, 1), args, axes, f);
            };
            O::with_function<Arch>(params.kind, rows, rows);
        }
        op::detail::write_zeros_behind<L>(args);
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
