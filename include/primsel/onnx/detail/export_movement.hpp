// Layers that only move elements, and resizing, as ONNX nodes.
#pragma once

#include <primsel/onnx/detail/layer_writer.hpp>
#include <primsel/onnx/detail/strided.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {

/// Result size / input size, as a number whose inverse is the scale and that leads to the size, whether whoever
/// reads it multiplies floats or, as the standard's shape inference, doubles.
[[nodiscard]] inline float resize_factor(LayerWriter const& layer, float scale, int in, int out) {
    const float quotient = scale > 0.0F ? 1.0F / scale : static_cast<float>(out) / static_cast<float>(in);
    std::optional<float> fits;
    for (const float f : {quotient, std::nextafter(quotient, 0.0F), std::nextafter(quotient, HUGE_VALF)}) {
        if (static_cast<int>(static_cast<float>(in) * f) != out) continue;
        if (static_cast<int>(static_cast<double>(in) * static_cast<double>(f)) != out) continue;
        if (scale == 0.0F || 1.0F / f == scale) return f;
        if (!fits) fits = f;
    }
    if (!fits) layer.refuse("its scale does not lead from ", in, " to ", out);
    return *fits;
}

}  // namespace detail

inline void write_layer(LayerWriter& layer, ConcatParams const& p) {
    Names inputs;
    if (p.axis == Axis::c) {
        inputs = layer.alike();
    } else {
        for (std::size_t i = 0; i < layer.node().inputs.size(); ++i) inputs.push_back(layer.image(i));
    }
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (layer.value().varies && !layer.in(i).varies)
            inputs[i] = layer.for_each_image(inputs[i], layer.value().flat);
    }
    layer.step("Concat", std::move(inputs), {axis_of(p.axis)});
}

inline void write_layer(LayerWriter& layer, FlattenParams const&) {
    layer.step("Flatten", {layer.read()}, {whole("axis", 1)});
    layer.value().flat = true;
}

inline void write_layer(LayerWriter& layer, ReshapeParams const& p) { layer.reshape(layer.read(), p.shape); }

inline void write_layer(LayerWriter& layer, PadParams const& p) {
    Names inputs{layer.image(), layer.ints("pads", {0, p.front, p.padding.top, p.padding.left,  //
                                                    0, p.back, p.padding.bottom, p.padding.right})};
    if (p.mode == PadMode::constant) inputs.push_back(layer.scalar("value", p.value));
    constexpr std::string_view modes[] = {"constant", "reflect", "edge"};
    layer.step("Pad", std::move(inputs), {{"mode", modes[static_cast<std::size_t>(p.mode)]}});
}

inline void write_layer(LayerWriter& layer, ChannelShuffleParams const& p) {
    const Shape shape = layer.node().shape;
    const std::string grouped = layer.reshape(layer.read(), Ints{p.groups, shape.c / p.groups, shape.h, shape.w});
    layer.reshape(layer.step("Transpose", {grouped}, {{"perm", Ints{0, 2, 1, 3, 4}}}), shape);
}

inline void write_layer(LayerWriter& layer, SliceParams const& p) {
    const std::string x = p.axis == Axis::c ? layer.alike()[0] : layer.image();
    layer.step("Slice", {x, layer.ints("first", {p.first}), layer.ints("last", {p.last}),
                         layer.ints("axes", {1 + static_cast<std::int64_t>(p.axis)})});
}

inline void write_layer(LayerWriter& layer, GatherParams const&) {
    layer.refuse("it gives zeros for what is outside, which ONNX does not do");
}

