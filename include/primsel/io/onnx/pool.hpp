#pragma once

#include <primsel/io/onnx/window.hpp>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {
[[nodiscard]] inline PoolParams read_pool(Call const& call, PoolKind kind) {
    Sizes const& dims = call.dims(0);
    const auto* kernel = call.attribute("kernel_shape", AttributeType::ints);
    if (kernel == nullptr) fail("without a kernel_shape");
    const Window window = read_window(call, dims, kernel->ints);
    // The standard's sizes of VALID are rounded down in either mode.
    const bool rounds_up = call.integer("ceil_mode", 0) != 0 && call.text("auto_pad", "NOTSET") != "VALID";
    return {.kind = kind,
            .window = window.kernel,
            .stride = window.stride,
            .padding = window.padding,
            .ceil_mode = rounds_up,
            .count_include_pad = kind == PoolKind::average && call.integer("count_include_pad", 0) != 0,
            .dilation = window.dilation};
}
inline Operand emit_pool(Call const& call, AnyLayer layer) {
    Sizes dims = call.dims(0);
    const Operand src = call.operand(0);
    const std::size_t input = call.build.view(src), node = call.build.emit(std::move(layer), {input});
    const Shape out = call.build.graph()[node].shape;
    dims[2] = out.h;
    if (dims.size() == 4) dims[3] = out.w;
    return call.build.operand(node, call.build.image_dims(dims));
}
/// Offsets that count down the columns first: those of the transposed image. Of equal maxima, the first by that count.
inline Operand emit_column_major_indices(Call const& call, PoolParams const& params) {
    const auto transposed = [&call](Operand const& image) {
        std::vector<std::size_t> order;
        for (std::size_t axis = 0; axis < image.dims.size(); ++axis) order.push_back(axis);
        std::swap(order.end()[-1], order.end()[-2]);
        return call.build.strided(image, permutation(image.dims, order));
    };
    const auto turned = [](Extent extent) { return Extent{extent.w, extent.h}; };
    MaxPoolIndicesParams indices{params};
    indices.pool.window = turned(params.window);
    indices.pool.stride = turned(params.stride);
    indices.pool.dilation = turned(params.dilation);
    indices.pool.padding = {params.padding.left, params.padding.right, params.padding.top, params.padding.bottom};
    const Operand image = transposed(call.operand(0));
    const std::size_t input = call.build.view(image), node = call.build.emit(indices, {input});
    Sizes dims = image.dims;
    dims.end()[-2] = call.build.graph()[node].shape.h;
    dims.end()[-1] = call.build.graph()[node].shape.w;
    return transposed(call.build.operand(node, std::move(dims)));
}
}  // namespace detail

inline void translate_max_pool(Call& call) {
    const PoolParams params = detail::read_pool(call, PoolKind::max);
    if (call.wants(0)) call.give(detail::emit_pool(call, params));
    if (!call.wants(1)) return;
    const bool is_column_major = call.integer("storage_order", 0) != 0 && call.rank(0) == 4;
    call.give(is_column_major ? detail::emit_column_major_indices(call, params)
                              : detail::emit_pool(call, MaxPoolIndicesParams{params}),
              1, OnnxType::int64);
}
inline void translate_average_pool(Call& call) {
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
