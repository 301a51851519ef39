#pragma once

#include <primsel/primitive/conv_args.hpp>
#include <primsel/primitive/conv_shape.hpp>

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// Returns whether the gradient of the input is a convolution of the result's gradient with the rotated kernel.
[[nodiscard]] constexpr Support rotates(ConvShape const& s) {
    if (s.strided()) return Support::no("needs stride 1");
    const bool within =
        s.pad_top < s.span_h() && s.pad_bottom < s.span_h() && s.pad_left < s.span_w() && s.pad_right < s.span_w();
    return within ? Support::yes() : Support::no("needs a padding smaller than the kernel");
}

/// Returns the convolution that computes the gradient of the input from that of the result. rotates(s) must hold.
[[nodiscard]] constexpr ConvShape rotated(ConvShape const& s) {
    ConvShape t = s;
    t.c = s.k, t.k = s.c;
    t.h = s.out_h(), t.w = s.out_w();
    t.pad_top = s.span_h() - 1 - s.pad_top, t.pad_bottom = s.span_h() - 1 - s.pad_bottom;
    t.pad_left = s.span_w() - 1 - s.pad_left, t.pad_right = s.span_w() - 1 - s.pad_right;
    return t;
}

/// Writes the kernel of the rotated convolution, c x k/groups x fh x fw, from the kernel of s; dst has kernel_size()
/// floats.
inline void rotate_kernel(ConvShape const& s, const float* kernel, float* dst) noexcept {
    const auto taps = static_cast<std::size_t>(s.taps()), kernels = static_cast<std::size_t>(s.group_k()),
               channels = static_cast<std::size_t>(s.group_c());
    // In blocks, so that whole cache lines are read and written.
    constexpr std::size_t block = 16;
    for (int group = 0; group < s.groups;
         ++group, kernel += kernels * channels * taps, dst += kernels * channels * taps) {
        for (std::size_t first_c = 0; first_c < channels; first_c += block) {
            for (std::size_t first_k = 0; first_k < kernels; first_k += block) {
                for (std::size_t c = first_c; c < std::min(first_c + block, channels); ++c) {
                    for (std::size_t k = first_k; k < std::min(first_k + block, kernels); ++k) {
                        const float* from = kernel + (k * channels + c) * taps;
                        std::reverse_copy(from, from + taps, dst + (c * kernels + k) * taps);
                    }
                }
            }
        }
    }
}

}  // namespace primsel::inline PRIMSEL_ABI
