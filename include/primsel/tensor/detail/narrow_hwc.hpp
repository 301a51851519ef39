#pragma once

#include <primsel/core/work.hpp>
#include <primsel/tensor/layout.hpp>
#include <primsel/tensor/transpose.hpp>

#include <algorithm>
#include <bit>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <string_view>
#include <type_traits>

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
    template <class Other>
    static constexpr bool of_floats = std::same_as<Other, hwc> || std::same_as<Other, chw> || std::same_as<Other, hcw>;

    /// The work of a transform between this layout and one of floats, for cost models. Operations are instructions on
    /// vectors, times their lanes: conversions, transposes of floats, and copies of pixels that have gaps here.
    template <class Other>
        requires of_floats<Other>
    [[nodiscard]] static OpCounts transform_counts(Shape shape, std::string_view form) {
        constexpr double conversion = 8, transpose = 12, copy = 32;
        const std::size_t c = static_cast<std::size_t>(shape.c), step = pixel(shape.c), pixels = shape.pixels();
        OpCounts counts{.form = form};
        if (std::same_as<Other, hwc>) {
            counts.rows = c == step ? 0.0 : static_cast<double>(pixels);
            counts.operations = copy * counts.rows;
        } else if (step <= few) {
            counts.form = "few";
        } else {
            counts = transpose_counts(1, c, pixels, c, {form, form, form});
            counts.operations *= transpose;
        }
        counts.operations += conversion * static_cast<double>(shape.size());
        counts.bytes =
            sizeof(float) * static_cast<double>(shape.size()) + sizeof(Element) * static_cast<double>(size(shape));
        return counts;
    }

    /// Converts an image of elements of another type by way of floats.
    template <class From, class Other, class Widen, class Narrow>
    static void from_elements(Shape shape, const Other* src, Element* dst, ExecutorRef executor, Widen const& widen,
                              Narrow const& narrow) noexcept {
        const std::size_t c = static_cast<std::size_t>(shape.c), pixels = shape.pixels(), step = pixel(shape.c),
                          src_step = From::pixel(shape.c);
        executor.parallel_for(
            (pixels + pixels_of_part - 1) / pixels_of_part, [=, &widen, &narrow](std::size_t block, std::size_t) {
                const std::size_t first = block * pixels_of_part, count = std::min(pixels_of_part, pixels - first);
                float part[pixels_of_part * channels_of_part];
                for (std::size_t begin = 0; begin < c; begin += channels_of_part) {
                    const std::size_t channels = std::min(channels_of_part, c - begin);
                    From::widen_pixels(src + first * src_step + begin, std::min(channels_of_part, src_step - begin),
                                       src_step, count, part, channels, widen);
                    narrow_pixels(part, channels, count, dst + first * step + begin,
                                  std::min(channels_of_part, step - begin), step, narrow);
                }
            });
    }

