// Integers that stand for real numbers, q for scale * (q - zero_point): QuantizeLinear and DequantizeLinear.
//
// Layers compute the real numbers, bounded as the integers are, and know the range, so that plans may store bytes; what
// rounding would change is left out. Integers are computed where something else reads them.
#pragma once

#include <primsel/network/ranges.hpp>
#include <primsel/onnx/detail/dequantised_bytes.hpp>
#include <primsel/onnx/detail/elementwise.hpp>
#include <primsel/onnx/detail/fold.hpp>
#include <primsel/onnx/detail/range_alone.hpp>
#include <primsel/onnx/detail/stored_integers.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {

/// The integers of a type.
struct IntegerBounds {
    std::int64_t low, high;
};
/// Throws error for a type to which nothing is quantised here.
[[nodiscard]] inline IntegerBounds integer_bounds(OnnxType type) {
    switch (type) {
        case OnnxType::uint8:
            return {0, 255};
        case OnnxType::int8:
            return {-128, 127};
        case OnnxType::uint16:
            return {0, 65535};
        case OnnxType::int16:
            return {-32768, 32767};
        case OnnxType::uint4:
            return {0, 15};
        case OnnxType::int4:
            return {-8, 7};
        case OnnxType::int32:
            return {std::numeric_limits<std::int32_t>::min(), std::numeric_limits<std::int32_t>::max()};
        default:
            fail("quantised to ", to_string(type), ", which is not supported");
    }
}

/// Scales and zero points: one for a tensor, one for each place along an axis, or one for each block of some places.
struct Scales {
    OnnxTensor scale;
    /// As many; without it, all are 0.
    std::optional<OnnxTensor> zero_point{};
    /// -1: one for the tensor.
    std::int64_t axis = -1, block = 0;

    [[nodiscard]] bool is_one() const { return axis < 0; }
    [[nodiscard]] std::int64_t zero(std::size_t i) const { return zero_point ? zero_point->integers[i] : 0; }
};
/// For integers of that type and of those extents. Throws error when they do not fit these.
[[nodiscard]] inline Scales make_scales(OnnxTensor scale, std::optional<OnnxTensor> zero_point, OnnxType type,
                                        Sizes const& dims, std::int64_t axis, std::int64_t block) {
    if (!scale.is_float()) fail("its scale is of ", to_string(scale.type));
    if (zero_point) {
        const IntegerBounds bounds = integer_bounds(type);
        if (zero_point->type != type) {
            fail("its zero point is of ", to_string(zero_point->type), ", the integers are of ", to_string(type));
        }
        if (zero_point->size() != scale.size()) {
            fail("its zero point is ", to_string(zero_point->dims), ", its scale ", to_string(scale.dims));
        }
        for (const std::int64_t zero : zero_point->integers) {
            if (zero < bounds.low || zero > bounds.high) fail("a zero point of ", zero, " in ", to_string(type));
        }
    }
    Scales result{std::move(scale), std::move(zero_point)};
    Sizes const& own = result.scale.dims;
    if (block == 0 && result.scale.size() == 1) return result;
    result.axis = static_cast<std::int64_t>(axis_index(axis, dims.size()));
    result.block = block;
    const auto at = static_cast<std::size_t>(result.axis);
    Sizes wanted{dims[at]};
    if (block != 0) {
        if (block < 0) fail("blocks of ", block);
        wanted = dims;
        wanted[at] = dims[at] / block + (dims[at] % block != 0 ? 1 : 0);
    }
    if (own != wanted) {
        fail("a scale of ", to_string(own), " for a tensor of ", to_string(dims), " along axis ", at,
             block != 0 ? join(" in blocks of ", block) : "");
    }
    return result;
}
/// Those that are inputs of the node.
[[nodiscard]] inline Scales read_scales(Call const& call, std::size_t scale, std::size_t zero_point, OnnxType type,
                                        Sizes const& dims, std::int64_t axis, std::int64_t block = 0) {
    std::optional<OnnxTensor> zero;
    if (call.has(zero_point)) zero = call.constant(zero_point, "zero point");
    return make_scales(call.floats(scale, "scale"), std::move(zero), type, dims, axis, block);
}
/// Calls f(element, scale or zero point) for the positions of all elements.
template <class F>
void for_scaled(Sizes const& dims, Scales const& scales, F const& f) {
    const std::size_t count = count_of(dims);
    if (scales.is_one()) {
        for (std::size_t i = 0; i < count; ++i) f(i, std::size_t{0});
        return;
    }
    const auto axis = scales.axis;
    const std::size_t inner = count_of({dims.begin() + axis + 1, dims.end()}),
                      places = static_cast<std::size_t>(dims[static_cast<std::size_t>(axis)]),
                      block = static_cast<std::size_t>(scales.block),
                      blocks = block == 0 ? 0 : (places + block - 1) / block;
    for (std::size_t i = 0; i < count; ++i) {
        const std::size_t place = i / inner % places;
        f(i, block == 0 ? place : (i / inner / places * blocks + place / block) * inner + i % inner);
    }
}

