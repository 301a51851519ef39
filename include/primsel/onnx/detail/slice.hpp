// Operators that give ranges of elements, or the same elements again.
#pragma once

#include <primsel/onnx/detail/call.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

/// Elements first, first + step, ... of an axis.
struct Range {
    std::int64_t first = 0, count = 0, step = 1;
    [[nodiscard]] bool is_all_of(std::int64_t dim) const { return first == 0 && count == dim && step == 1; }
};
/// Emits a slice of an image. Slices that are contiguous along an axis have a layer of their own.
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

}  // namespace primsel::inline PRIMSEL_ABI::onnx
