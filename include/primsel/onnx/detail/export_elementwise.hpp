// Layers that compute element by element as ONNX nodes.
#pragma once

#include <primsel/onnx/detail/layer_writer.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::onnx {

namespace detail {
/// Before opset 20 by the steps that PyTorch writes, and its approximation as x times a sigmoid.
inline void write_gelu(LayerWriter& layer, std::string const& x, bool by_tanh) {
    if (layer.opset() >= 20) {
        layer.step("Gelu", {x}, {{"approximate", by_tanh ? "tanh" : "none"}});
    } else if (by_tanh) {
        const std::string square = layer.step("Mul", {x, x}),
                          slope = layer.step("Add", {layer.step("Mul", {square, layer.scalar("cubic", 0.071354816F)}),
                                                     layer.scalar("linear", 1.5957691F)});
        layer.step("Mul", {x, layer.step("Sigmoid", {layer.step("Mul", {x, slope})})});
    } else {
        const std::string erf = layer.step("Erf", {layer.step("Div", {x, layer.scalar("root_of_two", 1.4142135F)})}),
                          above = layer.step("Add", {erf, layer.scalar("one", 1.0F)});
        layer.step("Mul", {layer.step("Mul", {x, above}), layer.scalar("half", 0.5F)});
    }
}
}  // namespace detail

inline void write_layer(LayerWriter& layer, ActivationParams const& p) {
    const std::string x = layer.alike()[0];
    switch (p.kind) {
        case ActivationKind::relu:
            layer.step("Relu", {x});
            return;
        case ActivationKind::relu6:
            layer.clamp(x, relu6_clamp);
            return;
        case ActivationKind::leaky_relu:
            layer.step("LeakyRelu", {x}, {{"alpha", p.alpha}});
            return;
        case ActivationKind::sigmoid:
            layer.step("Sigmoid", {x});
            return;
        case ActivationKind::hard_swish:
            if (layer.opset() >= 14) {
                layer.step("HardSwish", {x});
            } else {
                layer.step("Mul", {x, layer.step("HardSigmoid", {x}, {{"alpha", 1.0F / 6.0F}, {"beta", 0.5F}})});
            }
            return;
        case ActivationKind::elu:
            layer.step("Elu", {x}, {{"alpha", p.alpha}});
            return;
        case ActivationKind::hard_sigmoid:
            layer.step("HardSigmoid", {x}, {{"alpha", p.alpha}, {"beta", p.beta}});
            return;
        case ActivationKind::tanh:
            layer.step("Tanh", {x});
            return;
        case ActivationKind::clip:
            if (layer.clamp(x, {p.alpha, p.beta}) == x) layer.step("Identity", {x});
            return;
        case ActivationKind::truncate:
            layer.step("Mul", {layer.step("Sign", {x}), layer.step("Floor", {layer.step("Abs", {x})})});
            return;
        case ActivationKind::silu:
            layer.step("Mul", {x, layer.step("Sigmoid", {x})});
            return;
        case ActivationKind::mish:
            if (layer.opset() >= 18) {
                layer.step("Mish", {x});
            } else {
                layer.step("Mul", {x, layer.step("Tanh", {layer.step("Softplus", {x})})});
            }
            return;
        case ActivationKind::gelu:
        case ActivationKind::gelu_tanh:
            detail::write_gelu(layer, x, p.kind == ActivationKind::gelu_tanh);
            return;
        case ActivationKind::softsign:
            layer.step("Softsign", {x});
            return;
        case ActivationKind::log_sigmoid:
            // The logarithm of a sigmoid would be infinite where the sigmoid is no number any more.
            layer.step("Neg", {layer.step("Softplus", {layer.step("Neg", {x})})});
            return;
        case ActivationKind::swish:
            layer.step("Mul", {x, layer.step("Sigmoid", {layer.step("Mul", {x, layer.scalar("alpha", p.alpha)})})});
            return;
        case ActivationKind::selu:
            layer.step("Selu", {x}, {{"alpha", p.alpha}, {"gamma", p.beta}});
            return;
        case ActivationKind::celu:
            layer.step("Celu", {x}, {{"alpha", p.alpha}});
            return;
        case ActivationKind::thresholded_relu:
            layer.step("ThresholdedRelu", {x}, {{"alpha", p.alpha}});
            return;
        case ActivationKind::shrink:
            layer.step("Shrink", {x}, {{"bias", p.alpha}, {"lambd", p.beta}});
            return;
        case ActivationKind::power:
            layer.step("Pow", {x, layer.scalar("exponent", p.alpha)});
            return;
        default: {
            constexpr std::string_view names[] = {"Sqrt", "Exp",  "Log",      "Abs",  "Sign",  "Floor", "Ceil", "Round",
                                                  "",     "Erf",  "Softplus", "",     "Sin",   "Cos",   "Tan",  "Asin",
                                                  "Acos", "Atan", "Sinh",     "Cosh", "Asinh", "Acosh", "Atanh"};
            layer.step(names[static_cast<std::size_t>(p.kind) - static_cast<std::size_t>(ActivationKind::sqrt)], {x});
        }
    }
}

inline void write_layer(LayerWriter& layer, AddParams const&) {
    Names inputs = layer.alike();
    const std::string_view op = inputs.size() == 2 ? "Add" : "Sum";
    layer.clamp(layer.step(op, std::move(inputs)));
}

inline void write_layer(LayerWriter& layer, BinaryParams const& p) {
    Names inputs = layer.alike();
    if (p.kind == BinaryKind::modulo) {
        const std::string times = layer.step("Floor", {layer.step("Div", inputs)});
        layer.step("Sub", {inputs[0], layer.step("Mul", {inputs[1], times})});
        return;
    }
    if (p.kind == BinaryKind::keep) {
        const std::string is_kept = layer.step("Cast", {inputs[0]}, {whole("to", cast_to(DataType::boolean))});
        layer.step("Where", {is_kept, inputs[1], layer.scalar("zero", 0.0F)});
        return;
    }
    if (p.kind != BinaryKind::prelu) {
        constexpr std::string_view ops[] = {"Add", "Sub", "Mul", "Div",   "",        "Pow",           "Min",
                                            "Max", "",    "Mod", "Equal", "Greater", "GreaterOrEqual"};
        Attributes attributes;
        if (p.kind == BinaryKind::remainder) attributes.push_back(whole("fmod", 1));
        const std::string result =
            layer.step(ops[static_cast<std::size_t>(p.kind)], std::move(inputs), std::move(attributes));
        if (p.kind >= BinaryKind::equal) layer.step("Cast", {result}, {whole("to", cast_to(DataType::float32))});
        return;
    }
    // Only the slopes are stretched by ONNX.
    const Shape out = layer.node().shape;
    if (layer.in_shape(0) != out) {
        const Ints dims = layer.value().flat ? Ints{1, out.c} : Ints{1, out.c, out.h, out.w};
        inputs[0] = layer.step("Expand", {inputs[0], layer.ints("stretched", dims)});
    }
    if (layer.in(1).varies && !layer.in(0).varies) inputs[0] = layer.for_each_image(inputs[0], layer.value().flat);
    layer.step("PRelu", std::move(inputs));
}

inline void write_layer(LayerWriter& layer, DropoutParams const& p) {
    Names inputs = layer.alike();
    inputs.push_back(layer.scalar("ratio", p.rate));
    layer.step("Dropout", std::move(inputs));
}

}  // namespace primsel::inline PRIMSEL_ABI::onnx
