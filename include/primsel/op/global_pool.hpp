#pragma once

#include <primsel/layer/pool.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/detail/window.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// One channel, of rows of neighbours.
template <class Arch, class Reduction>
float reduce_channel(const float* src, std::size_t rows, std::size_t stride, std::size_t columns) noexcept {
    using V = Floats<Arch>;
    constexpr std::size_t width = lanes<Arch>, several = 4;
    V sum[several] = {V(Reduction::identity), V(Reduction::identity), V(Reduction::identity), V(Reduction::identity)};
    for (std::size_t y = 0; y < rows; ++y, src += stride) {
        std::size_t x = 0;
        for (; x + several * width <= columns; x += several * width) {
            PRIMSEL_UNROLL
            for (std::size_t i = 0; i < several; ++i) {
                sum[i] = Reduction::template apply<Arch>(sum[i], load<Arch>(src + x + i * width));
            }
        }
        for (; x < columns; x += width) {
            const V rest = load_up_to<Arch>(src + x, columns - x, Reduction::identity);
            sum[0] = Reduction::template apply<Arch>(sum[0], rest);
        }
    }
    sum[0] = Reduction::template apply<Arch>(sum[0], sum[1]);
    sum[2] = Reduction::template apply<Arch>(sum[2], sum[3]);
    alignas(64) float lane[width];
    store<Arch>(lane, Reduction::template apply<Arch>(sum[0], sum[2]));
    float total = Reduction::identity;
    for (const float part : lane) total = Reduction::apply(total, part);
    return total;
}

template <class Arch, class Reduction>
void global_pool(OpArgs const& args, Strides from) noexcept {
    const Shape in = args.src_shape[0];
    const auto channels = static_cast<std::size_t>(in.c), images = static_cast<std::size_t>(args.batch);
    const auto h = static_cast<std::size_t>(in.h), w = static_cast<std::size_t>(in.w);
    const float* src = args.src[0];
    float* dst = args.dst;
    if (from.w != 1) {
        const PoolAxis axis{in.w, in.w, 1, 0, 0, false};
        const std::size_t group = 4 * lanes<Arch>, groups = (channels + group - 1) / group;
        for_ranges(args.executor, images * groups, group * in.pixels(), [=](std::size_t first, std::size_t last) {
            for (std::size_t item = first; item < last; ++item) {
                const std::size_t image = item / groups, c = item % groups * group;
                const WindowRows rows{src + image * in.size() + c, h, from.h};
                pool_pixels<Arch, Reduction>(axis, rows, static_cast<float>(in.h), channels,
                                             std::min(group, channels - c), dst + image * channels + c, 1);
            }
        });
        return;
    }
    const bool whole = from.h == w;  // the rows of a channel are neighbours too
    for_ranges(args.executor, images * channels, in.pixels(), [=](std::size_t first, std::size_t last) {
        for (std::size_t item = first; item < last; ++item) {
            const float* channel = src + item / channels * in.size() + item % channels * from.c;
            const float total = reduce_channel<Arch, Reduction>(channel, whole ? 1 : h, from.h, whole ? h * w : w);
            dst[item] = Reduction::averages ? total / static_cast<float>(in.pixels()) : total;
        }
    });
}

}  // namespace detail

/// A NaN in the image wins over every maximum.
template <>
struct Op<GlobalPoolParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(GlobalPoolParams const&, std::span<const Shape> inputs, Shape) {
        return static_cast<double>(inputs[0].size());
    }

    template <class Arch, StridedLayout L>
    static void run(GlobalPoolParams const& params, OpArgs const& args) noexcept {
        const Strides from = L::strides(args.src_shape[0]);
        if (params.kind == PoolKind::max) {
            detail::global_pool<Arch, detail::Maximum>(args, from);
        } else {
            detail::global_pool<Arch, detail::Average>(args, from);
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
