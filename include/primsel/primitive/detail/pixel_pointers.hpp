#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/primitive/conv_args.hpp>
#include <primsel/primitive/conv_shape.hpp>
#include <primsel/primitive/detail/tap.hpp>

#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::primitive::detail {

/// Returns the floats of scratch that hold so many pointers.
[[nodiscard]] constexpr std::size_t pointer_floats(std::size_t pointers) {
    return round_up_floats(pointers * (sizeof(const float*) / sizeof(float)));
}

/// Writes pointers to the pixels of hwc images under each tap of `count` neighbouring output pixels: pointers[tap *
/// count + pixel]. Pixels are numbered across images; image n begins at n * out_pixels. A tap in the padding points to
/// `zeros`, of as many floats as an image has channels.
inline void point_to_pixels(ConvShape const& s, const float* src, const float* zeros, std::size_t first, int count,
                            const float** pointers) noexcept {
    const auto channels = static_cast<std::size_t>(s.c);
    if (s.taps() == 1 && !s.strided() && !s.padded()) {
        for (int i = 0; i < count; ++i) pointers[i] = src + (first + static_cast<std::size_t>(i)) * channels;
        return;
    }
    const int out_h = s.out_h(), out_w = s.out_w();
    const auto pixels = static_cast<std::size_t>(out_h) * static_cast<std::size_t>(out_w);
    const float* image = src + first / pixels * s.in_shape().size();
    int oh = static_cast<int>(first % pixels) / out_w, ow = static_cast<int>(first % pixels) % out_w;
    for (int i = 0; i < count; ++i) {
        const float** to = pointers + i;
        for (int fh = 0; fh < s.fh; ++fh) {
            const int h = oh * s.stride_h + tap_offset_h(s, fh);
            for (int fw = 0; fw < s.fw; ++fw, to += count) {
                const int w = ow * s.stride_w + tap_offset_w(s, fw);
                const bool in = h >= 0 && h < s.h && w >= 0 && w < s.w;
                *to = in ? image + static_cast<std::size_t>(h * s.w + w) * channels : zeros;
            }
        }
        if (++ow < out_w) continue;
        ow = 0;
        if (++oh == out_h) oh = 0, image += s.in_shape().size();
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::primitive::detail
