#pragma once

#include <primsel/core/float16.hpp>
#include <primsel/core/short_floats.hpp>
#include <primsel/layer/dense.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/stored_floats.hpp>
#include <primsel/network/weights.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <iterator>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace engine::detail {
/// Whether float16 has all of the values. Reads them up to the first that it has not.
[[nodiscard]] inline bool are_float16(StoredFloats const& values) {
    float some[1024], again[std::size(some)];
    float16 narrowed[std::size(some)];
    for (std::size_t at = 0; at < values.size(); at += std::size(some)) {
        const std::size_t n = std::min(std::size(some), values.size() - at);
        values.read(at, std::span(some, n));
        narrow(some, n, narrowed);
        widen(narrowed, n, again);
        if (std::memcmp(some, again, n * sizeof(float)) != 0) return false;
    }
    return true;
}
}  // namespace engine::detail

/// Returns the dense layers of a simplified graph whose weights float16 has exactly, as it has those of a file in
/// float16, for PlanOptions::f16_weights. None if weights are trainable.
[[nodiscard]] inline std::vector<std::string> layers_of_f16_weights(Graph const& graph, Weights const& weights) {
    std::vector<std::string> names;
    if (!graph.trainable().empty()) return names;
    for (Node const& node : graph.nodes()) {
        const bool is_dense =
            std::holds_alternative<DenseParams>(node.layer) || std::holds_alternative<DenseRowsParams>(node.layer);
        if (!is_dense || !node.epilogue.folded.empty()) continue;
        const WeightTensor* const kernel = weights.find(node.name + ".weight");
        if (kernel != nullptr && engine::detail::are_float16(kernel->values)) names.push_back(node.name);
    }
    return names;
}

}  // namespace primsel::inline PRIMSEL_ABI
