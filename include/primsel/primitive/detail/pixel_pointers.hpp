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

/// The pixels of an image in hwc under each tap of `count` neighbouring output pixels, pointers[tap * count + pixel]; a
/// tap in the padding points to zeros, as many as the image has channels.
inline void point_to_pixels(ConvShape const& s, const float* src, const float* zeros, int first, int count,
                            const float** pointers) noexcept {
    for (int fh = 0; fh < s.fh; ++fh) {
        for (int fw = 0; fw < s.fw; ++fw) {
            for (int i = 0; i < count; ++i) {
                const int pixel = first + i, oh = pixel / s.out_w(), ow = pixel % s.out_w();
                const int h = oh * s.stride_h + tap_offset_h(s, fh), w = ow * s.stride_w + tap_offset_w(s, fw);
                const bool in = h >= 0 && h < s.h && w >= 0 && w < s.w;
                *pointers++ = in ? src + static_cast<std::size_t>(h * s.w + w) * static_cast<std::size_t>(s.c) : zeros;
            }
        }
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::detail
