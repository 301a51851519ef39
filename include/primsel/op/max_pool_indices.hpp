#pragma once

#include <primsel/layer/pool.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/layout.hpp>

#include <concepts>

namespace primsel::inline PRIMSEL_ABI {

/// Takes the first of equal maxima. The first NaN counts as the maximum. The index is -1 if a dilated window lies
/// entirely in the padding.
template <>
struct Op<MaxPoolIndicesParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(MaxPoolIndicesParams const& params, std::span<const Shape>, Shape output) {
        const auto size = static_cast<double>(output.size());
        return {.scalars = size * params.pool.window.h * params.pool.window.w, .rows = size * params.pool.window.h};
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(MaxPoolIndicesParams const& params, OpArgs const& args) noexcept {
        const auto rows = static_cast<std::size_t>(args.batch) * static_cast<std::size_t>(args.dst_shape.c) *
                          static_cast<std::size_t>(args.dst_shape.h);
        const auto row_floats =
            static_cast<std::size_t>(args.dst_shape.w * params.pool.window.h * params.pool.window.w);
        op::detail::for_ranges(args.executor, rows, row_floats, [&params, &args](std::size_t first, std::size_t last) {
            for (std::size_t row = first; row < last; ++row) one_row(params.pool, args, row);
        });
    }

private:
    static void one_row(PoolParams const& p, OpArgs const& args, std::size_t row) noexcept {
        const Shape in = args.src_shape[0], out = args.dst_shape;
        const auto h = static_cast<std::size_t>(out.h), w = static_cast<std::size_t>(out.w);
        const std::size_t channel = row / h * in.pixels();  // the offset of the channel among these images
        const std::size_t before = args.first_image * in.size();
        const float* src = args.src[0] + channel;
        const int top = static_cast<int>(row % h) * p.stride.h - p.padding.top;
        for (std::size_t x = 0; x < w; ++x) {
            const int left = static_cast<int>(x) * p.stride.w - p.padding.left;
            std::size_t best = in.pixels();
            for (int i = 0; i < p.window.h; ++i) {
                const int from_h = top + i * p.dilation.h;
                if (from_h < 0 || from_h >= in.h) continue;
                for (int j = 0; j < p.window.w; ++j) {
                    const int from_w = left + j * p.dilation.w;
                    if (from_w < 0 || from_w >= in.w) continue;
                    const auto at = static_cast<std::size_t>(from_h * in.w + from_w);
                    const bool first = best == in.pixels();
                    if (first || src[at] > src[best] || (src[at] != src[at] && src[best] == src[best])) best = at;
                }
            }
            args.dst[row * w + x] = best == in.pixels() ? -1.0F : static_cast<float>(before + channel + best);
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