/// Whether the elements are bytes, and so many that copies of them as wider numbers are felt.
[[nodiscard]] inline bool is_many_bytes(OnnxTensor const& tensor) {
    const bool is_byte = tensor.type == OnnxType::int8 || tensor.type == OnnxType::uint8;
    return is_byte && tensor.size() >= many_bytes;
}
/// The real numbers of bytes with a scale for the tensor or for each place of an axis.
[[nodiscard]] inline StoredFloats dequantised_bytes(OnnxTensor const& tensor, Scales const& scales) {
    DequantisedBytes::Steps steps{.run = tensor.size(), .scales = {}, .zero_points = {}};
    if (!scales.is_one()) steps.run = count_of({tensor.dims.begin() + scales.axis + 1, tensor.dims.end()});
    steps.scales.assign(scales.scale.floats.begin(), scales.scale.floats.end());
    for (std::size_t i = 0; i < steps.scales.size(); ++i) {
        steps.zero_points.push_back(static_cast<std::int32_t>(scales.zero(i)));
    }
    std::span<const std::byte> bytes;
    std::shared_ptr<const void> owner = tensor.owner;
    if (tensor.integers.is_bytes()) {
        bytes = tensor.integers.bytes();
    } else {  // the result of other constants
        auto own = std::make_shared<std::vector<std::byte>>(tensor.size());
        const auto narrow = [](std::int64_t q) { return static_cast<std::byte>(q & 255); };
        std::ranges::transform(tensor.integers, own->begin(), narrow);
        bytes = *own, owner = std::move(own);
    }
    auto real = std::make_shared<const DequantisedBytes>(bytes, tensor.type == OnnxType::int8, std::move(owner),
                                                         std::move(steps));
    return StoredFloats::of_file(std::move(real), 0, tensor.size());
}

/// The real numbers of known integers.
[[nodiscard]] inline OnnxTensor fold_dequantise(Builder& build, OnnxTensor const& tensor, Scales const& scales) {
    if (tensor.is_float()) fail("integers of ", to_string(tensor.type));
    if (is_many_bytes(tensor) && scales.block == 0) {
        OnnxTensor result = tensor;
        result.type = scales.scale.type;
        result.integers = {}, result.owner = {};
        result.floats = dequantised_bytes(tensor, scales);
        return result;
    }
    std::vector<float> values = build.constants.make<float>(tensor.size());
    const std::vector<float> factors(scales.scale.floats.begin(), scales.scale.floats.end());
    for_scaled(tensor.dims, scales, [&](std::size_t i, std::size_t at) {
        // Exact up to 32 bits, and never undefined.
        const double steps = static_cast<double>(tensor.integers[i]) - static_cast<double>(scales.zero(at));
        values[i] = static_cast<float>(steps) * factors[at];
    });
    OnnxTensor result = own_elements(tensor.dims, scales.scale.type, std::move(values));
    result.name = tensor.name;
    return result;
}
/// The integers of known real numbers: rounded, halves to the even neighbour, and within the type's bounds.
[[nodiscard]] inline OnnxTensor fold_quantise(Builder& build, OnnxTensor const& tensor, Scales const& scales,
                                              OnnxType type) {
    const OnnxTensor real = to_floats(tensor, build.constants);
    const IntegerBounds bounds = integer_bounds(type);
    std::vector<std::int64_t> values = build.constants.make<std::int64_t>(real.size());
    const std::vector<float> src(real.floats.begin(), real.floats.end()),
        factors(scales.scale.floats.begin(), scales.scale.floats.end());
    for_scaled(real.dims, scales, [&](std::size_t i, std::size_t at) {
        const double steps =
            std::nearbyint(static_cast<double>(src[i] / factors[at])) + static_cast<double>(scales.zero(at));
        // NaN is the lowest.
        values[i] = !(steps > static_cast<double>(bounds.low)) ? bounds.low
                    : steps > static_cast<double>(bounds.high) ? bounds.high
                                                               : static_cast<std::int64_t>(steps);
    });
    return own_elements(real.dims, type, std::move(values));
}

/// The range of integers that fit a byte; that of others is not known.
[[nodiscard]] inline TensorRange byte_range(OnnxType type, float scale, std::int64_t zero_point) {
    const bool is_byte = type == OnnxType::uint8 || type == OnnxType::int8;
    if (!is_byte || scale < std::numeric_limits<float>::min() || !is_finite(scale * 255)) return {};
    const std::int64_t shift = type == OnnxType::int8 ? 128 : 0;
    return {.scale = scale, .zero_point = static_cast<std::int32_t>(zero_point + shift)};
}

// --- at run time

[[nodiscard]] inline Value known_value(OnnxTensor tensor) {
    Value value;
    value.dims = tensor.dims;
    value.type = tensor.type;
    value.known = std::move(tensor);
    return value;
}
[[nodiscard]] inline Value value_of(Builder& build, Operand const& operand, OnnxType type) {
    Value value;
    value.node = build.view(operand);
    value.dims = build.full_dims(operand.dims);
    value.type = type;
    return value;
}
[[nodiscard]] inline Operand real_operand(Builder const& build, Value const& value) {
    return {build.image_dims(value.dims), value.node, {}};
}
/// Returns the result of an operator on these inputs, with the attributes of the node.
template <class Translate>
[[nodiscard]] Value compute(Call const& call, Translate const& translate, std::vector<Value*> inputs) {
    Value result;
    Call inner = call.with(std::move(inputs), result);
    translate(inner);
    return result;
}

/// Whether what the layer computes lies within the bounds, or differs by no more than the slack. It may leave them
/// where no bound can be meant: an exporter drops a ReLU before the bounds of its result, but nothing behind an
/// activation that is still there, or behind an input.
[[nodiscard]] inline bool lies_within(Graph const& graph, std::size_t node, float low, float high, float slack) {
    constexpr std::size_t most = 64;
    const auto within = [&](float a, float b) { return a >= low - slack && b <= high + slack; };
    std::vector<std::size_t> layers{node};
    for (std::size_t i = 0; i < layers.size(); ++i) {
        if (i == most) return false;
        Node const& here = graph[layers[i]];
        const auto* activation = std::get_if<ActivationParams>(&here.layer);
        const auto* pool = std::get_if<PoolParams>(&here.layer);
        const auto* global = std::get_if<GlobalPoolParams>(&here.layer);
        const auto* pad = std::get_if<PadParams>(&here.layer);
        if (here.range.known()) {
            const auto at = [&](int byte) {
                return here.range.scale * static_cast<float>(byte - here.range.zero_point);
            };
            if (!within(at(0), at(255))) return false;
        } else if (activation != nullptr) {
            if (activation->kind == ActivationKind::clip && !within(activation->alpha, activation->beta)) return false;
        } else if (std::holds_alternative<InputParams>(here.layer) ||
                   std::holds_alternative<SoftmaxParams>(here.layer)) {
            continue;
        } else if (pool != nullptr || global != nullptr || pad != nullptr || keeps_range(here.layer) ||
                   std::holds_alternative<ConcatParams>(here.layer) ||
                   std::holds_alternative<AsStridedParams>(here.layer)) {
            if (pad != nullptr && pad->mode == PadMode::constant && !within(pad->value, pad->value)) return false;
            layers.insert(layers.end(), here.inputs.begin(), here.inputs.end());
        } else {
            return false;
        }
    }
    return true;
}

/// The layer of the integers themselves.
[[nodiscard]] inline std::size_t emit_integers(Value const& value, Builder& build) {
    Quantised const& numbers = *value.quantised;
    const IntegerBounds bounds = integer_bounds(value.type);
    const auto zero = static_cast<float>(numbers.zero_point);
    Operand steps = real_operand(build, value);
    if (numbers.scale != 1.0F) steps = build.scale(steps, 1.0F / numbers.scale, 0.0F);
    steps = emit_unary(build, ActivationKind::round, steps);
    steps = emit_unary(build, ActivationKind::clip, steps, static_cast<float>(bounds.low) - zero,
                       static_cast<float>(bounds.high) - zero);
    if (zero != 0.0F) steps = build.scale(steps, 1.0F, zero);
    const std::size_t node = build.view(steps);
    build.set_range(node, byte_range(value.type, 1.0F, 0));
    return node;
}

