#pragma once

#include <primsel/layer/pool.hpp>
#include <primsel/op/detail/dilated_axis.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/detail/rows.hpp>
#include <primsel/op/detail/separated_window.hpp>
#include <primsel/op/detail/sliding_window.hpp>
#include <primsel/op/detail/small_window.hpp>
#include <primsel/op/detail/window.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>
#include <span>

namespace primsel::inline PRIMSEL_ABI {

namespace op::detail {

template <class Arch, class Reduction>
void pool(PoolParams const& params, OpArgs const& args, Strides from, Strides to) noexcept {
    const Shape in = args.src_shape[0], out = args.dst_shape;
    const PoolAxis down{
        in.h, params.window.h, params.stride.h, params.padding.top, params.padding.bottom, params.count_include_pad};
    const PoolAxis across{
        in.w, params.window.w, params.stride.w, params.padding.left, params.padding.right, params.count_include_pad};
    if (from.w != 1 && from.c == 1 && is_separated<Arch>(across, std::min(down.size, down.in), out.c)) {
        return pool_each_axis<Arch, Reduction>(down, across, args);
    }
    if constexpr (pools_planes<Arch>) {
        const auto of_plane = is_small<Arch>(down, across)
                                  ? across.size == 3 ? &pool_small<Arch, Reduction, 3> : &pool_small<Arch, Reduction, 5>
                              : is_sliding<Arch>(down, across, out.w) ? &pool_sliding<Arch, Reduction>
                                                                      : nullptr;
        if (from.w == 1 && of_plane != nullptr) {
            return for_ranges(args.executor, static_cast<std::size_t>(args.batch) * static_cast<std::size_t>(out.c),
                              out.pixels(), [=, src = args.src[0], dst = args.dst](std::size_t begin, std::size_t end) {
                                  const auto channels = static_cast<std::size_t>(out.c);
                                  for (std::size_t item = begin; item < end; ++item) {
                                      const std::size_t image = item / channels, c = item % channels;
                                      const PooledPlane plane{src + image * in.size() + c * from.c, from.h,
                                                              dst + image * out.size() + c * to.c, to.h};
                                      of_plane(down, across, plane, out.h, out.w);
                                  }
                              });
        }
    }
    for_rows(args.executor, args.batch, out, to, [=, src = args.src[0], dst = args.dst](RowRange const& range) {
        constexpr int several = 16;
        OutputRow rows[several];
        for (int begin = 0; begin < range.count; begin += several) {
            const int count = std::min(several, range.count - begin);
            for (int i = 0; i < count; ++i) {
                const Coord at = range[begin + i];
                const auto c = static_cast<std::size_t>(at.c), h = static_cast<std::size_t>(at.h);
                const auto first = static_cast<std::size_t>(down.first(at.h));
                rows[i] = {.window = {src + range.image * in.size() + c * from.c + first * from.h,
                                      static_cast<std::size_t>(down.last(at.h)) - first, from.h},
                           .counted = static_cast<float>(down.counted(at.h)),
                           .dst = dst + range.image * out.size() + c * to.c + h * to.h};
            }
            const std::span<const OutputRow> some(rows, static_cast<std::size_t>(count));
            if constexpr (pools_planes<Arch>) {
                if (from.w == 1) {
                    pool_columns<Arch, Reduction>(across, some, out.w);
                    continue;
                }
            }
            pool_pixels<Arch, Reduction>(across, some, from.w, from.w, out.w);
        }
    });
}

/// Pools images in hwc, one axis of the windows after the other.
template <class Arch, class Reduction>
void pool_each_axis(PoolAxis const& down, PoolAxis const& across, OpArgs const& args) noexcept {
    const Shape in = args.src_shape[0], out = args.dst_shape;
    const auto rows = static_cast<std::size_t>(out.h), from = in.size() / static_cast<std::size_t>(in.h),
               to = out.size() / rows;
    for_ranges(args.executor, static_cast<std::size_t>(args.batch) * rows, to,
               [=, src = args.src[0], dst = args.dst](std::size_t begin, std::size_t end) {
                   for (std::size_t item = begin; item < end; ++item) {
                       const auto h = static_cast<std::ptrdiff_t>(item % rows);
                       const auto first = static_cast<std::size_t>(down.first(h));
                       const OutputRow row{.window = {src + item / rows * in.size() + first * from,
                                                      static_cast<std::size_t>(down.last(h)) - first, from},
                                           .counted = static_cast<float>(down.counted(h)),
                                           .dst = dst + item * to};
                       pool_separated<Arch, Reduction>(across, row, out.c, out.w);
                   }
               });
}

/// Pools dilated windows: every tap is added to all outputs of a row that it reaches.
template <class Arch, class Reduction>
void pool_dilated(PoolParams const& params, OpArgs const& args, Strides from, Strides to) noexcept {
    const Shape in = args.src_shape[0], out = args.dst_shape;
    const DilatedAxis down = axis_down(params, in), across = axis_across(params, in);
    const auto merge = [](const float* src, float* dst, std::size_t floats) {
        for (std::size_t i = 0; i < floats; i += lanes<Arch>) {
            const std::size_t n = floats - i;
            store_up_to<Arch>(
                dst + i, Reduction::template apply<Arch>(load_up_to<Arch>(dst + i, n), load_up_to<Arch>(src + i, n)),
                n);
        }
    };
    for_rows(args.executor, args.batch, out, to, [=, &args](RowRange const& range) {
        for (int i = 0; i < range.count; ++i) {
            const Coord row = range[i];
            const auto c = static_cast<std::size_t>(row.c), h = static_cast<std::size_t>(row.h);
            const float* src = args.src[0] + range.image * in.size() + c * from.c;
            float* dst = args.dst + range.image * out.size() + c * to.c + h * to.h;
            std::fill_n(dst, static_cast<std::size_t>(out.w) * to.w, Reduction::identity);
            for (std::ptrdiff_t y = down.first_tap(row.h), last_y = down.last_tap(row.h); y < last_y; ++y) {
                const float* src_row = src + static_cast<std::size_t>(down.at(row.h, y)) * from.h;
                for (std::ptrdiff_t x = 0; x < across.size; ++x) {
                    const std::ptrdiff_t first = across.first_output(x), last = across.last_output(x, out.w);
                    // With a step of 1, outputs are contiguous and so are their inputs.
                    const std::ptrdiff_t together = across.step == 1 ? last - first : 1;
                    for (std::ptrdiff_t w = first; w < last; w += together) {
                        merge(src_row + static_cast<std::size_t>(across.at(w, x)) * from.w,
                              dst + static_cast<std::size_t>(w) * to.w, static_cast<std::size_t>(together) * to.w);
                    }
                }
            }
            if constexpr (Reduction::averages) {
                const std::ptrdiff_t rows = down.counted(row.h);
                for (int w = 0; w < out.w; ++w, dst += to.w) {
                    const auto taps = static_cast<float>(rows * across.counted(w));
                    for (std::size_t j = 0; j < to.w; ++j) dst[j] /= taps;
                }
            }
        }
    });
}

template <class Arch, class Reduction>
void pool_any(PoolParams const& params, OpArgs const& args, Strides from, Strides to) noexcept {
    if (params.dilation == Extent{1}) {
        pool<Arch, Reduction>(params, args, from, to);
    } else {
        pool_dilated<Arch, Reduction>(params, args, from, to);
    }
}

template <class Arch>
void pool_of_kind(PoolParams const& params, OpArgs const& args, Strides from, Strides to) noexcept {
    if (params.kind == PoolKind::max) {
        pool_any<Arch, Maximum>(params, args, from, to);
    } else {
        pool_any<Arch, Average>(params, args, from, to);
    }
}

[[nodiscard]] constexpr PoolParams exchanged(PoolParams params) {
    params.window = exchanged(params.window), params.stride = exchanged(params.stride);
    params.padding = exchanged(params.padding), params.dilation = exchanged(params.dilation);
    return params;
}

}  // namespace op::detail

/// If the window contains NaN, the maximum is NaN, as in PyTorch.
template <>
struct Op<PoolParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(PoolParams const& params, std::span<const Shape> inputs, Shape output) {
        const Strides from = L::strides(inputs[0]);
        if constexpr (!op::detail::is_transposed<L>()) return counts<Arch>(params, inputs[0], output, from);
        return counts<Arch>(op::detail::exchanged(params), op::detail::exchanged(inputs[0]),
                            op::detail::exchanged(output), op::detail::exchanged(from));
    }

