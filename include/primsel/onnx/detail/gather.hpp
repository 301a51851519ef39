// Operators that choose or replace elements by indices.
#pragma once

#include <primsel/onnx/detail/call.hpp>
#include <primsel/onnx/detail/reshape.hpp>
#include <primsel/onnx/detail/slice.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <optional>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {
/// Indices into a constant: the axis is replaced by those of the indices.
[[nodiscard]] inline OnnxTensor gather_constant(Call const& call, OnnxTensor const& data, OnnxTensor const& indices,
                                                std::size_t axis) {
    const auto cut = data.dims.begin() + static_cast<std::ptrdiff_t>(axis);
    const Sizes outer(data.dims.begin(), cut), inner(cut + 1, data.dims.end());
    Sizes dims = outer;
    dims.insert(dims.end(), indices.dims.begin(), indices.dims.end());
    dims.insert(dims.end(), inner.begin(), inner.end());
    const std::size_t rows = count_of(outer), size = count_of(inner), count = count_of(dims);
    const auto extent = static_cast<std::size_t>(*cut);
    return map_elements(data, dims, [&]<class T>(std::span<const T> src) {
        std::vector<T> dst = call.build.constants.make<T>(count);
        auto at = dst.begin();
        for (std::size_t row = 0; row < rows && count > 0; ++row) {
            for (const std::int64_t index : indices.integers) {
                const std::size_t place = row * extent + axis_index(index, extent);
                at = std::copy_n(src.begin() + static_cast<std::ptrdiff_t>(place * size), size, at);
            }
        }
        return dst;
    });
}
/// Indices as steps within steps, the innermost last; nothing when they are not.
[[nodiscard]] inline std::optional<Strided> steps_of(Sizes const& indices) {
    Strided steps{{}, {}, indices[0]};
    for (std::size_t block = 1; block < indices.size();) {
        const std::int64_t stride = indices[block] - indices[0];
        std::size_t count = 1;
        while (count * block < indices.size() &&
               indices[count * block] == indices[0] + static_cast<std::int64_t>(count) * stride) {
            ++count;
        }
        steps.dims.insert(steps.dims.begin(), static_cast<std::int64_t>(count));
        steps.strides.insert(steps.strides.begin(), stride);
        block *= count;
    }
    if (count_of(steps.dims) != indices.size()) return std::nullopt;
    bool is_same = true;
    std::size_t i = 0;
    walk(steps, steps,
         [&](std::size_t at, std::size_t) { is_same = is_same && static_cast<std::int64_t>(at) == indices[i++]; });
    return is_same ? std::optional(steps) : std::nullopt;
}
/// Elements of an axis of one image.
inline Operand emit_gather(Builder& build, Operand const& src, std::size_t axis, Sizes const& indices, Sizes dims) {
    std::vector<Range> ranges;
    for (const std::int64_t dim : src.dims) ranges.push_back({0, dim, 1});
    const auto rows = [&](std::size_t first, std::size_t count) {
        ranges[axis] = {indices[first], static_cast<std::int64_t>(count), 1};
        return emit_slice(build, src, ranges);
    };
    // How far the indices count up from one on.
    const auto run = [&](std::size_t first) {
        std::size_t last = first + 1;
        while (last < indices.size() && indices[last] == indices[last - 1] + 1) ++last;
        return last - first;
    };
    if (run(0) == indices.size()) return build.reshape(rows(0, indices.size()), std::move(dims));
    const auto steps = steps_of(indices);
    if (steps && steps->dims.size() + 2 <= Dims::max_rank) {
        const std::int64_t inner = product(src.dims, axis + 1, src.dims.size());
        Strided places{{product(src.dims, 0, axis)}, {src.dims[axis] * inner}, steps->offset * inner};
        for (std::size_t i = 0; i < steps->dims.size(); ++i) {
            places.dims.push_back(steps->dims[i]);
            places.strides.push_back(steps->strides[i] * inner);
        }
        places.dims.push_back(inner), places.strides.push_back(1);
        return build.strided(src, places, std::move(dims));
    }
    std::vector<std::size_t> parts;
    AxisView along{};
    for (std::size_t first = 0; first < indices.size(); first += run(first)) {
        if (parts.size() == 1024) fail("its indices are too irregular");
        const Operand part = rows(first, run(first));
        along = build.view_along(part.dims, axis);
        parts.push_back(build.view(part, along.shape));
    }
    return build.operand(build.emit(ConcatParams{along.axis}, std::move(parts)), std::move(dims));
}

