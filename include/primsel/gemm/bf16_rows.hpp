// Products of rows of bfloat16 with a panel of 32 columns: on the matrix unit, by dot products of pairs, or by floats.
#pragma once

#include <primsel/core/amx.hpp>
#include <primsel/core/bfloat16.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/gemm/detail/dot_rows.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace primsel::inline PRIMSEL_ABI::gemm {

using Bf16Rows = DotRows<bfloat16, bfloat16, float>;

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

template <class Arch>
struct Bf16Words {
    using Vector = Floats<Arch>;
    static constexpr int width = lanes<Arch>;
    static constexpr int vectors = registers<Arch> == 32 ? 2 : 1, rows = registers<Arch> == 32 ? 8 : 4;

    PRIMSEL_INLINE static Vector zero() { return broadcast<Arch>(0.0F); }
    PRIMSEL_INLINE static Vector load(const float* src) { return primsel::load<Arch>(src); }
    PRIMSEL_INLINE static void store(float* dst, Vector const& value) { primsel::store<Arch>(dst, value); }

    /// Adds the product of one pair of each row of A with a vector of columns of B.
    template <int rows, int vectors>
    PRIMSEL_INLINE static void add(Vector (&sums)[rows][vectors], const bfloat16* a,
                                   std::ptrdiff_t const (&places)[rows], const bfloat16* b) noexcept {
#if defined(__AVX512BF16__)
        if constexpr (lanes<Arch> == 16) {
            __m512i row_of_b[vectors];
            PRIMSEL_UNROLL
            for (int v = 0; v < vectors; ++v) row_of_b[v] = _mm512_loadu_si512(b + v * 32);
            PRIMSEL_UNROLL
            for (int row = 0; row < rows; ++row) {
                int pair = 0;
                std::memcpy(&pair, a + places[row], sizeof(pair));
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
            const auto element = Pairs<Arch>::broadcast(a + places[row]);
            PRIMSEL_UNROLL
            for (int v = 0; v < vectors; ++v) {
                sums[row][v] = fma<Arch>(element.first, row_of_b[v].first, sums[row][v]);
                sums[row][v] = fma<Arch>(element.second, row_of_b[v].second, sums[row][v]);
            }
        }
    }
};

#if PRIMSEL_HAS_AMX
/// Products of tiles 4 and 5 with tiles 6 and 7, added to tiles 0 to 3.
struct Bf16Tiles {
    PRIMSEL_INLINE static void first() { _tile_dpbf16ps(0, 4, 6); }
    PRIMSEL_INLINE static void beside() { _tile_dpbf16ps(1, 4, 7); }
    PRIMSEL_INLINE static void below() { _tile_dpbf16ps(2, 5, 6); }
    PRIMSEL_INLINE static void last() { _tile_dpbf16ps(3, 5, 7); }
};
#endif

}  // namespace detail

/// Computes sums[row][column] = A B in floats, for at most dot_rows rows, without the columns that are not needed.
/// With the matrix unit, `tiles` says how the calling thread's tiles are configured: they have as many rows as the
/// product, or half as many, and a run is a multiple of their words. Products are exact; the order of their sums
/// depends on the instruction set.
template <class Arch>
void multiply(Bf16Rows const& t, int rows, [[maybe_unused]] core::AmxTiles tiles, float* sums) noexcept {
#if PRIMSEL_HAS_AMX
    if (tiles.rows != 0) return detail::amx_tiles<detail::Bf16Tiles>(t, rows, tiles, sums);
#endif
    using Words = detail::Bf16Words<Arch>;
    detail::dot_tiles<Words>(t, rows, sums);
}

}  // namespace primsel::inline PRIMSEL_ABI::gemm
