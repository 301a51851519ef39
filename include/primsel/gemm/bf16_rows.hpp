// Products of rows of bfloat16 with a panel of 32 columns: on the matrix unit, by dot products of pairs, or by floats.
#pragma once

#include <primsel/core/amx.hpp>
#include <primsel/core/bfloat16.hpp>
#include <primsel/core/simd.hpp>

#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace primsel::inline PRIMSEL_ABI::gemm {

/// The columns of a panel.
inline constexpr int bf16_columns = 32;
/// The most rows of a product.
inline constexpr int bf16_rows = 32;

/// Rows of a matrix A, and a panel of a matrix B. The depth is walked as outer x inner x run, as in TileArgs; distances
/// and run are numbers of elements, and run is even. A step of the panel holds two elements for each column, those of
/// two steps of the depth.
struct Bf16Rows {
    const bfloat16* a = nullptr;
    std::size_t a_stride = 0;
    int outer = 1, inner = 1, run = 0;
    std::size_t outer_step = 0, inner_step = 0;
    const bfloat16* b = nullptr;
    /// The number of columns that are needed.
    int columns = bf16_columns;
    /// Whether the panel is read for the first time: what follows in memory is prefetched.
    bool fetches = false;
};

namespace detail {

/// The first and the second of each pair of a vector's bfloat16 numbers.
template <class Arch>
struct Pairs {
    Floats<Arch> first, second;

