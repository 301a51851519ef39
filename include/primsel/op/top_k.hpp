#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/layer/pool.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>

namespace primsel::inline PRIMSEL_ABI {

/// Keeps the best k elements so far as a heap in the row of the result, the worst on top.
template <>
struct Op<TopKParams> {
    static constexpr bool in_place = false;

    /// Every element is compared with the least of the heap. In a random order, about k * ln(n / k) of n elements enter
    /// it; these and the final sort take steps of log2(k) levels.
    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(TopKParams const& params, std::span<const Shape> inputs, Shape) {
        const double length = inputs[0].w, rows = static_cast<double>(inputs[0].size()) / length, k = params.k;
        const double moved = k * (2 + std::log(length / k));
        return {.scalars = rows * (3 * length + 8 * moved * std::log2(k + 1)), .rows = rows};
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(TopKParams const& params, OpArgs const& args) noexcept {
        const auto row = static_cast<std::size_t>(args.src_shape[0].w), k = static_cast<std::size_t>(params.k);
        const std::size_t rows = static_cast<std::size_t>(args.batch) * args.src_shape[0].size() / row;
        op::detail::for_ranges(args.executor, rows, row, [&params, &args, row, k](std::size_t first, std::size_t last) {
            for (std::size_t i = first; i < last; ++i) {
                if (params.largest) {
                    one_row<true>(params, args.src[0] + i * row, row, args.dst + i * k);
                } else {
                    one_row<false>(params, args.src[0] + i * row, row, args.dst + i * k);
                }
            }
        });
    }

private:
    template <bool largest>
    static void one_row(TopKParams const& params, const float* src, std::size_t count, float* dst) noexcept {
        // A position is exact as a float up to 2^24.
        const auto value = [src](float position) { return src[static_cast<std::size_t>(position)]; };
        const auto better = [&value](float i, float j) {
            const float a = value(i), b = value(j);
            if (is_nan(a) || is_nan(b)) return is_nan(a) == is_nan(b) ? i < j : is_nan(b);
            return a == b ? i < j : largest ? a > b : a < b;
        };
        const auto k = static_cast<std::size_t>(params.k);
        for (std::size_t i = 0; i < k; ++i) dst[i] = static_cast<float>(i);
        std::make_heap(dst, dst + k, better);
        for (std::size_t i = k; i < count; ++i) {
            const auto position = static_cast<float>(i);
            if (!better(position, dst[0])) continue;
            std::pop_heap(dst, dst + k, better);
            dst[k - 1] = position;
            std::push_heap(dst, dst + k, better);
        }
        std::sort_heap(dst, dst + k, better);
        if (params.positions) return;
        for (std::size_t i = 0; i < k; ++i) dst[i] = value(dst[i]);
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
