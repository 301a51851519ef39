#pragma once

#include <primsel/network/graph.hpp>
#include <primsel/network/weights.hpp>

#include <cmath>
#include <cstdint>
#include <random>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The name and dimensions of a weight that a graph needs.
struct WeightSpec {
    std::string name;
    std::vector<std::int64_t> dims;
};

namespace detail {
inline void add_affine_specs(std::string const& name, bool batch_norm, std::int64_t c, std::vector<WeightSpec>& specs) {
    specs.push_back({name + ".weight", {c}});
    specs.push_back({name + ".bias", {c}});
    if (!batch_norm) return;
    specs.push_back({name + ".running_mean", {c}});
    specs.push_back({name + ".running_var", {c}});
}
}  // namespace detail

/// All weights that the graph needs, by name and in PyTorch's dimensions; layers folded by simplify included.
[[nodiscard]] inline std::vector<WeightSpec> weight_specs(Graph const& graph) {
    std::vector<WeightSpec> specs;
    for (Node const& node : graph.nodes()) {
        const std::int64_t k = node.shape.c;
        if (const auto* conv = std::get_if<ConvParams>(&node.layer)) {
            const std::int64_t c = graph[node.inputs[0]].shape.c / conv->groups;
            specs.push_back({node.name + ".weight", {k, c, conv->kernel.h, conv->kernel.w}});
            if (conv->bias) specs.push_back({node.name + ".bias", {k}});
        } else if (const auto* dense = std::get_if<DenseParams>(&node.layer)) {
            specs.push_back(
                {node.name + ".weight", {k, static_cast<std::int64_t>(graph[node.inputs[0]].shape.size())}});
            if (dense->bias) specs.push_back({node.name + ".bias", {k}});
        } else if (const auto* transpose = std::get_if<ConvTransposeParams>(&node.layer)) {
            specs.push_back(
                {node.name + ".weight",
                 {graph[node.inputs[0]].shape.c, k / transpose->groups, transpose->kernel.h, transpose->kernel.w}});
            if (transpose->bias) specs.push_back({node.name + ".bias", {k}});
        } else if (std::holds_alternative<ConstantParams>(node.layer)) {
            specs.push_back({node.name + ".value", {k, node.shape.h, node.shape.w}});
        } else if (std::holds_alternative<BatchNormParams>(node.layer)) {
            detail::add_affine_specs(node.name, true, k, specs);
        } else if (std::holds_alternative<ScaleParams>(node.layer)) {
            detail::add_affine_specs(node.name, false, k, specs);
        }
        for (Folded const& folded : node.folded) {
            detail::add_affine_specs(folded.name, std::holds_alternative<BatchNormParams>(folded.layer), k, specs);
        }
    }
    return specs;
}

/// Throws error when a weight is missing or misshapen, or when there are weights that the graph does not know: all of
/// them in one message.
inline void check_weights(Graph const& graph, Weights const& weights, std::string_view source = "weights") {
    std::string faults;
    std::size_t known = 0;
    std::map<std::string, bool> names;
    for (WeightSpec const& spec : weight_specs(graph)) {
        names.emplace(spec.name, true);
        const WeightTensor* tensor = weights.find(spec.name);
        if (tensor == nullptr) {
            faults += "\n  missing: " + spec.name + " (" + to_string(spec.dims) + ")";
        } else if (tensor->dims != spec.dims) {
            faults += "\n  wrong shape: " + spec.name + " is " + to_string(tensor->dims) + ", the layer needs " +
                      to_string(spec.dims);
        } else {
            ++known;
        }
    }
    for (auto const& [name, tensor] : weights) {
        if (!names.contains(name)) faults += "\n  not in the network: " + name + " (" + to_string(tensor.dims) + ")";
    }
    if (!faults.empty()) fail(source, ": ", known, " of ", names.size(), " weights fit the network", faults);
}

/// The kernel and bias of a layer, with whatever simplify folded into it multiplied in; bias is empty when there is
/// none. Where nothing changes the layer's weights they are not copied, and must live as long.
class PreparedWeights {
public:
    std::span<const float> kernel, bias;

    PreparedWeights(std::span<const float> the_kernel, std::span<const float> the_bias)
        : kernel(the_kernel), bias(the_bias) {}
    PreparedWeights(std::vector<float> the_kernel, std::vector<float> the_bias)
        : kernel_(std::move(the_kernel)), bias_(std::move(the_bias)) {
        kernel = kernel_, bias = bias_;
    }
    PreparedWeights(PreparedWeights&&) = default;
    PreparedWeights& operator=(PreparedWeights&&) = default;

private:
    std::vector<float> kernel_, bias_;
};

namespace detail {

/// The factor and shift of each channel of a batch norm or scale.
inline void affine(std::string const& name, const BatchNormParams* batch_norm, Weights const& weights,
                   std::vector<double>& factor, std::vector<double>& shift) {
    const auto scale = weights.at(name + ".weight").values, bias = weights.at(name + ".bias").values;
    factor.assign(scale.begin(), scale.end());
    shift.assign(bias.begin(), bias.end());
    if (batch_norm == nullptr) return;
    const auto mean = weights.at(name + ".running_mean").values, variance = weights.at(name + ".running_var").values;
    for (std::size_t i = 0; i < factor.size(); ++i) {
        factor[i] /= std::sqrt(static_cast<double>(variance[i]) + static_cast<double>(batch_norm->epsilon));
        shift[i] -= static_cast<double>(mean[i]) * factor[i];
    }
}

}  // namespace detail

/// The weights of one node of a graph, for which check_weights has found no fault.
[[nodiscard]] inline PreparedWeights prepare_weights(Node const& node, Weights const& weights) {
    std::vector<double> factor, shift;
    const auto* batch_norm = std::get_if<BatchNormParams>(&node.layer);
    if (batch_norm != nullptr || std::holds_alternative<ScaleParams>(node.layer)) {
        detail::affine(node.name, batch_norm, weights, factor, shift);
        return {std::vector<float>(factor.begin(), factor.end()), std::vector<float>(shift.begin(), shift.end())};
    }
    if (std::holds_alternative<ConstantParams>(node.layer)) {
        return {weights.at(node.name + ".value").values, std::span<const float>()};
    }
    const std::span<const float> kernel = weights.at(node.name + ".weight").values;
    const WeightTensor* own_bias = weights.find(node.name + ".bias");
    const std::span<const float> bias = own_bias == nullptr ? std::span<const float>() : own_bias->values;
    if (node.folded.empty()) return {kernel, bias};

    const auto k = static_cast<std::size_t>(node.shape.c), depth = kernel.size() / k;
    std::vector<double> factors(k, 1.0), shifts(bias.begin(), bias.end());
    shifts.resize(k, 0.0);
    for (Folded const& folded : node.folded) {
        detail::affine(folded.name, std::get_if<BatchNormParams>(&folded.layer), weights, factor, shift);
        for (std::size_t i = 0; i < k; ++i) {
            factors[i] *= factor[i];
            shifts[i] = shifts[i] * factor[i] + shift[i];
        }
    }
    std::vector<float> scaled(kernel.size());
    for (std::size_t i = 0; i < k; ++i) {
        for (std::size_t j = i * depth; j < (i + 1) * depth; ++j) {
            scaled[j] = static_cast<float>(static_cast<double>(kernel[j]) * factors[i]);
        }
    }
    return {std::move(scaled), std::vector<float>(shifts.begin(), shifts.end())};
}

/// Seeded weights for every layer of the graph: normal kernels that keep the variance of their input (He et al. 2015),
/// small biases, batch-norm statistics near 0 and 1. The same on every machine with the same standard library.
[[nodiscard]] inline Weights random_weights(Graph const& graph, std::uint32_t seed = 1) {
    std::mt19937 bits(seed);
    std::normal_distribution<float> normal;
    Weights weights;
    for (WeightSpec const& spec : weight_specs(graph)) {
        std::size_t size = 1, depth = 1;
        for (std::size_t i = 0; i < spec.dims.size(); ++i) {
            size *= static_cast<std::size_t>(spec.dims[i]);
            if (i > 0) depth *= static_cast<std::size_t>(spec.dims[i]);
        }
        const bool kernel = spec.dims.size() > 1, variance = spec.name.ends_with(".running_var");
        const bool around_one = variance || (!kernel && spec.name.ends_with(".weight"));
        const float scale = kernel ? std::sqrt(2.0F / static_cast<float>(depth)) : 0.1F;
        std::vector<float> values(size);
        for (float& value : values) {
            value = normal(bits) * scale + (around_one ? 1.0F : 0.0F);
            if (variance) value = std::max(value, 0.5F);
        }
        weights.add(spec.name, spec.dims, std::move(values));
    }
    return weights;
}

}  // namespace primsel::inline PRIMSEL_ABI
