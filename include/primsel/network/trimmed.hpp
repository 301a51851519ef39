// Convolutions without the taps that never meet the image.
#pragma once

#include <primsel/layer/conv.hpp>
#include <primsel/network/epilogue.hpp>

#include <algorithm>
#include <cstdint>

namespace primsel::inline PRIMSEL_ABI::network {

/// A convolution and the part of its weight's kernel that it computes.
struct TrimmedConv {
    ConvParams params;
    KernelPart part;
};

namespace detail {

/// A convolution along one axis of an image.
struct ConvAxis {
    int in, out, kernel, stride, dilation, before, after;
};
/// The taps that are kept, and their dilation and padding.
struct KeptTaps {
    int first, count, dilation, before, after;
};
/// Tap t reads pixels i * stride - before + t * dilation. Taps go from both ends only, and no more than padding goes
/// with them: a padding cannot be negative.
[[nodiscard]] constexpr KeptTaps kept_taps(ConvAxis const& axis) {
    const auto meets_image = [&axis](int tap) {
        const std::int64_t place = std::int64_t{tap} * axis.dilation - axis.before;
        const std::int64_t first = place >= 0 ? 0 : (-place + axis.stride - 1) / axis.stride;
        return first < axis.out && place + first * axis.stride < axis.in;
    };
    int first = 0, last = axis.kernel - 1;
    while (first < last && !meets_image(first) && std::int64_t{first + 1} * axis.dilation <= axis.before) ++first;
    while (last > first && !meets_image(last)) --last;
    const int before = axis.before - first * axis.dilation;
    // The least padding with which the last window fits. Where not even none is little enough for as few windows as
    // there were, more taps stay.
    const auto beyond = [&] {
        return std::int64_t{axis.out - 1} * axis.stride + std::int64_t{last - first} * axis.dilation + 1 - axis.in -
               before;
    };
    while (last + 1 < axis.kernel && beyond() <= -axis.stride) ++last;
    const int count = last - first + 1;
    if (count == axis.kernel) return {0, count, count == 1 ? 1 : axis.dilation, axis.before, axis.after};
    return {first, count, count == 1 ? 1 : axis.dilation, before,
            static_cast<int>(std::max<std::int64_t>(0, beyond()))};
}

}  // namespace detail

/// The same convolution of an image without the first and last rows and columns of taps that only ever meet padding,
/// and with a dilation of 1 along an axis of one tap.
[[nodiscard]] constexpr TrimmedConv trimmed(ConvParams const& conv, Shape const& in) {
    const Shape out = conv.output({&in, 1});
    const detail::KeptTaps rows = detail::kept_taps({in.h, out.h, conv.kernel.h, conv.stride.h, conv.dilation.h,
                                                     conv.padding.top, conv.padding.bottom}),
                           columns = detail::kept_taps({in.w, out.w, conv.kernel.w, conv.stride.w, conv.dilation.w,
                                                        conv.padding.left, conv.padding.right});
    TrimmedConv result{conv, {}};
    result.params.kernel = {rows.count, columns.count};
    result.params.dilation = {rows.dilation, columns.dilation};
    result.params.padding = {rows.before, rows.after, columns.before, columns.after};
    if (result.params.kernel != conv.kernel) result.part = {conv.kernel, {rows.first, columns.first}};
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI::network
