// Layers that make little of much - pools, reductions, the best of a list - as ONNX nodes.
#pragma once

#include <primsel/onnx/detail/layer_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <variant>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {

[[nodiscard]] inline Attributes window_attributes(PoolParams const& p) {
    return {pair("kernel_shape", p.window), pair("strides", p.stride), pads(p.padding), pair("dilations", p.dilation),
            whole("ceil_mode", p.ceil_mode)};
}

/// With ceil_mode, a last window that would start behind the image is left out; not all who read ONNX do that.
/// Where there would be one, the same windows as padding: as much as they reach beyond the image.
[[nodiscard]] inline PoolParams without_doubt(LayerWriter const& layer, PoolParams const& p) {
    const Shape from = layer.in_shape(), to = layer.node().shape;
    const auto starts_behind = [](int in, int out, int step, int before, int after, int span) {
        return out * step >= in + before && in + before + after - span > (out - 1) * step;
    };
    const int span_h = (p.window.h - 1) * p.dilation.h + 1, span_w = (p.window.w - 1) * p.dilation.w + 1;
    if (!p.ceil_mode || (!starts_behind(from.h, to.h, p.stride.h, p.padding.top, p.padding.bottom, span_h) &&
                         !starts_behind(from.w, to.w, p.stride.w, p.padding.left, p.padding.right, span_w))) {
        return p;
    }
    PoolParams result = p;
    result.ceil_mode = false;
    result.padding.bottom = std::max(0, (to.h - 1) * p.stride.h + span_h - from.h - p.padding.top);
    result.padding.right = std::max(0, (to.w - 1) * p.stride.w + span_w - from.w - p.padding.left);
    // More padding than a window's own pixels, which dilation allows, is refused by some.
    return result.padding.bottom < p.window.h && result.padding.right < p.window.w ? result : p;
}

/// One node for the maxima and the indices, where the graph has both.
inline void write_max_pool(LayerWriter& layer, PoolParams const& p) {
    std::optional<std::size_t> maxima, indices;
    for (std::size_t i = layer.position(); i < layer.graph().size(); ++i) {
        if (layer.graph()[i].inputs != layer.node().inputs) continue;
        const auto* pool = std::get_if<PoolParams>(&layer.graph()[i].layer);
        const auto* where = std::get_if<MaxPoolIndicesParams>(&layer.graph()[i].layer);
        if (!maxima && pool != nullptr && *pool == p) maxima = i;
        if (!indices && where != nullptr && where->pool == p) indices = i;
    }
    layer.step("MaxPool", {layer.image()}, window_attributes(without_doubt(layer, p)));
    Names& outputs = layer.last_outputs();
    if (maxima) outputs[0] = layer.value(*maxima).name;
    if (indices) outputs.push_back(layer.value(*indices).name);
    for (auto const& result : {maxima, indices}) {
        if (result) layer.value(*result).written = true;
    }
}

}  // namespace detail

inline void write_layer(LayerWriter& layer, PoolParams const& p) {
    if (layer.value().written) return;  // with its indices
    if (p.kind == PoolKind::max) return detail::write_max_pool(layer, p);
    if (p.dilation != Extent{1} && layer.opset() < 19) layer.refuse("dilated average pooling needs opset 19");
    const PoolParams pool = detail::without_doubt(layer, p);
    std::string input = layer.image();
    PoolParams counted = pool;
    if (p.count_include_pad && pool != p) {
        // Of the padding, count_include_pad counts all or nothing: what counts becomes part of the image.
        const Padding zeros{p.padding.top, std::min(p.padding.bottom, pool.padding.bottom), p.padding.left,
                            std::min(p.padding.right, pool.padding.right)};
        if (zeros != Padding{}) {
            input = layer.step(
                "Pad", {input, layer.ints("pads", {0, 0, zeros.top, zeros.left, 0, 0, zeros.bottom, zeros.right}),
                        layer.scalar("value", 0.0F)});
        }
        counted.padding = {0, pool.padding.bottom - zeros.bottom, 0, pool.padding.right - zeros.right};
        counted.count_include_pad = false;
    }
    Attributes attributes = detail::window_attributes(counted);
    attributes.push_back(whole("count_include_pad", counted.count_include_pad));
    if (p.dilation == Extent{1}) std::erase_if(attributes, [](auto const& a) { return a.name == "dilations"; });
    layer.step("AveragePool", {input}, std::move(attributes));
}

inline void write_layer(LayerWriter& layer, MaxPoolIndicesParams const& p) {
    if (!layer.value().written) detail::write_max_pool(layer, p.pool);
}

inline void write_layer(LayerWriter& layer, GlobalPoolParams const& p) {
    layer.step(p.kind == PoolKind::max ? "GlobalMaxPool" : "GlobalAveragePool", {layer.image()});
}

inline void write_layer(LayerWriter& layer, ReduceParams const& p) {
    const std::int64_t axis = 1 + static_cast<std::int64_t>(p.axis);
    if (p.kind == ReduceKind::arg_max) {
        const std::string position = layer.step("ArgMax", {layer.image()}, {axis_of(p.axis), whole("keepdims", 1)});
        layer.step("Cast", {position}, {whole("to", cast_to(DataType::float32))});
        return;
    }
    const std::string_view op = p.kind == ReduceKind::mean  ? "ReduceMean"
                                : p.kind == ReduceKind::sum ? "ReduceSum"
                                                            : "ReduceMax";
    // The axes became an input: ReduceSum's first.
    if (layer.opset() >= 18 || p.kind == ReduceKind::sum) {
        layer.step(op, {layer.image(), layer.ints("axes", {axis})}, {whole("keepdims", 1)});
    } else {
        layer.step(op, {layer.image()}, {{"axes", Ints{axis}}, whole("keepdims", 1)});
    }
}

inline void write_layer(LayerWriter& layer, TopKParams const& p) {
    const std::string k = layer.ints("k", {p.k});
    const std::string values =
        layer.step("TopK", {layer.image(), k}, {axis_of(Axis::w), whole("largest", p.largest), whole("sorted", 1)});
    if (!p.positions) return;
    const std::string positions = layer.unique("/positions");
    layer.last_outputs() = {values, positions};
    layer.step("Cast", {positions}, {whole("to", cast_to(DataType::float32))});
}

inline void write_layer(LayerWriter& layer, NonMaxSuppressionParams const&) {
    layer.refuse("its rows are padded, which ONNX does not do");
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
