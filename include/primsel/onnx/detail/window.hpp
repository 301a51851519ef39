// A kernel or window that moves over the image, for convolutions and poolings.
#pragma once

#include <primsel/onnx/detail/call.hpp>

namespace primsel::inline PRIMSEL_ABI::onnx {

struct Window {
    Extent kernel, stride, dilation;
    Padding padding;
    /// Rows and columns before the first window: padding that is negative, which only poolings have.
    Extent skipped{0};
};

/// Kernels, strides, dilations, paddings and images beyond these are refused: sizes stay far from overflowing.
inline constexpr std::int64_t largest_window = 1 << 14, largest_padding = 1 << 20, largest_image = 1 << 30;

/// The size of an image: of a tensor [n, c, h, w], or [n, c, l] as h = 1, w = l. Throws error for any other.
[[nodiscard]] inline Extent image_size(Sizes const& dims) {
    if (dims.size() != 3 && dims.size() != 4) {
        fail("on a tensor of ", dims.size(), " dimensions; images have 4 (n, c, h, w) or 3 (n, c, l)");
    }
    (void)elements(dims);
    return {dims.size() == 4 ? bounded(dims[2], 1, largest_image, "a height") : 1,
            bounded(dims.back(), 1, largest_image, "a width")};
}
/// Gives a tensor, of which one or two axes are an image, another size of the image.
inline void set_image_size(Sizes& dims, std::size_t axes, Extent size) {
    if (axes == 2) dims[dims.size() - 2] = size.h;
    dims.back() = size.w;
}
/// One or two numbers, as of an image with as many axes; `missing` is that of the row of a signal.
[[nodiscard]] inline Extent spatial(Sizes const& values, std::size_t axes, std::int64_t low, std::int64_t high,
                                    std::string_view what, int missing = 1) {
    if (values.size() != axes) fail(values.size(), " values of ", what, " for ", axes, " axes");
    return {axes == 2 ? bounded(values[0], low, high, what) : missing, bounded(values.back(), low, high, what)};
}

namespace detail {
/// Zeros before and after a row of pixels, and the pixels before the first window.
struct SamePadding {
    int before, after, skipped;
};
/// The padding with which the result has ceil(in / stride) pixels, shared out between both ends. Pixels that no window
/// reads are shared out as well; of an odd number, one more is after the last window.
[[nodiscard]] inline SamePadding pad_same(int in, int kernel, int stride, int dilation, bool more_at_end) {
    const int out = (in + stride - 1) / stride, span = (kernel - 1) * dilation + 1;
    const auto total = static_cast<int>(static_cast<std::int64_t>(out - 1) * stride + span - in);
    const int zeros = std::max(0, total);
    const int before = more_at_end ? zeros / 2 : zeros - zeros / 2;
    return {before, zeros - before, (zeros - total) / 2};
}
[[nodiscard]] inline Padding explicit_padding(Call const& call, std::size_t axes) {
    const Sizes pads = call.integers("pads", Sizes(2 * axes, 0));
    if (pads.size() != 2 * axes) fail(pads.size(), " values of padding for ", axes, " axes");
    for (const std::int64_t pad : pads) (void)bounded(pad, 0, largest_padding, "a padding");
    const auto at = [&](std::size_t i) { return static_cast<int>(pads[i]); };
    return axes == 2 ? Padding{at(0), at(2), at(1), at(3)} : Padding{0, 0, at(0), at(1)};
}
}  // namespace detail

/// The attributes strides, dilations, pads and auto_pad of a node on images.
[[nodiscard]] inline Window read_window(Call const& call, Sizes const& dims, Sizes const& kernel) {
    const Extent image = image_size(dims);
    const std::size_t axes = dims.size() - 2;
    Window window;
    window.kernel = spatial(kernel, axes, 1, largest_window, "a kernel");
    window.stride = spatial(call.integers("strides", Sizes(axes, 1)), axes, 1, largest_window, "a stride");
    window.dilation = spatial(call.integers("dilations", Sizes(axes, 1)), axes, 1, largest_window, "a dilation");
    const std::string_view rule = call.text("auto_pad", "NOTSET");
    if (rule == "NOTSET" || rule.empty()) {
        window.padding = detail::explicit_padding(call, axes);
    } else if (rule == "SAME_UPPER" || rule == "SAME_LOWER") {
        const bool more_at_end = rule == "SAME_UPPER";
        const auto [top, bottom, skipped_rows] =
            detail::pad_same(image.h, window.kernel.h, window.stride.h, window.dilation.h, more_at_end);
        const auto [left, right, skipped_columns] =
            detail::pad_same(image.w, window.kernel.w, window.stride.w, window.dilation.w, more_at_end);
        window.padding = {top, bottom, left, right};
        window.skipped = {skipped_rows, skipped_columns};
    } else if (rule != "VALID") {
        fail("auto_pad ", rule, " is unknown");
    }
    return window;
}

/// For layers that work on all channels of an image: refuses a tensor of several images in a graph that has them as
/// one.
inline void require_one_image(Builder const& build, Sizes const& dims) {
    if (build.is_whole() && dims[0] != 1) fail("needs separate images");
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
