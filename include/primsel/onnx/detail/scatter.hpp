// Operators that change elements by indices.
#pragma once

#include <primsel/onnx/detail/elementwise.hpp>
#include <primsel/onnx/detail/gather.hpp>
#include <primsel/onnx/detail/reduce.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <string_view>
#include <type_traits>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {

[[nodiscard]] inline ScatterKind scatter_kind(Call const& call) {
    const std::string_view name = call.text("reduction", "none");
    if (name == "none") return ScatterKind::replace;
    if (name == "add") return ScatterKind::add;
    if (name == "mul") return ScatterKind::multiply;
    if (name == "max") return ScatterKind::maximum;
    if (name == "min") return ScatterKind::minimum;
    fail("its reduction ", name, " is unknown");
}
/// The result where all is known.
[[nodiscard]] inline OnnxTensor fold_scatter(Call const& call, Sizes const& places) {
    OnnxTensor const &data = *call.known(0), &updates = *call.known(2);
    if (data.is_float() != updates.is_float())
        fail("data of ", to_string(data.type), " and updates of ", to_string(updates.type));
    const ScatterKind kind = scatter_kind(call);
    constexpr BinaryKind kinds[] = {BinaryKind::keep, BinaryKind::add, BinaryKind::multiply, BinaryKind::maximum,
                                    BinaryKind::minimum};
    return map_elements(data, data.dims, [&]<class T>(std::span<const T> src) {
        std::vector<T> dst = call.build.constants.make<T>(src.size());
        std::ranges::copy(src, dst.begin());
        for (std::size_t i = 0; i < places.size(); ++i) {
            T value;
            if constexpr (std::is_same_v<T, float>)
                value = updates.floats[i];
            else
                value = updates.integers[i];
            T& at = dst[static_cast<std::size_t>(places[i])];
            at = kind == ScatterKind::replace ? value : apply(kinds[static_cast<std::size_t>(kind)], at, value);
        }
        return dst;
    });
}
/// The layer that changes rows of so many elements of the first input by those of the third.
inline void give_scattered_rows(Call& call, Operand const& rows, std::int64_t size) {
    Builder& build = call.build;
    const Operand data = build.trained(call.operand(0)), updates = build.trained(call.operand(2));
    const auto shape = [size](Operand const& x) -> Shape {
        return {.c = static_cast<int>(elements(x.dims) / size), .h = 1, .w = static_cast<int>(size)};
    };
    const Shape all = shape(data), fresh = shape(updates);
    if (all.c > 1 << 24) fail("rows of ", size, " of ", to_string(data.dims), " are more than 2^24");
    const std::size_t node = build.emit(
        ScatterParams{scatter_kind(call)},
        {build.view(data, all), build.view(rows, {.c = fresh.c, .h = 1, .w = 1}), build.view(updates, fresh)});
    call.give(build.operand(node, data.dims));
}
/// The first input with elements of the third in the given places, which come in rows of so many.
inline void give_scattered(Call& call, Sizes const& places, std::int64_t row) {
    const bool replaces = scatter_kind(call) == ScatterKind::replace;
    if (call.known(0) != nullptr && call.known(2) != nullptr) return call.give(fold_scatter(call, places));
    Builder& build = call.build;
    const Operand data = call.operand(0), updates = call.operand(2);
    const std::int64_t size = elements(data.dims), count = elements(updates.dims);
    build.constants.take(static_cast<std::size_t>(size), sizeof(std::int64_t));
    Sizes from(static_cast<std::size_t>(size));
    std::iota(from.begin(), from.end(), std::int64_t{0});
    for (std::size_t i = 0; i < places.size(); ++i) {
        from[static_cast<std::size_t>(places[i])] = size + static_cast<std::int64_t>(i);
    }
    // A few ranges of both are slices, which train; many are rows that are copied by their numbers.
    std::size_t ranges = 1;
    for (std::size_t i = 1; i < from.size(); ++i) ranges += from[i] != from[i - 1] + 1 ? 1 : 0;
    if (!replaces || ranges > (build.trains() ? 1024 : 64)) {
        Sizes rows;
        for (std::size_t i = 0; i < places.size(); i += static_cast<std::size_t>(row)) rows.push_back(places[i] / row);
        const Sizes dims{static_cast<std::int64_t>(rows.size())};
        const OnnxTensor list = own_elements(dims, OnnxType::int64, std::move(rows));
        return give_scattered_rows(call, {dims, std::nullopt, list}, row);
    }
    const Shape all{.c = static_cast<int>(size), .h = 1, .w = 1}, fresh{.c = static_cast<int>(count), .h = 1, .w = 1};
    const std::size_t left = build.view(data, all), right = build.view(updates, fresh);
    (void)elements({size + count});
    const Operand both = build.operand(build.emit(ConcatParams{Axis::c}, {left, right}), {size + count});
    call.give(emit_gather(build, both, 0, from, data.dims));
}
/// Numbers of the axis' elements that may count from the end, as those from its start.
[[nodiscard]] inline Operand from_start(Builder& build, Operand const& indices, Sizes const& extents) {
    const Sizes dims{static_cast<std::int64_t>(extents.size())};
    const OnnxTensor list = own_elements(dims, OnnxType::int64, extents);
    const Operand is_negative = emit_binary(build, BinaryKind::greater, scalar_operand(build, 0.0F), indices),
                  more = emit_binary(build, BinaryKind::multiply, is_negative, {dims, std::nullopt, list});
    return emit_binary(build, BinaryKind::add, indices, more);
}

}  // namespace detail

/// The first input with elements of the third at indices along an axis.
inline void translate_scatter_elements(Call& call) {
    detail::require_whole(call);
    Sizes const &all = call.dims(0), &dims = call.dims(1);
    const std::size_t axis = axis_index(call.integer("axis", 0), call.rank(0));
    bool fits = dims.size() == all.size() && dims == call.dims(2);
    for (std::size_t i = 0; i < dims.size() && fits; ++i) fits = i == axis || dims[i] <= all[i];
    if (!fits)
        fail("updates of ", to_string(call.dims(2)), " at indices of ", to_string(dims), " into ", to_string(all));
    if (count_of(dims) == 0) return call.pass();
    Value const& which = call.input(1);
    if (which.known || which.given != nullptr) {
        return detail::give_scattered(call, detail::places_of_elements(detail::known_indices(call), all, axis), 1);
    }
    Builder& build = call.build;
    const Operand indices = detail::computed_indices(call);
    const Sizes strides = row_major(all), own = row_major(dims);
    // The places of all elements but for the axis.
    std::vector<float> others = build.constants.make<float>(count_of(dims));
    for (std::size_t i = 0; i < others.size(); ++i) {
        std::int64_t place = 0;
        for (std::size_t a = 0; a < dims.size(); ++a) {
            if (a != axis) place += static_cast<std::int64_t>(i) / own[a] % dims[a] * strides[a];
        }
        others[i] = static_cast<float>(place);
    }
    Operand places = detail::from_start(build, indices, {all[axis]});
    if (strides[axis] != 1) places = build.scale(places, static_cast<float>(strides[axis]), 0.0F);
    const Operand rest{dims, std::nullopt, own_elements(dims, OnnxType::float32, std::move(others))};
    detail::give_scattered_rows(call, emit_binary(build, BinaryKind::add, places, rest), 1);
}
/// The first input with rows of the third at indices of its first axes.
inline void translate_scatter_nd(Call& call) {
    detail::require_whole(call);
    Sizes const &all = call.dims(0), &dims = call.dims(1);
    const std::int64_t depth = dims.empty() ? 0 : dims.back();
    if (depth < 1 || depth > std::ssize(all)) fail("indices of ", depth, " axes into ", to_string(all));
    Sizes wanted(dims.begin(), dims.end() - 1);
    wanted.insert(wanted.end(), all.begin() + depth, all.end());
    if (wanted != call.dims(2)) {
        fail("updates of ", to_string(call.dims(2)), " at indices of ", to_string(dims), " into ", to_string(all));
    }
    if (count_of(dims) == 0) return call.pass();
    const std::int64_t size = static_cast<std::int64_t>(count_of({all.begin() + depth, all.end()}));
    Value const& which = call.input(1);
    if (which.known || which.given != nullptr) {
        const Sizes places = detail::places_of_rows(detail::known_indices(call), all, call.build.constants);
        return detail::give_scattered(call, places, size);
    }
    Builder& build = call.build;
    const Sizes extents(all.begin(), all.begin() + depth);
    Operand rows = detail::from_start(build, detail::computed_indices(call), extents);
    if (depth > 1) {
        const OnnxTensor strides = own_elements(Sizes{depth}, OnnxType::int64, row_major(extents));
        rows = emit_binary(build, BinaryKind::multiply, rows, {{depth}, std::nullopt, strides});
        rows = emit_reduce(build, ReduceKind::sum, rows, {dims.size() - 1});
    }
    detail::give_scattered_rows(call, rows, size);
}

/// The first input's elements at their places, as MaxPool gives them, in a tensor of zeros. Its extents are those of
/// the image that such a pooling reads at least, or those that are given.
inline void translate_max_unpool(Call& call) {
    detail::require_whole(call);
    const auto* kernel = call.attribute("kernel_shape", AttributeType::ints);
    Sizes dims = call.dims(0);
    if (dims.size() < 3 || call.dims(1) != dims) fail("indices of ", to_string(call.dims(1)), " for ", to_string(dims));
    const std::size_t axes = dims.size() - 2;
    const Sizes strides = call.integers("strides", Sizes(axes, 1)), pads = call.integers("pads", Sizes(2 * axes, 0));
    if (kernel == nullptr || kernel->ints.size() != axes || strides.size() != axes || pads.size() != 2 * axes) {
        fail("its kernel_shape, strides and pads do not fit ", to_string(dims));
    }
    for (std::size_t i = 0; i < axes; ++i) {
        const std::int64_t window = bounded(kernel->ints[i], 1, largest_window, "a window"),
                           stride = bounded(strides[i], 1, largest_window, "a stride"),
                           before = bounded(pads[i], 0, largest_window, "a padding"),
                           after = bounded(pads[axes + i], 0, largest_window, "a padding");
        dims[2 + i] = bounded_product({dims[2 + i] - 1, stride}) + window - before - after;
        if (dims[2 + i] < 1) fail("its pads leave nothing");
    }
    if (call.has(2)) {
        const Sizes asked = call.integers(2, "output shape");
        const bool fits = asked.size() == dims.size() && std::equal(dims.begin(), dims.begin() + 2, asked.begin()) &&
                          std::ranges::all_of(asked, [](std::int64_t extent) { return extent > 0; });
        if (!fits) fail("an output_shape of ", to_string(asked), " for ", to_string(call.dims(0)));
        dims = asked;
    }
    Builder& build = call.build;
    const std::int64_t size = elements(dims);
    if (size > 1 << 24) fail(to_string(dims), " has more than 2^24 elements");
    const Operand places = call.operand(1), values = build.trained(call.operand(0)),
                  zeros{{size}, std::nullopt, build.constants.splat({size}, OnnxType::float32, 0.0F)};
    const Shape all{.c = static_cast<int>(size), .h = 1, .w = 1},
        fresh{.c = static_cast<int>(elements(values.dims)), .h = 1, .w = 1};
    const std::size_t node =
        build.emit(ScatterParams{}, {build.view(zeros, all), build.view(places, fresh), build.view(values, fresh)});
    call.give(build.operand(node, std::move(dims)));
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
