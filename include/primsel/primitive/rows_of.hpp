// A convolution of which some rows are computed at a time.
#pragma once

#include <primsel/core/config.hpp>
#include <primsel/primitive/conv_shape.hpp>

#include <algorithm>

namespace primsel::inline PRIMSEL_ABI {

/// Rows [begin, end) of an image.
struct Rows {
    int begin = 0, end = 0;
    [[nodiscard]] constexpr int count() const { return end - begin; }
    friend constexpr bool operator==(Rows const&, Rows const&) = default;
};

/// Whether every row of the result reads a row of the image, and not padding alone.
[[nodiscard]] constexpr bool rows_read_image(ConvShape const& s) {
    return s.pad_top < s.span_h() && s.pad_bottom < s.span_h();
}

/// The rows of the image that these rows of the result, one at least, are computed from. rows_read_image must hold.
[[nodiscard]] constexpr Rows rows_under(ConvShape const& s, Rows out) {
    return {std::max(0, out.begin * s.stride_h - s.pad_top),
            std::min(s.h, (out.end - 1) * s.stride_h + s.span_h() - s.pad_top)};
}

/// The convolution that computes these rows of the result from those under them.
[[nodiscard]] constexpr ConvShape rows_of(ConvShape const& s, Rows out) {
    ConvShape part = s;
    part.h = rows_under(s, out).count();
    part.pad_top = std::max(0, s.pad_top - out.begin * s.stride_h);
    part.pad_bottom = std::max(0, (out.end - 1) * s.stride_h + s.span_h() - s.pad_top - s.h);
    return part;
}

}  // namespace primsel::inline PRIMSEL_ABI
