// Operators that give the same elements, or some of them, under other extents or in another order.
#pragma once

#include <primsel/onnx/detail/call.hpp>

#include <numeric>
#include <optional>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {

/// The first input under other extents.
inline void reshape_to(Call& call, Sizes dims) {
    if (const OnnxTensor* known = call.known(0)) return call.give(with_dims(*known, std::move(dims)));
    if (elements(dims) != elements(call.dims(0))) {
        fail("a tensor of ", to_string(call.dims(0)), " cannot be reshaped to ", to_string(dims));
    }
    const Operand src = call.operand(0);
    call.give(call.build.reshape(src, call.build.image_dims(dims)));
}

}  // namespace detail

inline void translate_reshape(Call& call) {
    Sizes dims =
        call.opset() < 5 && call.has_attribute("shape") ? call.integers("shape", {}) : call.integers(1, "shape");
    Sizes const& from = call.dims(0);
    const bool zero_copies = call.integer("allowzero", 0) == 0;
    std::size_t open = dims.size();
    std::int64_t known = 1;
    for (std::size_t axis = 0; axis < dims.size(); ++axis) {
        if (dims[axis] == 0 && zero_copies) {
            if (axis >= from.size()) fail("its shape copies axis ", axis, " of ", to_string(from));
            dims[axis] = from[axis];
        }
        if (dims[axis] == -1) {
            if (open != dims.size()) fail("its shape has two open dimensions");
            open = axis;
        } else if (dims[axis] < 0 || __builtin_mul_overflow(known, dims[axis], &known)) {
            fail("its shape, ", to_string(dims), ", is impossible");
        }
    }
    if (open != dims.size()) {
        const auto count = static_cast<std::int64_t>(count_of(from));
        if (known == 0 || count % known != 0) {
            fail("a tensor of ", to_string(from), " cannot be reshaped to ", to_string(dims));
        }
        dims[open] = count / known;
    }
    detail::reshape_to(call, std::move(dims));
}

inline void translate_flatten(Call& call) {
    Sizes const& from = call.dims(0);
    const std::int64_t axis = call.integer("axis", 1), rank = static_cast<std::int64_t>(from.size());
    if (axis < -rank || axis > rank) fail("axis ", axis, " of a tensor of ", rank, " dimensions");
    const auto split = from.begin() + (axis < 0 ? axis + rank : axis);
    detail::reshape_to(call, {static_cast<std::int64_t>(count_of({from.begin(), split})),
                              static_cast<std::int64_t>(count_of({split, from.end()}))});
}

inline void translate_squeeze(Call& call) {
    Sizes const& from = call.dims(0);
    Sizes dims;
    const bool has_input = call.opset() >= 13 && call.has(1);
    if (has_input || call.has_attribute("axes")) {
        const auto axes = axis_indices(has_input ? call.integers(1, "axes") : call.integers("axes", {}), from.size());
        for (std::size_t axis = 0; axis < from.size(); ++axis) {
            const bool drops = std::ranges::binary_search(axes, axis);
            if (drops && from[axis] != 1) fail("axis ", axis, " of ", to_string(from), " cannot be squeezed");
            if (!drops) dims.push_back(from[axis]);
        }
    } else {
        for (const std::int64_t dim : from) {
            if (dim != 1) dims.push_back(dim);
        }
    }
    detail::reshape_to(call, std::move(dims));
}

inline void translate_unsqueeze(Call& call) {
    Sizes const& from = call.dims(0);
    const Sizes axes = call.opset() >= 13 ? call.integers(1, "axes") : call.integers("axes", {});
    const std::size_t rank = from.size() + axes.size();
    const auto added = axis_indices(axes, rank);
    Sizes dims;
    auto next = from.begin();
    for (std::size_t axis = 0; axis < rank; ++axis) {
        dims.push_back(std::ranges::binary_search(added, axis) ? 1 : *next++);
    }
    detail::reshape_to(call, std::move(dims));
}

