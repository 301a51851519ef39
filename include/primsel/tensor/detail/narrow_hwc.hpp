#pragma once

#include <primsel/tensor/layout.hpp>
#include <primsel/tensor/transpose.hpp>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::tensor::detail {

/// Rows, then columns, then channels of elements smaller than floats. A pixel fills a power of two of bytes, at least
/// four, or cache lines. Reading across lines makes the matrix unit six times as slow.
template <class Element>
struct NarrowHwc {
    using element = Element;

    [[nodiscard]] static constexpr std::size_t pixel(int channels) {
        constexpr std::size_t line = 64 / sizeof(Element), least = 4 / sizeof(Element);
        const auto c = static_cast<std::size_t>(channels);
        return c > line / 2 ? (c + line - 1) / line * line : std::max(std::bit_ceil(c), least);
    }
    [[nodiscard]] static constexpr std::size_t size(Shape shape) { return pixel(shape.c) * shape.pixels(); }
    [[nodiscard]] static constexpr std::size_t offset(Shape shape, Coord at) {
        return static_cast<std::size_t>(at.h * shape.w + at.w) * pixel(shape.c) + static_cast<std::size_t>(at.c);
    }

protected:
    template <class Other>
    static constexpr bool of_floats = std::same_as<Other, hwc> || std::same_as<Other, chw> || std::same_as<Other, hcw>;

    /// Converts an image by narrow(floats, count, elements). Zeros follow the channels of a pixel.
    template <class Other, class Narrow>
    static void from_floats(Shape shape, const float* src, Element* elements, ExecutorRef executor,
                            Narrow const& narrow) noexcept {
        const std::size_t c = static_cast<std::size_t>(shape.c), step = pixel(shape.c);
        each_block<Other>(
            shape, executor, [=, &narrow](std::size_t first, std::size_t count, std::size_t from, std::size_t row) {
                if constexpr (std::same_as<Other, hwc>) {
                    for (std::size_t i = 0; i < count; ++i) {
                        narrow(src + from + i * c, c, elements + (first + i) * step);
                        std::fill_n(elements + (first + i) * step + c, step - c, Element{});
                    }
                } else {
                    float part[pixels_of_block * channels_of_block];
                    for (std::size_t begin = 0; begin < c; begin += channels_of_block) {
                        const std::size_t channels = std::min(channels_of_block, c - begin);
                        transpose_columns(src + from + begin * row, row, part, channels, channels, 0, count);
                        for (std::size_t i = 0; i < count; ++i) {
                            narrow(part + i * channels, channels, elements + (first + i) * step + begin);
                        }
                    }
                    for (std::size_t i = 0; i < count; ++i) {
                        std::fill_n(elements + (first + i) * step + c, step - c, Element{});
                    }
                }
            });
    }
    /// Converts an image by widen(elements, count, floats).
    template <class Other, class Widen>
    static void to_floats(Shape shape, const Element* elements, float* dst, ExecutorRef executor,
                          Widen const& widen) noexcept {
        const std::size_t c = static_cast<std::size_t>(shape.c), step = pixel(shape.c);
        each_block<Other>(
            shape, executor, [=, &widen](std::size_t first, std::size_t count, std::size_t to, std::size_t row) {
                if constexpr (std::same_as<Other, hwc>) {
                    for (std::size_t i = 0; i < count; ++i) widen(elements + (first + i) * step, c, dst + to + i * c);
                } else {
                    float part[pixels_of_block * channels_of_block];
                    for (std::size_t begin = 0; begin < c; begin += channels_of_block) {
                        const std::size_t channels = std::min(channels_of_block, c - begin);
                        for (std::size_t i = 0; i < count; ++i) {
                            widen(elements + (first + i) * step + begin, channels, part + i * channels);
                        }
                        transpose_columns(part, channels, dst + to + begin * row, row, count, 0, channels);
                    }
                }
            });
    }

private:
    static constexpr std::size_t pixels_of_block = 32, channels_of_block = 64;

    /// Calls use(first pixel, number of pixels, offset of the first pixel in layout Other, distance of channels there)
    /// for blocks of pixels of one row; in hwc for blocks of any pixels.
    template <class Other, class Use>
    static void each_block(Shape shape, ExecutorRef executor, Use const& use) noexcept {
        const auto c = static_cast<std::size_t>(shape.c), w = static_cast<std::size_t>(shape.w);
        if constexpr (std::same_as<Other, hcw>) {
            executor.parallel_for(static_cast<std::size_t>(shape.h), [&use, c, w](std::size_t h, std::size_t) {
                for (std::size_t i = 0; i < w; i += pixels_of_block) {
                    use(h * w + i, std::min(pixels_of_block, w - i), h * w * c + i, w);
                }
            });
        } else {
            const std::size_t pixels = shape.pixels(), distance = std::same_as<Other, hwc> ? c : 1;
            executor.parallel_for((pixels + pixels_of_block - 1) / pixels_of_block,
                                  [=, &use](std::size_t block, std::size_t) {
                                      const std::size_t first = block * pixels_of_block;
                                      use(first, std::min(pixels_of_block, pixels - first), first * distance, pixels);
                                  });
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::tensor::detail
