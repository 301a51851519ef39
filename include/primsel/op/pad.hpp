#pragma once

#include <primsel/layer/reshape.hpp>
#include <primsel/op/detail/copy.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/detail/rows.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>

namespace primsel::inline PRIMSEL_ABI {

template <>
struct Op<PadParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(PadParams const& params, std::span<const Shape> inputs, Shape output) {
        const Shape in = inputs[0];
        const bool together = L::strides(output).c == 1, swapped = op::detail::is_transposed<L>();
        const auto c = static_cast<std::size_t>(in.c), h = static_cast<std::size_t>(swapped ? in.w : in.h),
                   w = static_cast<std::size_t>(swapped ? in.h : in.w);
        if (together && in.c != output.c) return named("pixels", op::detail::row_counts<Arch>(h * w, c, 1));
        const std::size_t floats = static_cast<std::size_t>(swapped ? output.h : output.w) * (together ? c : 1);
        OpCounts counts = op::detail::row_counts<Arch>(output.size() / floats, floats, 1);
        if (params.mode == PadMode::constant) return counts;
        if (!together && floats <= most_columns) return named("columns", counts);
        // Each pixel of the border is a copy of its own.
        const Padding padding = swapped ? op::detail::exchanged(params.padding) : params.padding;
        counts.scalars = static_cast<double>((together ? 1 : c) * h) * (padding.left + padding.right);
        return named("border", counts);
    }

    template <class Arch, StridedLayout L>
    static void run(PadParams const& params, OpArgs const& args) noexcept {
        PadParams other = params;
        other.padding = op::detail::exchanged(params.padding);
        op::detail::with_rows_outside<L>(params, other, args, &pad<Arch>);
    }

private:
    /// The widest rows of one channel that are written by vectors.
    static constexpr int most_columns = 1024;
    /// The input column of each column, and the first one of each vector; -1 where a vector's columns are further apart
    /// than its lanes.
    struct Columns {
        int at[most_columns + 16];
        int first[most_columns];
    };
    template <class Arch>
    static void find(PadParams const& params, int in, int out, Columns& columns) noexcept {
        constexpr int width = lanes<Arch>;
        for (int w = 0; w < out; w += width) {
            int low = in, high = 0;
            for (int i = w; i < w + width; ++i) {
                const int at = source(params.mode, std::min(i, out - 1) - params.padding.left, in);
                low = std::min(low, at), high = std::max(high, at), columns.at[i] = at;
            }
            columns.first[w / width] = high - low < width ? low : -1;
        }
    }

    [[nodiscard]] static OpCounts named(std::string_view form, OpCounts counts) {
        counts.form = form;
        return counts;
    }

    template <class Arch>
    static void pad(PadParams const& params, OpArgs const& args, Strides from, Strides to) noexcept {
        const Shape in = args.src_shape[0], out = args.dst_shape;
        // If the channels of a pixel are contiguous, a row has all of them.
        const bool together = to.w != 1, constant = params.mode == PadMode::constant;
        const std::size_t before = static_cast<std::size_t>(params.padding.left) * to.w;
        const std::size_t after = static_cast<std::size_t>(params.padding.right) * to.w;
        const std::size_t floats = static_cast<std::size_t>(in.w) * from.w;
        // A row with a constant border of more than one vector is copied faster than its ends are masked.
        const bool by_vectors = !together && out.w <= (constant ? lanes<Arch> : most_columns);
        Columns columns;
        if (by_vectors && !constant) find<Arch>(params, in.w, out.w, columns);
        op::detail::for_rows(
            args.executor, args.batch, out, to, [=, &params, &args, &columns](op::detail::RowRange const& range) {
                for (int i = 0; i < range.count; ++i) {
                    const auto c = static_cast<std::size_t>(range[i].c), h = static_cast<std::size_t>(range[i].h);
                    float* dst = args.dst + range.image * out.size() + c * to.c + h * to.h;
                    const int channel = together ? 0 : range[i].c - params.front;
                    int row = range[i].h - params.padding.top;
                    if (!constant) row = source(params.mode, row, in.h);
                    if (row < 0 || row >= in.h || channel < 0 || channel >= in.c) {
                        std::fill_n(dst, static_cast<std::size_t>(out.w) * to.w, params.value);
                        continue;
                    }
                    const float* src = args.src[0] + range.image * in.size() +
                                       static_cast<std::size_t>(channel) * from.c +
                                       static_cast<std::size_t>(row) * from.h;
                    if (to.w != from.w) {
                        pad_pixels(params, in, src, dst);
                    } else if (by_vectors) {
                        pad_columns<Arch>(params, in.w, out.w, columns, src, dst);
                    } else if (constant) {
                        dst = std::fill_n(dst, before, params.value);
                        op::detail::copy_floats<Arch>(src, dst, floats);
                        std::fill_n(dst + floats, after, params.value);
                    } else {
                        op::detail::copy_floats<Arch>(src, dst + before, floats);
                        border<Arch>(params.mode, -params.padding.left, 0, in.w, src, dst, to.w);
                        border<Arch>(params.mode, in.w, in.w + params.padding.right, in.w, src, dst + before + floats,
                                     to.w);
                    }
                }
            });
    }

