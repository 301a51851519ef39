// Operators whose result is known when the model is loaded, and those that do nothing at run time.
#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/onnx/detail/call.hpp>

#include <cmath>

namespace primsel::inline PRIMSEL_ABI::onnx {

inline void translate_identity(Call& call) { call.pass(); }

/// Does nothing in inference, and drops when the network is trained. Its mask says that all elements are kept.
inline void translate_dropout(Call& call) {
    const bool has_mode = call.opset() >= 12 && call.has(2) && call.scalar(2, "training mode") != 0.0F;
    float ratio = call.real("ratio", 0.5F);
    if (call.opset() >= 12 && call.has(1)) {
        const OnnxTensor* const known = call.known(1);
        ratio = has_mode || (known != nullptr && known->size() == 1) ? call.scalar(1, "ratio") : 0.0F;
    }
    if (has_mode && ratio != 0.0F && !call.build.trains()) fail("in training mode: what it drops is random");
    const bool drops = ratio > 0.0F && ratio < 1.0F && call.known(0) == nullptr && is_float(call.input(0).type);
    if (!drops || !call.wants(0)) {
        call.pass();
    } else {
        const Operand src = call.operand(0);
        call.give(call.build.apply(DropoutParams{ratio}, src, src.dims));
    }
    if (!call.wants(1)) return;
    call.give(call.build.constants.splat(call.dims(0), OnnxType::boolean, std::int64_t{1}), 1);
}

inline void translate_constant(Call& call) {
    if (const auto* value = call.attribute("value", AttributeType::tensor)) return call.give(call.files.read(value->t));
    if (const auto* value = call.attribute("sparse_value", AttributeType::sparse_tensor)) {
        return call.give(call.files.read_sparse(value->t, call.build.constants));
    }
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
    if (is_nan(value)) return 0;
    if (value >= limit) return std::numeric_limits<std::int64_t>::max();
    return value <= -limit ? std::numeric_limits<std::int64_t>::min() : static_cast<std::int64_t>(value);
}
}  // namespace detail

/// The same numbers as another type's.
[[nodiscard]] inline OnnxTensor fold_cast(Builder& build, OnnxTensor const& tensor, OnnxType to) {
    if (is_float(to)) {
        OnnxTensor result = to_floats(tensor, build.constants);
        result.type = to;
        return result;
    }
    std::vector<std::int64_t> values = build.constants.make<std::int64_t>(tensor.size());
    for (std::size_t i = 0; i < values.size(); ++i) {
        values[i] = tensor.is_float() ? detail::to_integer(static_cast<double>(tensor.floats[i])) : tensor.integers[i];
        const bool is_zero = tensor.is_float() ? tensor.floats[i] == 0.0F : tensor.integers[i] == 0;
        if (to == OnnxType::boolean) values[i] = is_zero ? 0 : 1;
    }
    return own_elements(tensor.dims, to, std::move(values));
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

/// The positions of all elements that are not zero, a row an axis.
inline void translate_non_zero(Call& call) {
    OnnxTensor const& tensor = call.constant(0, "tensor");
    const Sizes strides = row_major(tensor.dims);
    const std::size_t rank = tensor.dims.size();
    std::vector<std::size_t> found;
    for (std::size_t i = 0; i < tensor.size(); ++i) {
        if (tensor.is_float() ? tensor.floats[i] != 0.0F : tensor.integers[i] != 0) found.push_back(i);
    }
    std::vector<std::int64_t> places = call.build.constants.make<std::int64_t>(rank * found.size());
    for (std::size_t axis = 0; axis < rank; ++axis) {
        for (std::size_t i = 0; i < found.size(); ++i) {
            places[axis * found.size() + i] = static_cast<std::int64_t>(found[i]) / strides[axis] % tensor.dims[axis];
        }
    }
    const Sizes dims{static_cast<std::int64_t>(rank), static_cast<std::int64_t>(found.size())};
    call.give(own_elements(dims, OnnxType::int64, std::move(places)));
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
