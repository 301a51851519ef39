#pragma once

#include <primsel/core/config.hpp>

#include <bit>
#include <cstdint>

namespace primsel::inline PRIMSEL_ABI::core {

/// Returns the value of an IEEE 754 half-precision number, exactly.
[[nodiscard]] inline float half_to_float(std::uint16_t half) {
    const std::uint32_t sign = (half & 0x8000U) << 16U, exponent = (half >> 10U) & 31U, fraction = half & 1023U;
    if (exponent == 0) {
        const float subnormal = static_cast<float>(fraction) * 0x1p-24F;
        return std::bit_cast<float>(sign | std::bit_cast<std::uint32_t>(subnormal));
    }
    const std::uint32_t float_exponent = exponent == 31 ? 255 : exponent + (127 - 15);
    return std::bit_cast<float>(sign | float_exponent << 23U | fraction << 13U);
}

/// Returns the nearest half; of two equally near ones the even one. Values from half a step beyond the largest half,
/// 65504, become infinity. NaN stays NaN. A value converted from a half returns to the same bits.
[[nodiscard]] inline std::uint16_t float_to_half(float value) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t sign = bits >> 16U & 0x8000U, size = bits & 0x7fff'ffffU;
    // Returns the number rounded to a multiple of 2^shift, as the count of such multiples.
    const auto rounded = [](std::uint32_t number, std::uint32_t shift) {
        return (number + (1U << (shift - 1)) - 1 + (number >> shift & 1U)) >> shift;
    };
    const auto with_sign = [sign](std::uint32_t half) { return static_cast<std::uint16_t>(sign | half); };
    if (size > 0x7f80'0000U) {
        const std::uint32_t payload = size >> 13U & 1023U;
        return with_sign(0x7c00U | (payload != 0 ? payload : 0x200U));
    }
    if (size >= 0x477f'f000U) return with_sign(0x7c00U);
    if (size >= 0x3880'0000U) return with_sign(rounded(size - (112U << 23U), 13));
    // Halves below 2^-14 are multiples of 2^-24.
    const std::uint32_t exponent = size >> 23U, fraction = (size & 0x7f'ffffU) | 0x80'0000U;
    return with_sign(exponent < 102 ? 0 : rounded(fraction, 126 - exponent));
}

}  // namespace primsel::inline PRIMSEL_ABI::core
