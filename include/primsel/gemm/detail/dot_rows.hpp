// Products of rows of words with a panel of 32 columns. A word of a row is four bytes: two or four steps of the depth.
#pragma once

#include <primsel/core/amx.hpp>
#include <primsel/core/simd.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::gemm {

/// The columns of a panel.
inline constexpr int dot_columns = 32;
/// The most rows of a product: those of two tiles of the matrix unit, or of several tiles in registers.
inline constexpr int dot_rows = PRIMSEL_HAS_AMX ? 32 : 48;

/// Rows of a matrix A, and a panel of a matrix B. The depth is walked as outer x inner x run, as in TileArgs; distances
/// and run are numbers of elements, and a run consists of whole words. A step of the panel holds a word for each
/// column.
template <class A, class B, class S>
struct DotRows {
    using Sum = S;
    static constexpr int word = static_cast<int>(4 / sizeof(A));  ///< the elements of a word

    const A* a = nullptr;
    std::size_t a_stride = 0;
    /// The distance of each row from a, if they do not lie a_stride apart; or null. The matrix unit does not know it.
    const std::ptrdiff_t* places = nullptr;
    int outer = 1, inner = 1, run = 0;
    std::size_t outer_step = 0, inner_step = 0;
    const B* b = nullptr;
    /// The number of columns that are needed.
    int columns = dot_columns;
    /// Whether the panel is read for the first time: what follows in memory is prefetched.
    bool fetches = false;
    /// The values from which the sums of each column start; null for zeros.
    const Sum* start = nullptr;
    /// Memory that a later product reads, which is prefetched to L2 during this one.
    const char* later = nullptr;
    std::size_t later_bytes = 0;

    [[nodiscard]] PRIMSEL_INLINE std::ptrdiff_t place(int row) const {
        return places != nullptr ? places[row] : static_cast<std::ptrdiff_t>(static_cast<std::size_t>(row) * a_stride);
    }
};

namespace detail {

/// Memory that is prefetched to L2, so many bytes for each step of the depth.
struct Prefetched {
    const char* next = nullptr;
    std::ptrdiff_t step = 0;

    PRIMSEL_INLINE void prefetch(std::ptrdiff_t steps) {
        constexpr std::ptrdiff_t line = 64;
        const char* const end = next + steps * step;
        for (const char* at = next; at < end; at += line) __builtin_prefetch(at, 0, 2);
        next = end;
    }
};
/// The steps for which memory is prefetched at once: few lines, which do not delay other loads.
inline constexpr std::ptrdiff_t prefetched_steps = 16;

/// Computes rows [first, first + rows) and the columns of a few vectors from `column` on, with sums in registers.
/// Words is a type with the vector of sums, and `add`, which adds the products of one word of each row with vectors of
/// columns; it may have `add_together`, which adds those of `together` words.
template <class Words, int rows, int vectors, class Rows>
PRIMSEL_NOINLINE void dot_tile(Rows const& t, int first, int column, Prefetched later,
                               typename Rows::Sum* sums_of) noexcept {
    typename Words::Vector sums[rows][vectors];
    PRIMSEL_UNROLL
    for (int v = 0; v < vectors; ++v) {
        sums[0][v] = t.start == nullptr ? Words::zero() : Words::load(t.start + column + v * Words::width);
        PRIMSEL_UNROLL
        for (int row = 1; row < rows; ++row) sums[row][v] = sums[0][v];
    }
    std::ptrdiff_t places[rows];
    PRIMSEL_UNROLL
    for (int row = 0; row < rows; ++row) places[row] = t.place(first + row);
    auto* b = t.b + Rows::word * column;
    for (int outer = 0; outer < t.outer; ++outer) {
        for (int inner = 0; inner < t.inner; ++inner) {
            // One pointer moves: a pointer for each row would have to be set for each tap.
            auto* a =
                t.a + static_cast<std::size_t>(outer) * t.outer_step + static_cast<std::size_t>(inner) * t.inner_step;
            for (auto* const end = a + t.run; a < end;) {
                auto* some = end;
                if (later.step != 0) {
                    some = a + std::min<std::ptrdiff_t>(end - a, prefetched_steps * Rows::word);
                    later.prefetch((some - a) / Rows::word);
                }
                if constexpr (requires { Words::together; }) {
                    constexpr std::ptrdiff_t words = Words::together;
                    for (std::ptrdiff_t left = (some - a) / (words * Rows::word); left > 0; --left) {
                        Words::template add_together<rows, vectors>(sums, a, places, b);
                        a += words * Rows::word;
                        b += words * Rows::word * dot_columns;
                    }
                }
                for (; a < some; a += Rows::word, b += Rows::word * dot_columns) {
                    Words::template add<rows, vectors>(sums, a, places, b);
                }
            }
        }
    }
    sums_of += first * dot_columns + column;
    PRIMSEL_UNROLL
    for (int row = 0; row < rows; ++row) {
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) {
            Words::store(sums_of + row * dot_columns + v * Words::width, sums[row][v]);
        }
    }
}

template <class Rows>
using DotKernel = void (*)(Rows const&, int, int, Prefetched, typename Rows::Sum*) noexcept;
/// The tiles of 1 to Words::rows rows: entry [rows - 1].
template <class Words, int vectors, class Rows>
inline constexpr auto dot_kernels = []<int... i>(std::integer_sequence<int, i...>) {
    return std::array<DotKernel<Rows>, sizeof...(i)>{&dot_tile<Words, i + 1, vectors, Rows>...};
}(std::make_integer_sequence<int, Words::rows>{});

