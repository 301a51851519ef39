#pragma once

#include <primsel/primitive/conv_shape.hpp>

#include <algorithm>

namespace primsel::inline PRIMSEL_ABI::primitive::detail {

/// A half-open range of output rows or columns.
struct Range {
    int begin = 0, end = 0;
    [[nodiscard]] constexpr int size() const { return end > begin ? end - begin : 0; }
};

/// Returns the output positions for which a tap reads inside the image: 0 <= position * stride + offset < extent.
[[nodiscard]] constexpr Range inside(int offset, int stride, int extent, int out) {
    const auto steps = [stride](int distance) { return stride == 1 ? distance : distance / stride; };
    const int begin = offset >= 0 ? 0 : steps(-offset + stride - 1);
    const int last = extent - 1 - offset;
    const int end = last < 0 ? 0 : steps(last) + 1;
    return {std::min(begin, out), std::min(end, out)};
}

/// Returns the position that a kernel row or column reads, relative to position * stride.
[[nodiscard]] constexpr int tap_offset_h(ConvShape const& s, int fh) { return fh * s.dilation_h - s.pad_top; }
[[nodiscard]] constexpr int tap_offset_w(ConvShape const& s, int fw) { return fw * s.dilation_w - s.pad_left; }
[[nodiscard]] constexpr Range tap_rows(ConvShape const& s, int fh) {
    return inside(tap_offset_h(s, fh), s.stride_h, s.h, s.out_h());
}
[[nodiscard]] constexpr Range tap_columns(ConvShape const& s, int fw) {
    return inside(tap_offset_w(s, fw), s.stride_w, s.w, s.out_w());
}

/// Returns the kernel columns that lie inside the image for an output column; those of an empty range are 0.
[[nodiscard]] constexpr Range taps_at_column(ConvShape const& s, int ow) {
    const Range taps = inside(ow * s.stride_w - s.pad_left, s.dilation_w, s.w, s.fw);
    return taps.size() == 0 ? Range{} : taps;
}
/// Calls visit(columns, taps) for each range of output columns that have the same taps inside the image, in ascending
/// order.
template <class Visit>
constexpr void for_column_ranges(ConvShape const& s, Visit const& visit) {
    for (int begin = 0, end = 0; begin < s.out_w(); begin = end) {
        const Range same = taps_at_column(s, begin);
        for (end = begin + 1; end < s.out_w(); ++end) {
            const Range next = taps_at_column(s, end);
            if (next.begin != same.begin || next.end != same.end) break;
        }
        visit(Range{begin, end}, same);
    }
}

/// Returns the rows from one kernel row to the next in a copy of the image under so many output rows. A kernel with a
/// large dilation skips rows of the image, which are not copied.
[[nodiscard]] constexpr int copy_step(ConvShape const& s, int out_rows) {
    return std::min(s.dilation_h, (out_rows - 1) * s.stride_h + 1);
}
/// Returns the rows of that copy.
[[nodiscard]] constexpr int copy_rows(ConvShape const& s, int out_rows) {
    return (out_rows - 1) * s.stride_h + 1 + (s.fh - 1) * copy_step(s, out_rows);
}
/// Returns the row of the image, or outside it, of row i of the copy under `out_rows` output rows from `first` on.
[[nodiscard]] constexpr int copied_row(ConvShape const& s, int first, int out_rows, int i) {
    const int step = copy_step(s, out_rows), fh = std::min(i / step, s.fh - 1);
    return first * s.stride_h + tap_offset_h(s, fh) + i - fh * step;
}

/// Returns the index of an element in the kernel k x c/groups x fh x fw.
[[nodiscard]] constexpr std::size_t kernel_index(ConvShape const& s, int k, int c, int fh, int fw) {
    return ((static_cast<std::size_t>(k) * static_cast<std::size_t>(s.group_c()) + static_cast<std::size_t>(c)) *
                static_cast<std::size_t>(s.fh) +
            static_cast<std::size_t>(fh)) *
               static_cast<std::size_t>(s.fw) +
           static_cast<std::size_t>(fw);
}

}  // namespace primsel::inline PRIMSEL_ABI::primitive::detail
