#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/tensor/shape.hpp>

#include <algorithm>
#include <concepts>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <ratio>
#include <span>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// The faults of a layer on given input shapes. A Network type reports them by static_assert, Graph::add by an error.
enum class Fault {
    none,
    wrong_input_count,
    impossible_parameter,
    kernel_exceeds_input,
    groups_do_not_divide,
    shapes_differ,
    sizes_differ,
    slice_outside,
    padding_exceeds_kernel,
    padding_exceeds_input,
    too_large,
    refused,
};

[[nodiscard]] constexpr std::string_view message(Fault fault) {
    switch (fault) {
        case Fault::none:
            return "";
        case Fault::wrong_input_count:
            return "wrong number of inputs";
        case Fault::impossible_parameter:
            return "a parameter is impossible (a size below 1, a negative padding, ...)";
        case Fault::kernel_exceeds_input:
            return "the kernel is larger than the padded input";
        case Fault::groups_do_not_divide:
            return "the groups do not divide the channels";
        case Fault::shapes_differ:
            return "the inputs differ in shape";
        case Fault::sizes_differ:
            return "the inputs differ in size along another axis than that of the concatenation";
        case Fault::slice_outside:
            return "the slice lies outside the input";
        case Fault::padding_exceeds_kernel:
            return "the padding is larger than the pooling window";
        case Fault::padding_exceeds_input:
            return "the padding mirrors more than the input has";
        case Fault::too_large:
            return "a size is beyond the library's bounds (2^29 for an extent or for pixels under a kernel, 2^45 "
                   "floats for what a layer needs)";
        case Fault::refused:
            return "the layer refuses these inputs";
    }
    return "";
}

/// The values that a weight may have. Variances must be positive if epsilon is 0. Scales and shifts may be infinite, as
/// in masks, but not NaN. Constants may have any value.
enum class WeightValues { finite, not_negative, positive, not_nan, any };

/// The dimensions of a weight, in PyTorch's order.
using WeightDims = std::initializer_list<std::int64_t>;

/// The run-time parameters of a kind of layer: a plain constexpr value.
/// - name: the kind, in the field's lower-case term ("conv", "max_pool");
/// - check(inputs): what is wrong with these input shapes;
/// - output(inputs): the output shape, where check found nothing;
/// - each_field(visit): visit(name, value) for every parameter, in the order of their declarations: what prints, stores
///   or compares layers need not know their kinds;
/// - each_weight(input, visit), where there are weights: visit(name, WeightDims, WeightValues) for every weight of the
///   layer on this (first) input. A weight "bias" of the layer "conv1" is called "conv1.bias", one without name
///   "conv1";
/// - impossible(), where check may find an impossible parameter: which, and what it must be; "" where none is.
template <class P>
concept LayerParams = std::equality_comparable<P> && requires(P const& params, std::span<const Shape> inputs) {
    { params.name() } -> std::convertible_to<std::string_view>;
    { params.check(inputs) } -> std::same_as<Fault>;
    { params.output(inputs) } -> std::same_as<Shape>;
    params.each_field([](std::string_view, auto const&) {});
};

/// A std::ratio as a number: clang 15 to 17 take no float as a template argument.
template <class Ratio>
inline constexpr float as_float = static_cast<float>(static_cast<double>(Ratio::num) / static_cast<double>(Ratio::den));

/// Height and width of a kernel, window, stride or dilation: 3 means 3x3.
struct Extent {
    int h = 1, w = 1;
    constexpr Extent() = default;
    // NOLINTNEXTLINE(google-explicit-constructor): Conv<64, 3> reads better than Conv<64, Extent{3, 3}>
    constexpr Extent(int both) : h(both), w(both) {}
    constexpr Extent(int height, int width) : h(height), w(width) {}
    friend constexpr bool operator==(Extent const&, Extent const&) = default;
};

/// Rows and columns added around an image: one number for all sides, two for top-and-bottom and left-and-right, or all
/// four.
struct Padding {
    int top = 0, bottom = 0, left = 0, right = 0;
    constexpr Padding() = default;
    // NOLINTNEXTLINE(google-explicit-constructor)
    constexpr Padding(int all) : top(all), bottom(all), left(all), right(all) {}
    constexpr Padding(int vertical, int horizontal)
        : top(vertical), bottom(vertical), left(horizontal), right(horizontal) {}
    constexpr Padding(int t, int b, int l, int r) : top(t), bottom(b), left(l), right(r) {}
    friend constexpr bool operator==(Padding const&, Padding const&) = default;
    [[nodiscard]] constexpr bool negative() const { return top < 0 || bottom < 0 || left < 0 || right < 0; }
};

namespace layer::detail {

/// Whether a parameter is from 1 to max_extent.
[[nodiscard]] constexpr bool is_size(int value) { return value >= 1 && value <= max_extent; }
[[nodiscard]] constexpr bool is_size(Extent value) { return is_size(value.h) && is_size(value.w); }
[[nodiscard]] constexpr bool is_size(Shape const& value) {
    return is_size(value.c) && is_size(value.h) && is_size(value.w);
}
/// Whether a parameter is from 0 to max_extent.
[[nodiscard]] constexpr bool is_size_or_0(int value) { return value >= 0 && value <= max_extent; }
[[nodiscard]] constexpr bool is_size_or_0(Padding const& value) {
    return is_size_or_0(value.top) && is_size_or_0(value.bottom) && is_size_or_0(value.left) &&
           is_size_or_0(value.right);
}

/// Names the impossible parameter of a sliding window and its valid range; "" if all are possible.
[[nodiscard]] constexpr std::string_view impossible_window(Extent stride, Padding const& padding, Extent dilation) {
    if (!is_size(stride)) return "the stride must be from 1 to 2^29";
    if (!is_size_or_0(padding)) return "the padding must be from 0 to 2^29";
    if (!is_size(dilation)) return "the dilation must be from 1 to 2^29";
    return "";
}
/// The rows or columns that a dilated kernel or window spans.
[[nodiscard]] constexpr std::int64_t dilated(int size, int dilation) { return (std::int64_t{size} - 1) * dilation + 1; }
[[nodiscard]] constexpr std::int64_t padded_h(Shape const& shape, Padding const& padding) {
    return std::int64_t{shape.h} + padding.top + padding.bottom;
}
[[nodiscard]] constexpr std::int64_t padded_w(Shape const& shape, Padding const& padding) {
    return std::int64_t{shape.w} + padding.left + padding.right;
}
/// Whether an image keeps to the bounds with which a kernel or window slides over so many rows and columns of it.
[[nodiscard]] constexpr bool pixels_within_bounds(int c, std::int64_t h, std::int64_t w) {
    return within_bounds(c, h, w) && bounded_product({h, w}) <= max_extent;
}
/// Whether a convolution that slides over so many rows and columns keeps to the bounds: its kernel, and what it makes
/// on its way, which is at most a patch or products for each pixel. A stride beyond the image counts as if the image
/// were as large, for so are the parts into which strides divide it.
[[nodiscard]] constexpr bool conv_within_bounds(int c, int k, int groups, Extent kernel, Extent stride, std::int64_t h,
                                                std::int64_t w) {
    const std::int64_t channels = std::max(c, k);
    h = std::max<std::int64_t>(h, stride.h), w = std::max<std::int64_t>(w, stride.w);
    if (!pixels_within_bounds(std::max(c, k), h, w)) return false;
    return bounded_product({channels, kernel.h, kernel.w}) <= max_extent &&
           bounded_product({k, c / groups, kernel.h, kernel.w}) <= max_floats &&
           bounded_product({channels, h, w, kernel.h, kernel.w}) <= max_floats;
}

}  // namespace layer::detail

}  // namespace primsel::inline PRIMSEL_ABI
