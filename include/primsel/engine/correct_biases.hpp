// Biases that make up for what 8 bits do to the mean of each channel.
#pragma once

#include <primsel/engine/engine.hpp>
#include <primsel/gemm/int8_weights.hpp>
#include <primsel/network/prepare.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace engine::detail {

/// The mean over some images of a tensor's values, and of the values of their bytes; chw.
struct MeanImages {
    std::vector<double> exact, rounded;

    void add(std::span<const float> images, std::size_t size, TensorRange const& range) {
        exact.resize(size), rounded.resize(size);
        const auto zero = static_cast<float>(range.zero_point);
        for (std::size_t i = 0; i < images.size(); ++i) {
            const float byte = std::clamp(std::nearbyint(images[i] / range.scale) + zero, 0.0F, 255.0F);
            exact[i % size] += static_cast<double>(images[i]);
            rounded[i % size] += static_cast<double>(range.scale * (byte - zero));
        }
    }
    void divide(double images) {
        for (double& value : exact) value /= images;
        for (double& value : rounded) value /= images;
    }
};

/// The mean over a convolution's output pixels of the input at each of its taps, (c, fh, fw).
[[nodiscard]] inline std::vector<double> means_at_taps(std::vector<double> const& image, Shape in,
                                                       ConvParams const& conv, Shape out) {
    std::vector<double> means;
    for (int c = 0; c < in.c; ++c) {
        for (int fh = 0; fh < conv.kernel.h; ++fh) {
            for (int fw = 0; fw < conv.kernel.w; ++fw) {
                double sum = 0;
                for (int y = 0; y < out.h; ++y) {
                    const int from_y = y * conv.stride.h - conv.padding.top + fh * conv.dilation.h;
                    if (from_y < 0 || from_y >= in.h) continue;
                    for (int x = 0; x < out.w; ++x) {
                        const int from_x = x * conv.stride.w - conv.padding.left + fw * conv.dilation.w;
                        if (from_x >= 0 && from_x < in.w)
                            sum += image[static_cast<std::size_t>((c * in.h + from_y) * in.w + from_x)];
                    }
                }
                means.push_back(sum / static_cast<double>(out.pixels()));
            }
        }
    }
    return means;
}

/// The mean of each of a convolution's channels in 8 bits, less that in floats, before residual and clamp.
[[nodiscard]] inline std::vector<double> mean_shifts(Node const& node, Shape in, MeanImages const& images,
                                                     std::span<const float> kernel) {
    auto const& conv = std::get<ConvParams>(node.layer);
    const std::vector<double> exact = means_at_taps(images.exact, in, conv, node.shape),
                              rounded = means_at_taps(images.rounded, in, conv, node.shape);
    const auto k = static_cast<std::size_t>(conv.k), depth = kernel.size() / k,
               outputs = k / static_cast<std::size_t>(conv.groups);
    std::vector<double> shifts(k);
    for (std::size_t i = 0; i < k; ++i) {
        const std::span<const float> weights = kernel.subspan(i * depth, depth);
        gemm::Int8Weights narrow(weights.data(), depth);
        const auto scale = static_cast<double>(narrow.scale());
        const std::size_t first = i / outputs * depth;
        for (std::size_t j = 0; j < depth; ++j) {
            shifts[i] += scale * narrow.rounded(weights[j]) * rounded[first + j] -
                         static_cast<double>(weights[j]) * exact[first + j];
        }
    }
    return shifts;
}

/// The name of the weight that is added last to a convolution's sums; empty where there is none of its own.
[[nodiscard]] inline std::string bias_of(Graph const& graph, Node const& node) {
    std::string name = node.name + ".bias";
    if (!node.epilogue.folded.empty()) {
        Folded const& last = node.epilogue.folded.back();
        const auto* scale = std::get_if<ScaleParams>(&last.layer);
        if (last.repeat != 1 || (scale != nullptr && scale->known)) return "";
        name = last.name + ".bias";
    } else if (!std::get<ConvParams>(node.layer).bias) {
        return "";
    }
    return graph.shared().contains(name) ? "" : name;
}

}  // namespace engine::detail

/// Returns the weights with biases that make up for what 8 bits do to the mean of each channel of a convolution: bytes
/// of the input and weights in 8 bits shift it by an amount that is measured on these images and taken from the bias
/// (Nagel et al., Data-free quantization through weight equalization and bias correction, 2019, section 4.2).
/// Convolutions whose input has no known range, or without a bias or batch norm of their own, stay as they are. So do
/// those that are not in `layers`, where that is given: a plan may compute some in floats. images: one after another,
/// as many as a batch or a multiple. Throws error as TensorStatistics does.
[[nodiscard]] inline Weights correct_biases(Graph const& graph, Weights const& weights, std::span<const float> images,
                                            std::optional<std::span<const std::string>> layers = {}) {
    const Graph simple = simplify(graph);
    const auto name_of_bias = [&](Node const& node) -> std::string {
        const bool is_known = std::holds_alternative<ConvParams>(node.layer) && simple[node.inputs[0]].range.known();
        if (!is_known || (layers && std::ranges::find(*layers, node.name) == layers->end())) return "";
        return engine::detail::bias_of(simple, node);
    };
    std::map<std::size_t, engine::detail::MeanImages> inputs;
    for (Node const& node : simple.nodes()) {
        if (!name_of_bias(node).empty()) inputs[node.inputs[0]];
    }
    std::vector<std::size_t> outputs;
    for (auto const& [input, means] : inputs) {
        if (!simple[input].inputs.empty()) outputs.push_back(input);
    }
    Graph observed = simple;
    if (!outputs.empty()) observed.set_outputs(outputs);
    Engine<Graph> engine(observed, weights, PlanOptions{.strips = false, .keep_candidates = false});
    const std::size_t batch = engine.program().in_floats();
    if (images.empty() || images.size() % batch != 0) {
        fail("biases: ", images.size(), " values are no images of ", engine.in_shape(), " in batches of ",
             engine.batch());
    }
    std::vector<std::vector<float>> results;
    std::vector<std::span<float>> dsts;
    for (std::size_t i = 0; i < observed.outputs().size(); ++i) {
        dsts.emplace_back(results.emplace_back(engine.program().out_floats(i)));
    }
    for (std::size_t at = 0; at < images.size(); at += batch) {
        const std::span<const float> src = images.subspan(at, batch);
        engine.run(std::span(&src, 1), dsts);
        std::size_t result = 0;
        for (auto& [input, means] : inputs) {
            Node const& node = simple[input];
            means.add(node.inputs.empty() ? src : dsts[result++], node.shape.size(), node.range);
        }
    }
    const double count = static_cast<double>(images.size()) / static_cast<double>(engine.in_shape().size());
    std::map<std::string, std::vector<float>, std::less<>> biases;
    for (auto& [input, means] : inputs) means.divide(count);
    for (Node const& node : simple.nodes()) {
        const std::string name = name_of_bias(node);
        if (name.empty()) continue;
        const PreparedWeights prepared = prepare_weights(node, weights);
        const std::vector<double> shifts =
            engine::detail::mean_shifts(node, simple[node.inputs[0]].shape, inputs.at(node.inputs[0]), prepared.kernel);
        const std::span<const float> bias = weights.at(name).values;
        auto& corrected = biases[name];
        for (std::size_t i = 0; i < shifts.size(); ++i) {
            corrected.push_back(static_cast<float>(static_cast<double>(bias[i]) - shifts[i]));
        }
    }
    Weights result(weights.source());
    for (auto const& [name, tensor] : weights) {
        const auto its = biases.find(name);
        if (its == biases.end())
            result.add(name, tensor);
        else
            result.add(name, tensor.dims, std::move(its->second));
    }
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI
