#pragma once

#include <primsel/core/clamp.hpp>
#include <primsel/core/config.hpp>

#include <algorithm>
#include <cstdint>
#include <limits>

namespace primsel::inline PRIMSEL_ABI {

/// The values that the bytes of a tensor stand for: byte q is scale * (q - zero_point). Unknown if the scale is 0; then
/// no layout of bytes can hold the tensor.
struct TensorRange {
    float scale = 0;
    std::int32_t zero_point = 0;  ///< from 0 to 255, the byte of 0

    [[nodiscard]] constexpr bool known() const { return scale > 0; }
    friend constexpr bool operator==(TensorRange const&, TensorRange const&) = default;
};

/// Returns the values of the least and of the largest byte.
[[nodiscard]] constexpr Clamp bounds_of(TensorRange const& range) {
    const auto value_of = [&range](std::int32_t byte) {
        return range.scale * static_cast<float>(byte - range.zero_point);
    };
    return {value_of(0), value_of(255)};
}

/// Returns the range whose bytes reach from low to high and to 0. Both must be finite. The bound nearer to 0 may move
/// by half a step, since 0 is the value of a byte.
[[nodiscard]] constexpr TensorRange range_of(float low, float high) {
    low = std::min(low, 0.0F), high = std::max(high, 0.0F);
    if (low == high) return {.scale = 1, .zero_point = 0};
    const float scale = std::max(high / 255 - low / 255, std::numeric_limits<float>::min());
    return {.scale = scale, .zero_point = std::min(static_cast<std::int32_t>(-low / scale + 0.5F), 255)};
}

}  // namespace primsel::inline PRIMSEL_ABI
