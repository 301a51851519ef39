// Products of rows of unsigned 8-bit numbers with a panel of 32 columns of signed ones, exact in 32-bit integers: on
// the matrix unit, by dot products of four, or by products of 16-bit numbers.
#pragma once

#include <primsel/core/amx.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/gemm/detail/dot_rows.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

#if defined(__aarch64__)
#include <arm_neon.h>
#endif

namespace primsel::inline PRIMSEL_ABI::gemm {

/// Whether rows of bytes must be widened to 16 bits: x86 without dot products of four, and WebAssembly.
inline constexpr bool widens_bytes =
#if defined(__wasm__)
    true;
#elif defined(__SSE2__) && !defined(__AVX512VNNI__) && !defined(__AVXVNNI__)
    !PRIMSEL_HAS_AMX;
#else
    false;
#endif

using U8S8Rows = DotRows<std::conditional_t<widens_bytes, std::int16_t, std::uint8_t>, std::int8_t, std::int32_t>;

namespace detail {

/// Reads four bytes.
PRIMSEL_INLINE std::int32_t word_at(const void* at) {
    std::int32_t word = 0;
    std::memcpy(&word, at, sizeof(word));
    return word;
}

#if defined(__SSE2__) || defined(__wasm__)
/// Vectors of 32-bit integers, as wide as those of floats. dot_4 adds the products of four 8-bit numbers, dot_2 those
/// of two 16-bit ones; load_wide makes 16-bit numbers of bytes.
template <int lanes>
struct Integers {
#if defined(__wasm__)
    using Vector = v128_t;
    PRIMSEL_INLINE static Vector load(const void* src) { return wasm_v128_load(src); }
    PRIMSEL_INLINE static Vector load_wide(const void* src) { return wasm_i16x8_load8x8(src); }
    PRIMSEL_INLINE static void store(void* dst, Vector value) { wasm_v128_store(dst, value); }
    PRIMSEL_INLINE static Vector broadcast(std::int32_t value) { return wasm_i32x4_splat(value); }
    PRIMSEL_INLINE static Vector dot_2(Vector sum, Vector a, Vector b) {
        return wasm_i32x4_add(sum, wasm_i32x4_dot_i16x8(a, b));
    }
#else
    using Vector = __m128i;
    PRIMSEL_INLINE static Vector load(const void* src) { return _mm_loadu_si128(static_cast<const Vector*>(src)); }
    PRIMSEL_INLINE static Vector load_wide(const void* src) {
        const Vector bytes = _mm_loadl_epi64(static_cast<const Vector*>(src));
        return _mm_srai_epi16(_mm_unpacklo_epi8(bytes, bytes), 8);
    }
    PRIMSEL_INLINE static void store(void* dst, Vector value) { _mm_storeu_si128(static_cast<Vector*>(dst), value); }
    PRIMSEL_INLINE static Vector broadcast(std::int32_t value) { return _mm_set1_epi32(value); }
    PRIMSEL_INLINE static Vector dot_2(Vector sum, Vector a, Vector b) {
        return _mm_add_epi32(sum, _mm_madd_epi16(a, b));
    }
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
    PRIMSEL_INLINE static Vector dot_4(Vector sum, Vector a, Vector b) { return _mm_dpbusd_epi32(sum, a, b); }
#elif defined(__AVXVNNI__)
    PRIMSEL_INLINE static Vector dot_4(Vector sum, Vector a, Vector b) { return _mm_dpbusd_avx_epi32(sum, a, b); }
#endif
#endif
};
#if defined(__AVX2__)
template <>
struct Integers<8> {
    using Vector = __m256i;
    PRIMSEL_INLINE static Vector load(const void* src) { return _mm256_loadu_si256(static_cast<const Vector*>(src)); }
    PRIMSEL_INLINE static Vector load_wide(const void* src) {
        return _mm256_cvtepi8_epi16(_mm_loadu_si128(static_cast<const __m128i*>(src)));
    }
    PRIMSEL_INLINE static void store(void* dst, Vector value) { _mm256_storeu_si256(static_cast<Vector*>(dst), value); }
    PRIMSEL_INLINE static Vector broadcast(std::int32_t value) { return _mm256_set1_epi32(value); }
    PRIMSEL_INLINE static Vector dot_2(Vector sum, Vector a, Vector b) {
        return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
    }
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
    PRIMSEL_INLINE static Vector dot_4(Vector sum, Vector a, Vector b) { return _mm256_dpbusd_epi32(sum, a, b); }
#elif defined(__AVXVNNI__)
    PRIMSEL_INLINE static Vector dot_4(Vector sum, Vector a, Vector b) { return _mm256_dpbusd_avx_epi32(sum, a, b); }
#endif
};
#endif
#if defined(__AVX512BW__)
template <>
struct Integers<16> {
    using Vector = __m512i;
    PRIMSEL_INLINE static Vector load(const void* src) { return _mm512_loadu_si512(src); }
    PRIMSEL_INLINE static Vector load_wide(const void* src) {
        return _mm512_cvtepi8_epi16(_mm256_loadu_si256(static_cast<const __m256i*>(src)));
    }
    PRIMSEL_INLINE static void store(void* dst, Vector value) { _mm512_storeu_si512(dst, value); }
    PRIMSEL_INLINE static Vector broadcast(std::int32_t value) { return _mm512_set1_epi32(value); }
    PRIMSEL_INLINE static Vector dot_2(Vector sum, Vector a, Vector b) {
        return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b));
    }
#if defined(__AVX512VNNI__)
    PRIMSEL_INLINE static Vector dot_4(Vector sum, Vector a, Vector b) { return _mm512_dpbusd_epi32(sum, a, b); }
#endif
};
#endif

