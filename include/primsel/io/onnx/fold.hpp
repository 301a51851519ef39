// Operators whose result is known when the model is loaded, and those that do nothing at run time.
#pragma once

#include <primsel/io/onnx/call.hpp>

#include <cmath>

namespace primsel::inline PRIMSEL_ABI::onnx {

inline void translate_identity(Call& call) { call.pass(); }

/// Does nothing in inference. Its mask says that all elements are kept.
inline void translate_dropout(Call& call) {
    if (call.opset() >= 12 && call.has(2) && call.scalar(2, "training mode") != 0.0F) {
        const float ratio = call.has(1) ? call.scalar(1, "ratio") : 0.5F;
        if (ratio != 0.0F) fail("in training mode: what it drops is random");
    }
    call.pass();
    if (!call.wants(1)) return;
    call.give(call.build.constants.splat(call.dims(0), OnnxType::boolean, std::int64_t{1}), 1);
}

inline void translate_constant(Call& call) {
    if (const auto* value = call.attribute("value", AttributeType::tensor)) return call.give(call.files.read(value->t));
    if (const auto* value = call.attribute("value_float", AttributeType::f)) {
        return call.give(own_elements<float>({}, OnnxType::float32, {value->f}));
    }
    if (const auto* value = call.attribute("value_int", AttributeType::i)) {
        return call.give(own_elements<std::int64_t>({}, OnnxType::int64, {value->i}));
    }
    if (const auto* value = call.attribute("value_floats", AttributeType::floats)) {
        const auto size = static_cast<std::int64_t>(value->floats.size());
        return call.give(own_elements<float>({size}, OnnxType::float32, value->floats));
    }
    if (const auto* value = call.attribute("value_ints", AttributeType::ints)) {
        const auto size = static_cast<std::int64_t>(value->ints.size());
        return call.give(own_elements<std::int64_t>({size}, OnnxType::int64, value->ints));
    }
    fail("without a value that is supported");
}

inline void translate_constant_of_shape(Call& call) {
    Sizes dims = call.integers(0, "shape");
    const auto* attribute = call.attribute("value", AttributeType::tensor);
    if (attribute == nullptr) return call.give(call.build.constants.splat(std::move(dims), OnnxType::float32, 0.0F));
    const OnnxTensor value = call.files.read(attribute->t);
    if (value.size() != 1) fail("its value has ", value.size(), " elements");
    call.give(value.is_float() ? call.build.constants.splat(std::move(dims), value.type, value.floats[0])
                               : call.build.constants.splat(std::move(dims), value.type, value.integers[0]));
}

inline void translate_shape(Call& call) {
    Sizes const& dims = call.dims(0);
    const auto rank = static_cast<std::int64_t>(dims.size());
    const auto place = [&](std::int64_t at) { return std::clamp<std::int64_t>(at < 0 ? at + rank : at, 0, rank); };
    const std::int64_t first = place(call.integer("start", 0)), last = place(call.integer("end", rank));
    const Sizes part = first < last ? Sizes(dims.begin() + first, dims.begin() + last) : Sizes{};
    call.give(own_elements(Sizes{static_cast<std::int64_t>(part.size())}, OnnxType::int64, part));
}
inline void translate_size(Call& call) {
    const Sizes count{static_cast<std::int64_t>(count_of(call.dims(0)))};
    call.give(own_elements(Sizes{}, OnnxType::int64, count));
}

namespace detail {
/// As C++ converts, but never undefined.
[[nodiscard]] inline std::int64_t to_integer(double value) {
    constexpr double limit = 0x1p63;
    if (std::isnan(value)) return 0;
    if (value >= limit) return std::numeric_limits<std::int64_t>::max();
    return value <= -limit ? std::numeric_limits<std::int64_t>::min() : static_cast<std::int64_t>(value);
}
}  // namespace detail

inline void translate_cast(Call& call) {
    const auto to = static_cast<OnnxType>(call.integer("to", 0));
    if (element_bytes(to) == 0) fail("to ", to_string(to));
    const bool to_float = is_float(to);
    const OnnxTensor* known = call.known(0);
    if (known == nullptr) {
        // At run time every number is a float of 32 bits, whatever the model calls it.
        const bool is_same = to_float || (!is_float(call.input(0).type) && to != OnnxType::boolean);
        if (is_same) return call.give(call.operand(0), 0, to);
        fail("from ", to_string(call.input(0).type), " to ", to_string(to), ": supported for constants only");
    }
    if (to_float) {
        OnnxTensor result = to_floats(*known, call.build.constants);
        result.type = to;
        return call.give(std::move(result));
    }
    std::vector<std::int64_t> values = call.build.constants.make<std::int64_t>(known->size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = known->is_float() ? detail::to_integer(static_cast<double>(known->floats[i])) : known->integers[i];
        const bool is_zero = known->is_float() ? known->floats[i] == 0.0F : known->integers[i] == 0;
        if (to == OnnxType::boolean) values[i] = is_zero ? 0 : 1;
    }
    call.give(own_elements(known->dims, to, std::move(values)));
}

inline void translate_range(Call& call) {
    OnnxTensor const &start = call.constant(0, "start"), &limit = call.constant(1, "limit"),
                     &delta = call.constant(2, "delta");
    if (start.size() != 1 || limit.size() != 1 || delta.size() != 1 || start.is_float() != limit.is_float() ||
        start.is_float() != delta.is_float()) {
        fail("its bounds are not three scalars of one type");
    }
    OnnxTensor result = map_elements(start, {}, [&]<class T>(std::span<const T>) {
        const auto value = [](OnnxTensor const& tensor) {
            if constexpr (std::is_same_v<T, float>)
                return static_cast<double>(tensor.floats[0]);
            else
                return static_cast<double>(tensor.integers[0]);
        };
        const double first = value(start), step = value(delta), count = std::ceil((value(limit) - first) / step);
        if (!(step != 0.0) || !(count <= static_cast<double>(largest_tensor))) fail("its range is impossible");
        std::vector<T> values = call.build.constants.make<T>(count > 0 ? static_cast<std::size_t>(count) : 0);
        for (std::size_t i = 0; i < values.size(); ++i) {
            const double here = first + step * static_cast<double>(i);
            if constexpr (std::is_same_v<T, float>)
                values[i] = to_float(here);
            else
                values[i] = detail::to_integer(here);
        }
        return values;
    });
    result.dims = {static_cast<std::int64_t>(result.size())};
    call.give(std::move(result));
}

inline void translate_equal(Call& call) {
    OnnxTensor const &a = call.constant(0, "first operand"), &b = call.constant(1, "second operand");
    const OnnxTensor equal =
        combine(a, b, call.build.constants, []<class T>(T x, T y) { return static_cast<T>(x == y ? 1 : 0); });
    std::vector<std::int64_t> values = call.build.constants.make<std::int64_t>(equal.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = equal.is_float() ? equal.floats[i] != 0.0F : equal.integers[i];
    }
    call.give(own_elements(equal.dims, OnnxType::boolean, std::move(values)));
}

inline void translate_where(Call& call) {
    OnnxTensor const &condition = call.constant(0, "condition"), &yes = call.constant(1, "first choice"),
                     &no = call.constant(2, "second choice");
    if (condition.is_float() || yes.is_float() != no.is_float()) fail("of choices of two types");
    const Sizes dims = broadcast(condition.dims, broadcast(yes.dims, no.dims));
    Constants& constants = call.build.constants;
    const OnnxTensor which = pick(condition, expansion(condition.dims, dims), constants),
                     other = pick(no, expansion(no.dims, dims), constants);
    OnnxTensor result = pick(yes, expansion(yes.dims, dims), constants);
    result = map_elements(result, dims, [&]<class T>(std::span<const T> chosen) {
        std::vector<T> values(chosen.begin(), chosen.end());
        for (std::size_t i = 0; i < values.size(); ++i) {
            if (which.integers[i] != 0) continue;
            if constexpr (std::is_same_v<T, float>)
                values[i] = other.floats[i];
            else
                values[i] = other.integers[i];
        }
        return values;
    });
    call.give(std::move(result));
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
