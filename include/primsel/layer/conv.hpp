#pragma once

#include <primsel/layer/activation.hpp>
#include <primsel/layer/option.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// A two-dimensional convolution of k kernels (cross-correlation, as in every framework). Weights: `<name>.weight`, of
/// k x c/groups x h x w, and `<name>.bias`, of k.
struct ConvParams {
    int k = 1;
    Extent kernel{1};
    Extent stride{1};
    Padding padding{};
    Extent dilation{1};
    int groups = 1;
    bool bias = true;

    [[nodiscard]] static constexpr std::string_view name() { return "conv"; }
    constexpr void each_field(auto const& visit) const {
        visit("k", k), visit("kernel", kernel), visit("stride", stride), visit("padding", padding),
            visit("dilation", dilation), visit("groups", groups), visit("bias", bias);
    }
    constexpr void each_weight(Shape const& input, auto const& visit) const {
        visit("weight", WeightDims{k, input.c / groups, kernel.h, kernel.w}, WeightValues::finite);
        if (bias) visit("bias", WeightDims{k}, WeightValues::finite);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        if (inputs[0].c % groups != 0 || k % groups != 0) return Fault::groups_do_not_divide;
        const std::int64_t h = layer::detail::padded_h(inputs[0], padding),
                           w = layer::detail::padded_w(inputs[0], padding);
        if (span_h() > h || span_w() > w) return Fault::kernel_exceeds_input;
        return layer::detail::conv_within_bounds(inputs[0].c, k, groups, kernel, stride, h, w) ? Fault::none
                                                                                               : Fault::too_large;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        if (!layer::detail::is_size(k)) return "k, the number of kernels, must be from 1 to 2^29";
        if (!layer::detail::is_size(kernel)) return "the kernel's height and width must be from 1 to 2^29";
        if (!layer::detail::is_size(groups)) return "the groups must be from 1 to 2^29";
        return layer::detail::impossible_window(stride, padding, dilation);
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = k,
                .h = static_cast<int>((layer::detail::padded_h(inputs[0], padding) - span_h()) / stride.h + 1),
                .w = static_cast<int>((layer::detail::padded_w(inputs[0], padding) - span_w()) / stride.w + 1)};
    }
    friend constexpr bool operator==(ConvParams const&, ConvParams const&) = default;

private:
    [[nodiscard]] constexpr std::int64_t span_h() const { return layer::detail::dilated(kernel.h, dilation.h); }
    [[nodiscard]] constexpr std::int64_t span_w() const { return layer::detail::dilated(kernel.w, dilation.w); }
};

/// The transpose of a convolution with k kernels (its gradient with respect to its input). Weights: `<name>.weight`, of
/// c x k/groups x h x w, and `<name>.bias`, of k.
struct ConvTransposeParams {
    int k = 1;
    Extent kernel{1};
    Extent stride{1};
    /// Rows and columns cropped from the result's borders.
    Padding padding{};
    Extent dilation{1};
    /// Rows and columns added to the result at the bottom and right: PyTorch's output_padding.
    int extra_h = 0, extra_w = 0;
    int groups = 1;
    bool bias = true;

    [[nodiscard]] static constexpr std::string_view name() { return "conv_transpose"; }
    constexpr void each_field(auto const& visit) const {
        visit("k", k), visit("kernel", kernel), visit("stride", stride), visit("padding", padding),
            visit("dilation", dilation), visit("extra_h", extra_h), visit("extra_w", extra_w), visit("groups", groups),
            visit("bias", bias);
    }
    constexpr void each_weight(Shape const& input, auto const& visit) const {
        visit("weight", WeightDims{input.c, k / groups, kernel.h, kernel.w}, WeightValues::finite);
        if (bias) visit("bias", WeightDims{k}, WeightValues::finite);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        if (inputs[0].c % groups != 0 || k % groups != 0) return Fault::groups_do_not_divide;
        const std::int64_t h = whole_h(inputs[0]), w = whole_w(inputs[0]);
        if (h - padding.top - padding.bottom < 1 || w - padding.left - padding.right < 1) {
            return Fault::kernel_exceeds_input;
        }
        return layer::detail::conv_within_bounds(inputs[0].c, k, groups, kernel, stride, h, w) ? Fault::none
                                                                                               : Fault::too_large;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        if (!layer::detail::is_size_or_0(extra_h) || !layer::detail::is_size_or_0(extra_w)) {
            return "the extra rows and columns must be from 0 to 2^29";
        }
        return ConvParams{
            .k = k, .kernel = kernel, .stride = stride, .padding = padding, .dilation = dilation, .groups = groups}
            .impossible();
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = k,
                .h = static_cast<int>(whole_h(inputs[0]) - padding.top - padding.bottom),
                .w = static_cast<int>(whole_w(inputs[0]) - padding.left - padding.right)};
    }
    friend constexpr bool operator==(ConvTransposeParams const&, ConvTransposeParams const&) = default;

