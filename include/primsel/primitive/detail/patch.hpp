// The ways to build a patch matrix.
#pragma once

#include <primsel/primitive/detail/tap.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace primsel::inline PRIMSEL_ABI::primitive::detail {

/// Writes one row (channel, tap) of an im2col matrix, element by element with bounds tests. `plane` is the channel's h
/// x w.
inline void scan_column(ConvShape const& s, const float* plane, int fh, int fw, float* dst) noexcept {
    for (int oh = 0; oh < s.out_h(); ++oh) {
        const int h = oh * s.stride_h + tap_offset_h(s, fh);
        for (int ow = 0; ow < s.out_w(); ++ow) {
            const int w = ow * s.stride_w + tap_offset_w(s, fw);
            *dst++ = h >= 0 && h < s.h && w >= 0 && w < s.w ? plane[h * s.w + w] : 0.0F;
        }
    }
}

/// Writes one output row of such a matrix row: a run of the image row between two runs of zeros.
inline void copy_run(ConvShape const& s, const float* plane, int fh, int fw, int oh, float* dst) noexcept {
    const int h = oh * s.stride_h + tap_offset_h(s, fh);
    if (h < 0 || h >= s.h) {
        std::fill_n(dst, s.out_w(), 0.0F);
        return;
    }
    const Range columns = tap_columns(s, fw);
    const float* src = plane + h * s.w + tap_offset_w(s, fw);
    std::fill_n(dst, columns.begin, 0.0F);
    if (s.stride_w == 1) {
        std::copy(src + columns.begin, src + std::max(columns.begin, columns.end), dst + columns.begin);
    } else {
        for (int ow = columns.begin; ow < columns.end; ++ow) dst[ow] = src[ow * s.stride_w];
    }
    const int tail = std::max(columns.begin, columns.end);
    std::fill_n(dst + tail, s.out_w() - tail, 0.0F);
}

/// Writes one row of an im2col matrix from runs.
inline void copy_column(ConvShape const& s, const float* plane, int fh, int fw, float* dst) noexcept {
    for (int oh = 0; oh < s.out_h(); ++oh) copy_run(s, plane, fh, fw, oh, dst + oh * s.out_w());
}

/// Writes one channel of an im2col matrix, taps x pixels. If the tap one stride earlier is already written, the row is
/// copied from it, moved by one output row or column. Only the gap comes from the image.
inline void copy_self(ConvShape const& s, const float* plane, float* dst) noexcept {
    const std::size_t pixels = s.out_pixels(), row = static_cast<std::size_t>(s.out_w());
    const auto tap = [&](int fh, int fw) { return dst + static_cast<std::size_t>(fh * s.fw + fw) * pixels; };
    const int back_h = s.stride_h % s.dilation_h == 0 ? s.stride_h / s.dilation_h : s.fh;
    const int back_w = s.stride_w % s.dilation_w == 0 ? s.stride_w / s.dilation_w : s.fw;
    for (int fh = 0; fh < s.fh; ++fh) {
        for (int fw = 0; fw < s.fw; ++fw) {
            float* to = tap(fh, fw);
            if (fh >= back_h) {
                std::memcpy(to, tap(fh - back_h, fw) + row, (pixels - row) * sizeof(float));
                copy_run(s, plane, fh, fw, s.out_h() - 1, to + pixels - row);
            } else if (fw >= back_w) {
                std::memcpy(to, tap(fh, fw - back_w) + 1, (pixels - 1) * sizeof(float));
                const int w = (s.out_w() - 1) * s.stride_w + tap_offset_w(s, fw);
                for (int oh = 0; oh < s.out_h(); ++oh) {
                    const int h = oh * s.stride_h + tap_offset_h(s, fh);
                    const bool in = h >= 0 && h < s.h && w >= 0 && w < s.w;
                    to[static_cast<std::size_t>(oh + 1) * row - 1] = in ? plane[h * s.w + w] : 0.0F;
                }
            } else {
                copy_column(s, plane, fh, fw, to);
            }
        }
    }
}

/// Writes one row (output pixel) of an im2row matrix from a chw image, ordered c, fh, fw.
inline void scan_row(ConvShape const& s, const float* src, int first_c, int oh, int ow, float* dst) noexcept {
    for (int c = 0; c < s.group_c(); ++c) {
        const float* plane = src + static_cast<std::size_t>(first_c + c) * s.in_pixels();
        for (int fh = 0; fh < s.fh; ++fh) {
            const int h = oh * s.stride_h + tap_offset_h(s, fh);
            for (int fw = 0; fw < s.fw; ++fw) {
                const int w = ow * s.stride_w + tap_offset_w(s, fw);
                *dst++ = h >= 0 && h < s.h && w >= 0 && w < s.w ? plane[h * s.w + w] : 0.0F;
            }
        }
    }
}

/// Writes one row (output pixel) of an im2row matrix from an hwc image, ordered fh, fw, c. It copies whole kernel rows
/// where the channels of neighbouring taps are contiguous in the image, otherwise single taps.
inline void copy_row(ConvShape const& s, const float* src, int first_c, int oh, int ow, float* dst) noexcept {
    const auto channels = static_cast<std::size_t>(s.group_c()), pixel = static_cast<std::size_t>(s.c);
    const int w0 = ow * s.stride_w - s.pad_left;
    const bool one_run = s.groups == 1 && s.dilation_w == 1 && w0 >= 0 && w0 + s.fw <= s.w;
    for (int fh = 0; fh < s.fh; ++fh) {
        const int h = oh * s.stride_h + tap_offset_h(s, fh);
        const std::size_t run = static_cast<std::size_t>(s.fw) * channels;
        if (h < 0 || h >= s.h) {
            std::fill_n(dst, run, 0.0F);
        } else if (one_run) {
            std::memcpy(dst, src + static_cast<std::size_t>(h * s.w + w0) * pixel, run * sizeof(float));
        } else {
            for (int fw = 0; fw < s.fw; ++fw) {
                const int w = w0 + fw * s.dilation_w;
                float* to = dst + static_cast<std::size_t>(fw) * channels;
                if (w < 0 || w >= s.w) {
                    std::fill_n(to, channels, 0.0F);
                } else {
                    const float* from = src + static_cast<std::size_t>(h * s.w + w) * pixel + first_c;
                    std::memcpy(to, from, channels * sizeof(float));
                }
            }
        }
        dst += run;
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::primitive::detail
