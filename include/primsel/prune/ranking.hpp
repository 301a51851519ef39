#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/network/weights.hpp>
#include <primsel/prune/coupling.hpp>
#include <primsel/prune/criterion.hpp>
#include <primsel/prune/detail/channel_sets.hpp>
#include <primsel/prune/detail/ranked_rows.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <numeric>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::prune {

/// The groups that a layer's weights are ranked for: the filters that the layer has, or the channels that it reads.
/// Removing a channel that is read removes the filter that makes it.
enum class GroupType { filters, channels };

/// A ranking of groups of channels: those of one layer, or of several layers with coupled channels.
struct Ranking {
    /// The names of the layers whose weights give the scores, in the order of the network.
    std::vector<std::string> layers;
    /// The groups that may be removed, the least important first. If the layers do not have the same groups, groups of
    /// the same layers are ranked among themselves and then interleaved, so that any first part has about the same
    /// share of each layer.
    std::vector<std::size_t> groups;
    /// The score of each group of `groups`. The mean over a layer's filters is 1; a group's scores from several layers
    /// are added.
    std::vector<double> scores;
    /// The number of all groups, with those that must stay.
    std::size_t count = 0;
};

/// The channels of a network that may be removed: their coupling, and their rankings.
struct RankedChannels {
    Coupling const& coupling;
    std::span<const Ranking> rankings;
};

namespace detail {

[[nodiscard]] inline std::vector<std::size_t> const& judged_groups(Graph const& graph, Coupling const& coupling,
                                                                   std::size_t i, GroupType type) {
    return coupling.groups_of(type == GroupType::filters ? i : graph[i].inputs[0]);
}

/// The layers whose weights give scores, with the number of their ranking. Layers that have a group in common have the
/// same ranking.
[[nodiscard]] inline std::map<std::size_t, std::size_t> rankings_of_layers(Graph const& graph, Coupling const& coupling,
                                                                           GroupType type = GroupType::filters) {
    constexpr std::size_t none = static_cast<std::size_t>(-1);
    ChannelSets sets;
    std::vector<std::size_t> set_of_group(coupling.groups().size(), none);
    std::map<std::size_t, std::size_t> of_layers;
    for (std::size_t i = 0; i < graph.size(); ++i) {
        if (!makes_channels(graph, i)) continue;
        const std::size_t set = of_layers[i] = sets.add();
        for (const std::size_t group : judged_groups(graph, coupling, i, type)) {
            if (set_of_group[group] == none) set_of_group[group] = set;
            sets.join(set_of_group[group], set);
        }
    }
    for (auto& [layer, set] : of_layers) set = sets.root(set);
    return of_layers;
}

/// Sorts the groups: by score among those of the same layers, then all of them by the share of their kind that comes
/// before them.
inline void sort_groups(std::vector<std::size_t>& groups, std::vector<double> const& scores,
                        std::vector<std::vector<std::size_t>> const& layers_of) {
    std::map<std::vector<std::size_t>, std::vector<std::size_t>> alike;
    std::ranges::stable_sort(groups, {}, [&](std::size_t group) { return scores[group]; });
    for (const std::size_t group : groups) alike[layers_of[group]].push_back(group);
    std::map<std::size_t, double> before;
    for (auto const& [layers, kind] : alike) {
        for (std::size_t i = 0; i < kind.size(); ++i) {
            before[kind[i]] = (static_cast<double>(i) + 0.5) / static_cast<double>(kind.size());
        }
    }
    std::ranges::stable_sort(groups, {}, [&](std::size_t group) { return before[group]; });
}

/// The score of each row divided by the mean score. Throws error if a score is not finite.
[[nodiscard]] std::vector<double> relative_scores(Filters const& rows, auto const& criterion) {
    std::vector<double> scores(rows.count, 0.0);
    criterion(rows, std::span<double>(scores));
    const double mean = std::reduce(scores.begin(), scores.end()) / static_cast<double>(rows.count);
    if (!is_finite(mean)) fail("prune: a score of a filter of layer ", rows.layer, " is not finite");
    for (double& score : scores) score = mean > 0 ? score / mean : 0;
    return scores;
}

}  // namespace detail

/// Ranks the channels of a network layer by layer. Layers with coupled channels are ranked together, by the sum of
/// their scores, each divided by its layer's mean. Layers whose channels must all stay are left out. Throws error if
/// the weights do not fit the graph, or a score is not finite.
template <Criterion C>
[[nodiscard]] std::vector<Ranking> rank_filters(Graph const& graph, Weights const& weights, Coupling const& coupling,
                                                C const& criterion, GroupType type = GroupType::filters) {
    check_weights(graph, weights);
    const std::vector<std::size_t> uses = graph.uses();
    std::vector<double> scores(coupling.groups().size(), 0.0);
    std::vector<std::vector<std::size_t>> layers_of(coupling.groups().size());
    std::map<std::size_t, Ranking> rankings;
    for (auto const& [i, number] : detail::rankings_of_layers(graph, coupling, type)) {
        std::vector<std::size_t> const& groups = detail::judged_groups(graph, coupling, i, type);
        const auto may_go = [&](std::size_t group) { return coupling.groups()[group].fixed.empty(); };
        Ranking& ranking = rankings[number];
        ranking.layers.push_back(graph[i].name);
        ranking.groups.insert(ranking.groups.end(), groups.begin(), groups.end());
        if (std::ranges::none_of(groups, may_go)) continue;
        std::span<const float> values = weights.at(graph[i].name + ".weight").values;
        std::vector<float> columns;
        Filters rows{graph[i].name, groups.size(), values, {}};
        if ((type == GroupType::channels) != detail::has_rows_of_channels(graph[i].layer)) {
            columns = detail::by_columns(graph, i, values);
            rows.weights = columns;
        }
        if (type == GroupType::filters) {
            if (const auto norm = detail::norm_behind(graph, i, uses)) {
                rows.scale = weights.at(graph[*norm].name + ".weight").values;
            }
        }
        const std::vector<double> of_rows = detail::relative_scores(rows, criterion);
        for (std::size_t k = 0; k < groups.size(); ++k) {
            scores[groups[k]] += of_rows[k];
            std::vector<std::size_t>& layers = layers_of[groups[k]];
            if (layers.empty() || layers.back() != i) layers.push_back(i);
        }
    }
    std::vector<Ranking> result;
    for (auto& [set, ranking] : rankings) {
        std::ranges::sort(ranking.groups);
        ranking.groups.erase(std::unique(ranking.groups.begin(), ranking.groups.end()), ranking.groups.end());
        ranking.count = ranking.groups.size();
        std::erase_if(ranking.groups, [&](std::size_t group) { return !coupling.groups()[group].fixed.empty(); });
        detail::sort_groups(ranking.groups, scores, layers_of);
        for (const std::size_t group : ranking.groups) ranking.scores.push_back(scores[group]);
        if (!ranking.groups.empty()) result.push_back(std::move(ranking));
    }
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI::prune