/// The widest vectors of integers that are no wider than the Arch's vectors of floats.
template <class Arch>
inline constexpr int integer_lanes =
#if defined(__AVX512BW__)
    lanes<Arch>;
#elif defined(__AVX2__)
    std::min(8, lanes<Arch>);
#else
    4;
#endif

/// Words of four 8-bit numbers, or of two 16-bit ones: then those of columns are widened in registers.
template <class V>
struct U8S8Words {
    using Vector = typename V::Vector;
    static constexpr int width = sizeof(Vector) / 4;
    static constexpr int vectors = 2, rows = width == 16 ? 12 : 6;

    PRIMSEL_INLINE static Vector zero() { return V::broadcast(0); }
    PRIMSEL_INLINE static Vector load(const std::int32_t* src) { return V::load(src); }
    PRIMSEL_INLINE static void store(std::int32_t* dst, Vector value) { V::store(dst, value); }
    template <int rows, int vectors, class A>
    PRIMSEL_INLINE static void add(Vector (&sums)[rows][vectors], const A* a, std::ptrdiff_t const (&places)[rows],
                                   const std::int8_t* b) noexcept {
        Vector columns[vectors];
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) {
            if constexpr (sizeof(A) == 2) {
                columns[v] = V::load_wide(b + v * 2 * width);
            } else {
                columns[v] = V::load(b + v * 4 * width);
            }
        }
        PRIMSEL_UNROLL
        for (int row = 0; row < rows; ++row) {
            const Vector element = V::broadcast(word_at(a + places[row]));
            PRIMSEL_UNROLL
            for (int v = 0; v < vectors; ++v) {
                if constexpr (sizeof(A) == 2) {
                    sums[row][v] = V::dot_2(sums[row][v], element, columns[v]);
                } else {
                    sums[row][v] = V::dot_4(sums[row][v], element, columns[v]);
                }
            }
        }
    }
};

#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
/// Words of 16 columns, each of which has the elements of its own group of four neighbours: a word of the row is
/// repeated for the columns of its group.
struct GroupWords {
    using Vector = __m512i;
    static constexpr int width = 16, vectors = 1, rows = 12;

    PRIMSEL_INLINE static Vector zero() { return _mm512_setzero_si512(); }
    PRIMSEL_INLINE static Vector load(const std::int32_t* src) { return _mm512_loadu_si512(src); }
    PRIMSEL_INLINE static void store(std::int32_t* dst, Vector value) { _mm512_storeu_si512(dst, value); }
    template <int rows, int vectors>
    PRIMSEL_INLINE static void add(Vector (&sums)[rows][vectors], const std::uint8_t* a,
                                   std::ptrdiff_t const (&places)[rows], const std::int8_t* b) noexcept {
        const Vector column = _mm512_loadu_si512(b),
                     order = _mm512_setr_epi32(0, 0, 0, 0, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3);
        PRIMSEL_UNROLL
        for (int row = 0; row < rows; ++row) {
            const __m128i words = _mm_loadu_si128(reinterpret_cast<const __m128i*>(a + places[row]));
            const Vector repeated = _mm512_maskz_permutexvar_epi32(0xffff, order, _mm512_castsi128_si512(words));
            sums[row][0] = _mm512_dpbusd_epi32(sums[row][0], repeated, column);
        }
    }
};
#endif

#elif defined(__ARM_FEATURE_DOTPROD)
/// Vectors of four columns. The instruction takes signed numbers: 128 is subtracted from those of A.
struct U8S8Words {
    struct Vector {
        int32x4_t sum;
    };
    static constexpr int width = 4, vectors = 4, rows = 5, together = 4;

    PRIMSEL_INLINE static Vector zero() { return {vdupq_n_s32(0)}; }
    PRIMSEL_INLINE static Vector load(const std::int32_t* src) { return {vld1q_s32(src)}; }
    PRIMSEL_INLINE static void store(std::int32_t* dst, Vector value) { vst1q_s32(dst, value.sum); }
    template <int rows, int vectors>
    PRIMSEL_INLINE static void add(Vector (&sums)[rows][vectors], const std::uint8_t* a,
                                   std::ptrdiff_t const (&places)[rows], const std::int8_t* b) noexcept {
        int8x16_t columns[vectors];
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) columns[v] = vld1q_s8(b + v * 16);
        PRIMSEL_UNROLL
        for (int row = 0; row < rows; ++row) {
            const auto element = vreinterpretq_s8_u8(
                veorq_u8(vreinterpretq_u8_s32(vdupq_n_s32(word_at(a + places[row]))), vdupq_n_u8(0x80)));
            PRIMSEL_UNROLL
            for (int v = 0; v < vectors; ++v) sums[row][v].sum = vdotq_s32(sums[row][v].sum, columns[v], element);
        }
    }
    /// Adds the products of four words, which are the lanes of a vector.
    template <int rows, int vectors>
    PRIMSEL_INLINE static void add_together(Vector (&sums)[rows][vectors], const std::uint8_t* a,
                                            std::ptrdiff_t const (&places)[rows], const std::int8_t* b) noexcept {
        int8x16_t words[rows];
        PRIMSEL_UNROLL
        for (int row = 0; row < rows; ++row) {
            words[row] = vreinterpretq_s8_u8(veorq_u8(vld1q_u8(a + places[row]), vdupq_n_u8(0x80)));
        }
        // Loads from before a pointer are fewer operations.
        constexpr int step = 4 * dot_columns;
        b += 2 * step;
        asm("" : "+r"(b));
        add_lane<0>(sums, words, b - 2 * step);
        add_lane<1>(sums, words, b - step);
        b += 2 * step;
        asm("" : "+r"(b));
        add_lane<2>(sums, words, b - 2 * step);
        add_lane<3>(sums, words, b - step);
    }

