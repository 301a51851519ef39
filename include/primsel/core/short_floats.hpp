// Floats of 16 bits, bfloat16 and float16, as storage: all arithmetic is done in float.
#pragma once

#include <primsel/core/simd.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>

namespace primsel::inline PRIMSEL_ABI {

/// A type of floats with 16 bits. It has
/// - bits, and a constant `rounding`, the largest relative error of rounding a number that is not subnormal;
/// - nearest(float): the nearest number; of two equally near ones the even one. NaN stays NaN;
/// - functions to_float, and for a vector's lanes load_wide<Arch>(src) and store_narrow<Arch>(dst, value).
template <class T>
concept ShortFloat = requires(T value, float wide) {
    { value.bits } -> std::convertible_to<std::uint16_t>;
    { T::nearest(wide) } -> std::same_as<T>;
    { to_float(value) } -> std::same_as<float>;
};

/// Converts n neighbours.
template <ShortFloat Short>
void widen(const Short* PRIMSEL_RESTRICT src, std::size_t n, float* PRIMSEL_RESTRICT dst) noexcept {
    constexpr std::size_t width = lanes<default_arch>;
    std::size_t i = 0;
    for (; i + width <= n; i += width) store<default_arch>(dst + i, load_wide<default_arch>(src + i));
    for (; i < n; ++i) dst[i] = to_float(src[i]);
}
/// Converts n neighbours.
template <ShortFloat Short>
void narrow(const float* PRIMSEL_RESTRICT src, std::size_t n, Short* PRIMSEL_RESTRICT dst) noexcept {
    constexpr std::size_t width = lanes<default_arch>;
    std::size_t i = 0;
    for (; i + width <= n; i += width) store_narrow<default_arch>(dst + i, load<default_arch>(src + i));
    for (; i < n; ++i) dst[i] = Short::nearest(src[i]);
}

}  // namespace primsel::inline PRIMSEL_ABI
