// The two convolutions that training adds to each convolution.
#pragma once

#include <primsel/layer/conv.hpp>

#include <array>

namespace primsel::inline PRIMSEL_ABI {

/// The gradient of a convolution's input. Reads the gradient of its result, and its kernel (a parameter of k x c/groups
/// x taps).
struct ConvInputGradientParams {
    static constexpr bool training = true;
    ConvParams conv;
    Shape input;

    [[nodiscard]] static constexpr std::string_view name() { return "conv_input_gradient"; }
    constexpr void each_field(auto const& visit) const { visit("conv", conv), visit("input", input); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 2) return Fault::wrong_input_count;
        const std::array<Shape, 1> own{input};
        if (const Fault fault = conv.check(own); fault != Fault::none) return fault;
        const Shape kernel{.c = conv.k, .h = input.c / conv.groups, .w = conv.kernel.h * conv.kernel.w};
        return inputs[0] == conv.output(own) && inputs[1] == kernel ? Fault::none : Fault::shapes_differ;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape>) const { return input; }
    friend constexpr bool operator==(ConvInputGradientParams const&, ConvInputGradientParams const&) = default;
};

/// The gradient of a convolution's kernel, summed over the images. Reads the input and the gradient of the result.
struct ConvWeightGradientParams {
    static constexpr bool training = true, of_batch = true;
    ConvParams conv;

    [[nodiscard]] static constexpr std::string_view name() { return "conv_weight_gradient"; }
    constexpr void each_field(auto const& visit) const { visit("conv", conv); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 2) return Fault::wrong_input_count;
        if (const Fault fault = conv.check(inputs.first(1)); fault != Fault::none) return fault;
        return inputs[1] == conv.output(inputs.first(1)) ? Fault::none : Fault::shapes_differ;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = conv.k, .h = inputs[0].c / conv.groups, .w = conv.kernel.h * conv.kernel.w};
    }
    friend constexpr bool operator==(ConvWeightGradientParams const&, ConvWeightGradientParams const&) = default;
};

}  // namespace primsel::inline PRIMSEL_ABI