/// Whether a layer's result depends on which boxes there are: -1 then stands for one that there is not.
[[nodiscard]] inline bool may_be_padding(Graph const& graph, std::size_t node) {
    std::vector<bool> depends(node + 1, false);
    for (std::size_t i = 0; i <= node; ++i) {
        depends[i] = std::holds_alternative<NonMaxSuppressionParams>(graph[i].layer);
        for (const std::size_t input : graph[i].inputs) depends[i] = depends[i] || depends[input];
    }
    return depends[node];
}
/// Indices that are given or computed at run time.
[[nodiscard]] inline Operand computed_indices(Call const& call) {
    if (is_float(call.input(1).type)) fail("its indices are of ", to_string(call.input(1).type));
    if (!call.build.is_whole()) throw MixesImages{"its indices may name other images"};
    return call.operand(1);
}
/// Whether training changes rows of the tensor that several indices name: as copies they would become different.
[[nodiscard]] inline bool shares_weights(Call const& call, OnnxTensor const& table, OnnxTensor const& indices) {
    if (!call.build.is_whole() || table.name.empty() || !call.build.is_weight(table)) return false;
    std::vector<std::int64_t> sorted(indices.integers.begin(), indices.integers.end());
    std::ranges::sort(sorted);
    return std::ranges::adjacent_find(sorted) != sorted.end();
}
/// The first input's rows along an axis by such indices.
inline void give_computed_rows(Call& call, std::size_t axis) {
    // A table whose rows are looked up is a weight.
    const Operand indices = computed_indices(call), src = call.build.trained(call.operand(0));
    (void)elements(src.dims);
    const Shape rows{.c = product(src.dims, 0, axis),
                     .h = static_cast<int>(src.dims[axis]),
                     .w = product(src.dims, axis + 1, src.dims.size())};
    const std::size_t from = call.build.view(src, rows), at = call.build.view(indices);
    const GatherParams params{.from_end = !may_be_padding(call.build.graph(), at)};
    Sizes dims = src.dims;
    const auto place = dims.erase(dims.begin() + static_cast<std::ptrdiff_t>(axis));
    dims.insert(place, indices.dims.begin(), indices.dims.end());
    (void)elements(dims);
    call.give(call.build.operand(call.build.emit(params, {from, at}), std::move(dims)));
}
/// The first input's elements along an axis by such indices, one for each.
inline void give_computed_elements(Call& call, std::size_t axis) {
    const Operand indices = computed_indices(call);
    Operand src = call.operand(0);
    Sizes const& dims = indices.dims;
    std::vector<Range> ranges;
    bool fits = dims.size() == src.dims.size();
    for (std::size_t i = 0; i < dims.size() && fits; ++i) {
        fits = i == axis || dims[i] <= src.dims[i];
        ranges.push_back({0, i == axis ? src.dims[i] : dims[i], 1});
    }
    if (!fits) fail("indices of ", to_string(dims), " into ", to_string(src.dims));
    (void)elements(src.dims), (void)elements(dims);
    src = emit_slice(call.build, src, ranges);
    const auto shape = [axis](Sizes const& of) -> Shape {
        return {.c = product(of, 0, axis), .h = static_cast<int>(of[axis]), .w = product(of, axis + 1, of.size())};
    };
    const std::size_t from = call.build.view(src, shape(src.dims)), at = call.build.view(indices, shape(dims));
    const GatherParams params{.from_end = !may_be_padding(call.build.graph(), at), .elements = true};
    call.give(call.build.operand(call.build.emit(params, {from, at}), dims));
}
}  // namespace detail

inline void translate_gather(Call& call) {
    Sizes const& dims = call.dims(0);
    const std::size_t axis = axis_index(call.integer("axis", 0), dims.size());
    Value const& which = call.input(1);
    if (!which.known && which.given == nullptr) return detail::give_computed_rows(call, axis);
    OnnxTensor const& indices = call.constant(1, "indices");
    if (indices.is_float()) fail("its indices are of ", to_string(indices.type));
    if (const OnnxTensor* known = call.known(0)) {
        if (detail::shares_weights(call, *known, indices)) return detail::give_computed_rows(call, axis);
        return call.give(detail::gather_constant(call, *known, indices, axis));
    }
    if (indices.size() == 0) fail("without indices");
    const std::size_t image_axis = call.build.image_axis(static_cast<std::int64_t>(axis), dims.size());
    const Operand src = call.operand(0);
    Sizes at;
    for (const std::int64_t index : indices.integers) {
        at.push_back(static_cast<std::int64_t>(axis_index(index, static_cast<std::size_t>(dims[axis]))));
    }
    Sizes result = src.dims;
    result.erase(result.begin() + static_cast<std::ptrdiff_t>(image_axis));
    result.insert(result.begin() + static_cast<std::ptrdiff_t>(image_axis), indices.dims.begin(), indices.dims.end());
    (void)elements(result);
    call.give(detail::emit_gather(call.build, src, image_axis, at, std::move(result)));
}

