#pragma once

#include <primsel/layer/norm.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/detail/long_sums.hpp>
#include <primsel/op/detail/short_rows.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/transpose.hpp>

#include <algorithm>
#include <limits>

namespace primsel::inline PRIMSEL_ABI {

/// Subtracts the maximum along the axis first, so that exp cannot overflow. A line is the elements along the axis.
template <>
struct Op<SoftmaxParams> {
    static constexpr bool in_place = true;

    /// Each element takes about 20 operations, most of them for exp.
    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(SoftmaxParams const& params, std::span<const Shape>, Shape output) {
        const auto [outer, count, inner] = op::detail::axis_view<L>(output, 1, params.axis);
        const auto of = [](std::string_view form, double lanes_in_use, double rows) {
            return OpCounts{.operations = 20 * lanes_in_use, .rows = rows, .form = form};
        };
        const auto lines = static_cast<double>(outer), length = static_cast<double>(count);
        if (inner == 1 && count <= longest_transposed<Arch>) {
            const double across = op::detail::covering_lanes<Arch>(outer);
            return of("transposed", across * length, across / (2.0 * lanes<Arch>)*length);
        }
        const double along = lines * op::detail::covering_lanes<Arch>(count);
        if (inner == 1) return of(count <= op::detail::longest_short_row<Arch> ? "short" : "long", along, 3 * lines);
        const double across = lines * length * op::detail::covering_lanes<Arch>(inner);
        if (inner <= 2 * lanes<Arch>) return of("vector", across, 3 * lines);
        return of("strips", across, 3 * lines * length * static_cast<double>((inner + strip - 1) / strip));
    }

    template <class Arch, StridedLayout L>
    static void run(SoftmaxParams const& params, OpArgs const& args) noexcept {
        along<Arch>(op::detail::axis_view<L>(args.dst_shape, args.batch, params.axis), args);
    }

private:
    static constexpr std::size_t strip = 256;
    static constexpr float lowest = -std::numeric_limits<float>::infinity();

    template <class Arch>
    static void along(op::detail::AxisView view, OpArgs const& args) noexcept {
        const std::size_t outer = view.outer, count = view.count, inner = view.inner, line = count * inner;
        const float* src = args.src[0];
        float* dst = args.dst;
        if (inner == 1) {
            op::detail::for_ranges(args.executor, outer, count, [=](std::size_t first, std::size_t last) {
                if (line <= longest_transposed<Arch>) {
                    return transposed_lines<Arch>(line, last - first, src + first * line, dst + first * line);
                }
                if (line <= op::detail::longest_short_row<Arch>) {
                    return short_lines<Arch>(line, last - first, src + first * line, dst + first * line);
                }
                for (std::size_t at = first * line; at < last * line; at += line) {
                    one_line<Arch>(line, src + at, dst + at);
                }
            });
            return;
        }
        const std::size_t strips = (inner + strip - 1) / strip;
        op::detail::for_ranges(
            args.executor, outer * strips, count * std::min(strip, inner), [=](std::size_t first, std::size_t last) {
                for (std::size_t item = first; item < last; ++item) {
                    const std::size_t begin = item % strips * strip;
                    const std::size_t at = item / strips * line + begin;
                    some_lines<Arch>(count, inner, std::min(strip, inner - begin), src + at, dst + at);
                }
            });
    }

    /// Handles a line of contiguous elements.
    template <class Arch>
    static void one_line(std::size_t count, const float* src, float* dst) noexcept {
        using V = Floats<Arch>;
        constexpr std::size_t width = lanes<Arch>;
        V top(lowest);
        for (std::size_t c = 0; c < count; c += width) {
            top = larger<Arch>(top, op::detail::load_up_to<Arch>(src + c, count - c, lowest));
        }
        top = V(op::detail::fold_lanes<Arch>(top, [](float a, float b) { return a > b ? a : b; }));
        const V powers =
            op::detail::reduce_terms<Arch, op::detail::Average>((count + width - 1) / width, [=](std::size_t i) {
                const std::size_t c = i * width;
                const V power = exp<Arch, false>(op::detail::load_up_to<Arch>(src + c, count - c, lowest) - top);
                op::detail::store_up_to<Arch>(dst + c, power, count - c);
                return power;
            });
        const V factor(static_cast<float>(1 / op::detail::sum_lanes<Arch>(powers)));
        for (std::size_t c = 0; c < count; c += width) {
            const V power = op::detail::load_up_to<Arch>(dst + c, count - c);
            op::detail::store_up_to<Arch>(dst + c, power * factor, count - c);
        }
    }

