// Tests for finite numbers by their bits, since -ffast-math lets compilers take std::isnan for false. Arguments are
// references, because clang then assumes that no parameter by value is NaN.
#pragma once

#include <primsel/core/config.hpp>

#include <bit>
#include <concepts>
#include <cstdint>
#include <type_traits>

namespace primsel::inline PRIMSEL_ABI {

namespace core::detail {

/// Returns the bits without the sign. They order by absolute value: numbers, then infinity, then NaN.
template <std::floating_point T>
[[nodiscard]] constexpr auto magnitude_bits(T const& value) noexcept {
    static_assert(sizeof(T) <= sizeof(std::uint64_t), "primsel: bits of float and double only");
    using Bits = std::conditional_t<sizeof(T) == sizeof(std::uint32_t), std::uint32_t, std::uint64_t>;
    return std::bit_cast<Bits>(value) & (~Bits{0} >> 1);
}
template <std::floating_point T>
inline constexpr auto infinity_bits = sizeof(T) == sizeof(std::uint32_t) ? 0x7f800000U : 0x7ff0000000000000U;

}  // namespace core::detail

template <std::floating_point T>
[[nodiscard]] constexpr bool is_nan(T const& value) noexcept {
    return core::detail::magnitude_bits(value) > core::detail::infinity_bits<T>;
}
template <std::floating_point T>
[[nodiscard]] constexpr bool is_finite(T const& value) noexcept {
    return core::detail::magnitude_bits(value) < core::detail::infinity_bits<T>;
}
/// Returns whether the value is one of the two infinities.
template <std::floating_point T>
[[nodiscard]] constexpr bool is_infinite(T const& value) noexcept {
    return core::detail::magnitude_bits(value) == core::detail::infinity_bits<T>;
}

}  // namespace primsel::inline PRIMSEL_ABI
