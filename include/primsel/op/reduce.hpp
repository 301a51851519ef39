#pragma once

#include <primsel/layer/pool.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/detail/short_rows.hpp>
#include <primsel/op/detail/window.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>
#include <limits>

namespace primsel::inline PRIMSEL_ABI {

/// If the elements contain NaN, the maximum is NaN.
template <>
struct Op<ReduceParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(ReduceParams const& params, std::span<const Shape> inputs, Shape) {
        const auto [outer, count, inner] = op::detail::axis_view<L>(inputs[0], 1, params.axis);
        if (inner == 1) {
            OpCounts counts = op::detail::row_counts<Arch>(outer, count, 1);
            counts.form = count <= op::detail::longest_short_row<Arch> ? "short" : "long";
            return counts;
        }
        const std::size_t strip = params.kind == ReduceKind::arg_max ? lanes<Arch> : 4 * lanes<Arch>;
        const auto lines = static_cast<double>(outer);
        return {.operations = lines * static_cast<double>(count) * op::detail::covering_lanes<Arch>(inner),
                .rows = lines * static_cast<double>((inner + strip - 1) / strip),
                .form = "across"};
    }

    template <class Arch, StridedLayout L>
    static void run(ReduceParams const& params, OpArgs const& args) noexcept {
        along<Arch>(params.kind, op::detail::axis_view<L>(args.src_shape[0], args.batch, params.axis), args);
    }

private:
    template <class Arch>
    static void along(ReduceKind kind, op::detail::AxisView view, OpArgs const& args) noexcept {
        if (kind == ReduceKind::arg_max) {
            positions<Arch>(view, args);
        } else if (kind == ReduceKind::max) {
            lines<Arch, op::detail::Maximum>(view, 1, args);
        } else {
            lines<Arch, op::detail::Average>(view, kind == ReduceKind::mean ? static_cast<double>(view.count) : 1,
                                             args);
        }
    }

    template <class Arch>
    static void positions(op::detail::AxisView view, OpArgs const& args) noexcept {
        const std::size_t count = view.count, inner = view.inner, strips = (inner + lanes<Arch> - 1) / lanes<Arch>;
        const float* src = args.src[0];
        float* dst = args.dst;
        if (inner == 1) {
            op::detail::for_ranges(args.executor, view.outer, count, [=](std::size_t first, std::size_t last) {
                op::detail::largest_of_each_row<Arch>(src + first * count, last - first, count, dst + first);
            });
            return;
        }
        op::detail::for_ranges(args.executor, view.outer * strips, count * std::min<std::size_t>(inner, lanes<Arch>),
                               [=](std::size_t first, std::size_t last) {
                                   for (std::size_t item = first; item < last; ++item) {
                                       const std::size_t outer = item / strips, begin = item % strips * lanes<Arch>;
                                       positions_of_lines<Arch>(count, inner, inner - begin,
                                                                src + outer * count * inner + begin,
                                                                dst + outer * inner + begin);
                                   }
                               });
    }
    /// Finds positions in neighbouring lines, as many as a vector has lanes.
    template <class Arch>
    static void positions_of_lines(std::size_t count, std::size_t inner, std::size_t lines, const float* src,
                                   float* dst) noexcept {
        using V = Floats<Arch>;
        V largest(-std::numeric_limits<float>::infinity()), best(0.0F);
        for (std::size_t i = 0; i < count; ++i) {
            const V value = op::detail::load_up_to<Arch>(src + i * inner, lines);
            const auto larger = value > largest;
            largest = xsimd::select(larger, value, largest);
            best = xsimd::select(larger, V(static_cast<float>(i)), best);
        }
        op::detail::store_up_to<Arch>(dst, best, lines);
    }

    template <class Arch, class Reduction>
    static void lines(op::detail::AxisView view, double divisor, OpArgs const& args) noexcept {
        constexpr std::size_t strip = 4 * lanes<Arch>;
        const std::size_t count = view.count, inner = view.inner, strips = (inner + strip - 1) / strip;
        const float* src = args.src[0];
        float* dst = args.dst;
        if (inner == 1) {
            op::detail::for_ranges(args.executor, view.outer, count, [=](std::size_t first, std::size_t last) {
                op::detail::reduce_contiguous<Arch, Reduction>(src + first * count, last - first, count, divisor,
                                                               dst + first);
            });
            return;
        }
        op::detail::for_ranges(args.executor, view.outer * strips, count * std::min(strip, inner),
                               [=](std::size_t first, std::size_t last) {
                                   for (std::size_t item = first; item < last; ++item) {
                                       const std::size_t outer = item / strips, begin = item % strips * strip;
                                       strip_of_lines<Arch, Reduction>(count, inner, std::min(strip, inner - begin),
                                                                       divisor, src + outer * count * inner + begin,
                                                                       dst + outer * inner + begin);
                                   }
                               });
    }

    /// Reduces up to four vectors of neighbouring lines, whose elements are `inner` apart.
    template <class Arch, class Reduction>
    static void strip_of_lines(std::size_t count, std::size_t inner, std::size_t lines, double divisor,
                               const float* src, float* dst) noexcept {
        using V = Floats<Arch>;
        constexpr std::size_t width = lanes<Arch>, several = 4;
        if (lines == several * width) {
            V result[several];
            op::detail::with_reduction<Arch, Reduction, several>(count, [&](auto& reduction) PRIMSEL_INLINE_LAMBDA {
                reduction.add(count,
                              [=](std::size_t i, std::size_t v) { return load<Arch>(src + i * inner + v * width); });
                reduction.finish(divisor, result);
            });
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < several; ++v) store<Arch>(dst + v * width, result[v]);
            return;
        }
        for (std::size_t at = 0; at + width <= lines; at += width) {
            const V result = one_vector<Arch, Reduction>(
                count, divisor, [=](std::size_t i) { return load<Arch>(src + i * inner + at); });
            store<Arch>(dst + at, result);
        }
        if (const std::size_t rest = lines % width; rest > 0) {
            const std::size_t at = lines - rest;
            const V result = one_vector<Arch, Reduction>(count, divisor, [=](std::size_t i) {
                return op::detail::load_up_to<Arch>(src + i * inner + at, rest);
            });
            op::detail::store_up_to<Arch>(dst + at, result, rest);
        }
    }
    /// Elements are distributed over several sums in turn, so that consecutive additions do not wait for each other.
    template <class Arch, class Reduction, class F>
    static PRIMSEL_INLINE Floats<Arch> one_vector(std::size_t count, double divisor, F const& element) noexcept {
        constexpr std::size_t several = 4;
        const std::size_t whole = count / several, rest = count % several;
        return op::detail::with_reduction<Arch, Reduction, several>(
            whole + 1, [&](auto& reduction) PRIMSEL_INLINE_LAMBDA {
                reduction.add(whole, [&](std::size_t i, std::size_t v) { return element(several * i + v); });
                if (rest > 0) {
                    reduction.add(1, [&](std::size_t, std::size_t v) {
                        return v < rest ? element(count - rest + v) : Floats<Arch>(Reduction::identity);
                    });
                }
                return reduction.joined(divisor);
            });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
