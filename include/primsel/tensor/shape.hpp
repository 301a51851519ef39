#pragma once

#include <primsel/core/config.hpp>

#include <cstddef>
#include <string>

namespace primsel::inline PRIMSEL_ABI {

/// The extents of one image: channels, height, width.
struct Shape {
    int c = 1, h = 1, w = 1;

    [[nodiscard]] constexpr std::size_t size() const {
        return static_cast<std::size_t>(c) * static_cast<std::size_t>(h) * static_cast<std::size_t>(w);
    }
    [[nodiscard]] constexpr std::size_t pixels() const {
        return static_cast<std::size_t>(h) * static_cast<std::size_t>(w);
    }
    friend constexpr bool operator==(Shape const&, Shape const&) = default;
};

/// A place in a Shape.
struct Coord {
    int c = 0, h = 0, w = 0;
    friend constexpr bool operator==(Coord const&, Coord const&) = default;
};

/// The axes of a Shape.
enum class Axis { c, h, w };

[[nodiscard]] constexpr int extent(Shape const& shape, Axis axis) {
    return axis == Axis::c ? shape.c : axis == Axis::h ? shape.h : shape.w;
}
[[nodiscard]] constexpr int& extent(Shape& shape, Axis axis) {
    return axis == Axis::c ? shape.c : axis == Axis::h ? shape.h : shape.w;
}

/// "3x224x224": channels x height x width.
[[nodiscard]] inline std::string to_string(Shape const& shape) {
    return std::to_string(shape.c) + 'x' + std::to_string(shape.h) + 'x' + std::to_string(shape.w);
}

}  // namespace primsel::inline PRIMSEL_ABI
