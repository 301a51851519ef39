// Operators of the domain com.microsoft, which ONNX Runtime writes into the models that it has optimised.
#pragma once

#include <primsel/onnx/detail/activation.hpp>
#include <primsel/onnx/detail/convolution.hpp>

#include <span>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {

/// The activation that the attributes `activation` and `activation_params` name.
[[nodiscard]] inline ActivationParams fused_activation(Call const& call) {
    const std::string_view name = call.text("activation", "");
    const std::span<const float> params = call.reals("activation_params");
    const auto param = [&](std::size_t i, float otherwise) { return i < params.size() ? params[i] : otherwise; };
    if (name == "Relu") return {ActivationKind::relu};
    if (name == "Sigmoid") return {ActivationKind::sigmoid};
    if (name == "Tanh") return {ActivationKind::tanh};
    if (name == "LeakyRelu") return {ActivationKind::leaky_relu, param(0, 0.01F)};
    if (name == "HardSigmoid") return {ActivationKind::hard_sigmoid, param(0, 0.2F), param(1, 0.5F)};
    if (name == "Clip" && params.size() == 2) return clip_params(params[0], params[1]);
    fail("its activation \"", name, "\" is not supported");
}

}  // namespace detail

/// A convolution; to its result a fourth input is added, and an activation follows.
inline void translate_fused_conv(Call& call) {
    Operand result = detail::emit_conv(call);
    if (call.has(3)) result = emit_binary(call.build, BinaryKind::add, std::move(result), call.operand(3));
    if (call.has_attribute("activation")) {
        const ActivationParams activation = detail::fused_activation(call);
        result = call.build.apply(activation, result, result.dims);
    }
    call.give(std::move(result));
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
