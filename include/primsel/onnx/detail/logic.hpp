// Comparisons, choices and conversions. At run time true is 1 and false is 0.
#pragma once

#include <primsel/onnx/detail/elementwise.hpp>
#include <primsel/onnx/detail/fold.hpp>

#include <limits>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {
[[nodiscard]] inline OnnxTensor fold_truth(Builder& build, BinaryKind kind, OnnxTensor const& a, OnnxTensor const& b) {
    return fold_cast(build, fold_binary(build, kind, a, b), OnnxType::boolean);
}
[[nodiscard]] inline OnnxTensor fold_not(Builder& build, OnnxTensor const& x) {
    return fold_truth(build, BinaryKind::equal, x, build.constants.zero_like(x));
}
/// Gives the truth of a comparison of two inputs, which may change places.
inline void give_truth(Call& call, BinaryKind kind, bool swaps) {
    const std::size_t first = swaps ? 1 : 0, second = swaps ? 0 : 1;
    if (call.known(0) != nullptr && call.known(1) != nullptr) {
        return call.give(fold_truth(call.build, kind, *call.known(first), *call.known(second)));
    }
    const std::size_t rank = std::max(call.rank(0), call.rank(1));
    Operand a = call.broadcast_operand(first, rank), b = call.broadcast_operand(second, rank);
    call.give(emit_binary(call.build, kind, std::move(a), std::move(b)), 0, OnnxType::boolean);
}
[[nodiscard]] inline Operand emit_not(Builder& build, Operand const& x) {
    if (x.node) return build.scale(x, -1.0F, 1.0F);
    return {x.dims, std::nullopt, fold_not(build, x.constant)};
}
/// 1 where x is not 0.
[[nodiscard]] inline Operand emit_is_true(Builder& build, Operand const& x) {
    return emit_not(build, emit_binary(build, BinaryKind::equal, x, scalar_operand(build, 0.0F)));
}
/// x where the condition holds, 0 elsewhere.
[[nodiscard]] inline Operand emit_keep(Builder& build, Operand const& condition, Operand const& x) {
    if (condition.node || x.node) return emit_binary(build, BinaryKind::keep, condition, x);
    OnnxTensor result = fold_binary(build, BinaryKind::keep, to_floats(condition.constant, build.constants),
                                    to_floats(x.constant, build.constants));
    const Sizes dims = result.dims;
    return {dims, std::nullopt, std::move(result)};
}
[[nodiscard]] inline bool is_zero(Operand const& x) {
    const auto none = [](auto values) { return std::ranges::all_of(values, [](auto value) { return value == 0; }); };
    return !x.node && (x.constant.is_float() ? none(x.constant.floats) : none(x.constant.integers));
}
/// Whether a known condition is the same everywhere; nothing where it is not.
[[nodiscard]] inline std::optional<bool> same_everywhere(const OnnxTensor* condition) {
    if (condition == nullptr || condition->is_float() || condition->size() == 0) return std::nullopt;
    const bool first = condition->integers[0] != 0;
    for (const std::int64_t value : condition->integers) {
        if ((value != 0) != first) return std::nullopt;
    }
    return first;
}
}  // namespace detail

inline void translate_equal(Call& call) { detail::give_truth(call, BinaryKind::equal, false); }
inline void translate_greater(Call& call) { detail::give_truth(call, BinaryKind::greater, false); }
inline void translate_less(Call& call) { detail::give_truth(call, BinaryKind::greater, true); }
inline void translate_greater_or_equal(Call& call) { detail::give_truth(call, BinaryKind::greater_or_equal, false); }
inline void translate_less_or_equal(Call& call) { detail::give_truth(call, BinaryKind::greater_or_equal, true); }
inline void translate_and(Call& call) { detail::give_truth(call, BinaryKind::multiply, false); }
inline void translate_or(Call& call) { detail::give_truth(call, BinaryKind::maximum, false); }

