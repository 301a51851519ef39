#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/layer/gradient.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/detail/vectors.hpp>
#include <primsel/op/op.hpp>
#include <primsel/op/resize.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// Distributes each pixel of dy, by its weights, to the pixels of which it is a sum: along its row, then by rows.
/// Pixels are added in their order.
template <>
struct Op<ResizeGradientParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(ResizeGradientParams const& params, std::span<const Shape> inputs,
                                       Shape output) {
        const Axes axes(params);
        const auto rows = static_cast<double>(inputs[0].c) * inputs[0].h;
        OpCounts counts = op::element_counts<L>(2 * rows * axes.down.taps() * axes.across.in, inputs, output);
        counts.scalars = rows * axes.across.out * axes.across.taps();
        return counts;
    }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ResizeGradientParams const& params, std::span<const Shape>,
                                                    std::size_t workers) {
        const Axes axes(params);
        using op::detail::ResizeTable;
        return ResizeTable::floats(axes.down) + ResizeTable::floats(axes.across) +
               workers * round_up_floats(static_cast<std::size_t>(axes.across.in));
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(ResizeGradientParams const& params, OpArgs const& args) noexcept {
        const Shape small = params.input, large = args.src_shape[0];
        const Axes axes(params);
        const op::detail::ResizeTable down(axes.down, args.scratch),
            across(axes.across, args.scratch + op::detail::ResizeTable::floats(axes.down));
        float* const workers =
            args.scratch + op::detail::ResizeTable::floats(axes.down) + op::detail::ResizeTable::floats(axes.across);
        const std::size_t from = large.pixels(), to = small.pixels(), width = static_cast<std::size_t>(small.w);
        op::detail::for_ranges(args.executor, static_cast<std::size_t>(args.batch) * static_cast<std::size_t>(small.c),
                               from + to, [&](std::size_t first, std::size_t last, std::size_t worker) {
                                   float* const row = workers + worker * round_up_floats(width);
                                   for (std::size_t plane = first; plane < last; ++plane) {
                                       float* const dx = args.dst + plane * to;
                                       std::fill_n(dx, to, 0.0F);
                                       const float* dy = args.src[0] + plane * from;
                                       for (int y = 0; y < large.h; ++y, dy += large.w) {
                                           spread(across, dy, large.w, row, width);
                                           add_rows<Arch>(down, y, row, dx, width);
                                       }
                                   }
                               });
    }

private:
    struct Axes {
        op::detail::ResizeAxis down, across;
        explicit Axes(ResizeGradientParams const& params)
            : down(op::detail::ResizeAxis::down(params.resize, params.input.h)),
              across(op::detail::ResizeAxis::across(params.resize, params.input.w)) {}
    };

    /// The gradient of the columns of a row.
    static void spread(op::detail::ResizeTable const& across, const float* dy, int count, float* row,
                       std::size_t width) noexcept {
        std::fill_n(row, width, 0.0F);
        for (int x = 0; x < count; ++x) {
            float* const to = row + *across.first(x);
            for (int tap = 0; tap < across.taps; ++tap) to[tap] += dy[x] * *across.weights(tap, x);
        }
    }
    /// Adds a row to those of which it is the sum.
    template <class Arch>
    static void add_rows(op::detail::ResizeTable const& down, int y, const float* row, float* dx,
                         std::size_t width) noexcept {
        dx += static_cast<std::size_t>(*down.first(y)) * width;
        for (int tap = 0; tap < down.taps; ++tap, dx += width) {
            const Floats<Arch> weight(*down.weights(tap, y));
            for (std::size_t i = 0; i < width; i += lanes<Arch>) {
                const auto sum = fma<Arch>(op::detail::load_up_to<Arch>(row + i, width - i), weight,
                                           op::detail::load_up_to<Arch>(dx + i, width - i));
                op::detail::store_up_to<Arch>(dx + i, sum, width - i);
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
