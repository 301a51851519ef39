#pragma once

#include <primsel/network/prepare.hpp>

#include <cstddef>
#include <cstdint>
#include <variant>

namespace counts {

namespace ps = primsel;

inline std::int64_t size(ps::WeightSpec const& spec) {
    std::int64_t product = 1;
    for (const std::int64_t dim : spec.dims) product *= dim;
    return product;
}

/// Weights that were trained: all but the running statistics.
inline std::int64_t parameters(ps::Graph const& graph) {
    std::int64_t sum = 0;
    for (ps::WeightSpec const& spec : ps::weight_specs(graph)) {
        if (!spec.name.ends_with(".running_mean") && !spec.name.ends_with(".running_var")) sum += size(spec);
    }
    return sum;
}

/// The multiply-adds of convolutions and dense layers whose names begin with the prefix, for one image: each value of
/// the result takes one kernel's worth.
inline std::int64_t multiply_adds(ps::Graph const& graph, std::string_view prefix = "") {
    std::int64_t sum = 0;
    for (ps::Node const& node : graph.nodes()) {
        if (!node.name.starts_with(prefix)) continue;
        std::int64_t per_value = 0;
        const ps::Shape in = node.inputs.empty() ? ps::Shape{} : graph[node.inputs[0]].shape;
        if (const auto* conv = std::get_if<ps::ConvParams>(&node.layer)) {
            per_value = std::int64_t{in.c} / conv->groups * conv->kernel.h * conv->kernel.w;
        } else if (std::holds_alternative<ps::DenseParams>(node.layer)) {
            per_value = static_cast<std::int64_t>(in.size());
        }
        sum += per_value * static_cast<std::int64_t>(node.shape.size());
    }
    return sum;
}

template <class Params>
std::size_t layers(ps::Graph const& graph) {
    std::size_t count = 0;
    for (ps::Node const& node : graph.nodes()) count += std::holds_alternative<Params>(node.layer) ? 1 : 0;
    return count;
}

}  // namespace counts