protected:
    /// Converts an image by narrow(floats, count, elements). Zeros follow the channels of a pixel.
    template <class Other, class Narrow>
    static void from_floats(Shape shape, const float* src, Element* elements, ExecutorRef executor,
                            Narrow const& narrow) noexcept {
        const std::size_t c = static_cast<std::size_t>(shape.c), step = pixel(shape.c);
        each_block<Other>(
            shape, executor, [=, &narrow](std::size_t first, std::size_t count, std::size_t from, std::size_t row) {
                Element* const to = elements + first * step;
                if constexpr (std::same_as<Other, hwc>) {
                    narrow_pixels(src + from, c, count, to, step, step, narrow);
                } else if (step <= few) {
                    Element planes[few][pixels_of_few];
                    for (std::size_t i = 0; i < step; ++i) {
                        if (i < c) {
                            narrow(src + from + i * row, count, planes[i]);
                        } else {
                            std::fill_n(planes[i], count, Element{});
                        }
                    }
                    with_step(step, [&]<std::size_t known>() { interleave<known>(planes, count, to); });
                } else {
                    float part[pixels_of_part * channels_of_part];
                    for (std::size_t begin = 0; begin < c; begin += channels_of_part) {
                        const std::size_t channels = std::min(channels_of_part, c - begin);
                        transpose_columns(src + from + begin * row, row, part, channels, channels, 0, count);
                        narrow_pixels(part, channels, count, to + begin, std::min(channels_of_part, step - begin), step,
                                      narrow);
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
                const Element* const from = elements + first * step;
                if constexpr (std::same_as<Other, hwc>) {
                    widen_pixels(from, step, step, count, dst + to, c, widen);
                } else if (step <= few) {
                    Element planes[few][pixels_of_few];
                    with_step(step, [&]<std::size_t known>() { separate<known>(from, count, planes); });
                    for (std::size_t i = 0; i < c; ++i) widen(planes[i], count, dst + to + i * row);
                } else {
                    float part[pixels_of_part * channels_of_part];
                    for (std::size_t begin = 0; begin < c; begin += channels_of_part) {
                        const std::size_t channels = std::min(channels_of_part, c - begin);
                        widen_pixels(from + begin, std::min(channels_of_part, step - begin), step, count, part,
                                     channels, widen);
                        transpose_columns(part, channels, dst + to + begin * row, row, count, 0, channels);
                    }
                }
            });
    }

private:
    template <class Another>
    friend struct NarrowHwc;
    static constexpr std::size_t pixels_of_part = 32, channels_of_part = 64;
    /// Pixels of at most so many elements are converted in planes: fewer bytes are interleaved than of floats.
    static constexpr std::size_t few = 8, pixels_of_few = 256;

    /// Calls use<step>().
    template <class Use>
    static void with_step(std::size_t step, Use const& use) noexcept {
        if (step == 2) {
            use.template operator()<2>();
        } else if (step == 4) {
            use.template operator()<4>();
        } else {
            use.template operator()<8>();
        }
    }
    /// Compilers vectorise copies of integers alone.
    using Bits = std::conditional_t<sizeof(Element) == 1, std::uint8_t, std::uint16_t>;
    template <std::size_t step>
    static void interleave(Element const (&planes)[few][pixels_of_few], std::size_t count,
                           Element* PRIMSEL_RESTRICT dst) noexcept {
        for (std::size_t i = 0; i < count; ++i) {
            for (std::size_t j = 0; j < step; ++j) {
                dst[i * step + j] = std::bit_cast<Element>(std::bit_cast<Bits>(planes[j][i]));
            }
        }
    }
    template <std::size_t step>
    static void separate(const Element* PRIMSEL_RESTRICT src, std::size_t count,
                         Element (&planes)[few][pixels_of_few]) noexcept {
        for (std::size_t i = 0; i < count; ++i) {
            for (std::size_t j = 0; j < step; ++j)
                planes[j][i] = std::bit_cast<Element>(std::bit_cast<Bits>(src[i * step + j]));
        }
    }

    /// Narrows pixels of `channels` contiguous floats. In the result, pixels are `step` elements apart and have room
    /// for `room` elements, of which the last become zeros.
    template <class Narrow>
    static void narrow_pixels(const float* src, std::size_t channels, std::size_t count, Element* dst, std::size_t room,
                              std::size_t step, Narrow const& narrow) noexcept {
        if (channels == step) return narrow(src, count * channels, dst);
        if (channels == room || room > channels_of_part) {
            for (std::size_t i = 0; i < count; ++i) {
                narrow(src + i * channels, channels, dst + i * step);
                std::fill_n(dst + i * step + channels, room - channels, Element{});
            }
            return;
        }
        Element some[(pixels_of_part + 1) * channels_of_part];
        for (std::size_t i = 0; i < count; i += pixels_of_part) {
            const std::size_t pixels = std::min(pixels_of_part, count - i);
            narrow(src + i * channels, pixels * channels, some);
            copy_pixels(some, channels, dst + i * step, step, channels, room, pixels);
        }
    }
    /// Widens the first `channels` elements of pixels.
    template <class Widen>
    static void widen_pixels(const Element* src, std::size_t room, std::size_t step, std::size_t count, float* dst,
                             std::size_t channels, Widen const& widen) noexcept {
        if (channels == step) return widen(src, count * channels, dst);
        if (channels == room || room > channels_of_part) {
            for (std::size_t i = 0; i < count; ++i) widen(src + i * step, channels, dst + i * channels);
            return;
        }
        Element some[(pixels_of_part + 1) * channels_of_part];
        for (std::size_t i = 0; i < count; i += pixels_of_part) {
            const std::size_t pixels = std::min(pixels_of_part, count - i);
            // The next pixel overwrites the zeros.
            copy_pixels(src + i * step, step, some, channels, channels, room, pixels);
            widen(some, pixels * channels, dst + i * channels);
        }
    }
    /// Copies `room` elements of each pixel, a power of two of bytes, and replaces those behind its channels by zeros.
    static void copy_pixels(const Element* src, std::size_t src_step, Element* dst, std::size_t dst_step,
                            std::size_t channels, std::size_t room, std::size_t count) noexcept {
        const auto copy = [&]<std::size_t bytes>() {
            using Bytes [[gnu::vector_size(bytes)]] = unsigned char;
            Bytes kept{};
            std::memset(&kept, 0xff, channels * sizeof(Element));
            for (std::size_t i = 0; i < count; ++i) {
                Bytes pixel{};
                std::memcpy(&pixel, src + i * src_step, bytes);
                pixel &= kept;
                std::memcpy(static_cast<void*>(dst + i * dst_step), &pixel, bytes);
            }
        };
        switch (room * sizeof(Element)) {
            case 4:
                return copy.template operator()<4>();
            case 8:
                return copy.template operator()<8>();
            case 16:
                return copy.template operator()<16>();
            case 32:
                return copy.template operator()<32>();
            case 64:
                return copy.template operator()<64>();
            default:
                return copy.template operator()<128>();
        }
    }

    /// Calls use(first pixel, number of pixels, offset of the first pixel in layout Other, distance of channels there)
    /// for blocks of pixels of one row; in hwc for blocks of any pixels.
    template <class Other, class Use>
    static void each_block(Shape shape, ExecutorRef executor, Use const& use) noexcept {
        const auto c = static_cast<std::size_t>(shape.c), w = static_cast<std::size_t>(shape.w);
        const std::size_t at_once = pixel(shape.c) <= few ? pixels_of_few : pixels_of_part;
        if constexpr (std::same_as<Other, hcw>) {
            executor.parallel_for(static_cast<std::size_t>(shape.h), [&use, c, w, at_once](std::size_t h, std::size_t) {
                for (std::size_t i = 0; i < w; i += at_once) {
                    use(h * w + i, std::min(at_once, w - i), h * w * c + i, w);
                }
            });
        } else {
            const std::size_t pixels = shape.pixels(), distance = std::same_as<Other, hwc> ? c : 1;
            executor.parallel_for((pixels + at_once - 1) / at_once, [=, &use](std::size_t block, std::size_t) {
                const std::size_t first = block * at_once;
                use(first, std::min(at_once, pixels - first), first * distance, pixels);
            });
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::tensor::detail
