#pragma once

#include <primsel/core/error.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/weights.hpp>
#include <primsel/prune/choose.hpp>
#include <primsel/prune/coupling.hpp>
#include <primsel/prune/ranking.hpp>
#include <primsel/prune/surgery.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::prune {

/// The accuracy and cost of a network in which one ranking is pruned.
struct SensitivityPoint {
    /// The first layer of the ranking; empty for the whole network.
    std::string layer = {};
    /// The share of its channels that was to be removed; the number of its channels, and of those left.
    double sparsity = 0;
    std::size_t channels = 0, left = 0;
    /// The accuracy without retraining, and the predicted seconds of a run.
    double accuracy = 0, seconds = 0;
    friend bool operator==(SensitivityPoint const&, SensitivityPoint const&) = default;
};

[[nodiscard]] inline const SensitivityPoint* find_point(std::span<const SensitivityPoint> points,
                                                        std::string_view layer, double sparsity) {
    const auto found = std::ranges::find_if(points, [&](SensitivityPoint const& point) {
        return point.layer == layer && std::abs(point.sparsity - sparsity) < 1e-9;
    });
    return found == points.end() ? nullptr : &*found;
}

/// Options of sensitivity().
struct SensitivityOptions {
    /// The shares of a ranking's channels to remove, from 0 to 1.
    std::span<const double> sparsities;
    /// Points of an earlier run, which are not computed again.
    std::span<const SensitivityPoint> known = {};
};

/// Measures how accuracy falls as each ranking is pruned: first the whole network, then each ranking at each sparsity.
/// judge(graph, weights) returns the accuracy of a network, predict(graph) its seconds. keep(point) is called with each
/// new point as soon as it is computed. The whole network is always judged. Throws error if its accuracy differs from
/// the known one by more than 0.01, since the known points then belong to other weights or images.
template <class Judge, class Predict, class Keep>
[[nodiscard]] std::vector<SensitivityPoint> sensitivity(Graph const& graph, Weights const& weights,
                                                        RankedChannels const& channels,
                                                        SensitivityOptions const& options, Judge const& judge,
                                                        Predict const& predict, Keep&& keep) {
    Coupling const& coupling = channels.coupling;
    std::vector<SensitivityPoint> points;
    SensitivityPoint whole{.accuracy = judge(graph, weights), .seconds = predict(graph)};
    if (const auto* before = prune::find_point(options.known, "", 0)) {
        // Another plan may round differently, which changes few images' classes.
        if (std::abs(before->accuracy - whole.accuracy) > 0.01) {
            fail("sensitivity: the network's accuracy was ", before->accuracy, ", and is ", whole.accuracy,
                 ": it was judged with other weights or images");
        }
        whole = *before;
    } else {
        keep(std::as_const(whole));
    }
    points.push_back(whole);
    for (Ranking const& ranking : channels.rankings) {
        for (const double sparsity : options.sparsities) {
            if (const auto* before = prune::find_point(options.known, ranking.layers[0], sparsity)) {
                points.push_back(*before);
                continue;
            }
            const RemovedGroups choice = sparing(graph, coupling, choose(ranking, sparsity));
            const Pruned thin = remove_channels(graph, weights, coupling, choice);
            points.push_back({ranking.layers[0], sparsity, ranking.count, ranking.count - choice.size(),
                              judge(thin.graph, thin.weights), predict(thin.graph)});
            keep(std::as_const(points.back()));
        }
    }
    return points;
}

/// Groups layers by their sensitivity: the two groups whose accuracies, over the sparsities that both have, differ
/// least on average are joined while that is below `apart` (average linkage). The least sensitive group comes first.
/// Throws error if there is no point of the whole network.
[[nodiscard]] inline std::vector<std::vector<std::string>> similar_groups(std::span<const SensitivityPoint> points,
                                                                          double apart = 0.05) {
    const auto* whole = prune::find_point(points, "", 0);
    if (whole == nullptr) fail("sensitivity: nothing is known of the whole network");
    struct Group {
        std::vector<std::string> layers;
        std::vector<double> drops;  // mean over its layers
    };
    std::vector<Group> groups;
    for (SensitivityPoint const& point : points) {
        if (point.layer.empty()) continue;
        const auto own = std::ranges::find_if(groups, [&](Group const& each) { return each.layers[0] == point.layer; });
        Group& group = own == groups.end() ? groups.emplace_back(Group{{point.layer}, {}}) : *own;
        group.drops.push_back(whole->accuracy - point.accuracy);
    }
    const auto distance = [](Group const& a, Group const& b) {
        const std::size_t count = std::min(a.drops.size(), b.drops.size());
        double sum = 0;
        for (std::size_t i = 0; i < count; ++i) sum += std::abs(a.drops[i] - b.drops[i]);
        return sum / static_cast<double>(count);
    };
    for (;;) {
        double nearest = apart;
        std::size_t first = 0, second = 0;
        for (std::size_t i = 0; i < groups.size(); ++i) {
            for (std::size_t j = i + 1; j < groups.size(); ++j) {
                const double between = distance(groups[i], groups[j]);
                if (between < nearest) nearest = between, first = i, second = j;
            }
        }
        if (second == 0) break;
        Group &into = groups[first], &from = groups[second];
        const auto a = static_cast<double>(into.layers.size()), b = static_cast<double>(from.layers.size());
        into.drops.resize(std::min(into.drops.size(), from.drops.size()));
        for (std::size_t i = 0; i < into.drops.size(); ++i) {
            into.drops[i] = (a * into.drops[i] + b * from.drops[i]) / (a + b);
        }
        into.layers.insert(into.layers.end(), from.layers.begin(), from.layers.end());
        groups.erase(groups.begin() + static_cast<std::ptrdiff_t>(second));
    }
    const auto mean = [](Group const& group) {
        double sum = 0;
        for (const double drop : group.drops) sum += drop;
        return sum / static_cast<double>(group.drops.size());
    };
    std::ranges::stable_sort(groups, {}, mean);
    std::vector<std::vector<std::string>> result;
    for (Group& group : groups) result.push_back(std::move(group.layers));
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI::prune
