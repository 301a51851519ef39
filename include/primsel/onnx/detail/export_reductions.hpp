// Layers that make little of much - pools, reductions, the best of a list - as ONNX nodes.
#pragma once

#include <primsel/network/prepare.hpp>
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

/// The first layer from here on that reads the same and has these parameters.
template <class Params>
[[nodiscard]] std::optional<std::size_t> reader_like(LayerWriter const& layer, Params const& params) {
    for (std::size_t i = layer.position(); i < layer.graph().size(); ++i) {
        const auto* found = std::get_if<Params>(&layer.graph()[i].layer);
        if (found != nullptr && *found == params && layer.graph()[i].inputs == layer.node().inputs) return i;
    }
    return std::nullopt;
}
/// The last step gives what one layer does, and the positions of these elements, which another does. Neither layer need
/// be there.
inline void give_both(LayerWriter& layer, std::optional<std::size_t> values, std::optional<std::size_t> positions) {
    Names& outputs = layer.last_outputs();
    if (values) outputs[0] = layer.value(*values).name, layer.value(*values).written = true;
    if (!positions) return;
    LayerWriter::Value& position = layer.value(*positions);
    outputs.push_back(position.name);
    position.written = position.integers = true;
}

inline void write_max_pool(LayerWriter& layer, PoolParams const& p) {
    const auto maxima = reader_like(layer, p);
    const auto indices = reader_like(layer, MaxPoolIndicesParams{p});
    layer.step("MaxPool", {layer.image()}, window_attributes(without_doubt(layer, p)));
    give_both(layer, maxima, indices);
}

/// A reduction of an image or of groups of its channels. The axes became an input: ReduceSum's first.
inline std::string reduce(LayerWriter& layer, std::string_view op, std::string const& x, Ints const& axes) {
    if (layer.opset() >= 18 || op == "ReduceSum")
        return layer.step(op, {x, layer.ints("axes", axes)}, {whole("keepdims", 1)});
    return layer.step(op, {x}, {{"axes", axes}, whole("keepdims", 1)});
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
        // count_include_pad counts all padding or none: the part that counts becomes part of the image.
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
    if (p.kind == ReduceKind::arg_max) {
        layer.step("ArgMax", {layer.image()}, {axis_of(p.axis), whole("keepdims", 1)});
        layer.value().integers = true;
        return;
    }
    const std::string_view op = p.kind == ReduceKind::mean  ? "ReduceMean"
                                : p.kind == ReduceKind::sum ? "ReduceSum"
                                                            : "ReduceMax";
    detail::reduce(layer, op, layer.image(), {1 + static_cast<std::int64_t>(p.axis)});
}

/// Written out, as this was before simplify found it.
inline void write_layer(LayerWriter& layer, StandardizeParams const& p) {
    const Shape shape = layer.in_shape();
    Ints axes;
    for (const auto& [along, axis] : {std::pair(p.along_c, 1), std::pair(p.along_h, 2), std::pair(p.along_w, 3)}) {
        if (along) axes.push_back(axis);
    }
    std::string x = layer.image();
    if (p.groups > 1) {
        x = layer.reshape(x, Shape{.c = p.groups, .h = shape.c / p.groups, .w = static_cast<int>(shape.pixels())});
        axes = {2, 3};
    }
    if (p.centres) x = layer.step("Sub", {x, detail::reduce(layer, "ReduceMean", x, axes)});
    const std::string variance = detail::reduce(layer, "ReduceMean", layer.step("Mul", {x, x}), axes);
    const std::string deviation =
        layer.step("Sqrt", {layer.step("Add", {variance, layer.scalar("epsilon", p.epsilon)})});
    x = layer.step("Div", {x, deviation});
    if (p.groups > 1) x = layer.reshape(x, shape);
    if (p.scales) x = layer.step("Mul", {x, layer.image(1)});
    if (p.shifts) x = layer.step("Add", {x, layer.image(p.scales ? 2 : 1)});
    if (!layer.node().epilogue.folded.empty()) {
        const PreparedWeights weights = prepare_weights(layer.node(), layer.weights());
        const Ints channels{shape.c, 1, 1};
        x = layer.step("Mul", {x, layer.floats("weight", channels, weights.kernel)});
        x = layer.step("Add", {x, layer.floats("bias", channels, weights.bias)});
    }
    layer.clamp(x);
}

inline void write_layer(LayerWriter& layer, TopKParams const& p) {
    if (layer.value().written) return;  // with the other
    TopKParams values = p, positions = p;
    values.positions = false, positions.positions = true;
    layer.step("TopK", {layer.image(), layer.ints("k", {p.k})},
               {axis_of(Axis::w), whole("largest", p.largest), whole("sorted", 1)});
    detail::give_both(layer, detail::reader_like(layer, values), detail::reader_like(layer, positions));
    // ONNX demands both.
    if (layer.last_outputs().size() == 1) layer.last_outputs().push_back(layer.unique("/positions"));
}

inline void write_layer(LayerWriter& layer, NonMaxSuppressionParams const&) {
    layer.refuse("its rows are padded, which ONNX does not do");
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