    PRIMSEL_INLINE static Pairs load(const bfloat16* src) {
        Words words;
        std::memcpy(&words, src, sizeof(words));
        return of(words);
    }
    PRIMSEL_INLINE static Pairs broadcast(const bfloat16* src) {
        std::uint32_t word = 0;
        std::memcpy(&word, src, sizeof(word));
        return {primsel::broadcast<Arch>(std::bit_cast<float>(word << 16U)),
                primsel::broadcast<Arch>(std::bit_cast<float>(word & 0xffff'0000U))};
    }

private:
    using Register = typename Floats<Arch>::register_type;
    using Words [[gnu::vector_size(sizeof(Register))]] = std::uint32_t;
    PRIMSEL_INLINE static Pairs of(Words const& words) {
        return {Floats<Arch>(reinterpret_cast<Register>(words << 16U)),
                Floats<Arch>(reinterpret_cast<Register>(words & 0xffff'0000U))};
    }
};

/// Adds the product of one pair of each row of A with a vector of columns of B.
template <class Arch, int rows, int vectors>
PRIMSEL_INLINE void add_pairs(Floats<Arch> (&sums)[rows][vectors], const bfloat16* const (&a)[rows], std::ptrdiff_t at,
                              const bfloat16* b) noexcept {
#if defined(__AVX512BF16__)
    if constexpr (lanes<Arch> == 16) {
        __m512i row_of_b[vectors];
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) row_of_b[v] = _mm512_loadu_si512(b + v * 32);
        PRIMSEL_UNROLL
        for (int row = 0; row < rows; ++row) {
            int pair = 0;
            std::memcpy(&pair, a[row] + at, sizeof(pair));
            const __m512i element = _mm512_set1_epi32(pair);
            PRIMSEL_UNROLL
            for (int v = 0; v < vectors; ++v) {
                // In assembly, as clang 16 cannot compile the intrinsic.
                __m512 sum = sums[row][v];
                asm("vdpbf16ps %2, %1, %0" : "+v"(sum) : "v"(element), "v"(row_of_b[v]));
                sums[row][v] = Floats<Arch>(sum);
            }
        }
        return;
    }
#endif
    Pairs<Arch> row_of_b[vectors];
    PRIMSEL_UNROLL
    for (int v = 0; v < vectors; ++v) row_of_b[v] = Pairs<Arch>::load(b + v * 2 * lanes<Arch>);
    PRIMSEL_UNROLL
    for (int row = 0; row < rows; ++row) {
        const auto element = Pairs<Arch>::broadcast(a[row] + at);
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) {
            sums[row][v] = fma<Arch>(element.first, row_of_b[v].first, sums[row][v]);
            sums[row][v] = fma<Arch>(element.second, row_of_b[v].second, sums[row][v]);
        }
    }
}

template <class Arch, int rows, int vectors>
PRIMSEL_NOINLINE void bf16_tile(Bf16Rows const& t, const bfloat16* first, const bfloat16* b, float* sums_of) noexcept {
    Floats<Arch> sums[rows][vectors];
    PRIMSEL_UNROLL
    for (int row = 0; row < rows; ++row) {
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) sums[row][v] = broadcast<Arch>(0.0F);
    }
    for (int outer = 0; outer < t.outer; ++outer) {
        for (int inner = 0; inner < t.inner; ++inner) {
            const bfloat16* a[rows];
            const bfloat16* at =
                first + static_cast<std::size_t>(outer) * t.outer_step + static_cast<std::size_t>(inner) * t.inner_step;
            PRIMSEL_UNROLL
            for (int row = 0; row < rows; ++row, at += t.a_stride) a[row] = at;
            for (std::ptrdiff_t i = 0; i < t.run; i += 2, b += 2 * bf16_columns) add_pairs<Arch>(sums, a, i, b);
        }
    }
    PRIMSEL_UNROLL
    for (int row = 0; row < rows; ++row) {
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) store<Arch>(sums_of + row * bf16_columns + v * lanes<Arch>, sums[row][v]);
    }
}

template <class Arch>
inline constexpr int bf16_tile_vectors = registers<Arch> == 32 ? 2 : 1;
template <class Arch>
inline constexpr int bf16_tile_rows = registers<Arch> == 32 ? 8 : 4;

/// Computes `rows` rows by tiles, and the rest by smaller ones.
template <class Arch, int most = bf16_tile_rows<Arch>>
void bf16_tiles(Bf16Rows const& t, int rows, float* sums) noexcept {
    constexpr int vectors = bf16_tile_vectors<Arch>, width = vectors * lanes<Arch>;
    const int whole = rows / most * most;
    for (int row = 0; row < whole; row += most) {
        const bfloat16* a = t.a + static_cast<std::size_t>(row) * t.a_stride;
        for (int column = 0; column < t.columns; column += width) {
            bf16_tile<Arch, most, vectors>(t, a, t.b + 2 * column, sums + row * bf16_columns + column);
        }
    }
    if constexpr (most > 1) {
        Bf16Rows rest = t;
        rest.a += static_cast<std::size_t>(whole) * t.a_stride;
        if (whole < rows) bf16_tiles<Arch, most / 2>(rest, rows - whole, sums + whole * bf16_columns);
    }
}

#if PRIMSEL_HAS_AMX
/// How far ahead panels are prefetched: the matrix unit takes a microsecond for so many elements.
inline constexpr std::size_t fetch_ahead = 8192;
PRIMSEL_INLINE void fetch(const bfloat16* at, int words) {
    for (int i = 0; i < words; ++i, at += 2 * bf16_columns) {
        __builtin_prefetch(at, 0, 2);
        __builtin_prefetch(at + bf16_columns, 0, 2);
    }
}

/// Computes one or two tiles of rows by one or two tiles of columns.
template <bool two_rows, bool two_columns>
PRIMSEL_NOINLINE void amx_tile(Bf16Rows const& t, core::AmxTiles tiles, float* sums) noexcept {
    core::seen_by_tiles();
    _tile_zero(0);
    if constexpr (two_columns) _tile_zero(1);
    if constexpr (two_rows) _tile_zero(2);
    if constexpr (two_rows && two_columns) _tile_zero(3);
    const std::size_t a_stride = t.a_stride * sizeof(bfloat16),
                      next = static_cast<std::size_t>(tiles.rows) * t.a_stride;
    const bfloat16* b = t.b;
    for (int outer = 0; outer < t.outer; ++outer) {
        for (int inner = 0; inner < t.inner; ++inner) {
            const bfloat16* a =
                t.a + static_cast<std::size_t>(outer) * t.outer_step + static_cast<std::size_t>(inner) * t.inner_step;
            for (int i = 0; i < t.run; i += 2 * tiles.words, a += 2 * tiles.words) {
                if (t.fetches) fetch(b + fetch_ahead, tiles.words);
                _tile_loadd(6, b, 4 * bf16_columns);
                _tile_loadd(4, a, a_stride);
                _tile_dpbf16ps(0, 4, 6);
                if constexpr (two_columns) {
                    _tile_loadd(7, b + bf16_columns, 4 * bf16_columns);
                    _tile_dpbf16ps(1, 4, 7);
                }
                if constexpr (two_rows) {
                    _tile_loadd(5, a + next, a_stride);
                    _tile_dpbf16ps(2, 5, 6);
                    if constexpr (two_columns) _tile_dpbf16ps(3, 5, 7);
                }
                b += static_cast<std::size_t>(tiles.words) * 2 * bf16_columns;
            }
        }
    }
    constexpr std::size_t row = bf16_columns * sizeof(float);
    _tile_stored(0, sums, row);
    if constexpr (two_columns) _tile_stored(1, sums + 16, row);
    if constexpr (two_rows) {
        float* below = sums + tiles.rows * bf16_columns;
        _tile_stored(2, below, row);
        if constexpr (two_columns) _tile_stored(3, below + 16, row);
    }
}
#endif

}  // namespace detail

/// Computes sums[row][column] = A B in floats, for at most bf16_rows rows, without the columns that are not needed.
/// With the matrix unit, `tiles` says how the calling thread's tiles are configured: they have as many rows as the
/// product, or half as many, and a run is a multiple of their words. Products are exact; the order of their sums
/// depends on the instruction set.
template <class Arch>
void multiply_bf16(Bf16Rows const& t, int rows, [[maybe_unused]] core::AmxTiles tiles, float* sums) noexcept {
#if PRIMSEL_HAS_AMX
    if (tiles.rows != 0) {
        const bool two_columns = t.columns > 16;
        if (rows > tiles.rows) {
            return two_columns ? detail::amx_tile<true, true>(t, tiles, sums)
                               : detail::amx_tile<true, false>(t, tiles, sums);
        }
        return two_columns ? detail::amx_tile<false, true>(t, tiles, sums)
                           : detail::amx_tile<false, false>(t, tiles, sums);
    }
#endif
    detail::bf16_tiles<Arch>(t, rows, sums);
}

}  // namespace primsel::inline PRIMSEL_ABI::gemm
