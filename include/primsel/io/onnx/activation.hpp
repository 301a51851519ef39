// Elementwise functions of one tensor.
#pragma once

#include <primsel/io/onnx/elementwise.hpp>

#include <cmath>
#include <limits>

namespace primsel::inline PRIMSEL_ABI::onnx {

inline void translate_activation(Call& call, ActivationParams params) {
    const Operand src = call.operand(0);
    call.give(call.build.apply(params, src, src.dims));
}

inline void translate_relu(Call& call) { translate_activation(call, {ActivationKind::relu}); }
inline void translate_sigmoid(Call& call) { translate_activation(call, {ActivationKind::sigmoid}); }
inline void translate_tanh(Call& call) { translate_activation(call, {ActivationKind::tanh}); }
inline void translate_hard_swish(Call& call) { translate_activation(call, {ActivationKind::hard_swish}); }
inline void translate_elu(Call& call) { translate_activation(call, {ActivationKind::elu, call.real("alpha", 1.0F)}); }
inline void translate_leaky_relu(Call& call) {
    translate_activation(call, {ActivationKind::leaky_relu, call.real("alpha", 0.01F)});
}
inline void translate_hard_sigmoid(Call& call) {
    translate_activation(call, {ActivationKind::hard_sigmoid, call.real("alpha", 0.2F), call.real("beta", 0.5F)});
}

/// Bounds are attributes, from opset 11 on inputs.
inline void translate_clip(Call& call) {
    constexpr float infinity = std::numeric_limits<float>::infinity(), largest = std::numeric_limits<float>::max();
    float low = -infinity, high = infinity;
    if (call.opset() < 11) {
        low = call.real("min", low);
        high = call.real("max", high);
    } else {
        if (call.has(1)) low = call.scalar(1, "lower bound");
        if (call.has(2)) high = call.scalar(2, "upper bound");
    }
    if (std::isnan(low) || std::isnan(high)) fail("a bound is not a number");
    if (high >= largest) high = infinity;
    if (low <= -largest) low = -infinity;
    ActivationParams params{ActivationKind::clip, low, high};
    if (low == 0.0F && high == infinity) params = {ActivationKind::relu};
    if (low == 0.0F && high == 6.0F) params = {ActivationKind::relu6};
    translate_activation(call, params);
}

/// What else a constant may go through; at run time only where the library has the function.
inline void translate_function(Call& call) {
    const std::string_view op = call.op();
    if (const OnnxTensor* known = call.known(0)) {
        OnnxTensor result = map_elements(*known, known->dims, [&]<class T>(std::span<const T> src) {
            std::vector<T> dst = call.build.constants.make<T>(src.size());
            for (std::size_t i = 0; i < src.size(); ++i) {
                if constexpr (std::is_same_v<T, float>) {
                    const float x = src[i];
                    dst[i] = op == "Sqrt"         ? std::sqrt(x)
                             : op == "Floor"      ? std::floor(x)
                             : op == "Ceil"       ? std::ceil(x)
                             : op == "Round"      ? std::nearbyint(x)
                             : op == "Neg"        ? -x
                             : op == "Exp"        ? std::exp(x)
                             : op == "Reciprocal" ? 1.0F / x
                                                  : std::abs(x);
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
        return call.give(std::move(result));
    }
    if (op == "Sqrt") return translate_activation(call, {ActivationKind::sqrt});
    if (op == "Neg") return call.give(call.build.scale(call.operand(0), -1.0F, 0.0F));
    if (op == "Reciprocal") {
        const Operand one{{}, std::nullopt, call.build.constants.splat({}, OnnxType::float32, 1.0F)};
        return call.give(emit_binary(call.build, BinaryKind::divide, one, call.operand(0)));
    }
    fail("supported for constants only");
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
