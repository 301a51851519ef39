// Layers that scale what they read, by known numbers or by its neighbours, as ONNX nodes.
#pragma once

#include <primsel/onnx/detail/layer_writer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

inline void write_layer(LayerWriter& layer, LrnParams const& p) {
    const std::string x = layer.image();
    if (p.size % 2 != 0) {
        layer.step("LRN", {x}, {{"alpha", p.alpha}, {"beta", p.beta}, {"bias", p.k}, {"size", std::int64_t{p.size}}});
        return;
    }
    // ONNX's window of an even size reaches further ahead, this one further back: sums by a convolution.
    const int c = layer.in_shape().c, back = p.size / 2, ahead = (p.size - 1) / 2;
    std::vector<float> band(static_cast<std::size_t>(c) * static_cast<std::size_t>(c));
    for (int to = 0; to < c; ++to) {
        for (int from = std::max(0, to - back); from <= std::min(c - 1, to + ahead); ++from) {
            band[static_cast<std::size_t>(to) * static_cast<std::size_t>(c) + static_cast<std::size_t>(from)] =
                p.alpha / static_cast<float>(p.size);
        }
    }
    const std::vector<float> k(static_cast<std::size_t>(c), p.k);
    const std::string base = layer.step(
        "Conv", {layer.step("Mul", {x, x}), layer.floats("window", {c, c, 1, 1}, band), layer.floats("k", {c}, k)});
    layer.step("Div", {x, layer.step("Pow", {base, layer.scalar("beta", p.beta)})});
}

inline void write_layer(LayerWriter& layer, BatchNormParams const& p) {
    const Ints dims{layer.in_shape().c};
    Names inputs = layer.alike();
    for (const std::string_view suffix : {"weight", "bias", "running_mean", "running_var"}) {
        inputs.push_back(layer.weight(suffix, dims, layer.weights().at(join(layer.node().name, '.', suffix)).values));
    }
    Attributes attributes{{"epsilon", p.epsilon}};
    if (p.momentum != BatchNormParams{}.momentum) attributes.push_back({"momentum", p.momentum});
    layer.step("BatchNormalization", std::move(inputs), attributes);
}

/// Numbers are factors and summands. One value a channel: batch normalisation of mean 0 and variance 1, which others
/// know how to fold.
inline void write_layer(LayerWriter& layer, ScaleParams const& p) {
    const Ints dims{layer.in_shape().c};
    const auto weight = [&](std::string_view suffix, Ints const& of_dims) {
        return layer.weight(suffix, of_dims, layer.weights().at(join(layer.node().name, '.', suffix)).values);
    };
    if (p.known) {
        std::string x = layer.alike()[0];
        const bool adds = p.shift != 0.0F;
        if (p.factor != 1.0F || !adds) x = layer.step("Mul", {x, layer.scalar("factor", p.factor)});
        if (adds) layer.step("Add", {x, layer.scalar("shift", p.shift)});
        return;
    }
    // Where one of weight and bias is trained, the other is 1 or 0.
    if (p.trains_weight != p.trains_bias) {
        const std::string x = layer.alike()[0];
        const Ints of_channels = layer.value().flat ? dims : Ints{dims[0], 1, 1};
        if (p.trains_weight) {
            layer.step("Mul", {x, weight("weight", of_channels)});
        } else {
            layer.step("Add", {x, weight("bias", of_channels)});
        }
        return;
    }
    const std::vector<float> zeros(static_cast<std::size_t>(layer.in_shape().c), 0.0F), ones(zeros.size(), 1.0F);
    Names inputs = layer.alike();
    for (const std::string_view suffix : {"weight", "bias"}) inputs.push_back(weight(suffix, dims));
    inputs.push_back(layer.floats("mean", dims, zeros));
    inputs.push_back(layer.floats("var", dims, ones));
    layer.step("BatchNormalization", std::move(inputs), {{"epsilon", 0.0F}});
}

inline void write_layer(LayerWriter& layer, SoftmaxParams const& p) {
    layer.step("Softmax", {p.axis == Axis::c ? layer.alike()[0] : layer.image()}, {axis_of(p.axis)});
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
