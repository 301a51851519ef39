#pragma once

#include <primsel/layer/pool.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/detail/rows.hpp>
#include <primsel/op/detail/short_rows.hpp>
#include <primsel/op/detail/window.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>

namespace primsel::inline PRIMSEL_ABI {

namespace op::detail {

/// Pools images in chw, hcw or hwc.
template <class Arch, class Reduction>
void global_pool(OpArgs const& args, Strides from) noexcept {
    const Shape in = args.src_shape[0];
    const auto channels = static_cast<std::size_t>(in.c), images = static_cast<std::size_t>(args.batch);
    const auto h = static_cast<std::size_t>(in.h), w = static_cast<std::size_t>(in.w);
    const float* src = args.src[0];
    float* dst = args.dst;
    if (!pools_planes<Arch> || from.w != 1) {
        const PoolAxis axis{in.w, in.w, 1, 0, 0, false};
        const std::size_t group = 4 * lanes<Arch>, groups = (channels + group - 1) / group;
        for_ranges(args.executor, images * groups, group * in.pixels(), [=](std::size_t first, std::size_t last) {
            for (std::size_t item = first; item < last; ++item) {
                const std::size_t image = item / groups, c = item % groups * group;
                const OutputRow row{.window = {src + image * in.size() + c, h, from.h},
                                    .counted = static_cast<float>(in.h),
                                    .dst = dst + image * channels + c};
                pool_pixels<Arch, Reduction>(axis, {&row, 1}, channels, std::min(group, channels - c), 1);
            }
        });
        return;
    }
    if constexpr (pools_planes<Arch>) {
        const auto pixels = static_cast<double>(in.pixels());
        if (from.h == w && from.c == in.pixels()) {
            for_ranges(args.executor, images * channels, in.pixels(), [=](std::size_t first, std::size_t last) {
                reduce_contiguous<Arch, Reduction>(src + first * in.pixels(), last - first, in.pixels(), pixels,
                                                   dst + first);
            });
            return;
        }
        for_ranges(args.executor, images * channels, in.pixels(), [=](std::size_t first, std::size_t last) {
            std::size_t image = first / channels, c = first % channels;
            for (std::size_t item = first; item < last; ++item) {
                const float* channel = src + image * in.size() + c * from.c;
                dst[item] = reduce_rows<Arch, Reduction>({channel, h, from.h}, w, pixels);
                if (++c == channels) c = 0, ++image;
            }
        });
    }
}

}  // namespace op::detail

/// If the image contains NaN, the maximum is NaN.
template <>
struct Op<GlobalPoolParams> {
    static constexpr bool in_place = false;

    /// Where the channels of a pixel are contiguous, up to four vectors are summed at a time; one alone takes as long.
    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(GlobalPoolParams const&, std::span<const Shape> inputs, Shape) {
        const Shape in = inputs[0];
        const auto channels = static_cast<std::size_t>(in.c);
        if constexpr (op::detail::axis_view<L>(Shape{2, 2, 2}, 1, Axis::c).inner == 1) {
            const std::size_t group = 4 * lanes<Arch>, groups = channels / group, rest = channels % group;
            const auto steps = static_cast<double>(groups + (rest + lanes<Arch> - 1) / lanes<Arch>);
            return {.operations = steps * static_cast<double>(group * in.pixels()),
                    .rows = static_cast<double>(in.h) * steps};
        }
        if (op::detail::channel_view<L>(in, 1).inner == in.pixels()) {
            OpCounts counts = op::detail::row_counts<Arch>(channels, in.pixels(), 1);
            counts.form = in.pixels() <= op::detail::longest_short_row<Arch> ? "short" : "long";
            return counts;
        }
        return op::detail::row_counts<Arch>(channels * static_cast<std::size_t>(in.h), static_cast<std::size_t>(in.w),
                                            1);
    }

    template <class Arch, StridedLayout L>
    static void run(GlobalPoolParams const& params, OpArgs const& args) noexcept {
        op::detail::with_rows_outside<L>(params, params, args, &pool<Arch>);
    }

private:
    template <class Arch>
    static void pool(GlobalPoolParams const& params, OpArgs const& args, Strides from, Strides) noexcept {
        if (params.kind == PoolKind::max) {
            op::detail::global_pool<Arch, op::detail::Maximum>(args, from);
        } else {
            op::detail::global_pool<Arch, op::detail::Average>(args, from);
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