    /// Handles short contiguous lines, as many at a time as a vector has lanes.
    template <class Arch>
    static void short_lines(std::size_t count, std::size_t lines, const float* src, float* dst) noexcept {
        using V = Floats<Arch>;
        constexpr std::size_t width = lanes<Arch>;
        for (std::size_t first = 0; first < lines; first += width, src += width * count, dst += width * count) {
            const std::size_t n = std::min(width, lines - first);
            alignas(64) float top[width], factor[width];
            op::detail::for_folded_rows<Arch, 1>(
                n,
                [=](std::size_t line, V(&result)[1]) PRIMSEL_INLINE_LAMBDA {
                    const float* from = src + line * count;
                    V even = op::detail::load_up_to<Arch>(from, count, lowest), odd = even;
                    for (std::size_t c = width; c < count; c += 2 * width) {
                        odd = larger<Arch>(odd, op::detail::load_up_to<Arch>(from + c, count - c, lowest));
                        if (c + width >= count) break;
                        even = larger<Arch>(even,
                                            op::detail::load_up_to<Arch>(from + c + width, count - c - width, lowest));
                    }
                    result[0] = larger<Arch>(even, odd);
                },
                [](V(&low)[1], V const(&high)[1]) PRIMSEL_INLINE_LAMBDA { low[0] = larger<Arch>(low[0], high[0]); },
                [&top](std::size_t, std::size_t, V const(&result)[1]) { store<Arch>(top, result[0]); });
            op::detail::for_folded_rows<Arch, 1>(
                n,
                [=, &top](std::size_t line, V(&result)[1]) PRIMSEL_INLINE_LAMBDA {
                    const float* from = src + line * count;
                    float* to = dst + line * count;
                    const V largest(top[line]);
                    V even(0.0F), odd(0.0F);
                    const auto power = [=](std::size_t c, std::size_t rest) PRIMSEL_INLINE_LAMBDA {
                        const V value =
                            exp<Arch, false>(op::detail::load_up_to<Arch>(from + c, rest, lowest) - largest);
                        op::detail::store_up_to<Arch>(to + c, value, rest);
                        return value;
                    };
                    std::size_t c = 0;
                    for (; c + 2 * width <= count; c += 2 * width) {
                        even += power(c, width);
                        odd += power(c + width, width);
                    }
                    for (; c < count; c += width) even += power(c, count - c);
                    result[0] = even + odd;
                },
                [](V(&low)[1], V const(&high)[1]) PRIMSEL_INLINE_LAMBDA { low[0] += high[0]; },
                [&factor](std::size_t, std::size_t, V const(&sum)[1]) {
                    store<Arch>(factor, quotient<Arch>(V(1.0F), sum[0]));
                });
            for (std::size_t line = 0; line < n; ++line) {
                float* to = dst + line * count;
                const V all(factor[line]);
                for (std::size_t c = 0; c < count; c += width) {
                    const V power = op::detail::load_up_to<Arch>(to + c, count - c);
                    op::detail::store_up_to<Arch>(to + c, power * all, count - c);
                }
            }
        }
    }

    /// Lines of up to so many elements are computed a vector of lines at a time. For longer ones, folding the vectors
    /// of each line costs less than transposing.
    template <class Arch>
    static constexpr std::size_t longest_transposed = 2 * lanes<Arch>;

    /// Handles very short contiguous lines, transposed block by block.
    template <class Arch>
    static void transposed_lines(std::size_t count, std::size_t lines, const float* src, float* dst) noexcept {
        constexpr std::size_t block = 2 * lanes<Arch>;
        alignas(64) float side_by_side[longest_transposed<Arch> * block];
        for (std::size_t first = 0; first < lines; first += block) {
            const std::size_t n = std::min(block, lines - first);
            transpose_columns(src + first * count, count, side_by_side, block, n, 0, count);
            some_lines<Arch>(count, block, n, side_by_side, side_by_side);
            transpose_columns(side_by_side, block, dst + first * count, count, count, 0, n);
        }
    }

