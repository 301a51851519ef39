#pragma once

#include <primsel/tensor/shape.hpp>

#include <compare>
#include <cstddef>
#include <string>

namespace primsel::inline PRIMSEL_ABI {

/// The parameters of a convolution that decide how it may be computed and how long it takes. The kernel is k x c/groups
/// x fh x fw; the input is one image of c x h x w. The number of images is not part of the shape.
struct ConvShape {
    int c = 1, k = 1;
    int h = 1, w = 1;
    int fh = 1, fw = 1;
    int stride_h = 1, stride_w = 1;
    int pad_top = 0, pad_bottom = 0, pad_left = 0, pad_right = 0;
    int dilation_h = 1, dilation_w = 1;
    int groups = 1;

    /// The rows and columns of the input that the kernel of one output element spans.
    [[nodiscard]] constexpr int span_h() const { return (fh - 1) * dilation_h + 1; }
    [[nodiscard]] constexpr int span_w() const { return (fw - 1) * dilation_w + 1; }
    [[nodiscard]] constexpr int padded_h() const { return h + pad_top + pad_bottom; }
    [[nodiscard]] constexpr int padded_w() const { return w + pad_left + pad_right; }
    [[nodiscard]] constexpr int out_h() const { return (padded_h() - span_h()) / stride_h + 1; }
    [[nodiscard]] constexpr int out_w() const { return (padded_w() - span_w()) / stride_w + 1; }
    [[nodiscard]] constexpr int group_c() const { return c / groups; }
    [[nodiscard]] constexpr int group_k() const { return k / groups; }

    [[nodiscard]] constexpr Shape in_shape() const { return {.c = c, .h = h, .w = w}; }
    [[nodiscard]] constexpr Shape out_shape() const { return {.c = k, .h = out_h(), .w = out_w()}; }
    [[nodiscard]] constexpr std::size_t in_pixels() const { return in_shape().pixels(); }
    [[nodiscard]] constexpr std::size_t out_pixels() const { return out_shape().pixels(); }
    [[nodiscard]] constexpr int taps() const { return fh * fw; }
    /// The number of values that each output element sums.
    [[nodiscard]] constexpr int depth() const { return taps() * group_c(); }
    [[nodiscard]] constexpr std::size_t kernel_size() const {
        return static_cast<std::size_t>(k) * static_cast<std::size_t>(depth());
    }

    [[nodiscard]] constexpr bool strided() const { return stride_h != 1 || stride_w != 1; }
    [[nodiscard]] constexpr bool dilated() const { return dilation_h != 1 || dilation_w != 1; }
    [[nodiscard]] constexpr bool padded() const {
        return pad_top != 0 || pad_bottom != 0 || pad_left != 0 || pad_right != 0;
    }
    /// Returns whether the parameters describe a convolution.
    [[nodiscard]] constexpr bool valid() const {
        return c > 0 && k > 0 && h > 0 && w > 0 && fh > 0 && fw > 0 && stride_h > 0 && stride_w > 0 && pad_top >= 0 &&
               pad_bottom >= 0 && pad_left >= 0 && pad_right >= 0 && dilation_h > 0 && dilation_w > 0 && groups > 0 &&
               c % groups == 0 && k % groups == 0 && span_h() <= padded_h() && span_w() <= padded_w();
    }
    /// Returns the floating-point operations of the direct algorithm for one image: two for each multiply-add.
    [[nodiscard]] constexpr double operations() const { return 2.0 * static_cast<double>(out_pixels()) * k * depth(); }
    /// An arbitrary order, for use as a key.
    friend constexpr auto operator<=>(ConvShape const&, ConvShape const&) = default;
};

/// Returns a text such as "64x56x56 -> 64x56x56, 3x3", followed by strides, paddings, dilation and groups where they
/// are not the usual ones.
[[nodiscard]] inline std::string to_string(ConvShape const& s) {
    const auto pair = [](int a, int b) { return std::to_string(a) + 'x' + std::to_string(b); };
    std::string text = to_string(s.in_shape()) + " -> " + to_string(s.out_shape()) + ", " + pair(s.fh, s.fw);
    if (s.strided()) text += ", stride " + pair(s.stride_h, s.stride_w);
    if (s.padded()) {
        text += ", pad " + std::to_string(s.pad_top);
        if (s.pad_bottom != s.pad_top || s.pad_left != s.pad_top || s.pad_right != s.pad_top) {
            text += ',' + std::to_string(s.pad_bottom) + ',' + std::to_string(s.pad_left) + ',' +
                    std::to_string(s.pad_right);
        }
    }
    if (s.dilated()) text += ", dilation " + pair(s.dilation_h, s.dilation_w);
    if (s.groups != 1) text += ", groups " + std::to_string(s.groups);
    return text;
}
/// Returns the text of the shape, followed by the batch where it is not 1.
[[nodiscard]] inline std::string to_string(ConvShape const& s, int batch) {
    return to_string(s) + (batch == 1 ? "" : ", batch " + std::to_string(batch));
}

}  // namespace primsel::inline PRIMSEL_ABI