inline void translate_transpose(Call& call) {
    const std::size_t rank = call.rank(0);
    Sizes order = call.integers("perm", {});
    if (order.empty()) {
        for (std::size_t axis = rank; axis-- > 0;) order.push_back(static_cast<std::int64_t>(axis));
    }
    std::vector<std::size_t> axes;
    for (const std::int64_t axis : order) axes.push_back(axis_index(axis, rank));
    if (axis_indices(order, rank).size() != rank) fail("its perm has ", order.size(), " axes of ", rank);
    if (const OnnxTensor* known = call.known(0)) {
        return call.give(pick(*known, permutation(known->dims, axes), call.build.constants));
    }
    if (!call.build.is_whole()) {
        if (axes.empty() || axes[0] != 0) throw MixesImages{"it moves the axis of the images"};
        axes.erase(axes.begin());
        for (std::size_t& axis : axes) --axis;
    }
    const Operand src = call.operand(0);
    const Strided places = permutation(src.dims, axes);
    // Only axes of one element move: nothing does.
    std::size_t last = 0;
    bool moves = false;
    for (const std::size_t axis : axes) {
        if (src.dims[axis] == 1) continue;
        moves = moves || axis < last;
        last = axis;
    }
    call.give(moves ? call.build.strided(src, places) : call.build.reshape(src, places.dims));
}

/// Elements first, first + step, ... of an axis.
struct Range {
    std::int64_t first = 0, count = 0, step = 1;
    [[nodiscard]] bool is_all_of(std::int64_t dim) const { return first == 0 && count == dim && step == 1; }
};
/// Of an image. Slices that are contiguous along an axis have a layer of their own.
inline Operand emit_slice(Builder& build, Operand src, std::vector<Range> const& ranges) {
    const Sizes strides = row_major(src.dims);
    Strided places{{}, {}, 0};
    bool has_steps = !src.node;
    for (std::size_t axis = 0; axis < ranges.size(); ++axis) {
        has_steps = has_steps || ranges[axis].step != 1;
        places.dims.push_back(ranges[axis].count);
        places.strides.push_back(strides[axis] * ranges[axis].step);
        places.offset += strides[axis] * ranges[axis].first;
    }
    if (has_steps) return build.strided(src, places);
    (void)elements(places.dims);
    for (std::size_t axis = 0; axis < ranges.size(); ++axis) {
        if (ranges[axis].is_all_of(src.dims[axis])) continue;
        const AxisView along = build.view_along(src.dims, axis);
        const SliceParams params{static_cast<int>(ranges[axis].first),
                                 static_cast<int>(ranges[axis].first + ranges[axis].count), along.axis};
        const std::size_t input = build.view(src, along.shape), node = build.emit(params, {input});
        Sizes dims = src.dims;
        dims[axis] = ranges[axis].count;
        src = build.operand(node, std::move(dims));
    }
    return src;
}
/// Ranges along all of a tensor's axes, of the first input.
inline void give_slice(Call& call, std::vector<Range> ranges, std::size_t output = 0) {
    if (std::ranges::any_of(ranges, [](Range const& range) { return range.count == 0; })) {
        Sizes dims;
        for (Range const& range : ranges) dims.push_back(range.count);
        return call.give(empty_tensor(std::move(dims), call.input(0).type), output);
    }
    if (const OnnxTensor* known = call.known(0)) {
        const Sizes strides = row_major(known->dims);
        Strided places;
        for (std::size_t axis = 0; axis < ranges.size(); ++axis) {
            places.dims.push_back(ranges[axis].count);
            places.strides.push_back(strides[axis] * ranges[axis].step);
            places.offset += strides[axis] * ranges[axis].first;
        }
        return call.give(pick(*known, places, call.build.constants), output);
    }
    if (!call.build.is_whole()) {
        if (ranges.empty() || !ranges[0].is_all_of(call.dims(0)[0])) throw MixesImages{"it takes some of the images"};
        ranges.erase(ranges.begin());
    }
    call.give(emit_slice(call.build, call.operand(0), ranges), output);
}

namespace detail {
[[nodiscard]] inline Range resolve(std::int64_t start, std::int64_t end, std::int64_t step, std::int64_t dim) {
    if (step == 0 || step > largest_tensor || step < -largest_tensor) fail("a step of ", step);
    if (start < 0) start += dim;
    if (end < 0) end += dim;
    if (step > 0) {
        start = std::clamp<std::int64_t>(start, 0, dim);
        end = std::clamp<std::int64_t>(end, 0, dim);
        return {start, end > start ? (end - start - 1) / step + 1 : 0, step};
    }
    if (dim == 0) return {0, 0, step};
    // Backwards from before the first element: from the first, as the standard says; NumPy takes none.
    start = std::clamp<std::int64_t>(start, 0, dim - 1);
    end = std::clamp<std::int64_t>(end, -1, dim - 1);
    return {start, start > end ? (start - end - 1) / -step + 1 : 0, step};
}
}  // namespace detail

inline void translate_slice(Call& call) {
    Sizes const& dims = call.dims(0);
    Sizes starts, ends, axes, steps;
    if (call.opset() < 10) {
        starts = call.integers("starts", {});
        ends = call.integers("ends", {});
        axes = call.integers("axes", {});
    } else {
        starts = call.integers(1, "start");
        ends = call.integers(2, "end");
        if (call.has(3)) axes = call.integers(3, "axes");
        if (call.has(4)) steps = call.integers(4, "steps");
    }
    if (axes.empty()) {
        axes.resize(starts.size());
        std::iota(axes.begin(), axes.end(), 0);
    }
    if (steps.empty()) steps.resize(starts.size(), 1);
    if (ends.size() != starts.size() || axes.size() != starts.size() || steps.size() != starts.size()) {
        fail("its starts, ends, axes and steps differ in number");
    }
    (void)axis_indices(axes, dims.size());
    std::vector<Range> ranges;
    for (const std::int64_t dim : dims) ranges.push_back({0, dim, 1});
    for (std::size_t i = 0; i < axes.size(); ++i) {
        const std::size_t axis = axis_index(axes[i], dims.size());
        ranges[axis] = detail::resolve(starts[i], ends[i], steps[i], dims[axis]);
    }
    give_slice(call, std::move(ranges));
}

inline void translate_split(Call& call) {
    Sizes const& dims = call.dims(0);
    const std::size_t axis = axis_index(call.integer("axis", 0), dims.size()), parts = call.output_count();
    const auto dim = dims[axis], count = static_cast<std::int64_t>(parts);
    if (parts == 0) fail("no outputs");
    Sizes sizes;
    if (call.opset() >= 13 && call.has(1)) {
        OnnxTensor const& given = call.constant(1, "split");
        sizes.assign(given.integers.begin(), given.integers.end());
    } else if (call.opset() < 13 && call.has_attribute("split")) {
        sizes = call.integers("split", {});
    } else {
        if (call.integer("num_outputs", count) != count) fail("its num_outputs is not the number of its outputs");
        if (call.opset() < 18 && dim % count != 0) fail(dim, " elements cannot be split in ", count);
        sizes.assign(parts, (dim + count - 1) / count);
        sizes.back() = dim - sizes[0] * (count - 1);
    }
    if (sizes.size() != parts) fail("sizes of ", sizes.size(), " parts for ", parts, " outputs");
    std::int64_t first = 0;
    for (std::size_t i = 0; i < parts; ++i) {
        if (sizes[i] < 0 || sizes[i] > dim - first)
            fail("its parts are larger than axis ", axis, " of ", to_string(dims));
        std::vector<Range> ranges;
        for (const std::int64_t all : dims) ranges.push_back({0, all, 1});
        ranges[axis] = {first, sizes[i], 1};
        first += sizes[i];
        if (call.wants(i)) give_slice(call, std::move(ranges), i);
    }
    if (first != dim) fail("its parts do not fill axis ", axis, " of ", to_string(dims));
}

inline void translate_expand(Call& call) {
    const Sizes dims = broadcast(call.dims(0), call.integers(1, "shape"));
    if (const OnnxTensor* known = call.known(0)) {
        (void)count_of(dims);
        return call.give(pick(*known, expansion(known->dims, dims), call.build.constants));
    }
    if (!call.build.is_whole() && dims.size() != call.rank(0)) throw MixesImages{"it adds an axis before the images"};
    call.give(call.build.expand(call.operand(0), call.build.image_dims(dims)));
}

/// The whole tensor several times along each axis.
inline void translate_tile(Call& call) {
    Sizes repeats = call.integers(1, "repeats");
    Sizes const& from = call.dims(0);
    if (repeats.size() != from.size()) fail(repeats.size(), " repeats of ", from.size(), " axes");
    const auto places_of = [](Sizes const& dims, Sizes const& times, Sizes& result) {
        const Sizes strides = row_major(dims);
        Strided places;
        for (std::size_t axis = 0; axis < dims.size(); ++axis) {
            if (times[axis] < 0) fail("a repeat of ", times[axis]);
            if (times[axis] != 1) places.dims.push_back(times[axis]), places.strides.push_back(0);
            places.dims.push_back(dims[axis]), places.strides.push_back(strides[axis]);
            std::int64_t product = 0;
            if (__builtin_mul_overflow(dims[axis], times[axis], &product)) fail("impossibly large");
            result.push_back(product);
        }
        return places;
    };
    Sizes dims;
    if (const OnnxTensor* known = call.known(0)) {
        const Strided places = places_of(from, repeats, dims);
        if (count_of(dims) == 0) return call.give(empty_tensor(std::move(dims), known->type));
        return call.give(with_dims(pick(*known, places, call.build.constants), std::move(dims)));
    }
    if (!call.build.is_whole()) {
        if (repeats.empty() || repeats[0] != 1) throw MixesImages{"it repeats the images"};
        repeats.erase(repeats.begin());
    }
    const Operand src = call.operand(0);
    const Strided places = places_of(src.dims, repeats, dims);
    call.give(dims == src.dims ? src : call.build.strided(src, places, dims));
}

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
/// The first input's elements along an axis by indices that are computed at run time.
inline void give_computed_rows(Call& call, std::size_t axis) {
    if (is_float(call.input(1).type)) fail("its indices are of ", to_string(call.input(1).type));
    if (!call.build.is_whole()) throw MixesImages{"its indices may name other images"};
    const Operand src = call.operand(0), indices = call.operand(1);
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
}  // namespace detail

inline void translate_gather(Call& call) {
    Sizes const& dims = call.dims(0);
    const std::size_t axis = axis_index(call.integer("axis", 0), dims.size());
    Value const& which = call.input(1);
    if (!which.known && !which.is_input) return detail::give_computed_rows(call, axis);
    OnnxTensor const& indices = call.constant(1, "indices");
    if (indices.is_float()) fail("its indices are of ", to_string(indices.type));
    if (const OnnxTensor* known = call.known(0)) {
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
/// Where the elements that known indices name lie in a row-major tensor, one after the other.
[[nodiscard]] inline Sizes places_of_rows(OnnxTensor const& indices, Sizes const& dims, Constants& constants) {
    const auto depth = static_cast<std::size_t>(indices.dims.back());
    if (depth > dims.size()) fail("indices of ", depth, " axes into ", to_string(dims));
    const Sizes strides = row_major(dims);
    const std::size_t size = count_of({dims.begin() + static_cast<std::ptrdiff_t>(depth), dims.end()});
    if (depth == 0 || size == 0) fail("indices of ", depth, " axes into ", to_string(dims));
    const std::size_t rows = indices.integers.size() / depth;
    constants.take(rows, size * sizeof(std::int64_t));
    Sizes places;
    for (std::size_t row = 0; row < rows; ++row) {
        std::int64_t place = 0;
        for (std::size_t i = 0; i < depth; ++i) {
            const auto extent = static_cast<std::size_t>(dims[i]);
            const std::size_t index = axis_index(indices.integers[row * depth + i], extent);
            place += static_cast<std::int64_t>(index) * strides[i];
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
/// The first input with elements of the third in the given places.
inline void give_scattered(Call& call, Sizes const& places) {
    if (call.has_attribute("reduction") && call.text("reduction", "none") != "none") {
        fail("its reduction ", call.text("reduction", "none"), " is not supported");
    }
    const Operand data = call.operand(0), updates = call.operand(2);
    const std::int64_t size = elements(data.dims), count = elements(updates.dims);
    if (static_cast<std::size_t>(count) != places.size()) fail(count, " updates of ", places.size(), " elements");
    call.build.constants.take(static_cast<std::size_t>(size), sizeof(std::int64_t));
    Sizes from(static_cast<std::size_t>(size));
    std::iota(from.begin(), from.end(), std::int64_t{0});
    for (std::size_t i = 0; i < places.size(); ++i) {
        from[static_cast<std::size_t>(places[i])] = size + static_cast<std::int64_t>(i);
    }
    Builder& build = call.build;
    const Shape all{.c = static_cast<int>(size), .h = 1, .w = 1}, fresh{.c = static_cast<int>(count), .h = 1, .w = 1};
    const std::size_t left = build.view(data, all), right = build.view(updates, fresh);
    (void)elements({size + count});
    const Operand both = build.operand(build.emit(ConcatParams{Axis::c}, {left, right}), {size + count});
    call.give(emit_gather(build, both, 0, from, data.dims));
}
/// Only the whole tensor: its first axis is that of the indices.
inline void require_whole(Call const& call) {
    if (!call.build.is_whole()) throw MixesImages{"its indices may name other images"};
}
}  // namespace detail

inline void translate_gather_elements(Call& call) {
    detail::require_whole(call);
    OnnxTensor const& indices = detail::known_indices(call);
    const std::size_t axis = axis_index(call.integer("axis", 0), call.rank(0));
    detail::give_places(call, detail::places_of_elements(indices, call.dims(0), axis), indices.dims);
}
inline void translate_gather_nd(Call& call) {
    detail::require_whole(call);
    if (call.integer("batch_dims", 0) != 0) fail("batch_dims is not supported");
    OnnxTensor const& indices = detail::known_indices(call);
    Sizes const& from = call.dims(0);
    const Sizes places = detail::places_of_rows(indices, from, call.build.constants);
    Sizes dims(indices.dims.begin(), indices.dims.end() - 1);
    dims.insert(dims.end(), from.begin() + indices.dims.back(), from.end());
    detail::give_places(call, places, std::move(dims));
}
inline void translate_scatter_elements(Call& call) {
    detail::require_whole(call);
    const std::size_t axis = axis_index(call.integer("axis", 0), call.rank(0));
    detail::give_scattered(call, detail::places_of_elements(detail::known_indices(call), call.dims(0), axis));
}
inline void translate_scatter_nd(Call& call) {
    detail::require_whole(call);
    detail::give_scattered(call,
                           detail::places_of_rows(detail::known_indices(call), call.dims(0), call.build.constants));
}

namespace detail {
/// An image seen as a tensor of more axes, these in another order, and that as an image again.
inline void regroup(Call& call, Sizes factors, std::vector<std::size_t> order, Sizes dims) {
    if (call.build.is_whole()) {
        factors.insert(factors.begin(), call.dims(0)[0]);
        dims.insert(dims.begin(), call.dims(0)[0]);
        for (std::size_t& axis : order) ++axis;
        order.insert(order.begin(), 0);
    }
    call.give(call.build.strided(call.operand(0), permutation(factors, order), std::move(dims)));
}
}  // namespace detail

inline void translate_depth_to_space(Call& call) {
    Sizes const& dims = call.dims(0);
    if (dims.size() != 4) fail("on a tensor of ", dims.size(), " dimensions");
    const std::int64_t b = bounded(call.integer("blocksize", 0), 1, 1 << 15, "a block size"), c = dims[1] / (b * b);
    if (c < 1 || dims[1] % (b * b) != 0) fail("blocks of ", b, " x ", b, " of ", dims[1], " channels");
    const std::string_view mode = call.text("mode", "DCR");
    if (mode != "DCR" && mode != "CRD") fail("mode ", mode, " is unknown");
    const Sizes result{c, dims[2] * b, dims[3] * b};
    if (mode == "DCR") return detail::regroup(call, {b, b, c, dims[2], dims[3]}, {2, 3, 0, 4, 1}, result);
    detail::regroup(call, {c, b, b, dims[2], dims[3]}, {0, 3, 1, 4, 2}, result);
}
inline void translate_space_to_depth(Call& call) {
    Sizes const& dims = call.dims(0);
    if (dims.size() != 4) fail("on a tensor of ", dims.size(), " dimensions");
    const std::int64_t b = bounded(call.integer("blocksize", 0), 1, 1 << 15, "a block size");
    if (dims[2] % b != 0 || dims[3] % b != 0) fail("blocks of ", b, " x ", b, " of ", to_string(dims));
    const std::int64_t h = dims[2] / b, w = dims[3] / b;
    detail::regroup(call, {dims[1], h, b, w, b}, {2, 4, 0, 1, 3}, {dims[1] * b * b, h, w});
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
