// The strip of mec-row-partition and im2win: the input of one output row, stored column by column, so that its
// overlapping windows are the row's patches.
#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/primitive/detail/tap.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace primsel::inline PRIMSEL_ABI::primitive::detail {

/// Returns the floats of a strip, padded_w x fh x c.
[[nodiscard]] inline std::size_t strip_floats(ConvShape const& s) {
    return round_up_floats(static_cast<std::size_t>(s.padded_w()) * static_cast<std::size_t>(s.fh) *
                           static_cast<std::size_t>(s.c));
}

/// Writes the strip of output row `oh` from an image in hwc.
inline void lower_to_strip(ConvShape const& s, const float* src, int oh, float* dst) noexcept {
    const auto c = static_cast<std::size_t>(s.c);
    for (int column = 0; column < s.padded_w(); ++column) {
        const int w = column - s.pad_left;
        for (int fh = 0; fh < s.fh; ++fh, dst += c) {
            const int h = oh * s.stride_h + tap_offset_h(s, fh);
            if (h < 0 || h >= s.h || w < 0 || w >= s.w) {
                std::fill_n(dst, c, 0.0F);
            } else {
                std::memcpy(dst, src + static_cast<std::size_t>(h * s.w + w) * c, c * sizeof(float));
            }
        }
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::primitive::detail
