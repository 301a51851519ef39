#pragma once

#include <primsel/layer/recurrent.hpp>

#include <optional>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI::onnx {

/// A function of gates by ONNX's name, how many of alpha and beta it takes, and those that it has without being given.
struct GateFunctionName {
    std::string_view name;
    GateFunction function;
    int parameters = 0;
    std::optional<float> alpha{}, beta{};
};
/// In the order of GateFunction. ONNX Runtime has 0 where the standard leaves alpha and beta open: they are refused.
inline constexpr GateFunctionName gate_functions[] = {
    {"Sigmoid", GateFunction::sigmoid},
    {"Tanh", GateFunction::tanh},
    {"Relu", GateFunction::relu},
    {"Affine", GateFunction::affine, 2},
    {"LeakyRelu", GateFunction::leaky_relu, 1, 0.01F},
    {"ThresholdedRelu", GateFunction::thresholded_relu, 1, 1.0F},
    {"ScaledTanh", GateFunction::scaled_tanh, 2},
    {"HardSigmoid", GateFunction::hard_sigmoid, 2, 0.2F, 0.5F},
    {"Elu", GateFunction::elu, 1, 1.0F},
    {"Softsign", GateFunction::softsign},
    {"Softplus", GateFunction::softplus},
};

}  // namespace primsel::inline PRIMSEL_ABI::onnx
