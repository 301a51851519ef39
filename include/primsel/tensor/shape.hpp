#pragma once

#include <primsel/core/config.hpp>

#include <cstddef>
#include <cstdint>
#include <initializer_list>
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

/// The bounds on sizes, which each layer's check and Graph::add enforce. max_extent bounds every padded extent of a
/// tensor, every size among a layer's parameters, the number of pixels under a kernel or window, and the number of
/// values that an element sums. A sum of a few such numbers fits an int. max_floats bounds the floats of a tensor with
/// all images of a batch, and of a layer's intermediate results. A small multiple of it, in bytes, fits a size_t
/// of 64 bits; with 32 it is what AlexNet's first layer needs, and fits once.
inline constexpr int max_extent = 1 << 29;
inline constexpr std::int64_t max_floats = std::int64_t{1} << (sizeof(std::size_t) == 8 ? 45 : 29);

/// Returns the product of non-negative factors, or max_floats + 1 where it exceeds max_floats.
[[nodiscard]] constexpr std::int64_t bounded_product(std::initializer_list<std::int64_t> factors) {
    std::int64_t product = 1;
    for (const std::int64_t factor : factors) {
        if (factor == 0) return 0;
        product = product > max_floats / factor ? max_floats + 1 : product * factor;
    }
    return product;
}
/// Returns whether the extents, each at least 1, keep to max_extent and max_floats.
[[nodiscard]] constexpr bool within_bounds(std::int64_t c, std::int64_t h, std::int64_t w) {
    return c <= max_extent && h <= max_extent && w <= max_extent && bounded_product({c, h, w}) <= max_floats;
}
[[nodiscard]] constexpr bool within_bounds(Shape const& shape) { return within_bounds(shape.c, shape.h, shape.w); }

/// The position of one element in a Shape.
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

/// Returns channels x height x width as text, e.g. "3x224x224".
[[nodiscard]] inline std::string to_string(Shape const& shape) {
    return std::to_string(shape.c) + 'x' + std::to_string(shape.h) + 'x' + std::to_string(shape.w);
}

}  // namespace primsel::inline PRIMSEL_ABI
