// Elementwise functions of two tensors, broadcast by numpy's rules.
#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/onnx/detail/call.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {

/// How two operands meet along an axis of the result.
enum class Meeting { either, equal, first_repeats, second_repeats };
[[nodiscard]] inline Meeting meeting(std::int64_t a, std::int64_t b) {
    if (a == b) return a == 1 ? Meeting::either : Meeting::equal;
    return a == 1 ? Meeting::first_repeats : Meeting::second_repeats;
}

/// Two tensors of one rank under shapes of c x h x w that broadcast as they do.
struct ShapePair {
    Shape a, b;
    bool fits = true;
};
/// Under the shapes in which they lie.
[[nodiscard]] inline ShapePair own_shapes(Builder const& build, Sizes const& a, Sizes const& b) {
    ShapePair pair{build.shape_of(a), build.shape_of(b)};
    std::array<Meeting, 3> meetings{Meeting::either, Meeting::either, Meeting::either};
    for (std::size_t axis = 0; axis < a.size(); ++axis) {
        Meeting& known = meetings[static_cast<std::size_t>(build.axis_of(axis, a.size()))];
        const Meeting here = meeting(a[axis], b[axis]);
        if (here == Meeting::either) continue;
        pair.fits = pair.fits && (known == Meeting::either || known == here);
        known = here;
    }
    return pair;
}
/// Neighbouring axes along which they meet alike become one.
[[nodiscard]] inline ShapePair merged_shapes(Sizes const& a, Sizes const& b) {
    ShapePair pair;
    Meeting before = Meeting::either;
    int used = -1;
    for (std::size_t axis = 0; axis < a.size(); ++axis) {
        const Meeting here = meeting(a[axis], b[axis]);
        if (here == Meeting::either) continue;
        if (here != before && ++used == 3) return {.a = {}, .b = {}, .fits = false};
        before = here;
        extent(pair.a, static_cast<Axis>(used)) *= static_cast<int>(a[axis]);
        extent(pair.b, static_cast<Axis>(used)) *= static_cast<int>(b[axis]);
    }
    return pair;
}

/// The values of a constant for each channel of x, where it has one for each; empty otherwise.
[[nodiscard]] inline std::vector<float> per_channel(Builder& build, Sizes const& x, OnnxTensor const& constant) {
    const Sizes own = padded_to(constant.dims, x.size());
    if (broadcast(x, own) != x) return {};
    Sizes channels = x;
    for (std::size_t axis = 0; axis < x.size(); ++axis) {
        if (build.axis_of(axis, x.size()) == Axis::c) continue;
        if (own[axis] != 1) return {};
        channels[axis] = 1;
    }
    const OnnxTensor values = pick(constant, expansion(constant.dims, channels), build.constants);
    return {values.floats.begin(), values.floats.end()};
}

}  // namespace detail

inline Operand emit_binary(Builder& build, BinaryKind kind, Operand a, Operand b) {
    const Sizes dims = broadcast(a.dims, b.dims);
    (void)elements(dims);
    const Sizes padded_a = padded_to(a.dims, dims.size()), padded_b = padded_to(b.dims, dims.size());
    if (kind == BinaryKind::add && padded_a == padded_b && a.node && b.node) {
        const std::size_t left = build.view(a, build.shape_of(dims)), right = build.view(b, build.shape_of(dims));
        return build.operand(build.emit(AddParams{}, {left, right}), dims);
    }
    detail::ShapePair shapes = detail::own_shapes(build, padded_a, padded_b);
    if (!shapes.fits) shapes = detail::merged_shapes(padded_a, padded_b);
    if (!shapes.fits) {
        // More turns than a shape has axes: one of the two is written out in full.
        if (padded_a != dims) return emit_binary(build, kind, build.expand(a, dims), std::move(b));
        return emit_binary(build, kind, std::move(a), build.expand(b, dims));
    }
    const std::size_t left = build.view(a, shapes.a), right = build.view(b, shapes.b);
    return build.operand(build.emit(BinaryParams{kind}, {left, right}), dims);
}

/// A factor and a shift for each channel, as a layer that folds into the convolution before it.
[[nodiscard]] inline std::optional<Operand> emit_affine(Builder& build, BinaryKind kind, Operand const& x,
                                                        OnnxTensor const& constant) {
    std::vector<float> values = detail::per_channel(build, x.dims, constant);
    if (values.empty()) return std::nullopt;
    const auto c = static_cast<std::int64_t>(values.size());
    const bool is_factor = kind == BinaryKind::multiply || kind == BinaryKind::divide;
    for (float& value : values) {
        if (kind == BinaryKind::divide) value = 1.0F / value;
        if (kind == BinaryKind::subtract) value = -value;
    }
    const std::size_t input = build.view(x);
    // One number for all channels is a constant, as in a GELU; a product or sum with one a channel is a weight.
    // Exporters of PyTorch write what it holds as buffers (means and deviations of images) as differences and
    // quotients.
    const bool combines = kind == BinaryKind::multiply || kind == BinaryKind::add;
    const bool is_weight = combines && (build.trains() ? build.is_weight(constant) : constant.size() > 1) &&
                           std::ranges::all_of(values, [](float value) { return is_finite(value); });
    const bool is_one = is_finite(values[0]) && std::ranges::count(values, values[0]) == c;
    if (is_one && !(is_weight && build.trains())) {
        ScaleParams all{.known = true};
        (is_factor ? all.factor : all.shift) = values[0];
        const std::size_t node = build.emit(all, {input});
        if (kind == BinaryKind::divide) build.quotients[node] = {x, {constant.dims, std::nullopt, constant}};
        return Operand{x.dims, node, {}};
    }
    ScaleParams params;
    params.trains_weight = is_weight && is_factor;
    params.trains_bias = is_weight && !is_factor;
    const std::size_t node = build.emit(params, {input});
    // As it lies in the file where it can, so that layers that share it are found.
    const bool is_own = is_weight && static_cast<std::int64_t>(constant.size()) == c;
    OnnxTensor own = is_own ? with_dims(constant, {c}) : own_elements({c}, OnnxType::float32, std::move(values));
    OnnxTensor other = build.constants.splat({c}, OnnxType::float32, is_factor ? 0.0F : 1.0F);
    build.add_weight(node, ".weight", {c}, is_factor ? own : other);
    build.add_weight(node, ".bias", {c}, is_factor ? other : own);
    return Operand{x.dims, node, {}};
}

/// The operand of a function with steps; a quotient by one number is rounded correctly, as 49 times the rounded 1 / 49
/// is less than 1.
[[nodiscard]] inline Operand before_steps(Builder& build, Operand x) {
    const auto found = x.node ? build.quotients.find(*x.node) : build.quotients.end();
    if (found == build.quotients.end()) return x;
    const Operand quotient = emit_binary(build, BinaryKind::divide, found->second.first, found->second.second);
    return build.reshape(quotient, x.dims);
}

namespace detail {
[[nodiscard]] inline float apply(BinaryKind kind, float x, float y) {
    const bool is_number = !is_nan(x) && !is_nan(y);
    switch (kind) {
        case BinaryKind::add:
            return x + y;
        case BinaryKind::subtract:
            return x - y;
        case BinaryKind::multiply:
            return x * y;
        case BinaryKind::divide:
            return x / y;
        case BinaryKind::prelu:
            return x >= 0 ? x : x * y;
        case BinaryKind::power:
            return std::pow(x, y);
        case BinaryKind::minimum:
            return is_number ? std::min(x, y) : x + y;
        case BinaryKind::maximum:
            return is_number ? std::max(x, y) : x + y;
        case BinaryKind::modulo: {
            const float rest = std::fmod(x, y);
            return rest != 0.0F && (rest < 0.0F) != (y < 0.0F) ? rest + y : rest;
        }
        case BinaryKind::remainder:
            return std::fmod(x, y);
        case BinaryKind::equal:
            return x == y ? 1.0F : 0.0F;
        case BinaryKind::greater:
            return x > y ? 1.0F : 0.0F;
        case BinaryKind::greater_or_equal:
            return x >= y ? 1.0F : 0.0F;
        case BinaryKind::keep:
            return x != 0.0F ? y : 0.0F;
    }
    return x;
}
/// As unsigned where something could overflow.
[[nodiscard]] inline std::int64_t apply(BinaryKind kind, std::int64_t x, std::int64_t y) {
    const auto left = static_cast<std::uint64_t>(x), right = static_cast<std::uint64_t>(y);
    const bool divides = kind == BinaryKind::divide || kind == BinaryKind::modulo || kind == BinaryKind::remainder;
    if (divides && y == 0) fail("an integer is divided by zero");
    const std::int64_t rest = divides && y != -1 ? x % y : 0;
    switch (kind) {
        case BinaryKind::add:
            return static_cast<std::int64_t>(left + right);
        case BinaryKind::subtract:
            return static_cast<std::int64_t>(left - right);
        case BinaryKind::multiply:
            return static_cast<std::int64_t>(left * right);
        case BinaryKind::divide:
            return y == -1 ? static_cast<std::int64_t>(0 - left) : x / y;
        case BinaryKind::prelu:
            fail("of integers");
        case BinaryKind::power: {
            if (y < 0) return x == 1 ? 1 : x == -1 ? (y % 2 == 0 ? 1 : -1) : 0;
            std::uint64_t result = 1, factor = left;
            for (std::uint64_t rest_of = right; rest_of > 0; rest_of /= 2, factor *= factor) {
                if (rest_of % 2 == 1) result *= factor;
            }
            return static_cast<std::int64_t>(result);
        }
        case BinaryKind::minimum:
            return std::min(x, y);
        case BinaryKind::maximum:
            return std::max(x, y);
        case BinaryKind::modulo:
            return rest != 0 && (rest < 0) != (y < 0) ? rest + y : rest;
        case BinaryKind::remainder:
            return rest;
        case BinaryKind::equal:
            return x == y ? 1 : 0;
        case BinaryKind::greater:
            return x > y ? 1 : 0;
        case BinaryKind::greater_or_equal:
            return x >= y ? 1 : 0;
        case BinaryKind::keep:
            return x != 0 ? y : 0;
    }
    return x;
}
}  // namespace detail

[[nodiscard]] inline OnnxTensor fold_binary(Builder& build, BinaryKind kind, OnnxTensor const& a, OnnxTensor const& b) {
    return combine(a, b, build.constants, [&](auto x, auto y) { return detail::apply(kind, x, y); });
}

/// A number that meets all elements of another operand.
[[nodiscard]] inline Operand scalar_operand(Builder& build, float value) {
    return {{}, std::nullopt, build.constants.splat({}, OnnxType::float32, value)};
}
[[nodiscard]] inline Operand emit_unary(Builder& build, ActivationKind kind, Operand const& x, float alpha = 0.0F,
                                        float beta = 0.0F) {
    return build.apply(ActivationParams{kind, alpha, beta}, x, x.dims);
}

namespace detail {
/// Before opset 7, the second operand met the axes of the first from a stated one on.
inline void meet_at_axis(Call& call) {
    if (call.opset() >= 7 || call.integer("broadcast", 0) == 0 || !call.has_attribute("axis")) return;
    Value& b = call.input(1);
    const std::size_t rank = call.rank(0), axis = axis_index(call.integer("axis", 0), rank);
    if (axis + b.dims.size() > rank) fail("its second input reaches beyond the first");
    if (axis + b.dims.size() == rank) return;
    if (!b.known) fail("its second input, broadcast from axis ", axis, " on, must be known when the model is loaded");
    Sizes dims = b.dims;
    dims.resize(rank - axis, 1);
    b.known = with_dims(*b.known, dims);
    b.dims = dims;
}
}  // namespace detail

namespace detail {
/// Slopes are weights, though there be one.
[[nodiscard]] inline Operand trained_slopes(Builder const& build, Operand slopes) {
    slopes.is_weight = !slopes.node && slopes.constant.is_float() && build.trains();
    return slopes;
}
}  // namespace detail

inline void translate_binary(Call& call, BinaryKind kind) {
    detail::meet_at_axis(call);
    if (call.known(0) != nullptr && call.known(1) != nullptr) {
        return call.give(fold_binary(call.build, kind, *call.known(0), *call.known(1)));
    }
    Sizes dims = broadcast(call.dims(0), call.dims(1));
    if (count_of(dims) == 0) return call.give(empty_tensor(std::move(dims), call.input(0).type));
    const std::size_t rank = std::max(call.rank(0), call.rank(1));
    Operand a = call.broadcast_operand(0, rank), b = call.broadcast_operand(1, rank);
    const bool is_affine = kind == BinaryKind::add || kind == BinaryKind::subtract || kind == BinaryKind::multiply ||
                           kind == BinaryKind::divide;
    if (!b.node && b.constant.is_float() && is_affine) {
        if (auto scaled = emit_affine(call.build, kind, a, b.constant)) return call.give(std::move(*scaled));
    }
    if (!a.node && a.constant.is_float() && (kind == BinaryKind::add || kind == BinaryKind::multiply)) {
        if (auto scaled = emit_affine(call.build, kind, b, a.constant)) return call.give(std::move(*scaled));
    }
    if (kind == BinaryKind::add || kind == BinaryKind::multiply) {
        a = call.build.trained(std::move(a)), b = call.build.trained(std::move(b));
    } else if (kind == BinaryKind::prelu) {
        b = detail::trained_slopes(call.build, std::move(b));
    }
    const bool is_whole_number = kind == BinaryKind::divide && !is_float(call.input(0).type);
    Operand result = emit_binary(call.build, kind, std::move(a), std::move(b));
    if (is_whole_number) result = emit_unary(call.build, ActivationKind::truncate, result);
    call.give(std::move(result));
}
inline void translate_add(Call& call) { translate_binary(call, BinaryKind::add); }
inline void translate_sub(Call& call) { translate_binary(call, BinaryKind::subtract); }
inline void translate_mul(Call& call) { translate_binary(call, BinaryKind::multiply); }
inline void translate_div(Call& call) { translate_binary(call, BinaryKind::divide); }

inline void translate_mod(Call& call) {
    translate_binary(call, call.integer("fmod", 0) != 0 ? BinaryKind::remainder : BinaryKind::modulo);
}

/// Base and exponent may differ in type.
inline void translate_pow(Call& call) {
    detail::meet_at_axis(call);
    Constants& constants = call.build.constants;
    const OnnxTensor *base = call.known(0), *exponent = call.known(1);
    if (base != nullptr && exponent != nullptr) {
        if (base->is_float() == exponent->is_float()) {
            return call.give(fold_binary(call.build, BinaryKind::power, *base, *exponent));
        }
        if (!base->is_float()) fail("integers to the power of ", to_string(exponent->type));
        return call.give(fold_binary(call.build, BinaryKind::power, *base, to_floats(*exponent, constants)));
    }
    if (exponent == nullptr || exponent->size() != 1 || call.rank(1) > call.rank(0)) {
        return translate_binary(call, BinaryKind::power);
    }
    const float number = call.scalar(1, "exponent");
    if (number == 1.0F) return call.pass();
    if (number == 0.5F) return call.give(emit_unary(call.build, ActivationKind::sqrt, call.operand(0)));
    call.give(emit_unary(call.build, ActivationKind::power, call.operand(0), number));
}

/// Translates Min or Max of any number of inputs. An input that is a single constant is a bound.
inline void translate_extremum(Call& call, BinaryKind kind) {
    if (call.input_count() == 0) fail("no inputs");
    if (call.input_count() == 1) return call.pass();
    if (call.all_known()) {
        OnnxTensor result = call.constant(0, "operand");
        for (std::size_t i = 1; i < call.input_count(); ++i) {
            result = fold_binary(call.build, kind, result, call.constant(i, "operand"));
        }
        return call.give(std::move(result));
    }
    std::size_t rank = 0;
    for (std::size_t i = 0; i < call.input_count(); ++i) rank = std::max(rank, call.rank(i));
    std::optional<Operand> result;
    const auto add = [&](std::size_t i) {
        Operand next = call.broadcast_operand(i, rank);
        const bool is_number =
            !next.node && next.constant.size() == 1 && result && next.dims.size() <= result->dims.size();
        const float number = is_number ? call.scalar(i, "operand") : std::nanf("");
        if (!result) {
            result = std::move(next);
        } else if (is_nan(number)) {
            result = emit_binary(call.build, kind, std::move(*result), std::move(next));
        } else if (kind == BinaryKind::maximum && number == 0.0F) {
            result = emit_unary(call.build, ActivationKind::relu, *result);
        } else {
            constexpr float infinity = std::numeric_limits<float>::infinity();
            const bool is_low = kind == BinaryKind::maximum;
            result = emit_unary(call.build, ActivationKind::clip, *result, is_low ? number : -infinity,
                                is_low ? infinity : number);
        }
    };
    for (std::size_t i = 0; i < call.input_count(); ++i) {
        if (call.known(i) == nullptr) add(i);
    }
    for (std::size_t i = 0; i < call.input_count(); ++i) {
        if (call.known(i) != nullptr) add(i);
    }
    call.give(std::move(*result));
}
inline void translate_max(Call& call) { translate_extremum(call, BinaryKind::maximum); }
inline void translate_min(Call& call) { translate_extremum(call, BinaryKind::minimum); }

inline void translate_prelu(Call& call) {
    Value& slope = call.input(1);
    // Before opset 7 a list of slopes is that of the channels.
    const bool is_list = slope.dims.size() == 1 && slope.dims[0] > 1 && call.rank(0) > 1;
    const bool is_channels = is_list && call.dims(0)[1] == slope.dims[0] && call.opset() < 7;
    if (!is_channels) return translate_binary(call, BinaryKind::prelu);
    OnnxTensor slopes = call.floats(1, "slope");
    Sizes dims(call.rank(0) - 1, 1);
    dims[0] = slope.dims[0];
    slopes = with_dims(std::move(slopes), dims);
    const Operand known{dims, std::nullopt, slopes};
    call.give(emit_binary(call.build, BinaryKind::prelu, call.operand(0), detail::trained_slopes(call.build, known)));
}

namespace detail {
/// The sum of all inputs, of which one at least is not known.
[[nodiscard]] inline Operand sum_of_inputs(Call& call) {
    std::size_t rank = 0;
    for (std::size_t i = 0; i < call.input_count(); ++i) rank = std::max(rank, call.rank(i));
    std::vector<Operand> operands;
    bool is_plain = true;
    for (std::size_t i = 0; i < call.input_count(); ++i) {
        operands.push_back(call.broadcast_operand(i, rank));
        is_plain = is_plain && operands.back().node && operands.back().dims == operands[0].dims;
    }
    if (is_plain) {
        std::vector<std::size_t> inputs;
        for (Operand const& operand : operands) inputs.push_back(call.build.view(operand));
        return call.build.operand(call.build.emit(AddParams{}, std::move(inputs)), operands[0].dims);
    }
    Operand sum = operands[0];
    for (std::size_t i = 1; i < operands.size(); ++i) {
        sum = emit_binary(call.build, BinaryKind::add, std::move(sum), std::move(operands[i]));
    }
    return sum;
}
}  // namespace detail

/// The sum, or the mean, of any number of inputs.
inline void translate_sum(Call& call) {
    if (call.input_count() == 0) fail("no inputs");
    if (call.input_count() == 1) return call.pass();
    const float share = call.op() == "Mean" ? 1.0F / static_cast<float>(call.input_count()) : 1.0F;
    if (call.all_known()) {
        OnnxTensor sum = call.constant(0, "summand");
        for (std::size_t i = 1; i < call.input_count(); ++i) {
            sum = fold_binary(call.build, BinaryKind::add, sum, call.constant(i, "summand"));
        }
        if (share != 1.0F) {
            const OnnxTensor factor = call.build.constants.splat({}, OnnxType::float32, share);
            sum = fold_binary(call.build, BinaryKind::multiply, sum, factor);
        }
        return call.give(std::move(sum));
    }
    const Operand sum = detail::sum_of_inputs(call);
    call.give(share == 1.0F ? sum : call.build.scale(sum, share, 0.0F));
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
