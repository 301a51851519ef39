// A layout of a user's own: blocks of eight channels, the last one padded. [c / 8][h][w][8].
#pragma once

#include <primsel/tensor/layout.hpp>

struct chw8c {
    static constexpr std::string_view name = "chw8c";
    [[nodiscard]] static constexpr std::size_t size(primsel::Shape shape) {
        return (static_cast<std::size_t>(shape.c) + 7) / 8 * 8 * shape.pixels();
    }
    [[nodiscard]] static constexpr std::size_t offset(primsel::Shape shape, primsel::Coord at) {
        const auto c = static_cast<std::size_t>(at.c), h = static_cast<std::size_t>(at.h);
        const auto w = static_cast<std::size_t>(at.w), width = static_cast<std::size_t>(shape.w);
        return c / 8 * 8 * shape.pixels() + (h * width + w) * 8 + c % 8;
    }
};
