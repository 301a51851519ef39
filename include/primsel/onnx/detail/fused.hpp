// Operators of the domain com.microsoft, which ONNX Runtime writes into the models that it has optimised.
#pragma once

#include <primsel/onnx/detail/activation.hpp>
#include <primsel/onnx/detail/convolution.hpp>
#include <primsel/onnx/detail/elementwise.hpp>
#include <primsel/onnx/detail/matmul.hpp>
#include <primsel/onnx/detail/normalization.hpp>
#include <primsel/onnx/detail/quantised.hpp>
#include <primsel/onnx/detail/reshape.hpp>

#include <algorithm>
#include <numeric>
#include <span>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {

/// The activation that the attribute `activation` names.
[[nodiscard]] inline ActivationParams fused_activation(Call const& call, std::span<const float> params) {
    const std::string_view name = call.text("activation", "");
    const auto param = [&](std::size_t i, float otherwise) { return i < params.size() ? params[i] : otherwise; };
    if (name == "Relu") return {ActivationKind::relu};
    if (name == "Elu") return {ActivationKind::elu, param(0, 1.0F)};
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
        const ActivationParams activation = detail::fused_activation(call, call.reals("activation_params"));
        result = call.build.apply(activation, result, result.dims);
    }
    call.give(std::move(result));
}

namespace detail {
/// A factor of a product times a number. If `first_is_row`, its first axis belongs before the last; if `turns`, the
/// last two then change places.
[[nodiscard]] inline Value changed_factor(Call const& call, std::size_t i, bool first_is_row, bool turns,
                                          float factor) {
    Builder& build = call.build;
    Value value{.name = call.input(i).name, .dims = call.dims(i), .type = call.input(i).type};
    const std::size_t rank = value.dims.size();
    if ((turns || first_is_row) && rank < 2) fail("a vector cannot be transposed");
    std::vector<std::size_t> order(rank);
    std::iota(order.begin(), order.end(), std::size_t{0});
    if (first_is_row) std::rotate(order.begin(), order.begin() + 1, order.end() - 1);
    if (turns) std::swap(order[rank - 1], order[rank - 2]);
    value.dims = permutation(call.dims(i), order).dims;
    if (const OnnxTensor* known = call.known(i)) {
        // A matrix that layers have both as it is and transposed is one.
        const OnnxTensor moved = std::ranges::is_sorted(order) ? *known
                                 : rank == 2 && known->is_float()
                                     ? build.transposed(*known)
                                     : pick(*known, permutation(known->dims, order), build.constants);
        value.known = times(moved, factor, build.constants);
        return value;
    }
    if (!build.is_whole()) {
        if (order.empty() || order[0] != 0) throw MixesImages{"it moves the axis of the images"};
        order.erase(order.begin());
        for (std::size_t& axis : order) --axis;
    }
    Operand result = transposed(build, call.operand(i), order);
    if (factor != 1.0F) result = build.scale(result, factor, 0.0F);
    value.node = build.view(result);
    return value;
}
}  // namespace detail

/// alpha * A * B, of which attributes say whether rows or columns lie along the first axis, and whether the last two
/// axes change places.
inline void translate_fused_matmul(Call& call) {
    const float alpha = call.real("alpha", 1.0F);
    const bool scales_b = call.known(1) != nullptr;
    const auto is_set = [&call](std::string_view name) { return call.integer(name, 0) != 0; };
    Value a = detail::changed_factor(call, 0, is_set("transBatchA"), is_set("transA"), scales_b ? 1.0F : alpha),
          b = detail::changed_factor(call, 1, is_set("transBatchB"), is_set("transB"), scales_b ? alpha : 1.0F),
          product;
    Call plain = call.with({&a, &b}, product);
    translate_matmul(plain);
    call.give(std::move(product));
}

/// Gemm, then an activation.
inline void translate_fused_gemm(Call& call) {
    Value product;
    std::vector<Value*> inputs;
    for (std::size_t i = 0; i < call.input_count(); ++i) inputs.push_back(call.has(i) ? &call.input(i) : nullptr);
    Call plain = call.with(std::move(inputs), product);
    translate_gemm(plain);
    std::vector<float> params;
    for (const std::string_view name : {"activation_alpha", "activation_beta"}) {
        if (call.has_attribute(name)) params.push_back(call.real(name, 0.0F));
    }
    const Operand result = call.operand_of(product);
    call.give(call.build.apply(detail::fused_activation(call, params), result, result.dims));
}

/// LayerNormalization, with scale and bias, of the sum of two inputs and of a fifth, which is a result, too.
inline void translate_skip_layer_norm(Call& call) {
    if (call.wants(1) || call.wants(2)) fail("its mean and deviation are not supported as results");
    Value sum = detail::compute(call, translate_add, {&call.input(0), &call.input(1)});
    if (call.has(4)) sum = detail::compute(call, translate_add, {&sum, &call.input(4)});
    std::vector<Value*> inputs{&sum, &call.input(2)};
    if (call.has(3)) inputs.push_back(&call.input(3));
    call.give(detail::compute(call, translate_layer_norm, std::move(inputs)));
    call.give(std::move(sum), 3);
}

/// x * sigmoid(alpha * x)
inline void translate_quick_gelu(Call& call) { translate_swish_by(call, call.real("alpha", 1.702F)); }

/// GELU of x, or of x + bias.
inline void translate_biased_gelu(Call& call) {
    Operand x = call.operand(0);
    if (call.has(1))
        x = emit_binary(call.build, BinaryKind::add, std::move(x), call.broadcast_operand(1, call.rank(0)));
    const bool is_fast = call.op() == "FastGelu";
    call.give(
        call.build.apply(ActivationParams{is_fast ? ActivationKind::gelu_tanh : ActivationKind::gelu}, x, x.dims));
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
