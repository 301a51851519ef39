#pragma once

#include <primsel/layer/layer.hpp>

#include <limits>

namespace primsel::inline PRIMSEL_ABI {

enum class ActivationKind { relu, relu6, leaky_relu, sigmoid, hard_swish };

/// An elementwise function. alpha: the slope of leaky_relu below zero.
struct ActivationParams {
    ActivationKind kind = ActivationKind::relu;
    float alpha = 0.0F;

    [[nodiscard]] constexpr std::string_view name() const {
        switch (kind) {
            case ActivationKind::relu: return "relu";
            case ActivationKind::relu6: return "relu6";
            case ActivationKind::leaky_relu: return "leaky_relu";
            case ActivationKind::sigmoid: return "sigmoid";
            case ActivationKind::hard_swish: return "hard_swish";
        }
        return "";
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(ActivationParams const&, ActivationParams const&) = default;
};

/// What a convolution may do to its result before storing it: hold it between two bounds. ReLU is [0, inf), ReLU6
/// [0, 6]; without an activation the bounds are infinite and the value passes unchanged.
struct Clamp {
    float low = -std::numeric_limits<float>::infinity();
    float high = std::numeric_limits<float>::infinity();
    friend constexpr bool operator==(Clamp const&, Clamp const&) = default;
};
inline constexpr Clamp relu_clamp{0.0F, std::numeric_limits<float>::infinity()};
inline constexpr Clamp relu6_clamp{0.0F, 6.0F};

namespace layer {
struct Relu {
    static constexpr ActivationParams params{ActivationKind::relu};
};
struct Relu6 {
    static constexpr ActivationParams params{ActivationKind::relu6};
};
struct Sigmoid {
    static constexpr ActivationParams params{ActivationKind::sigmoid};
};
/// x * min(max(x + 3, 0), 6) / 6
struct HardSwish {
    static constexpr ActivationParams params{ActivationKind::hard_swish};
};
/// Slope * x below zero; Slope is a std::ratio.
template <class Slope = std::ratio<1, 100>>
struct LeakyRelu {
    static constexpr ActivationParams params{ActivationKind::leaky_relu, as_float<Slope>};
};
}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI
