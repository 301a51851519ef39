#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/primitive/conv_args.hpp>
#include <primsel/primitive/conv_shape.hpp>
#include <primsel/primitive/detail/tap.hpp>

#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::detail {

/// Floats of scratch that so many pointers take.
[[nodiscard]] constexpr std::size_t pointer_floats(std::size_t pointers) {
    return round_up_floats(pointers * (sizeof(const float*) / sizeof(float)));
}

/// The pixels of images in hwc under each tap of `count` neighbouring output pixels, pointers[tap * count + pixel],
/// that of image n at n * out_pixels; a tap in the padding points to zeros, as many as an image has channels.
inline void point_to_pixels(ConvShape const& s, const float* src, const float* zeros, std::size_t first, int count,
                            const float** pointers) noexcept {
    const std::size_t pixels = s.out_pixels(), floats = s.in_shape().size();
    for (int i = 0; i < count; ++i) {
        const std::size_t number = first + static_cast<std::size_t>(i);
        const float* image = src + number / pixels * floats;
        const int pixel = static_cast<int>(number % pixels), oh = pixel / s.out_w(), ow = pixel % s.out_w();
        const float** to = pointers + i;
        for (int fh = 0; fh < s.fh; ++fh) {
            const int h = oh * s.stride_h + tap_offset_h(s, fh);
            for (int fw = 0; fw < s.fw; ++fw, to += count) {
                const int w = ow * s.stride_w + tap_offset_w(s, fw);
                const bool in = h >= 0 && h < s.h && w >= 0 && w < s.w;
                *to = in ? image + static_cast<std::size_t>(h * s.w + w) * static_cast<std::size_t>(s.c) : zeros;
            }
        }
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::detail
