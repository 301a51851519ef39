#pragma once

#include <primsel/core/error.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/network/weights.hpp>
#include <primsel/prune/coupling.hpp>
#include <primsel/prune/criterion.hpp>
#include <primsel/prune/detail/channel_sets.hpp>
#include <primsel/prune/surgery.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Groups of filters that are ranked against each other: those of one layer, or of layers whose channels are coupled.
struct Ranking {
    /// Names, in the order of the network.
    std::vector<std::string> layers;
    /// The groups that may go, the one that matters least first.
    std::vector<std::size_t> groups;
    /// All groups, those that must stay too.
    std::size_t count = 0;
};

namespace detail {

[[nodiscard]] inline bool makes_channels(Graph const& graph, std::size_t i) {
    const auto* conv = std::get_if<ConvParams>(&graph[i].layer);
    if (conv != nullptr) return conv->groups == 1 || !is_depthwise(*conv, graph[graph[i].inputs[0]].shape.c);
    return std::holds_alternative<DenseParams>(graph[i].layer);
}
/// The batch norm that alone reads the layer; nothing where there is none.
[[nodiscard]] inline std::span<const float> scale_behind(Graph const& graph, Weights const& weights, std::size_t i,
                                                         std::vector<std::size_t> const& uses) {
    for (std::size_t reader = i + 1; reader < graph.size() && uses[i] == 1; ++reader) {
        Node const& node = graph[reader];
        const bool reads = std::ranges::find(node.inputs, i) != node.inputs.end();
        if (reads && std::holds_alternative<BatchNormParams>(node.layer))
            return weights.at(node.name + ".weight").values;
    }
    return {};
}

/// The layers that make channels, and of each the number of its ranking: layers that have a group in common are ranked
/// together.
[[nodiscard]] inline std::map<std::size_t, std::size_t> rankings_of_layers(Graph const& graph,
                                                                           Coupling const& coupling) {
    constexpr std::size_t none = static_cast<std::size_t>(-1);
    ChannelSets sets;
    std::vector<std::size_t> set_of_group(coupling.groups().size(), none);
    std::map<std::size_t, std::size_t> of_layers;
    for (std::size_t i = 0; i < graph.size(); ++i) {
        if (!makes_channels(graph, i)) continue;
        const std::size_t set = of_layers[i] = sets.add();
        for (const std::size_t group : coupling.groups_of(i)) {
            if (set_of_group[group] == none) set_of_group[group] = set;
            sets.join(set_of_group[group], set);
        }
    }
    for (auto& [layer, set] : of_layers) set = sets.root(set);
    return of_layers;
}

/// Of each filter, as shares of their mean. Throws error where the criterion gives none.
[[nodiscard]] std::vector<double> relative_scores(Filters const& filters, auto const& criterion) {
    std::vector<double> scores(filters.count, 0.0);
    criterion(filters, std::span<double>(scores));
    const double mean = std::reduce(scores.begin(), scores.end()) / static_cast<double>(filters.count);
    if (!std::isfinite(mean)) fail("prune: a score of a filter of layer ", filters.layer, " is not finite");
    for (double& score : scores) score = mean > 0 ? score / mean : 0;
    return scores;
}

}  // namespace detail

/// The filters of the network, ranked layer by layer; layers whose channels are coupled are ranked together, by the sum
/// of their scores, each as a share of its layer's mean. Layers that must stay whole are left out. Throws error where
/// the weights do not fit, or a score is not finite.
template <Criterion C>
[[nodiscard]] std::vector<Ranking> rank_filters(Graph const& graph, Weights const& weights, Coupling const& coupling,
                                                C const& criterion) {
    check_weights(graph, weights);
    const std::vector<std::size_t> uses = graph.uses();
    std::vector<double> scores(coupling.groups().size(), 0.0);
    std::map<std::size_t, Ranking> rankings;
    for (auto const& [i, number] : detail::rankings_of_layers(graph, coupling)) {
        std::vector<std::size_t> const& groups = coupling.groups_of(i);
        const auto may_go = [&](std::size_t group) { return coupling.groups()[group].fixed.empty(); };
        Ranking& ranking = rankings[number];
        ranking.layers.push_back(graph[i].name);
        ranking.groups.insert(ranking.groups.end(), groups.begin(), groups.end());
        if (std::ranges::none_of(groups, may_go)) continue;
        const Filters filters{graph[i].name, groups.size(), weights.at(graph[i].name + ".weight").values,
                              detail::scale_behind(graph, weights, i, uses)};
        const std::vector<double> of_filters = detail::relative_scores(filters, criterion);
        for (std::size_t k = 0; k < groups.size(); ++k) scores[groups[k]] += of_filters[k];
    }
    std::vector<Ranking> result;
    for (auto& [set, ranking] : rankings) {
        std::ranges::sort(ranking.groups);
        ranking.groups.erase(std::ranges::unique(ranking.groups).begin(), ranking.groups.end());
        ranking.count = ranking.groups.size();
        std::erase_if(ranking.groups, [&](std::size_t group) { return !coupling.groups()[group].fixed.empty(); });
        std::ranges::stable_sort(ranking.groups, {}, [&](std::size_t group) { return scores[group]; });
        if (!ranking.groups.empty()) result.push_back(std::move(ranking));
    }
    return result;
}

/// The groups that go for a sparsity, the share of a ranking's filters; at least one stays. `multiple`: as many stay as
/// a multiple of it, where a whole layer has as many.
[[nodiscard]] inline Choice choose(Ranking const& ranking, double sparsity, std::size_t multiple = 1) {
    if (!(sparsity >= 0 && sparsity <= 1)) fail("prune: impossible sparsity ", sparsity);
    if (multiple < 1) fail("prune: impossible multiple ", multiple);
    const auto most = static_cast<std::size_t>(std::floor(sparsity * static_cast<double>(ranking.count) + 1e-9));
    std::size_t left = std::max<std::size_t>(ranking.count - most, 1);
    left = std::min(ranking.count, (left + multiple - 1) / multiple * multiple);
    const std::size_t go = std::min(ranking.count - left, ranking.groups.size());
    return {ranking.groups.begin(), ranking.groups.begin() + static_cast<std::ptrdiff_t>(go)};
}

}  // namespace primsel::inline PRIMSEL_ABI
