#pragma once

#include <primsel/onnx/detail/reshape.hpp>
#include <primsel/onnx/detail/slice.hpp>
#include <primsel/onnx/detail/window.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {
/// A pooling of an image without its first rows and columns.
struct Pooling {
    PoolParams params;
    Extent skipped;
};
[[nodiscard]] inline Pooling read_pool(Call const& call, PoolKind kind) {
    Sizes const& dims = call.dims(0);
    const auto* kernel = call.attribute("kernel_shape", AttributeType::ints);
    if (kernel == nullptr) fail("without a kernel_shape");
    const Window window = read_window(call, dims, kernel->ints);
    // The standard's sizes of VALID are rounded down in either mode.
    const bool rounds_up = call.integer("ceil_mode", 0) != 0 && call.text("auto_pad", "NOTSET") != "VALID";
    const PoolParams params{.kind = kind,
                            .window = window.kernel,
                            .stride = window.stride,
                            .padding = window.padding,
                            .ceil_mode = rounds_up,
                            .count_include_pad = kind == PoolKind::average && call.integer("count_include_pad", 0) != 0,
                            .dilation = window.dilation};
    return {params, window.skipped};
}
/// The last axes of an image are its rows and columns, or only columns.
[[nodiscard]] inline Operand without_first(Builder& build, Operand const& image, Extent skipped, std::size_t axes) {
    if (skipped == Extent{0}) return image;
    std::vector<Range> ranges;
    for (const std::int64_t dim : image.dims) ranges.push_back({0, dim, 1});
    const auto skip = [](Range& range, int count) { range.first = count, range.count -= count; };
    if (axes == 2) skip(ranges[ranges.size() - 2], skipped.h);
    skip(ranges.back(), skipped.w);
    return emit_slice(build, image, ranges);
}
/// src is of the rank of the image that is pooled, of which as many axes are rows and columns.
[[nodiscard]] inline Operand pooled(Builder& build, Operand const& src, AnyLayer layer, std::size_t axes) {
    const std::size_t input = build.view(src), node = build.emit(std::move(layer), {input});
    const Shape out = build.graph()[node].shape;
    Sizes dims = src.dims;
    set_image_size(dims, axes, {out.h, out.w});
    return build.operand(node, std::move(dims));
}
inline Operand emit_pool(Call const& call, Pooling const& pooling) {
    const std::size_t axes = call.rank(0) - 2;
    const Operand image = without_first(call.build, call.operand(0), pooling.skipped, axes);
    return pooled(call.build, image, pooling.params, axes);
}
[[nodiscard]] inline Operand emit_indices(Builder& build, Operand const& image, Pooling const& pooling,
                                          std::size_t axes) {
    const MaxPoolIndicesParams params{pooling.params};
    const Extent skipped = pooling.skipped;
    if (skipped == Extent{0}) return pooled(build, image, params, axes);
    if (pooling.params.padding != Padding{} && pooling.params.dilation != Extent{1}) {
        fail("indices of windows with gaps, with padding along one axis and pixels between the windows of the other");
    }
    // An image of the same size whose pixels have all moved by this many places. No window has those after them.
    const Operand rest = without_first(build, image, skipped, axes);
    const std::size_t padded = build.emit(PadParams{.padding = {0, skipped.h, 0, skipped.w}}, {build.view(rest)});
    const int moved = skipped.h * build.graph()[padded].shape.w + skipped.w;
    const Operand indices = pooled(build, build.operand(padded, image.dims), params, axes);
    return build.scale(indices, 1.0F, static_cast<float>(moved));
}
/// Offsets that count down the columns first: those of the transposed image. Of equal maxima, the first by that count.
inline Operand emit_column_major_indices(Call const& call, Pooling pooling) {
    const auto transposed = [&call](Operand const& image) {
        std::vector<std::size_t> order;
        for (std::size_t axis = 0; axis < image.dims.size(); ++axis) order.push_back(axis);
        std::swap(order.end()[-1], order.end()[-2]);
        return call.build.strided(image, permutation(image.dims, order));
    };
    const auto turn = [](Extent& extent) { std::swap(extent.h, extent.w); };
    PoolParams& params = pooling.params;
    turn(params.window), turn(params.stride), turn(params.dilation), turn(pooling.skipped);
    params.padding = {params.padding.left, params.padding.right, params.padding.top, params.padding.bottom};
    return transposed(emit_indices(call.build, transposed(call.operand(0)), pooling, 2));
}
/// Translates a pooling over more axes than an image has, of which windows move along two at most: the others are
/// channels, or columns. Returns whether it is one.
inline bool pool_along_two(Call& call, void (*translate)(Call&)) {
    const auto* kernel = call.attribute("kernel_shape", AttributeType::ints);
    const std::size_t axes = call.rank(0) < 5 ? 0 : call.rank(0) - 2;
    if (axes == 0 || kernel == nullptr || call.wants(1)) return false;
    const Sizes strides = call.integers("strides", Sizes(axes, 1)), pads = call.integers("pads", Sizes(2 * axes, 0));
    if (kernel->ints.size() != axes || strides.size() != axes || pads.size() != 2 * axes) return false;
    std::vector<std::size_t> moving, order;
    for (std::size_t axis = 0; axis < axes; ++axis) {
        if (kernel->ints[axis] != 1 || strides[axis] != 1 || pads[axis] != 0 || pads[axes + axis] != 0)
            moving.push_back(axis);
    }
    if (moving.empty()) return call.pass(), true;
    if (moving.size() > 2) return false;
    // Behind a single such axis, all others are one: the columns of an image. Else those axes become the last.
    const bool has_columns = moving.size() == 1 && moving[0] + 1 < axes;
    Builder& build = call.build;
    const Operand src = call.operand(0);
    const std::size_t rank = src.dims.size(), first = rank - axes;
    for (std::size_t axis = 0; axis < rank; ++axis) {
        const bool moves = axis >= first && std::ranges::find(moving, axis - first) != moving.end();
        if (has_columns || !moves) order.push_back(axis);
    }
    const std::size_t at = has_columns ? first + moving[0] : order.size();
    if (!has_columns) {
        for (const std::size_t axis : moving) order.push_back(first + axis);
    }
    const Operand ordered = transposed(build, src, order);
    const auto extents = [&](std::size_t from, std::size_t to) {
        return count_of(Sizes(ordered.dims.begin() + static_cast<std::ptrdiff_t>(from),
                              ordered.dims.begin() + static_cast<std::ptrdiff_t>(to)));
    };
    Sizes dims(ordered.dims.begin(), ordered.dims.begin() + static_cast<std::ptrdiff_t>(first - 1));
    dims.push_back(static_cast<std::int64_t>(extents(first - 1, at)));
    dims.push_back(ordered.dims[at]);
    if (at + 1 < rank) dims.push_back(static_cast<std::int64_t>(extents(at + 1, rank)));
    // The node of such an image.
    NodeProto node = call.node();
    for (AttributeProto& attribute : node.attributes) {
        const Sizes all = std::exchange(attribute.ints, {});
        for (std::size_t half = 0; half < all.size() / axes; ++half) {
            for (const std::size_t axis : moving) attribute.ints.push_back(all[half * axes + axis]);
            if (has_columns) attribute.ints.push_back(attribute.name == "pads" ? 0 : 1);
        }
    }
    Value image{.name = call.input(0).name, .dims = build.full_dims(dims), .type = call.input(0).type}, result;
    image.node = build.view(build.reshape(ordered, dims));
    Call inner(build, call.files, node, call.opset(), {&image}, {&result});
    translate(inner);
    const Operand pooled = call.operand_of(result);
    Sizes pooled_dims = ordered.dims;
    pooled_dims[at] = pooled.dims[first];
    if (moving.size() == 2) pooled_dims[at + 1] = pooled.dims[first + 1];
    std::vector<std::size_t> back(rank);
    for (std::size_t axis = 0; axis < rank; ++axis) back[order[axis]] = axis;
    call.give(transposed(build, build.reshape(pooled, pooled_dims), back));
    return true;
}
}  // namespace detail

inline void translate_max_pool(Call& call) {
    if (detail::pool_along_two(call, translate_max_pool)) return;
    const detail::Pooling pooling = detail::read_pool(call, PoolKind::max);
    if (call.wants(0)) call.give(detail::emit_pool(call, pooling));
    if (!call.wants(1)) return;
    const bool is_column_major = call.integer("storage_order", 0) != 0 && call.rank(0) == 4;
    call.give(is_column_major ? detail::emit_column_major_indices(call, pooling)
                              : detail::emit_indices(call.build, call.operand(0), pooling, call.rank(0) - 2),
              1, OnnxType::int64);
}
inline void translate_average_pool(Call& call) {
    if (detail::pool_along_two(call, translate_average_pool)) return;
    call.give(detail::emit_pool(call, detail::read_pool(call, PoolKind::average)));
}

inline Operand emit_global_pool(Builder& build, PoolKind kind, Operand const& src, Sizes dims) {
    const std::size_t input = build.view(src), node = build.emit(GlobalPoolParams{kind}, {input});
    return build.operand(node, std::move(dims));
}
inline void translate_global_pool(Call& call, PoolKind kind) {
    Sizes dims = call.dims(0);
    if (dims.size() < 3) fail("on a tensor of ", dims.size(), " dimensions");
    std::fill(dims.begin() + 2, dims.end(), 1);
    call.give(emit_global_pool(call.build, kind, call.operand(0), call.build.image_dims(dims)));
}
inline void translate_global_average_pool(Call& call) { translate_global_pool(call, PoolKind::average); }
inline void translate_global_max_pool(Call& call) { translate_global_pool(call, PoolKind::max); }

}  // namespace primsel::inline PRIMSEL_ABI::onnx