    /// Pads a row of `in` columns to one of `out` columns.
    template <class Arch>
    static PRIMSEL_INLINE void pad_columns(PadParams const& params, int in, int out, Columns const& columns,
                                           const float* src, float* dst) {
        constexpr int width = lanes<Arch>;
        const int left = params.padding.left;
        for (int w = 0; w < out; w += width) {
            const auto n = static_cast<std::size_t>(out - w);
            if (w >= left && w + width <= left + in) {
                store<Arch>(dst + w, load<Arch>(src + (w - left)));
            } else if (params.mode == PadMode::constant) {
                op::detail::store_up_to<Arch>(dst + w, op::detail::load_around<Arch>(src, w - left, in, params.value),
                                              n);
            } else {
                const int first = columns.first[w / width];
                if (first < 0) {
                    for (int i = w; i < std::min(w + width, out); ++i) dst[i] = src[columns.at[i]];
                } else {
                    const auto some = op::detail::load_up_to<Arch>(src + first, static_cast<std::size_t>(in - first));
                    op::detail::store_up_to<Arch>(dst + w, op::detail::permuted<Arch>(some, columns.at + w, first), n);
                }
            }
        }
    }

    /// Returns the element of `count` that a position outside stands for.
    static int source(PadMode mode, int at, int count) {
        switch (mode) {
            case PadMode::reflect:
                return at < 0 ? -at : at >= count ? 2 * (count - 1) - at : at;
            case PadMode::edge:
                return std::clamp(at, 0, count - 1);
            case PadMode::constant:
                break;
        }
        return at;
    }

    /// Writes pixels [first, last) of a row, all outside the image.
    template <class Arch>
    static void border(PadMode mode, int first, int last, int count, const float* src, float* dst, std::size_t pixel) {
        for (int w = first; w < last; ++w, dst += pixel) {
            op::detail::copy_floats<Arch>(src + static_cast<std::size_t>(source(mode, w, count)) * pixel, dst, pixel);
        }
    }

    /// Pads a row whose pixels get further channels.
    static void pad_pixels(PadParams const& params, Shape in, const float* src, float* dst) {
        const auto c = static_cast<std::size_t>(in.c), front = static_cast<std::size_t>(params.front),
                   back = static_cast<std::size_t>(params.back), pixel = front + c + back;
        dst = std::fill_n(dst, static_cast<std::size_t>(params.padding.left) * pixel, params.value);
        for (int w = 0; w < in.w; ++w, src += c) {
            dst = std::fill_n(dst, front, params.value);
            dst = std::copy_n(src, c, dst);
            dst = std::fill_n(dst, back, params.value);
        }
        std::fill_n(dst, static_cast<std::size_t>(params.padding.right) * pixel, params.value);
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
