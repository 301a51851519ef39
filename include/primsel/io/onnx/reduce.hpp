#pragma once

#include <primsel/io/onnx/pool.hpp>

#include <numeric>

namespace primsel::inline PRIMSEL_ABI::onnx {

/// One value for all elements along the axes, ascending; these stay, with an extent of one.
inline Operand emit_reduce(Builder& build, ReduceKind kind, Operand src, std::vector<std::size_t> const& axes) {
    const std::size_t rank = src.dims.size();
    // All pixels of each channel.
    bool is_image = kind != ReduceKind::sum && !axes.empty() && build.axis_of(rank - 1, rank) != Axis::c;
    for (std::size_t axis = 0; axis < rank; ++axis) {
        const bool is_pixel = build.axis_of(axis, rank) != Axis::c;
        is_image = is_image && is_pixel == std::ranges::binary_search(axes, axis);
    }
    if (is_image) {
        Sizes dims = src.dims;
        for (const std::size_t axis : axes) dims[axis] = 1;
        return emit_global_pool(build, kind == ReduceKind::max ? PoolKind::max : PoolKind::average, src, dims);
    }
    // Neighbouring axes at once.
    for (std::size_t i = 0; i < axes.size();) {
        const std::size_t first = axes[i];
        std::size_t last = first;
        while (i < axes.size() && axes[i] == last) ++i, ++last;
        const AxisView along = build.view_along(src.dims, first, last);
        const std::size_t input = build.view(src, along.shape),
                          node = build.emit(ReduceParams{kind, along.axis}, {input});
        Sizes dims = src.dims;
        for (std::size_t axis = first; axis < last; ++axis) dims[axis] = 1;
        src = build.operand(node, std::move(dims));
    }
    return src;
}

namespace detail {
inline void translate_reduce(Call& call, ReduceKind kind, std::int64_t axes_as_input_since) {
    const std::size_t rank = call.rank(0);
    const bool as_input = call.opset() >= axes_as_input_since;
    Sizes axes;
    if (as_input && call.has(1)) axes = call.integers(1, "axes");
    if (!as_input) axes = call.integers("axes", {});
    if (axes.empty()) {
        if (as_input && call.integer("noop_with_empty_axes", 0) != 0) return call.pass();
        axes.resize(rank);
        std::iota(axes.begin(), axes.end(), 0);
    }
    std::vector<std::size_t> indices;
    for (const std::size_t axis : axis_indices(axes, rank)) {
        indices.push_back(call.build.image_axis(static_cast<std::int64_t>(axis), rank));
    }
    const Operand result = emit_reduce(call.build, kind, call.operand(0), indices);
    if (call.integer("keepdims", 1) != 0) return call.give(result);
    Sizes dims;
    for (std::size_t axis = 0; axis < result.dims.size(); ++axis) {
        if (!std::ranges::binary_search(indices, axis)) dims.push_back(result.dims[axis]);
    }
    call.give(call.build.reshape(result, std::move(dims)));
}
}  // namespace detail

inline void translate_reduce_mean(Call& call) { detail::translate_reduce(call, ReduceKind::mean, 18); }
inline void translate_reduce_max(Call& call) { detail::translate_reduce(call, ReduceKind::max, 18); }
inline void translate_reduce_sum(Call& call) { detail::translate_reduce(call, ReduceKind::sum, 13); }

}  // namespace primsel::inline PRIMSEL_ABI::onnx
