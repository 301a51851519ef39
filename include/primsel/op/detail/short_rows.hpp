// Reductions of short contiguous rows. One vector holds the results of as many rows as it has lanes, so that the lanes
// of a row need not be added one by one.
#pragma once

#include <primsel/op/detail/long_sums.hpp>
#include <primsel/op/detail/window.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::op::detail {

/// The most columns of a row that is summed in float.
template <class Arch>
inline constexpr std::size_t longest_short_row = 2 * block_terms * lanes<Arch>;

/// Pairs lanes of a and b that are `apart` from each other: low and high get one lane of each pair. Pairs of a are in
/// the lanes whose number lacks the bit `apart`, pairs of b in the others.
template <class Arch, int apart>
PRIMSEL_INLINE void pair_lanes(Floats<Arch> const& a, Floats<Arch> const& b, Floats<Arch>& low, Floats<Arch>& high) {
    constexpr int width = lanes<Arch>;
    const typename Floats<Arch>::register_type x = a, y = b;
    [&]<int... i>(std::integer_sequence<int, i...>) {
        low = Floats<Arch>(__builtin_shufflevector(x, y, ((i & apart) == 0 ? i : width + (i ^ apart))...));
        high = Floats<Arch>(__builtin_shufflevector(x, y, ((i & apart) == 0 ? i ^ apart : width + i)...));
    }(std::make_integer_sequence<int, width>{});
}

/// Reduces the lanes of each of `width` rows, whose state is `values` vectors: lane i of rows[0] becomes the result of
/// rows[i]. join(low, high) merges the state `high` into `low`.
template <class Arch, std::size_t values, int apart = lanes<Arch> / 2, class F>
PRIMSEL_INLINE void fold_rows(Floats<Arch> (&rows)[lanes<Arch>][values], F const& join) {
    PRIMSEL_UNROLL
    for (int row = 0; row < apart; ++row) {
        Floats<Arch> high[values];
        PRIMSEL_UNROLL
        for (std::size_t v = 0; v < values; ++v) {
            Floats<Arch> low;
            pair_lanes<Arch, apart>(rows[row][v], rows[row + apart][v], low, high[v]);
            rows[row][v] = low;
        }
        join(rows[row], high);
    }
    if constexpr (apart > 1) fold_rows<Arch, values, apart / 2>(rows, join);
}

/// Calls state(row, values) for `count` rows, folds their lanes and calls finish(row, n, values) with the results of n
/// rows from `row` on.
template <class Arch, std::size_t values, class State, class Join, class Finish>
void for_folded_rows(std::size_t count, State const& state, Join const& join, Finish const& finish) noexcept {
    constexpr std::size_t width = lanes<Arch>;
    for (std::size_t first = 0; first < count; first += width) {
        Floats<Arch> rows[width][values];
        const std::size_t n = std::min(width, count - first);
        for (std::size_t i = 0; i < n; ++i) state(first + i, rows[i]);
        for (std::size_t i = n; i < width; ++i) std::copy_n(rows[0], values, rows[i]);
        fold_rows<Arch, values>(rows, join);
        finish(first, n, rows[0]);
    }
}

/// Reduces each of `rows` contiguous rows of up to longest_short_row columns; averages are divided by the divisor.
template <class Arch, class Reduction>
void reduce_short_rows(const float* src, std::size_t rows, std::size_t columns, float divisor, float* dst) noexcept {
    using V = Floats<Arch>;
    constexpr std::size_t width = lanes<Arch>;
    const auto apply = [](V const& a, V const& b) { return Reduction::template apply<Arch>(a, b); };
    for_folded_rows<Arch, 1>(
        rows,
        [=](std::size_t row, V(&result)[1]) PRIMSEL_INLINE_LAMBDA {
            const float* from = src + row * columns;
            V even = load_up_to<Arch>(from, columns, Reduction::identity), odd(Reduction::identity);
            std::size_t i = width;
            for (; i + 2 * width <= columns; i += 2 * width) {
                odd = apply(odd, load<Arch>(from + i));
                even = apply(even, load<Arch>(from + i + width));
            }
            for (; i < columns; i += width) {
                odd = apply(odd, load_up_to<Arch>(from + i, columns - i, Reduction::identity));
            }
            result[0] = apply(even, odd);
        },
        [=](V(&low)[1], V const(&high)[1]) PRIMSEL_INLINE_LAMBDA { low[0] = apply(low[0], high[0]); },
        [=](std::size_t row, std::size_t n, V const(&result)[1]) PRIMSEL_INLINE_LAMBDA {
            const V value = Reduction::averages ? quotient<Arch>(result[0], V(divisor)) : result[0];
            store_up_to<Arch>(dst + row, value, n);
        });
}

/// Reduces each of `rows` contiguous rows; averages are divided by the divisor.
template <class Arch, class Reduction>
void reduce_contiguous(const float* src, std::size_t rows, std::size_t columns, double divisor, float* dst) noexcept {
    if (columns <= longest_short_row<Arch>) {
        return reduce_short_rows<Arch, Reduction>(src, rows, columns, static_cast<float>(divisor), dst);
    }
    for (std::size_t row = 0; row < rows; ++row) {
        dst[row] = reduce_rows<Arch, Reduction>({src + row * columns, 1, 0}, columns, divisor);
    }
}

/// Finds the position of the first of the largest elements of each row, whatever its length. NaN is passed over.
template <class Arch>
void largest_of_each_row(const float* src, std::size_t rows, std::size_t columns, float* dst) noexcept {
    using V = Floats<Arch>;
    constexpr std::size_t width = lanes<Arch>;
    constexpr float lowest = -std::numeric_limits<float>::infinity();
    for_folded_rows<Arch, 2>(
        rows,
        [=](std::size_t row, V(&best)[2]) PRIMSEL_INLINE_LAMBDA {
            const float* from = src + row * columns;
            V largest(lowest), place(0.0F);
            for (std::size_t i = 0; i < columns; i += width) {
                const V value = load_up_to<Arch>(from + i, columns - i, lowest);
                const auto larger = value > largest;
                largest = xsimd::select(larger, value, largest);
                place = xsimd::select(larger, V(static_cast<float>(i)) + first_integers<Arch>(), place);
            }
            best[0] = largest, best[1] = place;
        },
        [](V(&low)[2], V const(&high)[2]) PRIMSEL_INLINE_LAMBDA {
            const auto better = (high[0] > low[0]) | ((high[0] == low[0]) & (high[1] < low[1]));
            low[0] = xsimd::select(better, high[0], low[0]);
            low[1] = xsimd::select(better, high[1], low[1]);
        },
        [=](std::size_t row, std::size_t n, V const(&best)[2])
            PRIMSEL_INLINE_LAMBDA { store_up_to<Arch>(dst + row, best[1], n); });
}

}  // namespace primsel::inline PRIMSEL_ABI::op::detail