/// Gives integers: the real numbers as far as these reach, with their range.
inline void give_quantised(Call const& call, Operand const& real, float scale, std::int64_t zero_point, OnnxType type) {
    if (!call.wants(0)) return;
    if (!(scale > 0.0F) || !is_finite(scale)) fail("a scale of ", scale);
    Builder& build = call.build;
    const IntegerBounds bounds = integer_bounds(type);
    const float low = scale * static_cast<float>(bounds.low - zero_point),
                high = scale * static_cast<float>(bounds.high - zero_point);
    const TensorRange range = byte_range(type, scale, zero_point);
    std::size_t node = build.view(real);
    const TensorRange known = build.graph()[node].range;
    const bool is_range_alone = call.op() == "QuantizeLinear" && call.doc() == range_alone(call.input_name(0));
    if (known.known() ? known != range : !is_range_alone && !lies_within(build.graph(), node, low, high, scale / 2)) {
        const auto [bounded, is_new] = build.between_bounds.try_emplace({node, low, high});
        if (is_new) bounded->second = build.emit(ActivationParams{ActivationKind::clip, low, high}, {node});
        node = bounded->second;
    }
    if (range.known()) build.set_range(node, range);
    Value result;
    result.dims = build.full_dims(real.dims);
    result.type = type;
    result.node = node;
    result.quantised = Quantised{.scale = scale, .zero_point = zero_point, .emit = emit_integers};
    call.give(std::move(result));
}
/// Gives real numbers as integers, known or not.
inline void give_integers(Call const& call, Value const& real, Scales const& scales, OnnxType type) {
    if (real.known) return call.give(fold_quantise(call.build, *real.known, scales, type));
    if (!scales.is_one()) fail("a scale of ", to_string(scales.scale.dims), " for a result");
    give_quantised(call, real_operand(call.build, real), scales.scale.floats[0], scales.zero(0), type);
}

/// Constants that meet the places of one axis.
[[nodiscard]] inline Value along_axis(OnnxTensor tensor, std::int64_t axis, std::size_t rank) {
    Sizes dims(rank - static_cast<std::size_t>(axis), 1);
    dims[0] = static_cast<std::int64_t>(tensor.size());
    return known_value(with_dims(std::move(tensor), std::move(dims)));
}
/// The zero points as floats.
[[nodiscard]] inline OnnxTensor zeros_of(Builder& build, Scales const& scales) {
    if (!scales.zero_point) return build.constants.splat(scales.scale.dims, OnnxType::float32, 0.0F);
    return to_floats(*scales.zero_point, build.constants);
}

/// Whether scale and zero point are known when the model is loaded. Throws error where they are not one number each.
[[nodiscard]] inline bool scales_are_known(Call const& call, std::size_t scale, std::size_t zero_point) {
    bool all = true;
    for (const std::size_t i : {scale, zero_point}) {
        if (!call.has(i) || call.input(i).known || call.input(i).given != nullptr) continue;
        if (count_of(call.dims(i)) != 1) fail("its scales must be known when the model is loaded, or be one number");
        all = false;
    }
    return all;
}
/// A weight: a value that the caller gives is known.
[[nodiscard]] inline Value weight_of(Value value) {
    if (value.given != nullptr) value.known = *value.given;
    return value;
}

