// The simplest layout of bytes.
#pragma once

#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

struct chw_u8 {
    using element = std::uint8_t;
    static constexpr std::string_view name = "chw_u8";
    static constexpr std::size_t size(primsel::Shape shape) { return shape.size(); }
    static constexpr std::size_t offset(primsel::Shape shape, primsel::Coord at) {
        return primsel::chw::offset(shape, at);
    }

    static std::uint8_t to_byte(float value, primsel::TensorRange range) {
        const float byte = std::nearbyint(value / range.scale) + static_cast<float>(range.zero_point);
        return static_cast<std::uint8_t>(std::clamp(byte, 0.0F, 255.0F));
    }
    static float from_byte(std::uint8_t byte, primsel::TensorRange range) {
        return range.scale * static_cast<float>(byte - range.zero_point);
    }
    static void transform_from(primsel::chw, primsel::Shape shape, const float* src, float* dst, primsel::ExecutorRef,
                               primsel::TensorRange range) noexcept {
        auto* const bytes = reinterpret_cast<std::uint8_t*>(dst);
        for (std::size_t i = 0; i < shape.size(); ++i) bytes[i] = to_byte(src[i], range);
    }
    static void transform_to(primsel::chw, primsel::Shape shape, const float* src, float* dst, primsel::ExecutorRef,
                             primsel::TensorRange range) noexcept {
        auto const* const bytes = reinterpret_cast<const std::uint8_t*>(src);
        for (std::size_t i = 0; i < shape.size(); ++i) dst[i] = from_byte(bytes[i], range);
    }
};