namespace detail {
/// Where the elements that known indices name lie in a row-major tensor, one after the other. The first `batches` axes
/// of both are the same: indices are those of the axes behind them.
[[nodiscard]] inline Sizes places_of_rows(OnnxTensor const& indices, Sizes const& dims, Constants& constants,
                                          std::size_t batches = 0) {
    const auto depth = static_cast<std::size_t>(indices.dims.back());
    const bool fits =
        depth > 0 && batches < indices.dims.size() && batches + depth <= dims.size() &&
        std::equal(dims.begin(), dims.begin() + static_cast<std::ptrdiff_t>(batches), indices.dims.begin());
    const auto behind = [&](std::size_t axes) {
        return count_of({dims.begin() + static_cast<std::ptrdiff_t>(axes), dims.end()});
    };
    const std::size_t size = fits ? behind(batches + depth) : 0;
    if (size == 0) fail("indices of ", depth, " axes into ", to_string(dims), batches > 0 ? ", batch by batch" : "");
    const Sizes strides = row_major(dims);
    const std::size_t rows = indices.integers.size() / depth, all = count_of(dims) / behind(batches);
    constants.take(rows, size * sizeof(std::int64_t));
    Sizes places;
    for (std::size_t row = 0; row < rows; ++row) {
        auto place = static_cast<std::int64_t>(row * all / rows * behind(batches));
        for (std::size_t i = 0; i < depth; ++i) {
            const auto extent = static_cast<std::size_t>(dims[batches + i]);
            const std::size_t index = axis_index(indices.integers[row * depth + i], extent);
            place += static_cast<std::int64_t>(index) * strides[batches + i];
        }
        for (std::size_t i = 0; i < size; ++i) places.push_back(place + static_cast<std::int64_t>(i));
    }
    return places;
}
/// The indices of the axis, with the place of each in all others: a place in a tensor of the given extents.
[[nodiscard]] inline Sizes places_of_elements(OnnxTensor const& indices, Sizes const& dims, std::size_t axis) {
    if (indices.dims.size() != dims.size()) fail("indices of ", to_string(indices.dims), " into ", to_string(dims));
    const Sizes strides = row_major(dims), own = row_major(indices.dims);
    Sizes places;
    for (std::size_t i = 0; i < indices.integers.size(); ++i) {
        std::int64_t place = 0;
        for (std::size_t a = 0; a < dims.size(); ++a) {
            const std::int64_t at = static_cast<std::int64_t>(i) / own[a] % indices.dims[a];
            if (a != axis && at >= dims[a]) fail("indices of ", to_string(indices.dims), " into ", to_string(dims));
            place +=
                (a == axis
                     ? static_cast<std::int64_t>(axis_index(indices.integers[i], static_cast<std::size_t>(dims[axis])))
                     : at) *
                strides[a];
        }
        places.push_back(place);
    }
    return places;
}
/// The indices, which must be whole numbers and known.
[[nodiscard]] inline OnnxTensor const& known_indices(Call const& call) {
    OnnxTensor const& indices = call.constant(1, "indices");
    if (indices.is_float()) fail("its indices are of ", to_string(indices.type));
    if (indices.size() == 0 || indices.dims.empty()) fail("without indices");
    return indices;
}
/// Elements of the first input by their places.
inline void give_places(Call& call, Sizes const& places, Sizes dims) {
    const Operand src = call.operand(0);
    if (!src.node) {
        const std::int64_t size = static_cast<std::int64_t>(src.constant.size());
        const OnnxTensor list = own_elements(Sizes{static_cast<std::int64_t>(places.size())}, OnnxType::int64, places);
        const OnnxTensor picked = gather_constant(call, with_dims(src.constant, {size}), list, 0);
        return call.give(with_dims(picked, call.build.full_dims(std::move(dims))));
    }
    (void)elements(dims);
    const Operand flat = call.build.reshape(src, {elements(src.dims)});
    call.give(emit_gather(call.build, flat, 0, places, std::move(dims)));
}
/// Only the whole tensor: its first axis is that of the indices.
inline void require_whole(Call const& call) {
    if (!call.build.is_whole()) throw MixesImages{"its indices may name other images"};
}
}  // namespace detail

inline void translate_gather_elements(Call& call) {
    detail::require_whole(call);
    const std::size_t axis = axis_index(call.integer("axis", 0), call.rank(0));
    Value const& which = call.input(1);
    if (!which.known && which.given == nullptr) return detail::give_computed_elements(call, axis);
    OnnxTensor const& indices = detail::known_indices(call);
    detail::give_places(call, detail::places_of_elements(indices, call.dims(0), axis), indices.dims);
}
inline void translate_gather_nd(Call& call) {
    detail::require_whole(call);
    const std::int64_t batches = call.integer("batch_dims", 0);
    OnnxTensor const& indices = detail::known_indices(call);
    Sizes const& from = call.dims(0);
    if (batches < 0 || batches >= std::ssize(from)) fail("batch_dims is ", batches, " of ", to_string(from));
    const Sizes places = detail::places_of_rows(indices, from, call.build.constants, static_cast<std::size_t>(batches));
    Sizes dims(indices.dims.begin(), indices.dims.end() - 1);
    dims.insert(dims.end(), from.begin() + batches + indices.dims.back(), from.end());
    detail::give_places(call, places, std::move(dims));
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
