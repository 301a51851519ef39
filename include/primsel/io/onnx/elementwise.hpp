// Elementwise functions of two tensors, broadcast by numpy's rules.
#pragma once

#include <primsel/io/onnx/call.hpp>

#include <array>

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
    const std::size_t input = build.view(x), node = build.emit(ScaleParams{}, {input});
    const bool is_factor = kind == BinaryKind::multiply || kind == BinaryKind::divide;
    for (float& value : values) {
        if (kind == BinaryKind::divide) value = 1.0F / value;
        if (kind == BinaryKind::subtract) value = -value;
    }
    OnnxTensor own = own_elements({c}, OnnxType::float32, std::move(values));
    OnnxTensor other = build.constants.splat({c}, OnnxType::float32, is_factor ? 0.0F : 1.0F);
    build.add_weight(node, ".weight", {c}, is_factor ? own : other);
    build.add_weight(node, ".bias", {c}, is_factor ? other : own);
    return Operand{x.dims, node, {}};
}

[[nodiscard]] inline OnnxTensor fold_binary(Builder& build, BinaryKind kind, OnnxTensor const& a, OnnxTensor const& b) {
    return combine(a, b, build.constants, [&]<class T>(T x, T y) -> T {
        if constexpr (std::is_same_v<T, float>) {
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
            }
            return x;
        } else {
            // As unsigned, so that nothing overflows.
            const auto left = static_cast<std::uint64_t>(x), right = static_cast<std::uint64_t>(y);
            switch (kind) {
                case BinaryKind::add:
                    return static_cast<T>(left + right);
                case BinaryKind::subtract:
                    return static_cast<T>(left - right);
                case BinaryKind::multiply:
                    return static_cast<T>(left * right);
                case BinaryKind::divide:
                    if (y == 0) fail("an integer is divided by zero");
                    return y == -1 ? static_cast<T>(0 - left) : x / y;
                case BinaryKind::prelu:
                    fail("of integers");
            }
            return x;
        }
    });
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

inline void translate_binary(Call& call, BinaryKind kind) {
    detail::meet_at_axis(call);
    if (call.known(0) != nullptr && call.known(1) != nullptr) {
        return call.give(fold_binary(call.build, kind, *call.known(0), *call.known(1)));
    }
    const std::size_t rank = std::max(call.rank(0), call.rank(1));
    Operand a = call.broadcast_operand(0, rank), b = call.broadcast_operand(1, rank);
    if (!b.node && b.constant.is_float() && kind != BinaryKind::prelu) {
        if (auto scaled = emit_affine(call.build, kind, a, b.constant)) return call.give(std::move(*scaled));
    }
    if (!a.node && a.constant.is_float() && (kind == BinaryKind::add || kind == BinaryKind::multiply)) {
        if (auto scaled = emit_affine(call.build, kind, b, a.constant)) return call.give(std::move(*scaled));
    }
    call.give(emit_binary(call.build, kind, std::move(a), std::move(b)));
}
inline void translate_add(Call& call) { translate_binary(call, BinaryKind::add); }
inline void translate_sub(Call& call) { translate_binary(call, BinaryKind::subtract); }
inline void translate_mul(Call& call) { translate_binary(call, BinaryKind::multiply); }
inline void translate_div(Call& call) { translate_binary(call, BinaryKind::divide); }

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
    call.give(emit_binary(call.build, BinaryKind::prelu, call.operand(0), {dims, std::nullopt, slopes}));
}

inline void translate_sum(Call& call) {
    if (call.input_count() == 0) fail("no inputs");
    if (call.input_count() == 1) return call.pass();
    if (call.all_known()) {
        OnnxTensor sum = call.constant(0, "summand");
        for (std::size_t i = 1; i < call.input_count(); ++i) {
            sum = fold_binary(call.build, BinaryKind::add, sum, call.constant(i, "summand"));
        }
        return call.give(std::move(sum));
    }
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
        return call.give(call.build.operand(call.build.emit(AddParams{}, std::move(inputs)), operands[0].dims));
    }
    Operand sum = operands[0];
    for (std::size_t i = 1; i < operands.size(); ++i) {
        sum = emit_binary(call.build, BinaryKind::add, std::move(sum), std::move(operands[i]));
    }
    call.give(std::move(sum));
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
