// Layers that multiply by weights, or tensors by each other, as ONNX nodes.
#pragma once

#include <primsel/network/prepare.hpp>
#include <primsel/onnx/detail/layer_writer.hpp>

#include <algorithm>
#include <cstdint>
#include <string>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {

/// The input, the weight and, where there is one, the bias of a layer.
[[nodiscard]] inline Names weighted(LayerWriter& layer, std::string const& input, Ints const& dims) {
    const PreparedWeights prepared = prepare_weights(layer.node(), layer.weights());
    Names inputs{input, layer.weight("weight", dims, prepared.kernel)};
    if (!prepared.bias.empty()) {
        inputs.push_back(layer.weight("bias", {static_cast<std::int64_t>(prepared.bias.size())}, prepared.bias));
    }
    return inputs;
}

}  // namespace detail

inline void write_layer(LayerWriter& layer, ConvParams const& p) {
    const std::int64_t depth = layer.in_shape().c / p.groups;
    const std::string sum =
        layer.step("Conv", detail::weighted(layer, layer.image(), {p.k, depth, p.kernel.h, p.kernel.w}),
                   {pair("kernel_shape", p.kernel), pair("strides", p.stride), pads(p.padding),
                    pair("dilations", p.dilation), whole("group", p.groups)});
    layer.clamp(layer.node().epilogue.residual ? layer.step("Add", {sum, layer.image(1)}) : sum);
}

inline void write_layer(LayerWriter& layer, ConvTransposeParams const& p) {
    // Rows that are taken away need not be added before.
    const auto spare = [](int extra, int padding, int stride, int dilation) {
        return extra < std::max(stride, dilation) ? 0 : std::min(extra, padding);
    };
    const int spare_h = spare(p.extra_h, p.padding.bottom, p.stride.h, p.dilation.h);
    const int spare_w = spare(p.extra_w, p.padding.right, p.stride.w, p.dilation.w);
    Padding padding = p.padding;
    padding.bottom -= spare_h, padding.right -= spare_w;
    const Extent extra(p.extra_h - spare_h, p.extra_w - spare_w);
    if (extra.h >= std::max(p.stride.h, p.dilation.h) || extra.w >= std::max(p.stride.w, p.dilation.w)) {
        layer.refuse("its extra rows or columns are not fewer than its stride or dilation");
    }
    layer.step("ConvTranspose",
               detail::weighted(layer, layer.image(), {layer.in_shape().c, p.k / p.groups, p.kernel.h, p.kernel.w}),
               {pair("kernel_shape", p.kernel), pair("strides", p.stride), pads(padding), pair("dilations", p.dilation),
                whole("group", p.groups), pair("output_padding", extra)});
}

inline void write_layer(LayerWriter& layer, DenseParams const& p) {
    const std::string input =
        layer.in().flat ? layer.read() : layer.step("Flatten", {layer.read()}, {whole("axis", 1)});
    const PreparedWeights prepared = prepare_weights(layer.node(), layer.weights());
    const auto [matrix, rotated] =
        layer.matrix("weight", {p.k, static_cast<std::int64_t>(layer.in_shape().size())}, prepared.kernel);
    Names inputs{input, matrix};
    if (!prepared.bias.empty()) inputs.push_back(layer.weight("bias", {p.k}, prepared.bias));
    layer.clamp(layer.step("Gemm", std::move(inputs), {whole("transB", rotated ? 0 : 1)}));
    layer.value().flat = true;
}

inline void write_layer(LayerWriter& layer, DenseRowsParams const& p) {
    const PreparedWeights prepared = prepare_weights(layer.node(), layer.weights());
    auto [matrix, rotated] = layer.matrix("weight", {layer.in_shape().w, p.k}, prepared.kernel);
    if (rotated) matrix = layer.step("Transpose", {matrix}, {{"perm", Ints{1, 0}}});
    std::string product = layer.step("MatMul", {layer.image(), matrix});
    if (!prepared.bias.empty()) product = layer.step("Add", {product, layer.weight("bias", {p.k}, prepared.bias)});
    layer.clamp(product);
}

inline void write_layer(LayerWriter& layer, MatMulParams const&) {
    layer.step("MatMul", {layer.image(0), layer.image(1)});
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
