#pragma once

#include <primsel/layer/gradient.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/detail/long_sums.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// y * (dy - the sum of y * dy). A line is the elements along the axis.
template <>
struct Op<SoftmaxGradientParams> {
    static constexpr bool in_place = true;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(SoftmaxGradientParams const&, std::span<const Shape> inputs, Shape output) {
        return op::element_counts<L>(4 * static_cast<double>(output.size()), inputs, output);
    }

    template <class Arch, StridedLayout L>
    static void run(SoftmaxGradientParams const& params, OpArgs const& args) noexcept {
        along<Arch>(op::detail::axis_view<L>(args.dst_shape, args.batch, params.softmax.axis), args);
    }

private:
    template <class Arch>
    static void along(op::detail::AxisView view, OpArgs const& args) noexcept {
        const std::size_t outer = view.outer, count = view.count, inner = view.inner, line = count * inner;
        const float *y = args.src[0], *dy = args.src[1];
        float* dst = args.dst;
        if (inner == 1) {
            op::detail::for_ranges(args.executor, outer, count, [=](std::size_t first, std::size_t last) {
                for (std::size_t at = first * line; at < last * line; at += line) {
                    one_line<Arch>(line, y + at, dy + at, dst + at);
                }
            });
            return;
        }
        constexpr std::size_t width = lanes<Arch>;
        const std::size_t vectors = (inner + width - 1) / width;
        op::detail::for_ranges(args.executor, outer * vectors, count * std::min(width, inner),
                               [=](std::size_t first, std::size_t last) {
                                   for (std::size_t item = first; item < last; ++item) {
                                       const std::size_t begin = item % vectors * width;
                                       const std::size_t at = item / vectors * line + begin;
                                       some_lines<Arch>(count, inner, inner - begin, y + at, dy + at, dst + at);
                                   }
                               });
    }

    /// Handles a line of contiguous elements.
    template <class Arch>
    static void one_line(std::size_t count, const float* y, const float* dy, float* dst) noexcept {
        using V = Floats<Arch>;
        const V products = op::detail::reduce_terms<Arch, op::detail::Average>(
            (count + lanes<Arch> - 1) / lanes<Arch>, [=](std::size_t i) {
                const std::size_t c = i * lanes<Arch>;
                return op::detail::load_up_to<Arch>(y + c, count - c) * op::detail::load_up_to<Arch>(dy + c, count - c);
            });
        const V sum(static_cast<float>(op::detail::sum_lanes<Arch>(products)));
        for (std::size_t c = 0; c < count; c += lanes<Arch>) {
            const V left = op::detail::load_up_to<Arch>(dy + c, count - c) - sum;
            op::detail::store_up_to<Arch>(dst + c, op::detail::load_up_to<Arch>(y + c, count - c) * left, count - c);
        }
    }

    /// Handles neighbouring lines, as many as a vector has lanes, with elements `inner` apart.
    template <class Arch>
    static void some_lines(std::size_t count, std::size_t inner, std::size_t lines, const float* y, const float* dy,
                           float* dst) noexcept {
        using V = Floats<Arch>;
        const V sum = op::detail::reduce_terms<Arch, op::detail::Average>(count, [=](std::size_t i) {
            return op::detail::load_up_to<Arch>(y + i * inner, lines) *
                   op::detail::load_up_to<Arch>(dy + i * inner, lines);
        });
        for (std::size_t i = 0; i < count; ++i) {
            const V left = op::detail::load_up_to<Arch>(dy + i * inner, lines) - sum;
            op::detail::store_up_to<Arch>(dst + i * inner, op::detail::load_up_to<Arch>(y + i * inner, lines) * left,
                                          lines);
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
