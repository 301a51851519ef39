// Layers that multiply by weights, or tensors by each other, as ONNX nodes.
#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/gemm/int8_weights.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/onnx/detail/export_recurrent.hpp>
#include <primsel/onnx/detail/layer_writer.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {

/// Weights in 8 bits, in the order of the floats.
struct IntegerWeights {
    std::vector<std::int8_t> values;
    std::vector<float> scales;
    std::vector<std::int32_t> bias;
    /// Whether scales are those of the weights alone. The scale of an output whose bias would be no int32 is larger.
    bool by_weights = true;
};
/// The scale that an output with this largest |weight| and |bias| has, where the input has that of its range: as
/// primsel's kernels choose it, unless the bias in steps of both scales would take the room that sums need.
[[nodiscard]] inline float scale_of_output(float largest, float bias, float of_input) {
    const float usual = gemm::int8_scale(largest), least = std::numeric_limits<float>::min(),
                room = largest > 0.0F ? 0x1p29F : 0x1p24F;
    // Products of both scales are normal floats, too.
    return std::max({usual, bias / of_input / room, least, least / of_input});
}
/// Rounds weights whose outputs lie along an axis of dims. bias: one for each output, or none.
[[nodiscard]] inline IntegerWeights round_weights(std::span<const float> kernel, std::span<const float> bias,
                                                  Ints const& dims, std::size_t axis, float of_input) {
    IntegerWeights result;
    const auto k = static_cast<std::size_t>(dims[axis]);
    std::size_t inner = 1;
    for (std::size_t i = axis + 1; i < dims.size(); ++i) inner *= static_cast<std::size_t>(dims[i]);
    const std::size_t outer = kernel.size() / (k * inner);
    result.values.resize(kernel.size());
    for (std::size_t i = 0; i < k; ++i) {
        const auto each = [&](auto const& use) {
            for (std::size_t block = 0; block < outer; ++block) {
                const std::size_t first = (block * k + i) * inner;
                for (std::size_t at = first; at < first + inner; ++at) use(kernel[at], result.values[at]);
            }
        };
        float largest = 0.0F;
        each([&](float weight, std::int8_t) {
            largest = is_finite(weight) ? std::max(largest, std::abs(weight)) : std::numeric_limits<float>::infinity();
        });
        const float of_bias = bias.empty() ? 0.0F : bias[i],
                    scale = scale_of_output(largest, std::abs(of_bias), of_input);
        const bool is_usual = scale == gemm::int8_scale(largest);
        result.by_weights = result.by_weights && is_usual;
        result.scales.push_back(scale);
        each([&](float weight, std::int8_t& integer) {
            integer = is_usual ? gemm::int8_weight(weight, largest)
                               : static_cast<std::int8_t>(std::nearbyint(weight / scale));
        });
        if (bias.empty()) continue;
        const double steps = static_cast<double>(of_bias) / static_cast<double>(of_input * scale);
        result.bias.push_back(static_cast<std::int32_t>(std::nearbyint(steps)));
    }
    return result;
}
/// The input, the weight and the bias, if it is not empty, of a layer that multiplies integers. The outputs lie along
/// an axis of the weight's dims.
[[nodiscard]] inline Names weighted_by_integers(LayerWriter& layer, std::string const& input, Ints const& dims,
                                                std::size_t axis, std::span<const float> kernel,
                                                std::span<const float> bias) {
    const Ints outputs{dims[axis]};
    const float of_input = layer.in_range().scale;
    const IntegerWeights rounded = round_weights(kernel, bias, dims, axis, of_input);
    if (!std::ranges::all_of(rounded.scales, [](float scale) { return is_finite(scale); })) {
        layer.refuse("its weights are too large for 8 bits");
    }
    const auto behind = [&](std::string const& integers, std::string const& scale, std::string const& zero_point,
                            std::size_t along) {
        return layer.step("DequantizeLinear", {integers, scale, zero_point},
                          {whole("axis", static_cast<std::int64_t>(along))});
    };
    const auto write = [&] {
        const std::vector<std::int8_t> zeros(rounded.scales.size(), 0);
        const std::string integers =
            layer.numbers("weight", DataType::int8, dims, std::span<const std::int8_t>(rounded.values));
        const std::string scale = layer.floats("weight_scale", outputs, rounded.scales);
        return behind(integers, scale,
                      layer.numbers("weight_zero_point", DataType::int8, outputs, std::span<const std::int8_t>(zeros)),
                      axis);
    };
    Names inputs{input, rounded.by_weights ? layer.weight_in_integers("weight", dims, write) : write()};
    if (bias.empty()) return inputs;
    std::vector<float> scales = rounded.scales;
    for (float& scale : scales) scale *= of_input;
    const std::vector<std::int32_t> zeros(scales.size(), 0);
    const std::string integers =
        layer.numbers("bias", DataType::int32, outputs, std::span<const std::int32_t>(rounded.bias));
    const std::string scale = layer.floats("bias_scale", outputs, scales);
    inputs.push_back(
        behind(integers, scale,
               layer.numbers("bias_zero_point", DataType::int32, outputs, std::span<const std::int32_t>(zeros)), 0));
    return inputs;
}

/// The input, the weight and, where there is one, the bias of a layer, in integers if it multiplies these.
[[nodiscard]] inline Names weighted(LayerWriter& layer, std::string const& input, Ints const& dims, std::size_t axis,
                                    bool by_integers) {
    const PreparedWeights prepared = prepare_weights(layer.node(), layer.weights());
    if (by_integers) return weighted_by_integers(layer, input, dims, axis, prepared.kernel, prepared.bias);
    Names inputs{input, layer.weight("weight", dims, prepared.kernel)};
    if (!prepared.bias.empty()) {
        inputs.push_back(layer.weight("bias", {static_cast<std::int64_t>(prepared.bias.size())}, prepared.bias));
    }
    return inputs;
}

}  // namespace detail

inline void write_layer(LayerWriter& layer, ConvParams const& p) {
    const std::int64_t depth = layer.in_shape().c / p.groups;
    const Ints dims{p.k, depth, p.kernel.h, p.kernel.w};
    const bool by_integers = layer.multiplies_integers();
    std::string sum = layer.step("Conv", detail::weighted(layer, layer.image(), dims, 0, by_integers),
                                 {pair("kernel_shape", p.kernel), pair("strides", p.stride), pads(p.padding),
                                  pair("dilations", p.dilation), whole("group", p.groups)});
    if (layer.node().epilogue.residual) {
        // Others multiply integers only where the result becomes bytes.
        const TensorRange summand = layer.node().epilogue.summand,
                          range = summand.known() ? summand : layer.range_before_sum();
        if (summand.known()) sum = layer.clamp(sum, bounds_of(summand));
        if (by_integers && range.known()) sum = layer.in_bytes(sum, range);
        sum = layer.step("Add", {sum, layer.image(1)});
    }
    layer.clamp(sum);
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
    // The scales of an axis are the same for each group.
    layer.step("ConvTranspose",
               detail::weighted(layer, layer.image(), {layer.in_shape().c, p.k / p.groups, p.kernel.h, p.kernel.w}, 1,
                                p.groups == 1 && layer.multiplies_integers()),
               {pair("kernel_shape", p.kernel), pair("strides", p.stride), pads(padding), pair("dilations", p.dilation),
                whole("group", p.groups), pair("output_padding", extra)});
}

inline void write_layer(LayerWriter& layer, DenseParams const& p) {
    std::string input = layer.in().flat ? layer.read() : layer.step("Flatten", {layer.read()}, {whole("axis", 1)});
    const PreparedWeights prepared = prepare_weights(layer.node(), layer.weights());
    const Ints dims{p.k, static_cast<std::int64_t>(layer.in_shape().size())};
    layer.value().flat = true;
    if (layer.multiplies_integers()) {
        if (!layer.in().flat) input = layer.in_bytes(input, layer.in_range());
        layer.clamp(layer.step("Gemm",
                               detail::weighted_by_integers(layer, input, dims, 0, prepared.kernel, prepared.bias),
                               {whole("transB", 1)}));
        return;
    }
    const auto [matrix, rotated] = layer.matrix("weight", dims, prepared.kernel);
    Names inputs{input, matrix};
    if (!prepared.bias.empty()) inputs.push_back(layer.weight("bias", {p.k}, prepared.bias));
    layer.clamp(layer.step("Gemm", std::move(inputs), {whole("transB", rotated ? 0 : 1)}));
}

inline void write_layer(LayerWriter& layer, DenseRowsParams const& p) {
    layer.value().is_part = detail::is_part_of_recurrent(layer.graph(), layer.position());
    if (layer.value().is_part) return;
    const PreparedWeights prepared = prepare_weights(layer.node(), layer.weights());
    const Ints dims{layer.in_shape().w, p.k};
    Names inputs{layer.image()};
    if (layer.multiplies_integers()) {
        inputs = detail::weighted_by_integers(layer, inputs[0], dims, 1, prepared.kernel, {});
    } else {
        auto [matrix, rotated] = layer.matrix("weight", dims, prepared.kernel);
        if (rotated) matrix = layer.step("Transpose", {matrix}, {{"perm", Ints{1, 0}}});
        inputs.push_back(matrix);
    }
    std::string product = layer.step("MatMul", std::move(inputs));
    if (!prepared.bias.empty()) product = layer.step("Add", {product, layer.weight("bias", {p.k}, prepared.bias)});
    layer.clamp(product);
}

inline void write_layer(LayerWriter& layer, MatMulParams const&) {
    layer.step("MatMul", {layer.image(0), layer.image(1)});
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
