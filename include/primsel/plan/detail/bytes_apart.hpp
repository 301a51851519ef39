// How far what a layer reads and writes is from the caches, where all images of a batch go through layer by layer.
#pragma once

#include <primsel/network/graph.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::detail {

/// For each layer the bytes that a run reads and writes between the last use of a tensor and this one: the geometric
/// mean over what the layer reads and writes. The result of one for which in_place(layer) holds is where its first
/// input is; that of another takes the place of what was used a whole run ago.
template <class InPlace>
[[nodiscard]] std::vector<double> bytes_apart(Graph const& graph, InPlace const& in_place) {
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

}  // namespace primsel::inline PRIMSEL_ABI::detail
