// Reuse distance of what layers read and write.
#pragma once

#include <primsel/network/graph.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::plan::detail {

/// Where all images of a batch go through layer by layer: for each layer the geometric mean, over the bytes that it
/// reads and writes, of the bytes that a run reads and writes between the last use of them and this one. The result of
/// a layer for which in_place(layer) holds takes the place of its first input; any other result takes the place of
/// something that was used a whole run ago.
template <class InPlace>
[[nodiscard]] std::vector<double> data_reuse_bytes(Graph const& graph, InPlace const& in_place) {
    const auto bytes = [&](std::size_t node) {
        const bool stored = std::holds_alternative<ConstantParams>(graph[node].layer) ||
                            std::holds_alternative<ParameterParams>(graph[node].layer);
        return stored ? 0.0 : 4.0 * graph.batch() * static_cast<double>(graph[node].shape.size());
    };
    std::vector<double> touched(graph.size(), 0), result(graph.size(), 0), traffic(graph.size(), 0);
    double whole = 0;
    for (std::size_t i = 0; i < graph.size(); ++i) {
        traffic[i] = bytes(i);
        for (const std::size_t from : graph[i].inputs) traffic[i] += bytes(from);
        whole += traffic[i];
    }
    double passed = whole;
    for (std::size_t i = 0; i < graph.size(); ++i) {
        // At least one byte, so that the logarithm is finite.
        const auto since = [&](std::size_t tensor) { return std::log(std::max(passed - touched[tensor], 1.0)); };
        const bool stays = !graph[i].inputs.empty() && in_place(graph[i].layer);
        double logarithms = bytes(i) * (stays ? since(graph[i].inputs[0]) : std::log(std::max(whole, 1.0)));
        for (const std::size_t from : graph[i].inputs) logarithms += bytes(from) * since(from);
        passed += traffic[i];
        touched[i] = passed - bytes(i);
        for (const std::size_t from : graph[i].inputs) touched[from] = passed - traffic[i];
        if (traffic[i] > 0) result[i] = std::exp(logarithms / traffic[i]);
    }
    return result;
}

/// Which tensors lie in buffers of the caller's: inputs and results.
[[nodiscard]] inline std::vector<bool> callers_tensors(Graph const& graph) {
    std::vector<bool> result(graph.size(), false);
    for (std::size_t i = 0; i < graph.size(); ++i) {
        if (std::holds_alternative<InputParams>(graph[i].layer)) result[i] = true;
    }
    for (const std::size_t output : graph.outputs()) result[output] = true;
    return result;
}

/// Where each image goes through all layers before the next: for each layer the geometric mean, over the bytes that it
/// reads and writes for an image, of the bytes that were used since. The caller's tensors lie in buffers of whole
/// batches; all else is as near as the layer's own bytes. 0 for layers of which nothing is farther.
[[nodiscard]] inline std::vector<double> callers_reuse_bytes(Graph const& graph, std::vector<bool> const& callers) {
    const auto bytes = [&](std::size_t node) { return 4.0 * static_cast<double>(graph[node].shape.size()); };
    double whole = 0;
    for (std::size_t i = 0; i < graph.size(); ++i) whole += callers[i] ? graph.batch() * bytes(i) : 0;
    std::vector<double> result(graph.size(), 0);
    for (std::size_t i = 0; i < graph.size(); ++i) {
        double all = bytes(i), far = callers[i] ? all : 0;
        for (const std::size_t from : graph[i].inputs) {
            all += bytes(from);
            if (callers[from]) far += bytes(from);
        }
        if (far > 0 && whole > all) result[i] = all * std::pow(whole / all, far / all);
    }
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI::plan::detail
