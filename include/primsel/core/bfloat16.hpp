#pragma once

#include <primsel/core/short_floats.hpp>
#include <primsel/core/simd.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace primsel::inline PRIMSEL_ABI {

/// A float's upper half: its sign, its exponent and the first seven bits of its fraction.
struct bfloat16 {
    std::uint16_t bits = 0;
    static constexpr double rounding = 0x1p-8;

    [[nodiscard]] static constexpr bfloat16 nearest(float value) {
        const auto bits = std::bit_cast<std::uint32_t>(value);
        const std::uint32_t rounded = (bits + 0x7fffU + (bits >> 16U & 1U)) >> 16U, quiet = bits >> 16U | 0x40U;
        return {static_cast<std::uint16_t>((bits & 0x7fff'ffffU) > 0x7f80'0000U ? quiet : rounded)};
    }
    friend constexpr bool operator==(bfloat16, bfloat16) = default;
};

[[nodiscard]] constexpr float to_float(bfloat16 value) {
    return std::bit_cast<float>(static_cast<std::uint32_t>(value.bits) << 16U);
}

/// Returns the nearest bfloat16; of two equally near ones the even one. NaN stays NaN.
[[nodiscard]] constexpr bfloat16 to_bfloat16(float value) { return bfloat16::nearest(value); }

/// Loads as many neighbours as a vector has lanes.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> load_wide(const bfloat16* src) {
#if defined(__AVX512F__)
    if constexpr (lanes<Arch> == 16) {
        const __m256i halves = _mm256_loadu_si256(reinterpret_cast<const __m256i*>(src));
        return Floats<Arch>(_mm512_castsi512_ps(_mm512_slli_epi32(_mm512_cvtepu16_epi32(halves), 16)));
    }
#endif
#if defined(__AVX2__)
    if constexpr (lanes<Arch> == 8) {
        const __m128i halves = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src));
        return Floats<Arch>(_mm256_castsi256_ps(_mm256_slli_epi32(_mm256_cvtepu16_epi32(halves), 16)));
    }
#endif
#if defined(__SSE2__)
    if constexpr (lanes<Arch> == 4) {
        const __m128i halves = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(src));
        return Floats<Arch>(_mm_castsi128_ps(_mm_unpacklo_epi16(_mm_setzero_si128(), halves)));
    }
#endif
#if defined(__wasm__)
    if constexpr (lanes<Arch> == 4) return Floats<Arch>(wasm_i32x4_shl(wasm_u32x4_load16x4(src), 16));
#elif defined(__aarch64__)
    if constexpr (lanes<Arch> == 4) {
        return Floats<Arch>(vreinterpretq_f32_u32(vshll_n_u16(vld1_u16(&src->bits), 16)));
    }
#endif
    alignas(alignof(Floats<Arch>)) float all[lanes<Arch>];
    for (int i = 0; i < lanes<Arch>; ++i) all[i] = to_float(src[i]);
    return Floats<Arch>::load_aligned(all);
}
/// Rounds as to_bfloat16 does, but for subnormal numbers, which may become zero.
template <class Arch>
PRIMSEL_INLINE void store_narrow(bfloat16* dst, Floats<Arch> const& value) {
#if defined(__AVX512F__)
    if constexpr (lanes<Arch> == 16) {
#if defined(__AVX512BF16__)
        const auto result = std::bit_cast<__m256i>(_mm512_cvtneps_pbh(value));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst), result);
#else
        const __m512i bits = _mm512_castps_si512(value), upper = _mm512_srli_epi32(bits, 16);
        const __m512i odd = _mm512_and_si512(upper, _mm512_set1_epi32(1));
        const __m512i rounded =
            _mm512_srli_epi32(_mm512_add_epi32(_mm512_add_epi32(bits, _mm512_set1_epi32(0x7fff)), odd), 16);
        const __mmask16 nan = _mm512_cmp_ps_mask(value, value, _CMP_UNORD_Q);
        const __m512i result = _mm512_mask_or_epi32(rounded, nan, upper, _mm512_set1_epi32(0x40));
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst), _mm512_cvtepi32_epi16(result));
#endif
        return;
    }
#endif
#if defined(__AVX2__)
    if constexpr (lanes<Arch> == 8) {
        const __m256i bits = _mm256_castps_si256(value), upper = _mm256_srli_epi32(bits, 16);
        const __m256i odd = _mm256_and_si256(upper, _mm256_set1_epi32(1));
        const __m256i rounded =
            _mm256_srli_epi32(_mm256_add_epi32(_mm256_add_epi32(bits, _mm256_set1_epi32(0x7fff)), odd), 16);
        const __m256i nan = _mm256_castps_si256(_mm256_cmp_ps(value, value, _CMP_UNORD_Q));
        const __m256i result = _mm256_blendv_epi8(rounded, _mm256_or_si256(upper, _mm256_set1_epi32(0x40)), nan);
        // Halves of the vector are packed apart: words 0 to 3 of each are the result's.
        const __m256i packed = _mm256_permute4x64_epi64(_mm256_packus_epi32(result, result), 0b1000);
        _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), _mm256_castsi256_si128(packed));
        return;
    }
#endif
    alignas(alignof(Floats<Arch>)) float all[lanes<Arch>];
    value.store_aligned(all);
    for (int i = 0; i < lanes<Arch>; ++i) dst[i] = to_bfloat16(all[i]);
}

}  // namespace primsel::inline PRIMSEL_ABI
