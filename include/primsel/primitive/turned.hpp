#pragma once

#include <primsel/primitive/conv_args.hpp>
#include <primsel/primitive/conv_shape.hpp>
#include <primsel/primitive/detail/tap.hpp>

#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// Whether the gradient of the input is a convolution of the result's gradient: that with the kernel turned by half a
/// circle, its channels and kernels exchanged.
[[nodiscard]] constexpr Support turns(ConvShape const& s) {
    if (s.strided()) return Support::no("needs stride 1");
    const bool within =
        s.pad_top < s.span_h() && s.pad_bottom < s.span_h() && s.pad_left < s.span_w() && s.pad_right < s.span_w();
    return within ? Support::yes() : Support::no("needs a padding smaller than the kernel");
}

/// The convolution that takes the gradient of the result to that of the input, of a shape that turns.
[[nodiscard]] constexpr ConvShape turned(ConvShape const& s) {
    ConvShape t = s;
    t.c = s.k, t.k = s.c;
    t.h = s.out_h(), t.w = s.out_w();
    t.pad_top = s.span_h() - 1 - s.pad_top, t.pad_bottom = s.span_h() - 1 - s.pad_bottom;
    t.pad_left = s.span_w() - 1 - s.pad_left, t.pad_right = s.span_w() - 1 - s.pad_right;
    return t;
}

/// The kernel of the turned convolution, c x k/groups x fh x fw, from the kernel of s; dst has kernel_size() floats.
inline void turn_kernel(ConvShape const& s, const float* kernel, float* dst) noexcept {
    const auto taps = static_cast<std::size_t>(s.taps());
    for (int group = 0; group < s.groups; ++group) {
        for (int c = 0; c < s.group_c(); ++c) {
            for (int k = group * s.group_k(); k < (group + 1) * s.group_k(); ++k, dst += taps) {
                const float* last = kernel + detail::kernel_index(s, k, c, 0, 0) + taps - 1;
                for (std::size_t tap = 0; tap < taps; ++tap) dst[tap] = *(last - tap);
            }
        }
    }
}

}  // namespace primsel::inline PRIMSEL_ABI
