#pragma once

#include <primsel/primitive/primitive.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// The definition of convolution, element by element, accumulated in double precision: the reference for tests of every
/// primitive. src, dst and residual are chw images; the kernel is k x c/groups x fh x fw. bias and residual may be
/// null.
template <class Result = float>
void reference_convolution(ConvShape const& s, const float* src, const float* kernel, const float* bias,
                           const float* residual, Clamp clamp, Result* dst) {
    const std::size_t pixels = s.out_pixels();
    for (int k = 0; k < s.k; ++k) {
        const int first_c = k / s.group_k() * s.group_c();
        for (int oh = 0; oh < s.out_h(); ++oh) {
            for (int ow = 0; ow < s.out_w(); ++ow) {
                double sum = bias == nullptr ? 0.0 : static_cast<double>(bias[k]);
                for (int c = 0; c < s.group_c(); ++c) {
                    const float* image = src + chw::offset(s.in_shape(), {first_c + c, 0, 0});
                    const float* taps =
                        kernel + static_cast<std::size_t>(k * s.group_c() + c) * static_cast<std::size_t>(s.taps());
                    for (int fh = 0; fh < s.fh; ++fh) {
                        const int h = oh * s.stride_h - s.pad_top + fh * s.dilation_h;
                        if (h < 0 || h >= s.h) continue;
                        for (int fw = 0; fw < s.fw; ++fw) {
                            const int w = ow * s.stride_w - s.pad_left + fw * s.dilation_w;
                            if (w < 0 || w >= s.w) continue;
                            sum += static_cast<double>(image[h * s.w + w]) * static_cast<double>(taps[fh * s.fw + fw]);
                        }
                    }
                }
                const std::size_t at =
                    static_cast<std::size_t>(k) * pixels + static_cast<std::size_t>(oh * s.out_w() + ow);
                if (residual != nullptr) sum += static_cast<double>(residual[at]);
                sum = sum < static_cast<double>(clamp.low) ? static_cast<double>(clamp.low) : sum;
                sum = sum > static_cast<double>(clamp.high) ? static_cast<double>(clamp.high) : sum;
                dst[at] = static_cast<Result>(sum);
            }
        }
    }
}

}  // namespace primsel::inline PRIMSEL_ABI
