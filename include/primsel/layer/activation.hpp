#pragma once

#include <primsel/core/clamp.hpp>
#include <primsel/layer/layer.hpp>

#include <iterator>

namespace primsel::inline PRIMSEL_ABI {

enum class ActivationKind {
    relu,
    relu6,
    leaky_relu,
    sigmoid,
    hard_swish,
    elu,
    hard_sigmoid,
    tanh,
    clip,
    sqrt,
    exp,
    log,
    abs,
    sign,
    floor,
    ceil,
    round,
    truncate,
    erf,
    softplus,
    power,
    sin,
    cos,
    tan,
    asin,
    acos,
    atan,
    sinh,
    cosh,
    asinh,
    acosh,
    atanh,
    silu,
    mish,
    gelu,
    gelu_tanh,
    softsign,
    log_sigmoid,
    swish,
    selu,
    celu,
    thresholded_relu,
    shrink,
};
/// The number of kinds.
inline constexpr int activation_kinds = static_cast<int>(ActivationKind::shrink) + 1;

/// An elementwise function of one input; the output has the input's shape. alpha and beta mean:
/// - leaky_relu: alpha is the slope below zero;
/// - elu: alpha * (exp(x) - 1) below zero;
/// - hard_sigmoid: alpha * x + beta, clamped to [0, 1];
/// - clip: alpha is the lowest value, beta the highest;
/// - power: alpha is the exponent;
/// - swish: x * sigmoid(alpha * x);
/// - selu: beta * x above zero, beta * alpha * (exp(x) - 1) below;
/// - celu: alpha * (exp(x / alpha) - 1) below zero, alpha positive;
/// - thresholded_relu: x above alpha, else 0;
/// - shrink: x + alpha below -beta, else x - alpha above beta, else 0.
/// The other kinds ignore them. round rounds halves to the even neighbour; softplus is log(1 + exp(x)); silu is x *
/// sigmoid(x); mish is x * tanh(softplus(x)); gelu is x times the cumulative normal distribution of x, gelu_tanh its
/// approximation x / 2 * (1 + tanh(sqrt(2 / pi) * (x + 0.044715 * x^3))); softsign is x / (1 + |x|); log_sigmoid is
/// log(sigmoid(x)).
struct ActivationParams {
    ActivationKind kind = ActivationKind::relu;
    float alpha = 0.0F, beta = 0.0F;

    [[nodiscard]] constexpr std::string_view name() const {
        constexpr std::string_view names[] = {
            "relu",      "relu6",    "leaky_relu",  "sigmoid",  "hard_swish", "elu",      "hard_sigmoid",
            "tanh",      "clip",     "sqrt",        "exp",      "log",        "abs",      "sign",
            "floor",     "ceil",     "round",       "truncate", "erf",        "softplus", "power",
            "sin",       "cos",      "tan",         "asin",     "acos",       "atan",     "sinh",
            "cosh",      "asinh",    "acosh",       "atanh",    "silu",       "mish",     "gelu",
            "gelu_tanh", "softsign", "log_sigmoid", "swish",    "selu",       "celu",     "thresholded_relu",
            "shrink",
        };
        static_assert(std::size(names) == activation_kinds);
        return names[static_cast<std::size_t>(kind)];
    }
    constexpr void each_field(auto const& visit) const {
        visit("kind", kind), visit("alpha", alpha), visit("beta", beta);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(ActivationParams const&, ActivationParams const&) = default;
};

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
/// x * sigmoid(x) (Ramachandran et al. 2017), also known as swish.
struct Silu {
    static constexpr ActivationParams params{ActivationKind::silu};
};
/// x * tanh(log(1 + exp(x))) (Misra 2019).
struct Mish {
    static constexpr ActivationParams params{ActivationKind::mish};
};
/// x times the cumulative normal distribution of x (Hendrycks and Gimpel 2016), as PyTorch's GELU().
struct Gelu {
    static constexpr ActivationParams params{ActivationKind::gelu};
};
/// The approximation of Gelu by a tanh, as PyTorch's GELU(approximate="tanh").
struct GeluTanh {
    static constexpr ActivationParams params{ActivationKind::gelu_tanh};
};
/// x / (1 + |x|)
struct Softsign {
    static constexpr ActivationParams params{ActivationKind::softsign};
};
/// log(sigmoid(x))
struct LogSigmoid {
    static constexpr ActivationParams params{ActivationKind::log_sigmoid};
};
/// Elu and a factor that keep mean 0 and variance 1 (Klambauer et al. 2017), as PyTorch's SELU().
struct Selu {
    static constexpr ActivationParams params{ActivationKind::selu, 1.6732632F, 1.0507010F};
};
struct Tanh {
    static constexpr ActivationParams params{ActivationKind::tanh};
};
struct Sqrt {
    static constexpr ActivationParams params{ActivationKind::sqrt};
};
/// Clamps x to [Low, High]; both are std::ratio.
template <class Low, class High>
struct Clip {
    static constexpr ActivationParams params{ActivationKind::clip, as_float<Low>, as_float<High>};
};
/// Alpha * (exp(x) - 1) below zero; Alpha is a std::ratio.
template <class Alpha = std::ratio<1>>
struct Elu {
    static constexpr ActivationParams params{ActivationKind::elu, as_float<Alpha>};
};
/// Slope * x + Offset, clamped to [0, 1]; both are std::ratio.
template <class Slope = std::ratio<1, 6>, class Offset = std::ratio<1, 2>>
struct HardSigmoid {
    static constexpr ActivationParams params{ActivationKind::hard_sigmoid, as_float<Slope>, as_float<Offset>};
};
/// Slope * x below zero; Slope is a std::ratio.
template <class Slope = std::ratio<1, 100>>
struct LeakyRelu {
    static constexpr ActivationParams params{ActivationKind::leaky_relu, as_float<Slope>};
};
}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI
