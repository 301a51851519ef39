#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/visit.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/network/weights.hpp>
#include <primsel/prune/coupling.hpp>
#include <primsel/prune/detail/kept_channels.hpp>
#include <primsel/train/parameters.hpp>

#include <cstddef>
#include <cstdint>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::prune {

/// The groups to remove, by their numbers in a coupling.
using RemovedGroups = std::set<std::size_t>;

/// A pruned network and its weights.
struct Pruned {
    Graph graph;
    Weights weights;
};

namespace detail {

/// Throws error if a group does not exist or must stay.
inline void check_removed_groups(Graph const& graph, Coupling const& coupling, RemovedGroups const& choice) {
    for (const std::size_t group : choice) {
        if (group >= coupling.groups().size()) fail("prune: there is no group ", group);
        CoupledChannels const& channels = coupling.groups()[group];
        if (channels.fixed.empty()) continue;
        Channel const& first = channels.channels.front();
        fail("prune: channel ", first.channel, " of layer ", graph[first.node].name, " must stay: ", channels.fixed);
    }
}

}  // namespace detail

namespace detail {

[[nodiscard]] inline Graph kept_graph(Graph const& graph, KeptChannels const& kept) {
    Graph result(graph.batch());
    for (std::size_t i = 0; i < graph.size(); ++i) {
        Node const& node = graph[i];
        if (kept.of(i).empty()) fail("prune: no channel would be left of layer ", node.name);
        result.set_range(result.add(node.name, core::visit(KeptLayer{graph, i, kept}, node.layer), node.inputs),
                         node.range);
    }
    result.set_outputs(graph.outputs());
    result.set_shared(graph.shared());
    return result;
}

}  // namespace detail

/// The network without the chosen channels, for callers that need no weights, such as a prediction of its cost. Throws
/// error, naming the layer, if a chosen channel must stay, or none would be left of a layer.
[[nodiscard]] inline Graph remove_channels(Graph const& graph, Coupling const& coupling, RemovedGroups const& choice) {
    detail::check_removed_groups(graph, coupling, choice);
    return detail::kept_graph(graph, detail::KeptChannels(graph, coupling, choice));
}

/// The network and its weights without the chosen channels: every layer keeps the other filters, and of each filter the
/// kernels of the other channels. It computes the same as the whole network with the weights of masked(). Throws error,
/// naming the layer, if a chosen channel must stay, or none would be left of a layer; and if the weights do not fit the
/// graph.
[[nodiscard]] inline Pruned remove_channels(Graph const& graph, Weights const& weights, Coupling const& coupling,
                                            RemovedGroups const& choice) {
    check_weights(graph, weights);
    detail::check_removed_groups(graph, coupling, choice);
    const detail::KeptChannels kept(graph, coupling, choice);
    Pruned result{detail::kept_graph(graph, kept), Weights(weights.source())};
    const auto owners = weight_owners(graph);
    detail::each_weight(graph, [&](std::size_t i, WeightSpec const& spec) {
        if (owners.contains(spec.name)) return;
        const detail::WeightSlices slices(graph, i, spec, kept);
        std::vector<std::int64_t> dims = spec.dims;
        std::vector<float> values;
        const std::span<const float> all = weights.at(spec.name).values;
        slices.each_kept([&](std::size_t at) { values.push_back(all[at]); });
        dims[0] = static_cast<std::int64_t>(slices.rows());
        if (dims.size() > 1) dims[1] = static_cast<std::int64_t>(slices.columns());
        result.weights.add(spec.name, std::move(dims), std::move(values));
    });
    result.weights = with_shared(result.graph, std::move(result.weights));
    return result;
}

/// The positions, in each trained weight, of the values that remove_channels would remove. Running statistics and
/// constants are not trained, and left out.
[[nodiscard]] inline ZeroWeights zero_weights(Graph const& graph, Coupling const& coupling,
                                              RemovedGroups const& choice) {
    detail::check_removed_groups(graph, coupling, choice);
    const detail::KeptChannels kept(graph, coupling, choice);
    ZeroWeights zeros;
    detail::each_weight(graph, [&](std::size_t i, WeightSpec const& spec) {
        if (spec.name.ends_with(".running_mean") || spec.name.ends_with(".running_var")) return;
        if (std::holds_alternative<ConstantParams>(graph[i].layer)) return;
        std::size_t size = 1;
        for (const std::int64_t dim : spec.dims) size *= static_cast<std::size_t>(dim);
        std::vector<bool> stays(size, false);
        const detail::WeightSlices slices(graph, i, spec, kept);
        slices.each_kept([&](std::size_t at) { stays[at] = true; });
        std::vector<std::size_t> gone;
        for (std::size_t at = 0; at < size; ++at) {
            if (!stays[at]) gone.push_back(at);
        }
        if (!gone.empty()) zeros.emplace(spec.name, std::move(gone));
    });
    return zeros;
}

/// The weights with zeros where remove_channels would remove them; variances there become 1, and constants stay. Throws
/// error as remove_channels does.
[[nodiscard]] inline Weights masked(Graph const& graph, Weights const& weights, Coupling const& coupling,
                                    RemovedGroups const& choice) {
    check_weights(graph, weights);
    detail::check_removed_groups(graph, coupling, choice);
    const detail::KeptChannels kept(graph, coupling, choice);
    Weights result(weights.source());
    const auto owners = weight_owners(graph);
    detail::each_weight(graph, [&](std::size_t i, WeightSpec const& spec) {
        if (owners.contains(spec.name)) return;
        WeightTensor const& tensor = weights.at(spec.name);
        // A variance of 0 would be divided by.
        const bool variance = spec.values == WeightValues::not_negative || spec.values == WeightValues::positive;
        std::vector<float> values(tensor.values.size(), variance ? 1.0F : 0.0F);
        // A constant keeps its values, since something may divide by them; no layer reads the removed channels.
        if (std::holds_alternative<ConstantParams>(graph[i].layer)) tensor.values.read(0, values);
        const detail::WeightSlices slices(graph, i, spec, kept);
        slices.each_kept([&](std::size_t at) { values[at] = tensor.values[at]; });
        result.add(spec.name, spec.dims, std::move(values));
    });
    return with_shared(graph, std::move(result));
}

}  // namespace primsel::inline PRIMSEL_ABI::prune