    /// Handles up to `strip` neighbouring lines, whose elements are `inner` apart.
    template <class Arch>
    static void some_lines(std::size_t count, std::size_t inner, std::size_t lines, const float* src,
                           float* dst) noexcept {
        using V = Floats<Arch>;
        constexpr std::size_t width = lanes<Arch>;
        if (lines <= 2 * width) {
            for (std::size_t i = 0; i < lines; i += width) one_vector<Arch>(count, inner, lines - i, src + i, dst + i);
            return;
        }
        alignas(64) float top[strip], sum[strip];
        alignas(64) double total[strip] = {};
        for (std::size_t i = 0; i < lines; i += width) {
            store<Arch>(top + i, V(lowest));
            store<Arch>(sum + i, V(0.0F));
        }
        for (std::size_t c = 0; c < count; ++c) {
            for (std::size_t i = 0; i < lines; i += width) {
                store<Arch>(top + i, larger<Arch>(load<Arch>(top + i),
                                                  op::detail::load_up_to<Arch>(src + c * inner + i, lines - i)));
            }
        }
        for (std::size_t c = 0; c < count; ++c) {
            for (std::size_t i = 0; i < lines; i += width) {
                const V power = exp<Arch, false>(op::detail::load_up_to<Arch>(src + c * inner + i, lines - i) -
                                                 load<Arch>(top + i));
                op::detail::store_up_to<Arch>(dst + c * inner + i, power, lines - i);
                store<Arch>(sum + i, load<Arch>(sum + i) + power);
            }
            if ((c + 1) % op::detail::block_terms != 0 && c + 1 != count) continue;
            for (std::size_t i = 0; i < lines; ++i) {
                total[i] += static_cast<double>(sum[i]);
                sum[i] = c + 1 == count ? static_cast<float>(1 / total[i]) : 0.0F;
            }
        }
        for (std::size_t c = 0; c < count; ++c) {
            for (std::size_t i = 0; i < lines; i += width) {
                const V power = op::detail::load_up_to<Arch>(dst + c * inner + i, lines - i);
                op::detail::store_up_to<Arch>(dst + c * inner + i, power * load<Arch>(sum + i), lines - i);
            }
        }
    }

    /// Handles one vector of lines, whose maxima and sums stay in registers. Where elements of a line are less than a
    /// vector apart, the powers are kept elsewhere: a vector of dst would overlap the one that was just stored, and
    /// wait for it.
    template <class Arch>
    static void one_vector(std::size_t count, std::size_t inner, std::size_t lines, const float* src,
                           float* dst) noexcept {
        using V = Floats<Arch>;
        constexpr std::size_t width = lanes<Arch>;
        alignas(64) float apart[longest_apart * width];
        const bool overlaps = inner < width && count <= longest_apart;
        float* const powers = overlaps ? apart : dst;
        const std::size_t step = overlaps ? width : inner, n = overlaps ? width : lines;
        V top(lowest);
        for (std::size_t i = 0; i < count; ++i) {
            top = larger<Arch>(top, op::detail::load_up_to<Arch>(src + i * inner, lines));
        }
        const V sum = op::detail::reduce_terms<Arch, op::detail::Average>(count, [=](std::size_t i) {
            const V power = exp<Arch, false>(op::detail::load_up_to<Arch>(src + i * inner, lines) - top);
            op::detail::store_up_to<Arch>(powers + i * step, power, n);
            return power;
        });
        const V factor = quotient<Arch>(V(1.0F), sum);
        for (std::size_t i = 0; i < count; ++i) {
            const V power = op::detail::load_up_to<Arch>(powers + i * step, n);
            op::detail::store_up_to<Arch>(dst + i * inner, power * factor, lines);
        }
    }
    /// The elements of a line up to which one_vector has room for its powers.
    static constexpr std::size_t longest_apart = 256;
};

}  // namespace primsel::inline PRIMSEL_ABI
