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
    /// Set by simplify: a second input is added to the result, then it is clamped.
    bool residual = false;
    Clamp clamp{};

    [[nodiscard]] static constexpr std::string_view name() { return "conv"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != (residual ? 2U : 1U)) return Fault::wrong_input_count;
        if (k < 1 || kernel.h < 1 || kernel.w < 1 || stride.h < 1 || stride.w < 1 || dilation.h < 1 || dilation.w < 1 ||
            groups < 1 || padding.negative()) {
            return Fault::impossible_parameter;
        }
        if (inputs[0].c % groups != 0 || k % groups != 0) return Fault::groups_do_not_divide;
        if (span_h() > inputs[0].h + padding.top + padding.bottom) return Fault::kernel_exceeds_input;
        if (span_w() > inputs[0].w + padding.left + padding.right) return Fault::kernel_exceeds_input;
        if (residual && inputs[1] != output(inputs)) return Fault::shapes_differ;
        return Fault::none;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = k,
                .h = (inputs[0].h + padding.top + padding.bottom - span_h()) / stride.h + 1,
                .w = (inputs[0].w + padding.left + padding.right - span_w()) / stride.w + 1};
    }
    friend constexpr bool operator==(ConvParams const&, ConvParams const&) = default;

private:
    [[nodiscard]] constexpr int span_h() const { return (kernel.h - 1) * dilation.h + 1; }
    [[nodiscard]] constexpr int span_w() const { return (kernel.w - 1) * dilation.w + 1; }
};

/// The transpose of a convolution with k kernels (its gradient with respect to its input). Weights: `<name>.weight`, of
/// c x k/groups x h x w, and `<name>.bias`, of k.
struct ConvTransposeParams {
    int k = 1;
    Extent kernel{1};
    Extent stride{1};
    /// Taken away from the result.
    Padding padding{};
    Extent dilation{1};
    /// Rows and columns of the result beyond the last that the transpose reaches.
    int extra_h = 0, extra_w = 0;
    int groups = 1;
    bool bias = true;

    [[nodiscard]] static constexpr std::string_view name() { return "conv_transpose"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        if (k < 1 || kernel.h < 1 || kernel.w < 1 || stride.h < 1 || stride.w < 1 || dilation.h < 1 || dilation.w < 1 ||
            groups < 1 || padding.negative() || extra_h < 0 || extra_w < 0) {
            return Fault::impossible_parameter;
        }
        if (inputs[0].c % groups != 0 || k % groups != 0) return Fault::groups_do_not_divide;
        const Shape shape = output(inputs);
        return shape.h < 1 || shape.w < 1 ? Fault::kernel_exceeds_input : Fault::none;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = k,
                .h = (inputs[0].h - 1) * stride.h + (kernel.h - 1) * dilation.h + 1 + extra_h - padding.top -
                     padding.bottom,
                .w = (inputs[0].w - 1) * stride.w + (kernel.w - 1) * dilation.w + 1 + extra_w - padding.left -
                     padding.right};
    }
    friend constexpr bool operator==(ConvTransposeParams const&, ConvTransposeParams const&) = default;
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

}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI
