// Operators on quantised tensors: each is one on real numbers between DequantizeLinear and QuantizeLinear.
#pragma once

#include <primsel/onnx/detail/activation.hpp>
#include <primsel/onnx/detail/convolution.hpp>
#include <primsel/onnx/detail/join.hpp>
#include <primsel/onnx/detail/logic.hpp>
#include <primsel/onnx/detail/matmul.hpp>
#include <primsel/onnx/detail/normalization.hpp>
#include <primsel/onnx/detail/pool.hpp>
#include <primsel/onnx/detail/quantised.hpp>
#include <primsel/onnx/detail/reduce.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {

/// Input i as real numbers: the inputs after it are its scale and zero point.
[[nodiscard]] inline Value real_input(Call const& call, std::size_t i, std::int64_t axis = 1) {
    return dequantised(call, call.input(i), i + 1, i + 2, axis);
}
/// Gives the result by the scale and zero point that are inputs of the node.
inline void give_by(Call const& call, Value const& result, std::size_t scale, std::size_t zero_point) {
    const OnnxType type = call.has(zero_point) ? call.input(zero_point).type : call.input(0).type;
    give_integers(call, result, read_scales(call, scale, zero_point, type, result.dims, 1), type);
}
inline void refuse_channels_last(Call const& call) {
    if (call.integer("channels_last", 0) != 0) fail("channels_last is not supported");
}
/// Integers of a bias, whose scale is the product of those of two inputs, each at its place.
[[nodiscard]] inline Value real_bias(Call const& call, std::size_t bias, std::size_t one, std::size_t other,
                                     float factor) {
    OnnxTensor const& integers = call.constant(bias, "bias");
    OnnxTensor const &left = call.floats(one, "scale"), &right = call.floats(other, "scale");
    if (left.size() != 1) fail("its input has more than one scale");
    const OnnxTensor scale = times(right, left.floats[0] * factor, call.build.constants);
    if (integers.is_float()) fail("its bias is of ", to_string(integers.type));
    return known_value(
        fold_dequantise(call.build, integers, make_scales(scale, std::nullopt, integers.type, integers.dims, -1, 0)));
}
template <class Translate>
void translate_unary_qlinear(Call& call, Translate const& translate) {
    refuse_channels_last(call);
    Value x = real_input(call, 0);
    give_by(call, compute(call, translate, {&x}), 3, 4);
}
template <class Translate>
void translate_binary_qlinear(Call& call, Translate const& translate) {
    Value a = real_input(call, 0), b = real_input(call, 3);
    give_by(call, compute(call, translate, {&a, &b}), 6, 7);
}

}  // namespace detail

/// x, w, bias: the weight may have a scale for each output.
inline void translate_qlinear_conv(Call& call) {
    detail::refuse_channels_last(call);
    Value x = detail::real_input(call, 0), given = detail::weight_of(call.input(3)), bias;
    Value w = detail::dequantised(call, given, 4, 5, 0);
    std::vector<Value*> inputs{&x, &w};
    if (call.has(8)) bias = detail::real_bias(call, 8, 1, 4, 1.0F), inputs.push_back(&bias);
    detail::give_by(call, detail::compute(call, translate_conv, inputs), 6, 7);
}
inline void translate_qlinear_matmul(Call& call) {
    Value a = detail::real_input(call, 0, -2), b = detail::real_input(call, 3, -1);
    detail::give_by(call, detail::compute(call, translate_matmul, {&a, &b}), 6, 7);
}
/// Without a scale of the result, it is real numbers.
inline void translate_qgemm(Call& call) {
    const std::int64_t columns = call.integer("transB", 0) != 0 ? 0 : 1;
    Value a = detail::real_input(call, 0), given = detail::weight_of(call.input(3)), c;
    Value b = detail::dequantised(call, given, 4, 5, columns);
    std::vector<Value*> inputs{&a, &b};
    // The bias is added to the sums of products, before alpha.
    if (call.has(6)) c = detail::real_bias(call, 6, 1, 4, call.real("alpha", 1.0F)), inputs.push_back(&c);
    const Value result = detail::compute(call, translate_gemm, inputs);
    if (call.has(7)) return detail::give_by(call, result, 7, 8);
    call.give(result);
}
inline void translate_qlinear_add(Call& call) { detail::translate_binary_qlinear(call, translate_add); }
inline void translate_qlinear_mul(Call& call) { detail::translate_binary_qlinear(call, translate_mul); }
inline void translate_qlinear_concat(Call& call) {
    std::vector<Value> parts;
    for (std::size_t i = 2; i < call.input_count(); i += 3) parts.push_back(detail::real_input(call, i));
    std::vector<Value*> inputs;
    for (Value& part : parts) inputs.push_back(&part);
    const OnnxType type = call.has(1) ? call.input(1).type : OnnxType::uint8;
    const Value result = detail::compute(call, translate_concat, inputs);
    detail::give_integers(call, result, detail::read_scales(call, 0, 1, type, result.dims, 1), type);
}
inline void translate_qlinear_where(Call& call) {
    Value yes = detail::real_input(call, 1), no = detail::real_input(call, 4);
    detail::give_by(call, detail::compute(call, translate_where, {&call.input(0), &yes, &no}), 7, 8);
}
inline void translate_qlinear_average_pool(Call& call) {
    detail::translate_unary_qlinear(call, translate_average_pool);
}
inline void translate_qlinear_global_average_pool(Call& call) {
    detail::translate_unary_qlinear(call, translate_global_average_pool);
}
inline void translate_qlinear_sigmoid(Call& call) { detail::translate_unary_qlinear(call, translate_sigmoid); }
inline void translate_qlinear_leaky_relu(Call& call) { detail::translate_unary_qlinear(call, translate_leaky_relu); }
inline void translate_qlinear_softmax(Call& call) { detail::translate_unary_qlinear(call, translate_softmax); }

// --- sums of products of integers, and scales that are found at run time

namespace detail {

/// Scale and zero point of DynamicQuantizeLinear for a tensor, as layers.
struct DynamicScale {
    Operand scale, zero_point;
};
[[nodiscard]] inline DynamicScale emit_dynamic_scale(Builder& build, Quantised const& numbers) {
    if (!build.is_whole()) throw MixesImages{"its scale is that of all images"};
    const Operand x{numbers.source_dims, numbers.source, {}};
    std::vector<std::size_t> axes(x.dims.size());
    for (std::size_t axis = 0; axis < axes.size(); ++axis) axes[axis] = axis;
    const auto largest = [&](Operand const& of) {
        return emit_unary(build, ActivationKind::relu,
                          build.reshape(emit_reduce(build, ReduceKind::max, of, axes), {}));
    };
    const Operand high = largest(x), below = largest(build.scale(x, -1.0F, 0.0F));
    const Operand span = emit_binary(build, BinaryKind::add, high, below);
    Operand scale = emit_binary(build, BinaryKind::divide, span, scalar_operand(build, 255.0F));
    // The scale of zeros alone is 1.
    const Operand is_zero = emit_binary(build, BinaryKind::equal, scale, scalar_operand(build, 0.0F));
    scale = emit_binary(build, BinaryKind::add, scale, is_zero);
    const Operand zero = emit_unary(build, ActivationKind::round, emit_binary(build, BinaryKind::divide, below, scale));
    return {scale, zero};
}
[[nodiscard]] inline std::size_t emit_dynamic_integers(Value const& value, Builder& build) {
    const auto [scale, zero] = emit_dynamic_scale(build, *value.quantised);
    Operand steps = emit_binary(build, BinaryKind::divide, real_operand(build, value), scale);
    steps = emit_unary(build, ActivationKind::round, steps);
    steps = emit_binary(build, BinaryKind::add, steps, zero);
    return build.view(emit_unary(build, ActivationKind::clip, steps, 0.0F, 255.0F));
}
[[nodiscard]] inline std::size_t emit_dynamic_parameter(Value const& value, Builder& build) {
    Quantised const& numbers = *value.quantised;
    const auto [scale, zero] = emit_dynamic_scale(build, numbers);
    if (value.plays(Quantised::Role::dynamic_zero_point)) return build.view(zero);
    if (!numbers.factor) return build.view(scale);
    return build.view(
        emit_binary(build, BinaryKind::multiply, scale, {numbers.factor->dims, std::nullopt, *numbers.factor}));
}
[[nodiscard]] inline std::size_t emit_dynamic_sum(Value const& value, Builder& build) {
    const Operand scale = emit_dynamic_scale(build, *value.quantised).scale;
    const Operand sum = emit_binary(build, BinaryKind::divide, real_operand(build, value), scale);
    return build.view(emit_unary(build, ActivationKind::round, sum));
}

/// Scale and zero point by which DynamicQuantizeLinear quantises numbers that are known.
[[nodiscard]] inline Scales dynamic_scales(OnnxTensor const& tensor) {
    float low = 0.0F, high = 0.0F;
    for (const float value : std::vector<float>(tensor.floats.begin(), tensor.floats.end())) {
        low = std::min(low, value), high = std::max(high, value);
    }
    const float scale = low == high ? 1.0F : (high - low) / 255;
    const float zero = std::clamp(std::nearbyint(-low / scale), 0.0F, 255.0F);
    const auto place = static_cast<std::int64_t>(is_nan(zero) ? 0.0F : zero);
    return {own_elements<float>({}, OnnxType::float32, {scale}),
            own_elements<std::int64_t>({}, OnnxType::uint8, {place})};
}

/// Known integers less their zero points, which are an input of the node, as floats. axis: that of several.
[[nodiscard]] inline Value without_zero(Call const& call, std::size_t i, std::size_t zero_point, std::int64_t axis) {
    Builder& build = call.build;
    OnnxTensor const& tensor = call.constant(i, "operand");
    std::optional<OnnxTensor> zero;
    if (call.has(zero_point)) zero = call.constant(zero_point, "zero point");
    const OnnxTensor ones = build.constants.splat(zero ? zero->dims : Sizes{}, OnnxType::float32, 1.0F);
    return known_value(
        fold_dequantise(build, tensor, make_scales(ones, std::move(zero), tensor.type, tensor.dims, axis, 0)));
}
/// Integers less their zero points, at run time.
[[nodiscard]] inline Value less_zero(Call const& call, std::size_t i, std::size_t zero_point) {
    if (i == 0 && count_of(call.dims(zero_point)) != 1) fail("more than one zero point of its first input");
    const Value zero = weight_of(call.input(zero_point));
    if (!zero.known) return compute(call, translate_sub, {&call.input(i), &call.input(zero_point)});
    Value floats = known_value(to_floats(*zero.known, call.build.constants));
    return compute(call, translate_sub, {&call.input(i), &floats});
}
/// Sums of products of integers less their zero points. The first input may be one whose scale is found at run time.
template <class Translate>
void translate_integer_product(Call& call, Translate const& translate, std::int64_t axis) {
    using Role = Quantised::Role;
    Value& a = call.input(0);
    const bool is_known = call.known(1) != nullptr || call.input(1).given != nullptr;
    const bool is_dynamic = a.plays(Role::dynamic_integers) && call.has(2) && is_known &&
                            call.input(2).plays(Role::dynamic_zero_point) &&
                            call.input(2).quantised->source == a.quantised->source;
    Value left, right;
    Value *first = &left, *second = &right;
    if (is_dynamic) {
        left = a;
        left.quantised.reset();
        left.type = OnnxType::float32;
    } else if (a.known) {
        left = without_zero(call, 0, 2, -2);
    } else if (call.has(2)) {
        left = less_zero(call, 0, 2);
    } else {
        first = &a;
    }
    if (is_known)
        right = without_zero(call, 1, 3, axis);
    else if (call.has(3))
        right = less_zero(call, 1, 3);
    else
        second = &call.input(1);
    Value result = compute(call, translate, {first, second});
    result.type = OnnxType::int32;
    if (result.known) return call.give(fold_cast(call.build, *result.known, OnnxType::int32));
    if (is_dynamic) {
        result.quantised = a.quantised;
        result.quantised->role = Role::dynamic_sum;
        result.quantised->emit = emit_dynamic_sum;
        result.quantised->node.reset();
    }
    call.give(std::move(result));
}

}  // namespace detail

inline void translate_conv_integer(Call& call) { detail::translate_integer_product(call, translate_conv, 0); }
inline void translate_matmul_integer(Call& call) { detail::translate_integer_product(call, translate_matmul, -1); }

inline void translate_dynamic_quantize_linear(Call& call) {
    using Role = Quantised::Role;
    if (const OnnxTensor* known = call.known(0)) {
        if (!known->is_float()) fail("of ", to_string(known->type));
        const detail::Scales scales = detail::dynamic_scales(*known);
        call.give(detail::fold_quantise(call.build, *known, scales, OnnxType::uint8));
        call.give(scales.scale, 1);
        return call.give(*scales.zero_point, 2);
    }
    const Operand x = call.operand(0);
    Value value;
    value.quantised = Quantised{.source = call.build.view(x), .source_dims = x.dims};
    const auto give = [&](std::size_t i, Role role, OnnxType type, auto emit) {
        value.type = type;
        value.quantised->role = role;
        value.quantised->emit = emit;
        call.give(value, i);
    };
    give(1, Role::dynamic_scale, OnnxType::float32, detail::emit_dynamic_parameter);
    give(2, Role::dynamic_zero_point, OnnxType::uint8, detail::emit_dynamic_parameter);
    value.dims = call.dims(0);
    value.node = value.quantised->source;
    give(0, Role::dynamic_integers, OnnxType::uint8, detail::emit_dynamic_integers);
}

/// Scales that are found at run time cancel those of the sums that they belong to.
inline void translate_mul_or_rescale(Call& call) {
    using Role = Quantised::Role;
    for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
        Value const &scale = call.input(i), &other = call.input(1 - i);
        if (!scale.plays(Role::dynamic_scale)) continue;
        if (other.known && other.known->is_float()) {
            Value result = scale;
            std::optional<OnnxTensor>& factor = result.quantised->factor;
            factor = factor ? fold_binary(call.build, BinaryKind::multiply, *factor, *other.known) : *other.known;
            result.quantised->node.reset();
            result.dims = broadcast(scale.dims, other.dims);
            return call.give(std::move(result));
        }
        if (!other.plays(Role::dynamic_sum) || other.quantised->source != scale.quantised->source) continue;
        Value sum = other;
        sum.quantised.reset();
        sum.type = OnnxType::float32;
        if (!scale.quantised->factor) return call.give(std::move(sum));
        Value factor = detail::known_value(*scale.quantised->factor);
        return call.give(detail::compute(call, translate_mul, {&sum, &factor}));
    }
    translate_mul(call);
}
/// Sums of products stay what they are.
inline void translate_cast_or_keep(Call& call) {
    Value const& x = call.input(0);
    if (call.op() != "Cast" || !x.plays(Quantised::Role::dynamic_sum) || call.integer("to", 0) != 1) {
        return translate_cast(call);
    }
    Value sum = x;
    sum.type = OnnxType::float32;
    call.give(std::move(sum));
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