    template <class Arch, StridedLayout L>
    static void run(PoolParams const& params, OpArgs const& args) noexcept {
        op::detail::with_rows_outside<L>(params, op::detail::exchanged(params), args, &op::detail::pool_of_kind<Arch>);
    }

private:
    /// Counts of the form that pool_any runs, in vectors of taps.
    template <class Arch>
    [[nodiscard]] static OpCounts counts(PoolParams const& params, Shape in, Shape out, Strides from) {
        using op::detail::covering_lanes;
        const op::detail::PoolAxis down{in.h, params.window.h, params.stride.h, params.padding.top, 0, true},
            across{in.w, params.window.w, params.stride.w, params.padding.left, 0, true};
        const bool is_columns = from.w == 1;
        const auto channels = static_cast<std::size_t>(out.c), width = static_cast<std::size_t>(out.w);
        const double planes = static_cast<double>(is_columns ? channels : 1), rows = planes * out.h;
        if (params.dilation != Extent{1}) {
            const op::detail::DilatedAxis rows_apart = op::detail::axis_down(params, in),
                                          columns_apart = op::detail::axis_across(params, in);
            // Rows of the window inside the image, each with all outputs that a tap reaches, or with one after the
            // other.
            const double taps_down = rows_apart.taps(out.h), taps_across = columns_apart.taps(out.w),
                         at_once = across.step == 1 ? std::min(1.0 * params.window.w, taps_across) : taps_across,
                         loops = planes * taps_down * at_once;
            const std::size_t floats = (is_columns ? 1 : channels) * (across.step == 1 ? width : 1);
            return {.operations = loops * covering_lanes<Arch>(floats), .rows = loops, .form = "dilated"};
        }
        const double pixels = static_cast<double>(out.pixels()), window_rows = down.elements(out.h);
        if (!is_columns && op::detail::is_separated<Arch>(across, std::min(down.size, down.in), out.c)) {
            const double of_columns = across.step == 1 ? static_cast<double>(channels) : covering_lanes<Arch>(channels);
            return {.operations = window_rows * in.w * out.c + pixels * params.window.w * of_columns,
                    .rows = across.step == 1 ? rows : pixels,
                    .form = "separated"};
        }
        if (!is_columns) {
            const bool whole = params.window == Extent{2} || params.window == Extent{3};
            // Vectors that are left over from groups of four are summed one by one, each as long as a group.
            constexpr std::size_t group = 4 * lanes<Arch>;
            const std::size_t rest = (channels % group + lanes<Arch> - 1) / lanes<Arch>;
            const double vectors =
                whole ? covering_lanes<Arch>(channels) : static_cast<double>((channels / group + rest) * group);
            return {.operations = window_rows * across.elements(out.w) * vectors,
                    .rows = whole ? pixels : window_rows * out.w,
                    .form = whole ? "whole" : "taps"};
        }
        const double outputs = covering_lanes<Arch>(width),
                     columns = covering_lanes<Arch>(static_cast<std::size_t>(in.w));
        if (op::detail::is_small<Arch>(down, across)) {
            const double reduced = static_cast<double>(channels) * (in.h * params.window.w + window_rows + out.h);
            return {.operations = reduced * outputs, .rows = rows, .form = "small"};
        }
        if (op::detail::is_sliding<Arch>(down, across, out.w)) {
            const auto dealt = static_cast<std::size_t>(op::detail::dealt_columns(across, out.w));
            // Whole blocks of rows, with those of the padding.
            const std::ptrdiff_t block_rows = (((out.h - 1) * down.step) / down.size + 1) * down.size;
            const double each_plane =
                static_cast<double>(block_rows + in.h + out.h) *
                    covering_lanes<Arch>(dealt * static_cast<std::size_t>(across.step)) +
                static_cast<double>(op::detail::sliding_columns(across)) * out.h * static_cast<double>(dealt);
            return {.operations = static_cast<double>(channels) * each_plane, .rows = rows, .form = "sliding"};
        }
        OpCounts result{
            .operations = static_cast<double>(channels) * window_rows * columns, .rows = rows, .form = "columns"};
        if (across.step <= 3) {
            result.operations += rows * params.window.w * outputs;
        } else {
            result.scalars = rows * params.window.w * out.w;
        }
        return result;
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
