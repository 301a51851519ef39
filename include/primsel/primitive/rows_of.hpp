// Computing only some rows of a convolution's result.
#pragma once

#include <primsel/core/config.hpp>
#include <primsel/primitive/conv_shape.hpp>

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// The most convolutions that are computed together in strips of rows. It bounds the alternatives of a node; 4 is a
/// choice, not a measurement.
inline constexpr std::size_t most_strip_layers = 4;

/// Rows [begin, end) of an image.
struct Rows {
    int begin = 0, end = 0;
    [[nodiscard]] constexpr int count() const { return end - begin; }
    friend constexpr bool operator==(Rows const&, Rows const&) = default;
};

/// Returns whether every row of the result reads at least one row of the image, not only padding.
[[nodiscard]] constexpr bool rows_read_image(ConvShape const& s) {
    return s.pad_top < s.span_h() && s.pad_bottom < s.span_h();
}

/// Returns the rows of the image from which the given rows of the result, at least one, are computed. rows_read_image
/// must hold.
[[nodiscard]] constexpr Rows rows_under(ConvShape const& s, Rows out) {
    return {std::max(0, out.begin * s.stride_h - s.pad_top),
            std::min(s.h, (out.end - 1) * s.stride_h + s.span_h() - s.pad_top)};
}

/// Returns the convolution that computes the given rows of the result from rows_under them.
[[nodiscard]] constexpr ConvShape rows_of(ConvShape const& s, Rows out) {
    ConvShape part = s;
    part.h = rows_under(s, out).count();
    part.pad_top = std::max(0, s.pad_top - out.begin * s.stride_h);
    part.pad_bottom = std::max(0, (out.end - 1) * s.stride_h + s.span_h() - s.pad_top - s.h);
    return part;
}

}  // namespace primsel::inline PRIMSEL_ABI
