#pragma once

#include <primsel/core/simd.hpp>

#include <cstdint>
#include <cstring>

namespace primsel::inline PRIMSEL_ABI::gemm {

/// Loads as many neighbours as a vector has lanes, as floats.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> load_int8(const std::int8_t* src) {
#if defined(__AVX512F__)
    if constexpr (lanes<Arch> == 16) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src));
        return Floats<Arch>(_mm512_cvtepi32_ps(_mm512_cvtepi8_epi32(bytes)));
    }
#endif
#if defined(__AVX2__)
    if constexpr (lanes<Arch> == 8) {
        const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(src));
        return Floats<Arch>(_mm256_cvtepi32_ps(_mm256_cvtepi8_epi32(bytes)));
    }
#endif
    if constexpr (lanes<Arch> == 4) {
        std::int32_t four = 0;
        std::memcpy(&four, src, sizeof(four));
#if defined(__SSE2__)
        // Each byte becomes the uppermost of a word.
        const __m128i bytes = _mm_cvtsi32_si128(four), pairs = _mm_unpacklo_epi8(bytes, bytes);
        return Floats<Arch>(_mm_cvtepi32_ps(_mm_srai_epi32(_mm_unpacklo_epi16(pairs, pairs), 24)));
#elif defined(__wasm__)
        const v128_t words = wasm_i16x8_extend_low_i8x16(wasm_i32x4_splat(four));
        return Floats<Arch>(wasm_f32x4_convert_i32x4(wasm_i32x4_extend_low_i16x8(words)));
#elif defined(__aarch64__)
        const int8x8_t bytes = vreinterpret_s8_s32(vdup_n_s32(four));
        return Floats<Arch>(vcvtq_f32_s32(vmovl_s16(vget_low_s16(vmovl_s8(bytes)))));
#endif
    }
    alignas(alignof(Floats<Arch>)) float all[lanes<Arch>];
    for (int i = 0; i < lanes<Arch>; ++i) all[i] = static_cast<float>(src[i]);
    return Floats<Arch>::load_aligned(all);
}

}  // namespace primsel::inline PRIMSEL_ABI::gemm