inline void write_layer(LayerWriter& layer, GridSampleParams const& p) {
    if (p.pixels || p.groups != 1) layer.refuse("its places are counted in pixels or differ from channel to channel");
    const bool later = layer.opset() >= 20, volume = p.depth > 0;
    if (layer.opset() < 16 || (volume && !later)) layer.refuse("GridSample needs opset 16, and 20 for volumes");
    constexpr std::string_view modes[] = {"nearest", "linear", "cubic"}, before[] = {"nearest", "bilinear", "bicubic"},
                               paddings[] = {"zeros", "border", "reflection"};
    Names inputs{layer.image(), layer.image(1)};
    for (std::size_t i = 0; i < inputs.size(); ++i) {
        if (layer.value().varies && !layer.in(i).varies) inputs[i] = layer.for_each_image(inputs[i], false);
    }
    const Shape from = layer.in_shape(), places = layer.in_shape(1);
    if (volume) {
        inputs[0] = layer.reshape(inputs[0], Ints{from.c, p.depth, from.h / p.depth, from.w});
        inputs[1] = layer.reshape(inputs[1], Ints{places.c, 1, places.h, 3});
    }
    const auto mode = static_cast<std::size_t>(p.mode);
    const std::string y = layer.step("GridSample", inputs,
                                     {{"mode", later ? modes[mode] : before[mode]},
                                      {"padding_mode", paddings[static_cast<std::size_t>(p.padding)]},
                                      {"align_corners", std::int64_t{p.align_corners}}});
    if (volume) layer.reshape(y, layer.node().shape);
}

inline void write_layer(LayerWriter& layer, RoiAlignParams const&) {
    layer.refuse("its images are channels of one, which ONNX does not have");
}

inline void write_layer(LayerWriter& layer, ScatterParams const& p) {
    if (layer.batch() != 1 && layer.value().varies)
        layer.refuse("its numbers are those of one image: export a batch of 1");
    const Shape shape = layer.in_shape();
    const auto reshaped = [&layer](std::string const& x, Ints const& dims) {
        return layer.step("Reshape", {x, layer.ints("shape", dims)});
    };
    const std::string places = layer.step("Cast", {reshaped(layer.read(1), {-1, 1})}, {whole("to", 7)}),
                      data = reshaped(layer.read(0), {shape.c, shape.h, shape.w}),
                      changes = reshaped(layer.read(2), {-1, shape.h, shape.w});
    Attributes attributes;
    constexpr std::string_view reductions[] = {"none", "add", "mul", "max", "min"};
    if (p.kind != ScatterKind::replace)
        attributes.push_back({"reduction", reductions[static_cast<std::size_t>(p.kind)]});
    const int needed = p.kind == ScatterKind::replace ? 11 : p.kind <= ScatterKind::multiply ? 16 : 18;
    if (layer.opset() < needed) layer.refuse("it needs opset ", needed, ", not ", layer.opset());
    reshaped(layer.step("ScatterND", {data, places, changes}, std::move(attributes)), {1, shape.c, shape.h, shape.w});
}

inline void write_layer(LayerWriter& layer, AsStridedParams const& p) {
    const auto box = strided_box(p, static_cast<std::int64_t>(layer.in_shape().size()));
    std::string x =
        layer.reshape(layer.read(), box ? box->view : Ints{static_cast<std::int64_t>(layer.in_shape().size())});
    if (!box) {
        x = layer.step("Gather", {x, layer.ints("indices", strided_indices(p))}, {whole("axis", 1)});
    } else {
        if (!box->slices.empty()) {
            Ints starts, ends, axes, steps;
            for (auto const& slice : box->slices) {
                starts.push_back(slice.start), ends.push_back(slice.end);
                axes.push_back(slice.axis + 1), steps.push_back(slice.step);
            }
            x = layer.step("Slice", {x, layer.ints("starts", starts), layer.ints("ends", ends),
                                     layer.ints("axes", axes), layer.ints("steps", steps)});
        }
        if (!std::ranges::is_sorted(box->order)) {
            Ints perm{0};
            for (const std::int64_t axis : box->order) perm.push_back(axis + 1);
            x = layer.step("Transpose", {x}, {{"perm", perm}});
        }
        if (!box->repeats.empty()) {
            x = layer.reshape(x, box->single);
            Ints dims = box->repeats;
            dims.insert(dims.begin(), 1);
            x = layer.step("Expand", {x, layer.ints("repeats", dims)});
        }
    }
    layer.reshape(x, p.shape);
}

namespace detail {
/// Where the first and last pixels of a resize by affine coordinates lie, as shares of the input's length.
[[nodiscard]] inline std::pair<float, float> part_of(LayerWriter const& layer, float offset, float step, int in,
                                                     int out) {
    if (in == 1) return {0.0F, 1.0F};
    const double length = in - 1.0, first = static_cast<double>(offset),
                 last = first + (out - 1) * static_cast<double>(step);
    if (first < 0 || last > length) layer.refuse("its pixels lie outside the image, where ONNX has one value");
    return {static_cast<float>(first / length), static_cast<float>(last / length)};
}
}  // namespace detail

inline void write_layer(LayerWriter& layer, ResizeParams const& p) {
    constexpr std::string_view modes[] = {"nearest", "linear", "cubic"};
    constexpr std::string_view coordinates[] = {"half_pixel", "pytorch_half_pixel", "align_corners",
                                                "asymmetric", "tf_crop_and_resize", "half_pixel_symmetric"};
    constexpr std::string_view roundings[] = {"round_prefer_floor", "round_prefer_ceil", "floor", "ceil"};
    Attributes attributes{{"mode", modes[static_cast<std::size_t>(p.mode)]},
                          {"coordinate_transformation_mode", coordinates[static_cast<std::size_t>(p.coordinates)]},
                          {"nearest_mode", roundings[static_cast<std::size_t>(p.rounding)]}};
    const bool later = layer.opset() >= 18;
    if (p.mode == ResizeMode::cubic) attributes.push_back({"cubic_coeff_a", p.cubic_coefficient});
    if (p.mode == ResizeMode::cubic || p.antialias)
        attributes.push_back({"exclude_outside", std::int64_t{p.exclude_outside}});
    if (p.coordinates == ResizeCoordinates::half_pixel_symmetric && layer.opset() < 19)
        layer.refuse("half_pixel_symmetric needs opset 19");
    if (p.antialias) {
        if (!later) layer.refuse("antialiasing needs opset 18");
        attributes.push_back({"antialias", std::int64_t{1}});
    }
    const std::string x = layer.image();
    const Shape from = layer.in_shape();
    const bool affine = p.coordinates == ResizeCoordinates::affine,
               scales = !affine && p.coordinates != ResizeCoordinates::align_corners;
    std::string part;
    if (affine) {
        const auto [top, bottom] = detail::part_of(layer, p.offset_h, p.scale_h, from.h, p.size.h);
        const auto [left, right] = detail::part_of(layer, p.offset_w, p.scale_w, from.w, p.size.w);
        const float of_all[] = {0.0F, 0.0F, top, left, 1.0F, 1.0F, bottom, right};
        const float of_two[] = {top, left, bottom, right};
        part = later ? layer.floats("part", {4}, of_two) : layer.floats("part", {8}, of_all);
    }
    const bool has_factors = p.scale_h > 0.0F || p.scale_w > 0.0F;
    // Whole factors are right for images of other sizes, too.
    const bool is_whole = !affine && !has_factors && p.size.h % from.h == 0 && p.size.w % from.w == 0;
    if ((scales && has_factors) || is_whole) {
        const float factors[] = {1.0F, 1.0F, detail::resize_factor(layer, p.scale_h, from.h, p.size.h),
                                 detail::resize_factor(layer, p.scale_w, from.w, p.size.w)};
        layer.step("Resize", {x, "", layer.floats("scales", {4}, factors)}, std::move(attributes));
    } else if (later) {
        attributes.push_back({"axes", Ints{2, 3}});
        layer.step("Resize", {x, part, "", layer.ints("sizes", {p.size.h, p.size.w})}, std::move(attributes));
    } else if (layer.batch() != open_dimension || !layer.in().varies) {
        const std::int64_t images = layer.in().varies ? layer.batch() : 1;
        layer.step("Resize", {x, part, "", layer.ints("sizes", {images, from.c, p.size.h, p.size.w})},
                   std::move(attributes));
    } else {
        const std::string kept =
            layer.step("Slice", {layer.step("Shape", {x}), layer.ints("first", {0}), layer.ints("last", {2})});
        const std::string sizes =
            layer.step("Concat", {kept, layer.ints("sizes", {p.size.h, p.size.w})}, {{"axis", std::int64_t{0}}});
        layer.step("Resize", {x, part, "", sizes}, std::move(attributes));
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