inline void translate_not(Call& call) {
    Value const& value = call.input(0);
    if (is_float(value.type)) {
        fail("its input ", value.name, ", ", to_string(value.dims), " of ", to_string(value.type),
             ", is not of booleans");
    }
    if (const OnnxTensor* known = call.known(0)) {
        return call.give(detail::fold_not(call.build, *known));
    }
    call.give(detail::emit_not(call.build, call.operand(0)), 0, OnnxType::boolean);
}
inline void translate_xor(Call& call) {
    if (call.all_known()) {
        const OnnxTensor same =
            fold_binary(call.build, BinaryKind::equal, call.constant(0, "operand"), call.constant(1, "operand"));
        return call.give(detail::fold_not(call.build, same));
    }
    const std::size_t rank = std::max(call.rank(0), call.rank(1));
    const Operand same =
        emit_binary(call.build, BinaryKind::equal, call.broadcast_operand(0, rank), call.broadcast_operand(1, rank));
    call.give(detail::emit_not(call.build, same), 0, OnnxType::boolean);
}
inline void translate_is_nan(Call& call) {
    const Operand x = call.operand(0), is_number = emit_binary(call.build, BinaryKind::equal, x, x);
    call.give(detail::emit_not(call.build, is_number), 0, OnnxType::boolean);
}
inline void translate_is_inf(Call& call) {
    const bool negative = call.integer("detect_negative", 1) != 0, positive = call.integer("detect_positive", 1) != 0;
    const float infinity = std::numeric_limits<float>::infinity();
    if (!negative && !positive) {
        return call.give(call.build.constants.splat(call.dims(0), OnnxType::boolean, std::int64_t{0}));
    }
    Operand x = call.operand(0);
    if (negative && positive) x = emit_unary(call.build, ActivationKind::abs, x);
    const Operand limit = scalar_operand(call.build, positive ? infinity : -infinity);
    call.give(emit_binary(call.build, BinaryKind::equal, x, limit), 0, OnnxType::boolean);
}

/// One choice where the condition holds, the other elsewhere.
inline void translate_where(Call& call) {
    Builder& build = call.build;
    const OnnxType type = call.input(1).type;
    const Sizes dims = broadcast(call.dims(0), broadcast(call.dims(1), call.dims(2)));
    if (call.known(0) != nullptr && call.known(0)->is_float()) fail("its condition is of floats");
    if (const auto always = detail::same_everywhere(call.known(0))) {
        const std::size_t chosen = *always ? 1 : 2;
        if (call.dims(chosen) == dims) return call.pass(chosen);
    }
    if (call.all_known()) {
        OnnxTensor const &condition = *call.known(0), &yes = *call.known(1), &no = *call.known(2);
        if (yes.is_float() != no.is_float()) fail("of choices of two types");
        const OnnxTensor which = pick(condition, expansion(condition.dims, dims), build.constants),
                         other = pick(no, expansion(no.dims, dims), build.constants);
        const OnnxTensor result = pick(yes, expansion(yes.dims, dims), build.constants);
        return call.give(map_elements(result, dims, [&]<class T>(std::span<const T> chosen) {
            std::vector<T> values(chosen.begin(), chosen.end());
            for (std::size_t i = 0; i < values.size(); ++i) {
                if (which.integers[i] != 0) continue;
                if constexpr (std::is_same_v<T, float>)
                    values[i] = other.floats[i];
                else
                    values[i] = other.integers[i];
            }
            return values;
        }));
    }
    const Operand condition = call.broadcast_operand(0, dims.size()), yes = call.broadcast_operand(1, dims.size()),
                  no = call.broadcast_operand(2, dims.size());
    // Products would make a NaN of an infinity that is not chosen.
    if (detail::is_zero(no) &&
        broadcast(condition.dims, yes.dims) == broadcast(broadcast(condition.dims, yes.dims), no.dims)) {
        return call.give(detail::emit_keep(build, condition, yes), 0, type);
    }
    const Operand first = detail::emit_keep(build, condition, yes),
                  second = detail::emit_keep(build, detail::emit_not(build, condition), no);
    call.give(emit_binary(build, BinaryKind::add, first, second), 0, type);
}

/// At run time every number is a float of 32 bits, whatever the model calls it: whole numbers are exact up to 2^24.
inline void translate_cast(Call& call) {
    const auto to = call.op() == "CastLike" ? call.input(1).type : static_cast<OnnxType>(call.integer("to", 0));
    if (element_bytes(to) == 0) fail("to ", to_string(to));
    if (const OnnxTensor* known = call.known(0)) return call.give(fold_cast(call.build, *known, to));
    const OnnxType from = call.input(0).type;
    Operand x = call.operand(0);
    if (to == OnnxType::boolean && from != OnnxType::boolean) {
        x = detail::emit_is_true(call.build, x);
    } else if (is_float(from) && !is_float(to)) {
        x = emit_unary(call.build, ActivationKind::truncate, before_steps(call.build, x));
    }
    call.give(std::move(x), 0, to);
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
