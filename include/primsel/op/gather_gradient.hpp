#pragma once

#include <primsel/layer/gradient.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/gather.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// Adds the rows of dy in their order, channel by channel.
template <>
struct Op<GatherGradientParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(GatherGradientParams const&, std::span<const Shape> inputs, Shape output) {
        return op::element_counts<L>(static_cast<double>(inputs[1].size()), inputs, output);
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(GatherGradientParams const& params, OpArgs const& args) noexcept {
        const auto c = static_cast<std::size_t>(args.dst_shape.c), h = static_cast<std::size_t>(args.dst_shape.h),
                   w = static_cast<std::size_t>(args.dst_shape.w), n = static_cast<std::size_t>(args.src_shape[1].h);
        const GatherParams gather = params.gather;
        op::detail::for_ranges(
            args.executor, static_cast<std::size_t>(args.batch) * c, (h + n) * w,
            [=, indices = args.src[0], dy = args.src[1], dx = args.dst](std::size_t first, std::size_t last) {
                for (std::size_t channel = first; channel < last; ++channel) {
                    const float* const from = dy + channel * n * w;
                    float* const to = dx + channel * h * w;
                    std::fill_n(to, h * w, 0.0F);
                    if (gather.elements) {
                        const float* const at = indices + channel * n * w;
                        for (std::size_t i = 0; i < n * w; ++i) {
                            const std::size_t row = op::detail::gathered_row(gather, at[i], h);
                            if (row < h) to[row * w + i % w] += from[i];
                        }
                    } else {
                        const float* const at = indices + channel / c * n;
                        for (std::size_t i = 0; i < n; ++i) {
                            const std::size_t row = op::detail::gathered_row(gather, at[i], h);
                            for (std::size_t x = 0; x < w && row < h; ++x) to[row * w + x] += from[i * w + x];
                        }
                    }
                }
            });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