/// Computes `rows` rows in tiles of nearly equal height.
template <class Words, class Rows>
void dot_tiles(Rows const& t, int rows, typename Rows::Sum* sums) noexcept {
    constexpr int vectors = Words::vectors, width = vectors * Words::width;
    const int tiles = (rows + Words::rows - 1) / Words::rows;
    Prefetched later;
    const std::ptrdiff_t steps = t.outer * t.inner * (t.run / Rows::word);
    if (t.later_bytes != 0) later = {t.later, static_cast<std::ptrdiff_t>(t.later_bytes) / (steps * tiles)};
    for (int i = 0, row = 0; i < tiles; ++i) {
        const int count = rows / tiles + (i < rows % tiles ? 1 : 0);
        const auto kernel = static_cast<std::size_t>(count - 1);
        for (int column = 0; column < t.columns; column += width) {
            if constexpr (vectors > 1) {
                if (t.columns - column <= Words::width) {
                    dot_kernels<Words, 1, Rows>[kernel](t, row, column, later, sums);
                    break;
                }
            }
            dot_kernels<Words, vectors, Rows>[kernel](t, row, column, later, sums);
        }
        later.next += steps * later.step;
        row += count;
    }
}

#if PRIMSEL_HAS_AMX
/// How far ahead panels are prefetched, in words: the matrix unit takes a microsecond for so many.
inline constexpr std::size_t fetch_ahead = 4096;
template <class Rows>
PRIMSEL_INLINE void fetch(Rows const& t, const decltype(Rows{}.b) from, int words) {
    constexpr std::size_t half = Rows::word * dot_columns / 2;  // a cache line
    auto* at = from + fetch_ahead * Rows::word;
    for (int i = 0; t.fetches && i < words; ++i, at += 2 * half) {
        __builtin_prefetch(at, 0, 2);
        __builtin_prefetch(at + half, 0, 2);
    }
}

/// Computes one or two tiles of rows by one or two tiles of columns. Tiles is a type whose functions multiply tiles.
template <class Tiles, bool two_rows, bool two_columns, class Rows>
PRIMSEL_NOINLINE void amx_tile(Rows const& t, core::AmxTiles tiles, typename Rows::Sum* sums) noexcept {
    core::seen_by_tiles();
    if (t.start == nullptr) {
        _tile_zero(0);
        if constexpr (two_columns) _tile_zero(1);
        if constexpr (two_rows) _tile_zero(2);
        if constexpr (two_rows && two_columns) _tile_zero(3);
    } else {
        _tile_loadd(0, t.start, 0);
        if constexpr (two_columns) _tile_loadd(1, t.start + 16, 0);
        if constexpr (two_rows) _tile_loadd(2, t.start, 0);
        if constexpr (two_rows && two_columns) _tile_loadd(3, t.start + 16, 0);
    }
    constexpr std::size_t word = Rows::word;
    const std::size_t a_stride = t.a_stride * 4 / word, next = static_cast<std::size_t>(tiles.rows) * t.a_stride;
    auto* b = t.b;
    Prefetched later{t.later};
    if (t.later_bytes != 0) {
        const int steps = t.outer * t.inner * (t.run / (Rows::word * tiles.words));
        later.step = static_cast<std::ptrdiff_t>(t.later_bytes) / steps;
    }
    for (int outer = 0; outer < t.outer; ++outer) {
        for (int inner = 0; inner < t.inner; ++inner) {
            auto* a =
                t.a + static_cast<std::size_t>(outer) * t.outer_step + static_cast<std::size_t>(inner) * t.inner_step;
            for (int i = 0; i < t.run; i += Rows::word * tiles.words, a += Rows::word * tiles.words) {
                if (later.step != 0) later.prefetch(1);
                fetch(t, b, tiles.words);
                _tile_loadd(6, b, 4 * dot_columns);
                _tile_loadd(4, a, a_stride);
                Tiles::first();
                if constexpr (two_columns) {
                    _tile_loadd(7, b + word * 16, 4 * dot_columns);
                    Tiles::beside();
                }
                if constexpr (two_rows) {
                    _tile_loadd(5, a + next, a_stride);
                    Tiles::below();
                    if constexpr (two_columns) Tiles::last();
                }
                b += static_cast<std::size_t>(tiles.words) * word * dot_columns;
            }
        }
    }
    constexpr std::size_t row = dot_columns * 4;
    _tile_stored(0, sums, row);
    if constexpr (two_columns) _tile_stored(1, sums + 16, row);
    if constexpr (two_rows) {
        auto* const below = sums + tiles.rows * dot_columns;
        _tile_stored(2, below, row);
        if constexpr (two_columns) _tile_stored(3, below + 16, row);
    }
}

/// Computes `rows` rows with tiles of half as many rows, or as many.
template <class Tiles, class Rows>
void amx_tiles(Rows const& t, int rows, core::AmxTiles tiles, typename Rows::Sum* sums) noexcept {
    const bool two_columns = t.columns > 16;
    if (rows > tiles.rows) {
        return two_columns ? amx_tile<Tiles, true, true>(t, tiles, sums) : amx_tile<Tiles, true, false>(t, tiles, sums);
    }
    return two_columns ? amx_tile<Tiles, false, true>(t, tiles, sums) : amx_tile<Tiles, false, false>(t, tiles, sums);
}
#endif

}  // namespace detail

}  // namespace primsel::inline PRIMSEL_ABI::gemm
