#pragma once

#include <primsel/layer/gradient.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/op.hpp>
#include <primsel/op/resize.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// Distributes each pixel of dy, by its weights, to the pixels between which it lies. Pixels are added in their order.
template <>
struct Op<ResizeGradientParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(ResizeGradientParams const& params, std::span<const Shape> inputs,
                                       Shape output) {
        const ResizeMode mode = params.resize.mode;
        const double of_pixel = mode == ResizeMode::cubic ? 36.0 : mode == ResizeMode::linear ? 8.0 : 1.0;
        return op::element_counts<L>(of_pixel * static_cast<double>(inputs[0].size()), inputs, output);
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(ResizeGradientParams const& params, OpArgs const& args) noexcept {
        const Shape small = params.input, large = args.src_shape[0];
        ResizeParams const& resize = params.resize;
        const op::detail::ResizeAxis down{small.h, large.h, resize.scale_h, resize},
            across{small.w, large.w, resize.scale_w, resize};
        const std::size_t from = large.pixels(), to = small.pixels();
        op::detail::for_ranges(args.executor, static_cast<std::size_t>(args.batch) * static_cast<std::size_t>(small.c),
                               from + to, [=, dy = args.src[0], dx = args.dst](std::size_t first, std::size_t last) {
                                   for (std::size_t plane = first; plane < last; ++plane) {
                                       std::fill_n(dx + plane * to, to, 0.0F);
                                       const bool cubic = resize.mode == ResizeMode::cubic;
                                       for (int begin = 0; begin < across.out; begin += columns) {
                                           (cubic ? add_cubic : add_columns)(down, across, begin, dy + plane * from,
                                                                             dx + plane * to);
                                       }
                                   }
                               });
    }

private:
    /// The number of columns taken at a time; their weights are kept for all rows of a channel.
    static constexpr int columns = 128;

    using Between = op::detail::ResizeAxis::Between;
    [[nodiscard]] static Between pixels(op::detail::ResizeAxis const& axis, int at) {
        if (axis.params.mode == ResizeMode::linear) return axis.between(at);
        const int nearest = axis.nearest(at);
        return {nearest, nearest, 0.0F};
    }

    static void add_columns(op::detail::ResizeAxis const& down, op::detail::ResizeAxis const& across, int begin,
                            const float* dy, float* dx) noexcept {
        const int count = std::min(columns, across.out - begin);
        Between of[columns];
        for (int i = 0; i < count; ++i) of[i] = pixels(across, begin + i);
        for (int y = 0; y < down.out; ++y) {
            const Between rows = pixels(down, y);
            const float* const row = dy + static_cast<std::ptrdiff_t>(y) * across.out + begin;
            add_row(row, of, count, 1 - rows.weight, dx + static_cast<std::ptrdiff_t>(rows.first) * across.in);
            if (rows.weight != 0.0F) {
                add_row(row, of, count, rows.weight, dx + static_cast<std::ptrdiff_t>(rows.second) * across.in);
            }
        }
    }
    static void add_cubic(op::detail::ResizeAxis const& down, op::detail::ResizeAxis const& across, int begin,
                          const float* dy, float* dx) noexcept {
        const int count = std::min(columns, across.out - begin);
        op::detail::ResizeAxis::Cubic of[columns];
        for (int i = 0; i < count; ++i) of[i] = across.cubic(begin + i);
        for (int y = 0; y < down.out; ++y) {
            const auto rows = down.cubic(y);
            const float* const row = dy + static_cast<std::ptrdiff_t>(y) * across.out + begin;
            for (int above = 0; above < 4; ++above) {
                float* const to = dx + static_cast<std::ptrdiff_t>(rows.at[above]) * across.in;
                for (int i = 0; i < count && rows.weight[above] != 0.0F; ++i) {
                    const float value = row[i] * rows.weight[above];
                    for (int tap = 0; tap < 4; ++tap) to[of[i].at[tap]] += value * of[i].weight[tap];
                }
            }
        }
    }
    static void add_row(const float* dy, const Between* of, int count, float share, float* dx) noexcept {
        for (int i = 0; i < count; ++i) {
            const float value = dy[i] * share, right = value * of[i].weight;
            dx[of[i].first] += value - right;
            dx[of[i].second] += right;
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
