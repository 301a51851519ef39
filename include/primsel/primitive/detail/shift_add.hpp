#pragma once

#include <primsel/primitive/detail/tap.hpp>

#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::primitive::detail {

/// Adds one kernel's plane of one tap's product, of the input's size, to the output plane at the tap's offset:
/// dst[oh][ow] += product[oh + offset][ow + offset].
inline void shift_add(ConvShape const& s, int fh, int fw, const float* product, float* dst) noexcept {
    const Range rows = tap_rows(s, fh), columns = tap_columns(s, fw);
    for (int oh = rows.begin; oh < rows.end; ++oh) {
        const float* PRIMSEL_RESTRICT from = product + (oh + tap_offset_h(s, fh)) * s.w + tap_offset_w(s, fw);
        float* PRIMSEL_RESTRICT to = dst + oh * s.out_w();
        for (int ow = columns.begin; ow < columns.end; ++ow) to[ow] += from[ow];
    }
}

/// Adds a tap's plane from an image-major product, whose pixels are `stride` floats apart.
inline void shift_add_pixels(ConvShape const& s, int fh, int fw, const float* product, std::size_t stride,
                             float* dst) noexcept {
    const Range rows = tap_rows(s, fh), columns = tap_columns(s, fw);
    for (int oh = rows.begin; oh < rows.end; ++oh) {
        const int row = (oh + tap_offset_h(s, fh)) * s.w + tap_offset_w(s, fw);
        float* to = dst + oh * s.out_w();
        for (int ow = columns.begin; ow < columns.end; ++ow) {
            to[ow] += product[static_cast<std::size_t>(row + ow) * stride];
        }
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::primitive::detail