private:
    template <int lane, int rows, int vectors>
    PRIMSEL_INLINE static void add_lane(Vector (&sums)[rows][vectors], int8x16_t const (&words)[rows],
                                        const std::int8_t* b) noexcept {
        int8x16_t columns[vectors];
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) {
            columns[v] =
                reinterpret_cast<int8x16_t>(load_alone<xsimd::neon64>(reinterpret_cast<const float*>(b + v * 16)).data);
        }
        PRIMSEL_UNROLL
        for (int row = 0; row < rows; ++row) {
            PRIMSEL_UNROLL
            for (int v = 0; v < vectors; ++v) {
                // As in add_product_of_lane; in this order, in which the columns need few registers.
                asm volatile("sdot %0.4s, %1.16b, %2.4b[%3]"
                             : "+w"(sums[row][v].sum)
                             : "w"(columns[v]), "w"(words[row]), "i"(lane));
            }
        }
    }
};
inline void multiply_signed(U8S8Rows t, int rows, std::int32_t* sums) noexcept {
    // Sums start from 128 times those of the columns.
    std::int32_t start[dot_columns]{};
    for (int column = 0; column < t.columns; column += 4) {
        int32x4_t halves = vdupq_n_s32(0);
        const std::int8_t* b = t.b + 4 * column;
        for (int i = 0; i < t.outer * t.inner * t.run; i += 4, b += 4 * dot_columns) {
            halves = vdotq_s32(halves, vld1q_s8(b), vdupq_n_s8(64));
        }
        const int32x4_t from = t.start == nullptr ? vdupq_n_s32(0) : vld1q_s32(t.start + column);
        vst1q_s32(start + column, vaddq_s32(from, vaddq_s32(halves, halves)));
    }
    t.start = start;
    dot_tiles<U8S8Words>(t, rows, sums);
}
#else
/// The definition, for the compiler to vectorise.
inline void multiply_plainly(U8S8Rows const& t, int rows, std::int32_t* sums) noexcept {
    const int columns = t.columns;
    for (int row = 0; row < rows; ++row, sums += dot_columns) {
        std::int32_t of_row[dot_columns]{};
        if (t.start != nullptr) std::copy_n(t.start, columns, of_row);
        const std::int8_t* b = t.b;
        for (int outer = 0; outer < t.outer; ++outer) {
            for (int inner = 0; inner < t.inner; ++inner) {
                const std::uint8_t* const a = t.a + t.place(row) + static_cast<std::size_t>(outer) * t.outer_step +
                                              static_cast<std::size_t>(inner) * t.inner_step;
                for (int i = 0; i < t.run; i += 4, b += 4 * dot_columns) {
                    for (int column = 0; column < columns; ++column) {
                        const std::int8_t* const four = b + 4 * column;
                        of_row[column] += a[i] * four[0] + a[i + 1] * four[1] + a[i + 2] * four[2] + a[i + 3] * four[3];
                    }
                }
            }
        }
        std::copy_n(of_row, columns, sums);
    }
}
#endif

#if PRIMSEL_HAS_AMX
/// Products of tiles 4 and 5 with tiles 6 and 7, added to tiles 0 to 3.
struct U8S8Tiles {
    PRIMSEL_INLINE static void first() { _tile_dpbusd(0, 4, 6); }
    PRIMSEL_INLINE static void beside() { _tile_dpbusd(1, 4, 7); }
    PRIMSEL_INLINE static void below() { _tile_dpbusd(2, 5, 6); }
    PRIMSEL_INLINE static void last() { _tile_dpbusd(3, 5, 7); }
};
#endif

}  // namespace detail

/// Computes sums[row][column] = start[column] + A B, for at most dot_rows rows, without the columns that are not
/// needed. With the matrix unit, `tiles` says how the calling thread's tiles are configured: they have as many rows as
/// the product, or half as many, and a run is a multiple of their words. Sums must fit 32 bits; they are then the same
/// on every instruction set.
template <class Arch>
void multiply(U8S8Rows const& t, int rows, [[maybe_unused]] core::AmxTiles tiles, std::int32_t* sums) noexcept {
#if PRIMSEL_HAS_AMX
    if (tiles.rows != 0) return detail::amx_tiles<detail::U8S8Tiles>(t, rows, tiles, sums);
#endif
#if defined(__SSE2__) || defined(__wasm__)
    detail::dot_tiles<detail::U8S8Words<detail::Integers<detail::integer_lanes<Arch>>>>(t, rows, sums);
#elif defined(__ARM_FEATURE_DOTPROD)
    detail::multiply_signed(t, rows, sums);
#else
    detail::multiply_plainly(t, rows, sums);
#endif
}

/// Whether there is multiply_fours.
inline constexpr bool multiplies_fours =
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
    !PRIMSEL_HAS_AMX;
#else
    false;
#endif
/// The same for 16 columns, of which each multiplies only the elements of its own group: of each 16 elements of a row,
/// group after group, four. The depth is that of one group.
inline void multiply_fours([[maybe_unused]] U8S8Rows const& t, [[maybe_unused]] int rows,
                           [[maybe_unused]] std::int32_t* sums) noexcept {
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
    detail::dot_tiles<detail::GroupWords>(t, rows, sums);
#endif
}

}  // namespace primsel::inline PRIMSEL_ABI::gemm
