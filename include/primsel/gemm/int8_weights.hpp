// Weights in 8 bits with a scale for each output.
#pragma once

#include <primsel/core/config.hpp>
#include <primsel/core/simd.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace primsel::inline PRIMSEL_ABI::gemm {

/// The scale of an output whose largest |weight| is given.
[[nodiscard]] inline float int8_scale(float largest) { return largest / 127; }
/// Returns weight / int8_scale(largest), the nearest from -127 to 127; 0 if there is none.
[[nodiscard]] inline std::int8_t int8_weight(float weight, float largest) {
    const double value = std::nearbyint(static_cast<double>(weight) * 127 / static_cast<double>(largest));
    return static_cast<std::int8_t>(std::abs(value) <= 127 ? value : 0);
}

/// The weights of an output.
class Int8Weights {
public:
    Int8Weights(const float* kernel, std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) largest_ = std::max(largest_, std::abs(kernel[i]));
    }
    [[nodiscard]] float scale() const { return int8_scale(largest_); }
    /// The sum of all that were rounded.
    [[nodiscard]] std::int32_t sum() const { return sum_; }
    [[nodiscard]] std::int8_t rounded(float weight) {
        const std::int8_t result = int8_weight(weight, largest_);
        sum_ += result;
        return result;
    }

private:
    float largest_ = 0;
    std::int32_t sum_ = 0;
};

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
