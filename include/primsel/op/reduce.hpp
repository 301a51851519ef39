#pragma once

#include <primsel/layer/pool.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/detail/window.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>
#include <limits>

namespace primsel::inline PRIMSEL_ABI {

/// A NaN wins over every maximum.
template <>
struct Op<ReduceParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(ReduceParams const&, std::span<const Shape> inputs, Shape) {
        return static_cast<double>(inputs[0].size());
    }

    template <class Arch, StridedLayout L>
    static void run(ReduceParams const& params, OpArgs const& args) noexcept {
        along<Arch>(params.kind, detail::axis_view<L>(args.src_shape[0], args.batch, params.axis), args);
    }

private:
    template <class Arch>
    static void along(ReduceKind kind, detail::AxisView view, OpArgs const& args) noexcept {
        if (kind == ReduceKind::arg_max) {
            positions<Arch>(view, args);
        } else if (kind == ReduceKind::max) {
            lines<Arch, detail::Maximum>(view, 1.0F, args);
        } else {
            lines<Arch, detail::Average>(view, kind == ReduceKind::mean ? static_cast<float>(view.count) : 1.0F, args);
        }
    }

    template <class Arch>
    static void positions(detail::AxisView view, OpArgs const& args) noexcept {
        const std::size_t count = view.count, inner = view.inner, strips = (inner + lanes<Arch> - 1) / lanes<Arch>;
        detail::for_ranges(args.executor, view.outer * strips, count * std::min<std::size_t>(inner, lanes<Arch>),
                           [=, src = args.src[0], dst = args.dst](std::size_t first, std::size_t last) {
                               for (std::size_t item = first; item < last; ++item) {
                                   const std::size_t outer = item / strips, begin = item % strips * lanes<Arch>;
                                   const float* from = src + outer * count * inner + begin;
                                   float* to = dst + outer * inner + begin;
                                   if (inner == 1) {
                                       *to = position_in_row(from, count);
                                   } else {
                                       positions_of_lines<Arch>(count, inner, inner - begin, from, to);
                                   }
                               }
                           });
    }
    static float position_in_row(const float* row, std::size_t count) noexcept {
        std::size_t best = 0;
        float largest = -std::numeric_limits<float>::infinity();
        for (std::size_t i = 0; i < count; ++i) {
            if (row[i] > largest) best = i, largest = row[i];
        }
        return static_cast<float>(best);
    }
    /// Of lines that are neighbours, as many as a vector holds.
    template <class Arch>
    static void positions_of_lines(std::size_t count, std::size_t inner, std::size_t lines, const float* src,
                                   float* dst) noexcept {
        using V = Floats<Arch>;
        V largest(-std::numeric_limits<float>::infinity()), best(0.0F);
        for (std::size_t i = 0; i < count; ++i) {
            const V value = detail::load_up_to<Arch>(src + i * inner, lines);
            const auto larger = value > largest;
            largest = xsimd::select(larger, value, largest);
            best = xsimd::select(larger, V(static_cast<float>(i)), best);
        }
        detail::store_up_to<Arch>(dst, best, lines);
    }

    template <class Arch, class Reduction>
    static void lines(detail::AxisView view, float divisor, OpArgs const& args) noexcept {
        constexpr std::size_t strip = 4 * lanes<Arch>;
        const std::size_t count = view.count, inner = view.inner, strips = (inner + strip - 1) / strip;
        const float* src = args.src[0];
        float* dst = args.dst;
        if (inner == 1) {
            detail::for_ranges(args.executor, view.outer, count, [=](std::size_t first, std::size_t last) {
                for (std::size_t line = first; line < last; ++line) {
                    dst[line] = detail::reduce_rows<Arch, Reduction>({src + line * count, 1, 0}, count) / divisor;
                }
            });
            return;
        }
        detail::for_ranges(args.executor, view.outer * strips, count * std::min(strip, inner),
                           [=](std::size_t first, std::size_t last) {
                               for (std::size_t item = first; item < last; ++item) {
                                   const std::size_t outer = item / strips, begin = item % strips * strip;
                                   strip_of_lines<Arch, Reduction>(count, inner, std::min(strip, inner - begin),
                                                                   divisor, src + outer * count * inner + begin,
                                                                   dst + outer * inner + begin);
                               }
                           });
    }

    /// Up to four vectors of lines that are neighbours, and their elements `inner` apart.
    template <class Arch, class Reduction>
    static void strip_of_lines(std::size_t count, std::size_t inner, std::size_t lines, float divisor, const float* src,
                               float* dst) noexcept {
        using V = Floats<Arch>;
        constexpr std::size_t width = lanes<Arch>, several = 4;
        V sum[several] = {V(Reduction::identity), V(Reduction::identity), V(Reduction::identity),
                          V(Reduction::identity)};
        if (lines == several * width) {
            for (std::size_t i = 0; i < count; ++i) {
                PRIMSEL_UNROLL
                for (std::size_t v = 0; v < several; ++v) {
                    sum[v] = Reduction::template apply<Arch>(sum[v], load<Arch>(src + i * inner + v * width));
                }
            }
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < several; ++v) store<Arch>(dst + v * width, sum[v] / V(divisor));
            return;
        }
        for (std::size_t at = 0; at < lines; at += width) {
            V one(Reduction::identity);
            for (std::size_t i = 0; i < count; ++i) {
                const V value = detail::load_up_to<Arch>(src + i * inner + at, lines - at);
                one = Reduction::template apply<Arch>(one, value);
            }
            detail::store_up_to<Arch>(dst + at, one / V(divisor), lines - at);
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