/// The real numbers that a tensor stands for, where these inputs of the node are its scale and zero point.
[[nodiscard]] inline Value dequantised(Call const& call, Value& x, std::size_t scale, std::size_t zero_point,
                                       std::int64_t axis, std::int64_t block = 0) {
    using Role = Quantised::Role;
    Builder& build = call.build;
    if (is_float(x.type)) fail("it dequantises ", to_string(x.type));
    if (x.plays(Role::dynamic_integers) && call.has(zero_point) && call.input(scale).plays(Role::dynamic_scale) &&
        call.input(zero_point).plays(Role::dynamic_zero_point)) {
        const std::size_t source = x.quantised->source;
        Quantised const& factor = *call.input(scale).quantised;
        if (factor.source == source && call.input(zero_point).quantised->source == source && !factor.factor) {
            Value real = x;
            real.quantised.reset();
            real.type = call.input(scale).type;
            return real;
        }
    }
    if (!scales_are_known(call, scale, zero_point)) {
        Value steps;
        if (call.has(zero_point)) steps = compute(call, translate_sub, {&x, &call.input(zero_point)});
        Value real = compute(call, translate_mul, {call.has(zero_point) ? &steps : &x, &call.input(scale)});
        real.type = call.input(scale).type;
        return real;
    }
    const Scales scales = read_scales(call, scale, zero_point, x.type, x.dims, axis, block);
    if (x.known) return known_value(fold_dequantise(build, *x.known, scales));
    if (block != 0) fail("a tensor that is quantised in blocks must be known when the model is loaded");
    if (!scales.is_one()) {
        Value zeros = along_axis(zeros_of(build, scales), scales.axis, x.dims.size()),
              factors = along_axis(scales.scale, scales.axis, x.dims.size());
        Value steps;
        if (scales.zero_point) steps = compute(call, translate_sub, {&x, &zeros});
        Value real = compute(call, translate_mul, {scales.zero_point ? &steps : &x, &factors});
        real.type = scales.scale.type;
        return real;
    }
    const float factor = scales.scale.floats[0];
    if (x.plays(Role::integers)) {
        const float before = x.quantised->scale;
        const std::int64_t moved = x.quantised->zero_point - scales.zero(0);
        Operand real = real_operand(build, x);
        if (factor != before || moved != 0) {
            real = build.scale(real, factor / before, factor * static_cast<float>(moved));
        }
        return value_of(build, real, scales.scale.type);
    }
    const auto zero = static_cast<float>(scales.zero(0));
    const Value real = value_of(build, build.scale(call.operand_of(x), factor, -zero * factor), scales.scale.type);
    if (factor > 0.0F) build.set_range(*real.node, byte_range(x.type, factor, scales.zero(0)));
    return real;
}
}  // namespace detail

inline void translate_quantize_linear(Call& call) {
    const auto wanted = static_cast<OnnxType>(call.integer("output_dtype", 0));
    const OnnxType type = call.has(2) ? call.input(2).type : wanted != OnnxType::undefined ? wanted : OnnxType::uint8;
    const detail::IntegerBounds bounds = detail::integer_bounds(type);
    const auto rounded = [&](Value const& steps) {
        const Operand real = detail::real_operand(call.build, steps);
        return detail::value_of(call.build, emit_unary(call.build, ActivationKind::round, real), OnnxType::float32);
    };
    const auto give = [&](Value const& steps) {
        call.give(emit_unary(call.build, ActivationKind::clip, detail::real_operand(call.build, steps),
                             static_cast<float>(bounds.low), static_cast<float>(bounds.high)),
                  0, type);
    };
    if (!detail::scales_are_known(call, 1, 2)) {
        Value steps = rounded(detail::compute(call, translate_div, {&call.input(0), &call.input(1)}));
        return give(call.has(2) ? detail::compute(call, translate_add, {&steps, &call.input(2)}) : steps);
    }
    if (!is_float(call.input(0).type) && call.known(0) == nullptr) {
        fail("it quantises ", to_string(call.input(0).type), ", which must be known when the model is loaded");
    }
    const detail::Scales scales =
        detail::read_scales(call, 1, 2, type, call.dims(0), call.integer("axis", 1), call.integer("block_size", 0));
    if (const OnnxTensor* known = call.known(0)) {
        return call.give(detail::fold_quantise(call.build, *known, scales, type));
    }
    if (scales.is_one()) {
        return detail::give_quantised(call, call.operand(0), scales.scale.floats[0], scales.zero(0), type);
    }
    if (scales.block != 0) fail("a tensor that is quantised in blocks must be known when the model is loaded");
    const std::size_t rank = call.rank(0);
    Value factors = detail::along_axis(scales.scale, scales.axis, rank),
          zeros = detail::along_axis(detail::zeros_of(call.build, scales), scales.axis, rank);
    Value steps = rounded(detail::compute(call, translate_div, {&call.input(0), &factors}));
    give(scales.zero_point ? detail::compute(call, translate_add, {&steps, &zeros}) : steps);
}
inline void translate_dequantize_linear(Call& call) {
    call.give(detail::dequantised(call, call.input(0), 1, 2, call.integer("axis", 1), call.integer("block_size", 0)));
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
