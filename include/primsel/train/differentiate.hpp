#pragma once

#include <primsel/network/graph.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/train/detail/backward.hpp>
#include <primsel/train/detail/training_form.hpp>
#include <primsel/train/training_graph.hpp>

#include <concepts>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Every weight is trained.
struct TrainAll {
    [[nodiscard]] constexpr bool operator()(std::string_view) const { return true; }
};

/// The step that trains the weights for which trains(name) holds; of shared weights the owner's name decides. Only what
/// leads to one of them is computed: layers without a trained weight before or in them cost forward only. A batch norm
/// of which neither weight nor bias is trained keeps its running statistics. A softmax at the end is left to the loss.
/// Throws error, naming the layer, where one that must be differentiated cannot be; and when the graph has several
/// inputs or results, no trained weight, or layers that simplify has fused.
template <class Trains = TrainAll>
    requires std::predicate<Trains const&, std::string_view>
[[nodiscard]] TrainingGraph differentiate(Graph const& graph, Trains const& trains = {}) {
    std::vector<std::string> weights;
    const auto owners = weight_owners(graph);
    for (Node const& node : graph.nodes()) {
        for (WeightSpec const& spec : weight_specs(graph, node)) {
            const auto owner = owners.find(spec.name);
            const std::string_view decides = owner == owners.end() ? spec.name : owner->second.name;
            if (is_trainable(node, spec.name) && trains(decides)) weights.push_back(spec.name);
        }
    }
    return train::detail::Backward(train::detail::training_form(graph), std::move(weights)).run();
}

}  // namespace primsel::inline PRIMSEL_ABI
