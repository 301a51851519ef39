// Images of another size, with the values that Pillow and so torchvision's transforms of Pillow images have.
#pragma once

#include <image.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <vector>

namespace image {

/// The part of an image that is left after it is resized as a whole: rows [top, top + h) and columns [left, left + w).
struct Crop {
    int top = 0, left = 0, h = 0, w = 0;
};

namespace detail {

/// The pixels along an axis that a pixel of the result is the weighted sum of.
struct Taps {
    int first = 0;
    std::vector<std::int32_t> weights;
};

/// Bits behind the point of a weight: Pillow's PRECISION_BITS.
inline constexpr int weight_bits = 22;

/// The taps of results [from, from + count) of `out`, of `in` pixels: a triangle as wide as two pixels of the result,
/// at least two of the image (Pillow's precompute_coeffs and normalize_coeffs_8bpc for BILINEAR).
[[nodiscard]] inline std::vector<Taps> taps(int in, int out, int from, int count) {
    const double scale = static_cast<double>(in) / out, support = std::max(scale, 1.0);
    std::vector<Taps> result;
    for (int at = from; at < from + count; ++at) {
        const double centre = (at + 0.5) * scale;
        const int first = std::max(static_cast<int>(centre - support + 0.5), 0),
                  last = std::min(static_cast<int>(centre + support + 0.5), in);
        std::vector<double> weights;
        double sum = 0;
        for (int i = first; i < last; ++i) {
            weights.push_back(std::max(1 - std::abs((i - centre + 0.5) / support), 0.0));
            sum += weights.back();
        }
        Taps& tap = result.emplace_back(Taps{.first = first, .weights = {}});
        for (const double weight : weights) {
            tap.weights.push_back(static_cast<std::int32_t>(0.5 + weight / sum * (1 << weight_bits)));
        }
    }
    return result;
}

/// The sum of pixels `step` bytes apart, rounded to 8 bits.
[[nodiscard]] inline std::uint8_t weighted(Taps const& taps, const std::uint8_t* pixels, std::size_t step) {
    std::int64_t sum = std::int64_t{1} << (weight_bits - 1);
    for (std::size_t i = 0; i < taps.weights.size(); ++i) sum += std::int64_t{taps.weights[i]} * pixels[i * step];
    return static_cast<std::uint8_t>(std::clamp<std::int64_t>(sum >> weight_bits, 0, 255));
}

}  // namespace detail

/// The image resized to h x w, bilinear with antialiasing, rows before columns as in Pillow, and cropped. Only what is
/// left is computed. Opacity is resized as a colour is.
[[nodiscard]] inline Image resized(Image const& image, int h, int w, Crop const& crop) {
    const auto across = detail::taps(image.w, w, crop.left, crop.w), down = detail::taps(image.h, h, crop.top, crop.h);
    const auto channels = static_cast<std::size_t>(image.channels);
    const auto rows_in = static_cast<std::size_t>(image.w) * channels,
               rows_out = static_cast<std::size_t>(crop.w) * channels;
    const int first = down.front().first;
    const auto last = down.back().first + static_cast<int>(down.back().weights.size());
    std::vector<std::uint8_t> narrow(static_cast<std::size_t>(last - first) * rows_out);
    for (int y = first; y < last; ++y) {
        const std::uint8_t* const row = image.pixels.data() + static_cast<std::size_t>(y) * rows_in;
        std::uint8_t* to = narrow.data() + static_cast<std::size_t>(y - first) * rows_out;
        for (detail::Taps const& taps : across) {
            const std::uint8_t* const from = row + static_cast<std::size_t>(taps.first) * channels;
            for (std::size_t c = 0; c < channels; ++c) *to++ = detail::weighted(taps, from + c, channels);
        }
    }
    Image result{.channels = image.channels, .h = crop.h, .w = crop.w, .pixels = {}};
    result.pixels.reserve(static_cast<std::size_t>(crop.h) * rows_out);
    for (detail::Taps const& taps : down) {
        const std::uint8_t* const from = narrow.data() + static_cast<std::size_t>(taps.first - first) * rows_out;
        for (std::size_t i = 0; i < rows_out; ++i) result.pixels.push_back(detail::weighted(taps, from + i, rows_out));
    }
    return result;
}

/// The image resized to h x w.
[[nodiscard]] inline Image resized(Image const& image, int h, int w) {
    return resized(image, h, w, {.top = 0, .left = 0, .h = h, .w = w});
}

/// The centre of the image, h x w pixels, after it is resized, its sides in proportion, so that it just covers
/// box_h x box_w: of a square box, its short side is the box's, as in torchvision's Resize(box) and CenterCrop. The box
/// is not smaller than h x w.
[[nodiscard]] inline Image cropped(Image const& image, int box_h, int box_w, int h, int w) {
    const auto in_proportion = [](int side, int other, int own) {
        const double length = static_cast<double>(side) * other / own;
        return static_cast<int>(std::min(length, 0x1p30));
    };
    int high = box_h, wide = box_w;
    if (static_cast<double>(image.w) * box_h <= static_cast<double>(image.h) * box_w) {
        high = in_proportion(box_w, image.h, image.w);
    } else {
        wide = in_proportion(box_h, image.w, image.h);
    }
    // Half of an odd rest is rounded to the even neighbour, as Python's round does.
    const auto before = [](int rest) { return rest / 2 + (rest % 4 == 3 ? 1 : 0); };
    return resized(image, high, wide, {.top = before(high - h), .left = before(wide - w), .h = h, .w = w});
}

}  // namespace image
