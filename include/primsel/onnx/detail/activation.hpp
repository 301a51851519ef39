// Elementwise functions of one tensor.
#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/onnx/detail/elementwise.hpp>

#include <cmath>
#include <limits>

namespace primsel::inline PRIMSEL_ABI::onnx {

inline void translate_activation(Call& call, ActivationParams params) {
    if (const OnnxTensor* known = call.known(0); known != nullptr && known->size() == 0) return call.pass();
    const Operand src = call.operand(0);
    call.give(call.build.apply(params, src, src.dims));
}

inline void translate_relu(Call& call) { translate_activation(call, {ActivationKind::relu}); }
inline void translate_sigmoid(Call& call) { translate_activation(call, {ActivationKind::sigmoid}); }
inline void translate_tanh(Call& call) { translate_activation(call, {ActivationKind::tanh}); }
inline void translate_hard_swish(Call& call) { translate_activation(call, {ActivationKind::hard_swish}); }
inline void translate_elu(Call& call) { translate_activation(call, {ActivationKind::elu, call.real("alpha", 1.0F)}); }
/// x * sigmoid(alpha * x)
inline void translate_swish_by(Call& call, float alpha) {
    if (alpha == 1.0F) return translate_activation(call, {ActivationKind::silu});
    translate_activation(call, {ActivationKind::swish, alpha});
}
inline void translate_swish(Call& call) { translate_swish_by(call, call.real("alpha", 1.0F)); }
inline void translate_mish(Call& call) { translate_activation(call, {ActivationKind::mish}); }
inline void translate_gelu(Call& call) {
    const std::string_view approximate = call.text("approximate", "none");
    if (approximate != "none" && approximate != "tanh") fail("the approximation ", approximate, " is unknown");
    translate_activation(call, {approximate == "tanh" ? ActivationKind::gelu_tanh : ActivationKind::gelu});
}
inline void translate_leaky_relu(Call& call) {
    translate_activation(call, {ActivationKind::leaky_relu, call.real("alpha", 0.01F)});
}
inline void translate_hard_sigmoid(Call& call) {
    translate_activation(call, {ActivationKind::hard_sigmoid, call.real("alpha", 0.2F), call.real("beta", 0.5F)});
}

namespace detail {
/// Bounds that are computed.
inline void clip_between(Call& call) {
    Operand result = call.operand(0);
    const std::size_t rank = call.rank(0);
    for (const std::size_t i : {std::size_t{1}, std::size_t{2}}) {
        if (!call.has(i)) continue;
        const BinaryKind kind = i == 1 ? BinaryKind::maximum : BinaryKind::minimum;
        result = emit_binary(call.build, kind, std::move(result), call.broadcast_operand(i, rank));
    }
    call.give(std::move(result));
}
}  // namespace detail

namespace detail {
[[nodiscard]] inline ActivationParams clip_params(float low, float high) {
    constexpr float infinity = std::numeric_limits<float>::infinity(), largest = std::numeric_limits<float>::max();
    if (is_nan(low) || is_nan(high)) fail("a bound is not a number");
    if (high >= largest) high = infinity;
    if (low <= -largest) low = -infinity;
    if (low == 0.0F && high == infinity) return {ActivationKind::relu};
    if (low == 0.0F && high == 6.0F) return {ActivationKind::relu6};
    return {ActivationKind::clip, low, high};
}
}  // namespace detail

/// Bounds are attributes, from opset 11 on inputs.
inline void translate_clip(Call& call) {
    const auto is_computed = [&call](std::size_t i) {
        return call.has(i) && call.known(i) == nullptr && call.input(i).given == nullptr;
    };
    if (call.opset() >= 11 && (is_computed(1) || is_computed(2))) return detail::clip_between(call);
    constexpr float infinity = std::numeric_limits<float>::infinity();
    float low = -infinity, high = infinity;
    if (call.opset() < 11) {
        low = call.real("min", low);
        high = call.real("max", high);
    } else {
        if (call.has(1)) low = call.scalar(1, "lower bound");
        if (call.has(2)) high = call.scalar(2, "upper bound");
    }
    translate_activation(call, detail::clip_params(low, high));
}

namespace detail {
/// A function of one number by ONNX's name.
struct Function {
    std::string_view name;
    ActivationKind kind;
    float (*of)(float);
};
inline constexpr Function functions[] = {
    {"Abs", ActivationKind::abs, [](float x) { return std::abs(x); }},
    {"Acos", ActivationKind::acos, [](float x) { return std::acos(x); }},
    {"Acosh", ActivationKind::acosh, [](float x) { return std::acosh(x); }},
    {"Asin", ActivationKind::asin, [](float x) { return std::asin(x); }},
    {"Asinh", ActivationKind::asinh, [](float x) { return std::asinh(x); }},
    {"Atan", ActivationKind::atan, [](float x) { return std::atan(x); }},
    {"Atanh", ActivationKind::atanh, [](float x) { return std::atanh(x); }},
    {"Ceil", ActivationKind::ceil, [](float x) { return std::ceil(x); }},
    {"Cos", ActivationKind::cos, [](float x) { return std::cos(x); }},
    {"Cosh", ActivationKind::cosh, [](float x) { return std::cosh(x); }},
    {"Erf", ActivationKind::erf, [](float x) { return std::erf(x); }},
    {"Exp", ActivationKind::exp, [](float x) { return std::exp(x); }},
    {"Floor", ActivationKind::floor, [](float x) { return std::floor(x); }},
    {"Log", ActivationKind::log, [](float x) { return std::log(x); }},
    {"Round", ActivationKind::round, [](float x) { return std::nearbyint(x); }},
    {"Sign", ActivationKind::sign, [](float x) { return x > 0.0F   ? 1.0F
                                                        : x < 0.0F ? -1.0F
                                                                   : x; }},
    {"Sin", ActivationKind::sin, [](float x) { return std::sin(x); }},
    {"Sinh", ActivationKind::sinh, [](float x) { return std::sinh(x); }},
    {"Softplus", ActivationKind::softplus,
     [](float x) { return std::max(x, 0.0F) + std::log1p(std::exp(-std::abs(x))); }},
    {"Sqrt", ActivationKind::sqrt, [](float x) { return std::sqrt(x); }},
    {"Tan", ActivationKind::tan, [](float x) { return std::tan(x); }},
};
[[nodiscard]] inline OnnxTensor fold_function(Call const& call, OnnxTensor const& known, float (*of)(float)) {
    const std::string_view op = call.op();
    return map_elements(known, known.dims, [&]<class T>(std::span<const T> src) {
        std::vector<T> dst = call.build.constants.make<T>(src.size());
        for (std::size_t i = 0; i < src.size(); ++i) {
            if constexpr (std::is_same_v<T, float>) {
                dst[i] = of(src[i]);
            } else if (op == "Sign") {
                dst[i] = src[i] > 0 ? 1 : src[i] < 0 ? -1 : 0;
            } else {
                if (op != "Neg" && op != "Abs") fail("of integers");
                // As unsigned, so that nothing overflows.
                const bool negate = op == "Neg" || src[i] < 0;
                const auto bits = static_cast<std::uint64_t>(src[i]);
                dst[i] = static_cast<T>(negate ? 0 - bits : bits);
            }
        }
        return dst;
    });
}
}  // namespace detail

inline void translate_function(Call& call) {
    const auto* function =
        std::ranges::find_if(detail::functions, [&call](auto const& one) { return one.name == call.op(); });
    if (function == std::end(detail::functions)) fail("the operator is not supported");
    if (const OnnxTensor* known = call.known(0)) return call.give(detail::fold_function(call, *known, function->of));
    using enum ActivationKind;
    const bool has_steps = function->kind == floor || function->kind == ceil || function->kind == round;
    const Operand x = call.operand(0);
    call.give(emit_unary(call.build, function->kind, has_steps ? before_steps(call.build, x) : x));
}
inline void translate_neg(Call& call) {
    if (const OnnxTensor* known = call.known(0)) {
        return call.give(detail::fold_function(call, *known, [](float x) { return -x; }));
    }
    call.give(call.build.scale(call.operand(0), -1.0F, 0.0F));
}
inline void translate_reciprocal(Call& call) {
    if (const OnnxTensor* known = call.known(0)) {
        return call.give(detail::fold_function(call, *known, [](float x) { return 1.0F / x; }));
    }
    call.give(emit_unary(call.build, ActivationKind::power, call.operand(0), -1.0F));
}
inline void translate_selu(Call& call) {
    translate_activation(call, {ActivationKind::selu, call.real("alpha", 1.6732632F), call.real("gamma", 1.0507010F)});
}
inline void translate_celu(Call& call) {
    const float alpha = call.real("alpha", 1.0F);
    if (!(alpha > 0.0F)) fail("alpha is ", alpha, "; it must be positive");
    translate_activation(call, {ActivationKind::celu, alpha});
}
inline void translate_softsign(Call& call) { translate_activation(call, {ActivationKind::softsign}); }
inline void translate_thresholded_relu(Call& call) {
    translate_activation(call, {ActivationKind::thresholded_relu, call.real("alpha", 1.0F)});
}
inline void translate_shrink(Call& call) {
    translate_activation(call, {ActivationKind::shrink, call.real("bias", 0.0F), call.real("lambd", 0.5F)});
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