private:
    /// Rows and columns of the result before the padding is cropped.
    [[nodiscard]] constexpr std::int64_t whole_h(Shape const& in) const {
        return (std::int64_t{in.h} - 1) * stride.h + layer::detail::dilated(kernel.h, dilation.h) + extra_h;
    }
    [[nodiscard]] constexpr std::int64_t whole_w(Shape const& in) const {
        return (std::int64_t{in.w} - 1) * stride.w + layer::detail::dilated(kernel.w, dilation.w) + extra_w;
    }
};

namespace layer {

/// K kernels of the given size. Options: Stride<2>, Pad<1>, Dilation<2>, Groups<32>, NoBias. Without Pad, the padding
/// is half the (dilated) kernel, so that an odd kernel at stride 1 keeps the image size.
template <int K, Extent kernel, class... Options>
struct Conv {
private:
    template <Extent value>
    static constexpr void apply(ConvParams& params, bool&, Stride<value>) {
        params.stride = value;
    }
    template <Padding value>
    static constexpr void apply(ConvParams& params, bool& padded, Pad<value>) {
        params.padding = value, padded = true;
    }
    template <Extent value>
    static constexpr void apply(ConvParams& params, bool&, Dilation<value>) {
        params.dilation = value;
    }
    template <int value>
    static constexpr void apply(ConvParams& params, bool&, Groups<value>) {
        params.groups = value;
    }
    static constexpr void apply(ConvParams& params, bool&, NoBias) { params.bias = false; }
    template <class Other>
    static constexpr void apply(ConvParams&, bool&, Other) {
        static_assert(sizeof(Other) == 0,
                      "primsel: Conv has no such option; it has Stride, Pad, Dilation, Groups and NoBias: see "
                      "docs/layer/layers.md");
    }

public:
    static constexpr ConvParams params = [] {
        ConvParams result{.k = K, .kernel = kernel};
        bool padded = false;
        (apply(result, padded, Options{}), ...);
        if (!padded) {
            result.padding = Padding{(kernel.h - 1) * result.dilation.h / 2, (kernel.w - 1) * result.dilation.w / 2};
        }
        return result;
    }();
};

/// The transpose of a convolution, as PyTorch's ConvTranspose2d. Options: Stride<2>, Pad<1> (default: 0), OutputPad<1>,
/// Dilation<2>, Groups<32>, NoBias.
template <int K, Extent kernel, class... Options>
struct ConvTranspose {
private:
    template <Extent value>
    static constexpr void apply(ConvTransposeParams& params, Stride<value>) {
        params.stride = value;
    }
    template <Padding value>
    static constexpr void apply(ConvTransposeParams& params, Pad<value>) {
        params.padding = value;
    }
    template <Extent value>
    static constexpr void apply(ConvTransposeParams& params, OutputPad<value>) {
        params.extra_h = value.h, params.extra_w = value.w;
    }
    template <Extent value>
    static constexpr void apply(ConvTransposeParams& params, Dilation<value>) {
        params.dilation = value;
    }
    template <int value>
    static constexpr void apply(ConvTransposeParams& params, Groups<value>) {
        params.groups = value;
    }
    static constexpr void apply(ConvTransposeParams& params, NoBias) { params.bias = false; }
    template <class Other>
    static constexpr void apply(ConvTransposeParams&, Other) {
        static_assert(sizeof(Other) == 0,
                      "primsel: ConvTranspose has no such option; it has Stride, Pad, OutputPad, Dilation, Groups and "
                      "NoBias: see docs/layer/layers.md");
    }

public:
    static constexpr ConvTransposeParams params = [] {
        ConvTransposeParams result{.k = K, .kernel = kernel};
        (apply(result, Options{}), ...);
        return result;
    }();
};

}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI
