#pragma once

#include <primsel/core/half.hpp>
#include <primsel/core/short_floats.hpp>
#include <primsel/core/simd.hpp>

#include <cstdint>

namespace primsel::inline PRIMSEL_ABI {

/// A half-precision number of IEEE 754: sign, five bits of exponent, ten bits of fraction. Its finite numbers reach
/// 65504; its smallest one is 2^-24.
struct float16 {
    std::uint16_t bits = 0;
    static constexpr double rounding = 0x1p-11;

    [[nodiscard]] static float16 nearest(float value) { return {core::float_to_half(value)}; }
    friend constexpr bool operator==(float16, float16) = default;
};

[[nodiscard]] inline float to_float(float16 value) { return core::half_to_float(value.bits); }

/// Loads as many neighbours as a vector has lanes. A NaN may become another one.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> load_wide(const float16* src) {
#if defined(__AVX512F__)
    if constexpr (lanes<Arch> == 16) {
        return Floats<Arch>(_mm512_cvtph_ps(_mm256_loadu_si256(reinterpret_cast<const __m256i*>(src))));
    }
#endif
#if defined(__F16C__)
    if constexpr (lanes<Arch> == 8) {
        return Floats<Arch>(_mm256_cvtph_ps(_mm_loadu_si128(reinterpret_cast<const __m128i*>(src))));
    }
    if constexpr (lanes<Arch> == 4) {
        return Floats<Arch>(_mm_cvtph_ps(_mm_loadl_epi64(reinterpret_cast<const __m128i*>(src))));
    }
#endif
#if defined(__aarch64__)
    if constexpr (lanes<Arch> == 4) {
        return Floats<Arch>(vcvt_f32_f16(vreinterpret_f16_u16(vld1_u16(&src->bits))));
    }
#endif
    alignas(alignof(Floats<Arch>)) float all[lanes<Arch>];
    for (int i = 0; i < lanes<Arch>; ++i) all[i] = to_float(src[i]);
    return Floats<Arch>::load_aligned(all);
}
/// Rounds as float16::nearest does.
template <class Arch>
PRIMSEL_INLINE void store_narrow(float16* dst, Floats<Arch> const& value) {
#if defined(__AVX512F__)
    if constexpr (lanes<Arch> == 16) {
        _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst), _mm512_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
        return;
    }
#endif
#if defined(__F16C__)
    if constexpr (lanes<Arch> == 8) {
        _mm_storeu_si128(reinterpret_cast<__m128i*>(dst), _mm256_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
        return;
    }
    if constexpr (lanes<Arch> == 4) {
        _mm_storel_epi64(reinterpret_cast<__m128i*>(dst), _mm_cvtps_ph(value, _MM_FROUND_TO_NEAREST_INT));
        return;
    }
#endif
#if defined(__aarch64__)
    if constexpr (lanes<Arch> == 4) {
        vst1_u16(&dst->bits, vreinterpret_u16_f16(vcvt_f16_f32(value)));
        return;
    }
#endif
    alignas(alignof(Floats<Arch>)) float all[lanes<Arch>];
    value.store_aligned(all);
    for (int i = 0; i < lanes<Arch>; ++i) dst[i] = float16::nearest(all[i]);
}

}  // namespace primsel::inline PRIMSEL_ABI
