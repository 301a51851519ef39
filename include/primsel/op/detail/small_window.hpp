// Pooling of one channel whose columns are contiguous, by small windows: each row of the image is reduced along the
// columns once, and the rows of a window are joined while they are in registers or L1.
#pragma once

#include <primsel/op/detail/sliding_window.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::op::detail {

/// A vector of the columns at, at + 1, ... of rows of n columns; lanes outside a row, on either side, are the identity
/// of the reduction.
template <class Arch, class Reduction>
class ColumnsAround {
public:
    PRIMSEL_INLINE ColumnsAround(std::ptrdiff_t at, std::ptrdiff_t n) : at_(at), n_(n) {
        constexpr std::ptrdiff_t width = lanes<Arch>;
        const std::ptrdiff_t first = std::clamp(-at, std::ptrdiff_t{0}, width),
                             last = std::clamp(n - at, std::ptrdiff_t{0}, width);
        whole_ = first == 0 && last == width;
        bits_ = ((1U << last) - 1) & ~((1U << first) - 1);
    }
    [[nodiscard]] PRIMSEL_INLINE Floats<Arch> load(const float* row) const {
#if defined(__AVX512F__)
        if constexpr (lanes<Arch> == 16) {
            // Memory is not read where the mask is 0.
            const auto mask = static_cast<__mmask16>(bits_);
            if constexpr (Reduction::averages) return Floats<Arch>(_mm512_maskz_loadu_ps(mask, row + at_));
            return Floats<Arch>(_mm512_mask_loadu_ps(_mm512_set1_ps(Reduction::identity), mask, row + at_));
        }
#endif
        return whole_ ? primsel::load<Arch>(row + at_) : load_around<Arch>(row, at_, n_, Reduction::identity);
    }

private:
    std::ptrdiff_t at_, n_;
    unsigned bits_;
    bool whole_;
};

/// The most rows of a small window.
inline constexpr std::ptrdiff_t longest_small = 5;
/// The widest rows whose vectors are taken one below the other.
inline constexpr std::ptrdiff_t widest_small = 64;

/// Returns whether pool_small takes these windows, which one step moves by one row and column. It was measured on
/// images of 7x7 to 32x13: windows of 7 taps, or with larger steps, are faster in other ways.
template <class Arch>
[[nodiscard]] constexpr bool is_small(PoolAxis const& down, PoolAxis const& across) noexcept {
    // Narrower vectors have no masks of their own, with which loads at borders would pay.
    return lanes<Arch> == 16 && down.size <= longest_small && (across.size == 3 || across.size == 5) &&
           down.step == 1 && across.step == 1 && across.in <= widest_small;
}

/// Computes rows [0, rows) and columns [0, outputs) of the result for windows of `taps` columns that are is_small.
template <class Arch, class Reduction, std::size_t taps>
PRIMSEL_NOINLINE void pool_small(PoolAxis const& down, PoolAxis const& across, PooledPlane const& plane,
                                 std::ptrdiff_t rows, std::ptrdiff_t outputs) noexcept {
    using V = Floats<Arch>;
    constexpr std::ptrdiff_t width = lanes<Arch>, room = 8;
    static_assert(room >= longest_small);
    const auto join = [](V& sum, V const& more)
                          PRIMSEL_INLINE_LAMBDA { sum = Reduction::template apply<Arch>(sum, more); };
    for (std::ptrdiff_t out = 0; out < outputs; out += width) {
        const auto column = [&](std::ptrdiff_t tap) {
            return ColumnsAround<Arch, Reduction>(across.begin(out) + tap, across.in);
        };
        const auto parts = [&]<std::ptrdiff_t... tap>(std::integer_sequence<std::ptrdiff_t, tap...>) {
            return std::array{column(tap)...};
        }(std::make_integer_sequence<std::ptrdiff_t, static_cast<std::ptrdiff_t>(taps)>{});
        const V counts = across.counted_from<Arch>(out);
        V ring[room];  // row y at y % room
        std::ptrdiff_t done = 0;
        for (std::ptrdiff_t h = 0; h < rows; ++h) {
            const std::ptrdiff_t first = down.first(h), last = down.last(h);
            for (done = std::max(done, first); done < last; ++done) {
                const float* const row = plane.src + static_cast<std::size_t>(done) * plane.src_row;
                V sum = parts[0].load(row);
                PRIMSEL_UNROLL
                for (std::size_t j = 1; j < taps; ++j) join(sum, parts[j].load(row));
                ring[done % room] = sum;
            }
            V sum(Reduction::identity);
            for (std::ptrdiff_t y = first; y < last; ++y) join(sum, ring[y % room]);
            if constexpr (Reduction::averages) {
                sum = quotient<Arch>(sum, V(static_cast<float>(down.counted(h))) * counts);
            }
            store_up_to<Arch>(plane.dst + static_cast<std::size_t>(h) * plane.dst_row + out, sum,
                              static_cast<std::size_t>(outputs - out));
        }
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::op::detail
