#pragma once

#include <primsel/layer/detection.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <concepts>

namespace primsel::inline PRIMSEL_ABI {

namespace op::detail {

/// Returns the row of a position, or `count` if it is invalid, such as NaN, whose comparisons are false.
[[nodiscard]] inline std::size_t gathered_row(GatherParams const& params, float position, std::size_t count) noexcept {
    const auto at = static_cast<double>(position), size = static_cast<double>(count);
    if (at > -1 && at < size) return static_cast<std::size_t>(at);
    if (!params.from_end || !(at <= -1 && at > -size - 1)) return count;
    return count - static_cast<std::size_t>(-at);
}

}  // namespace op::detail

template <>
struct Op<GatherParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(GatherParams const& params, std::span<const Shape>, Shape output) {
        if (params.elements) {
            const auto size = static_cast<double>(output.size());
            return {.scalars = size, .bytes = 12.0 * size};
        }
        const auto rows = static_cast<std::size_t>(output.c) * static_cast<std::size_t>(output.h);
        OpCounts counts = op::detail::row_counts<Arch>(rows, static_cast<std::size_t>(output.w), 1);
        counts.bytes = 8.0 * static_cast<double>(output.size());  // of the input, the rows that are taken
        return counts;
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(GatherParams const& params, OpArgs const& args) noexcept {
        if (params.elements) return run_elements(params, args);
        const Shape in = args.src_shape[0];
        const auto c = static_cast<std::size_t>(in.c), h = static_cast<std::size_t>(in.h),
                   w = static_cast<std::size_t>(in.w), n = args.src_shape[1].size();
        const std::size_t rows = static_cast<std::size_t>(args.batch) * c * n;
        op::detail::for_ranges(args.executor, rows, w,
                               [&params, &args, c, h, w, n](std::size_t first, std::size_t last) {
                                   for (std::size_t row = first; row < last; ++row) {
                                       const std::size_t channel = row / n;
                                       const float position = args.src[1][channel / c * n + row % n];
                                       const std::size_t at = op::detail::gathered_row(params, position, h);
                                       float* dst = args.dst + row * w;
                                       if (at == h) {
                                           std::fill_n(dst, w, 0.0F);
                                       } else {
                                           std::copy_n(args.src[0] + (channel * h + at) * w, w, dst);
                                       }
                                   }
                               });
    }

private:
    static void run_elements(GatherParams const& params, OpArgs const& args) noexcept {
        const auto h = static_cast<std::size_t>(args.src_shape[0].h), w = static_cast<std::size_t>(args.src_shape[0].w),
                   n = static_cast<std::size_t>(args.dst_shape.h);
        const std::size_t rows = static_cast<std::size_t>(args.batch) * static_cast<std::size_t>(args.dst_shape.c) * n;
        op::detail::for_ranges(args.executor, rows, w, [&params, &args, h, w, n](std::size_t first, std::size_t last) {
            for (std::size_t i = first * w; i < last * w; ++i) {
                const std::size_t at = op::detail::gathered_row(params, args.src[1][i], h);
                args.dst[i] = at == h ? 0.0F : args.src[0][(i / w / n * h + at) * w + i % w];
            }
        });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
