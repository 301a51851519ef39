#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/prune/coupling.hpp>
#include <primsel/prune/ranking.hpp>
#include <primsel/prune/surgery.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::prune {

/// floor(sparsity * count); a product that rounding left just below a whole number counts as that number.
[[nodiscard]] inline std::size_t floor_of_share(double sparsity, std::size_t count) {
    return static_cast<std::size_t>(std::floor(sparsity * static_cast<double>(count) + 1e-9));
}

namespace detail {

inline void check_share(double sparsity, std::size_t multiple) {
    if (is_nan(sparsity) || !(sparsity >= 0 && sparsity <= 1)) fail("prune: impossible sparsity ", sparsity);
    if (multiple < 1) fail("prune: impossible multiple ", multiple);
}
/// The number of groups to remove, at most `most`. At least one stays, and a multiple of `multiple` stays if the
/// ranking has that many.
[[nodiscard]] inline std::size_t count_to_go(Ranking const& ranking, std::size_t most, std::size_t multiple) {
    std::size_t left = std::max<std::size_t>(ranking.count - std::min(most, ranking.count), 1);
    left = std::min(ranking.count, (left + multiple - 1) / multiple * multiple);
    return std::min(ranking.count - left, ranking.groups.size());
}

}  // namespace detail

/// The first `count` groups of a ranking, which matter least. The ranking must have that many.
[[nodiscard]] inline RemovedGroups first_groups(Ranking const& ranking, std::size_t count) {
    return {ranking.groups.begin(), ranking.groups.begin() + static_cast<std::ptrdiff_t>(count)};
}

/// The number of groups to remove for a sparsity, the share of the ranking's channels from 0 to 1. At least one group
/// stays, and a multiple of `multiple` stays if the ranking has that many. Throws error for an impossible sparsity or
/// multiple.
[[nodiscard]] inline std::size_t count_to_go(Ranking const& ranking, double sparsity, std::size_t multiple = 1) {
    detail::check_share(sparsity, multiple);
    return detail::count_to_go(ranking, floor_of_share(sparsity, ranking.count), multiple);
}
/// The groups that count_to_go counts. Throws error as it does.
[[nodiscard]] inline RemovedGroups choose(Ranking const& ranking, double sparsity, std::size_t multiple = 1) {
    return first_groups(ranking, count_to_go(ranking, sparsity, multiple));
}

/// The number of groups to remove of each ranking, if several rankings or the whole network are judged together: the
/// share `sparsity` of all their channels with the lowest scores, wherever they are. Of each ranking at least one
/// stays, and a multiple of `multiple` if it has that many. Throws error for an impossible sparsity or multiple.
[[nodiscard]] inline std::vector<std::size_t> counts_to_go(std::span<const Ranking> rankings, double sparsity,
                                                           std::size_t multiple = 1) {
    detail::check_share(sparsity, multiple);
    std::vector<std::pair<double, std::size_t>> order;  // score, ranking
    std::size_t count = 0;
    for (std::size_t i = 0; i < rankings.size(); ++i) {
        count += rankings[i].count;
        for (const double score : rankings[i].scores) order.emplace_back(score, i);
    }
    std::ranges::stable_sort(order);
    order.resize(std::min(order.size(), floor_of_share(sparsity, count)));
    std::vector<std::size_t> most(rankings.size(), 0);
    for (auto const& [score, ranking] : order) ++most[ranking];
    for (std::size_t i = 0; i < rankings.size(); ++i) most[i] = detail::count_to_go(rankings[i], most[i], multiple);
    return most;
}
/// The groups that counts_to_go counts. Throws error as it does.
[[nodiscard]] inline RemovedGroups choose(std::span<const Ranking> rankings, double sparsity,
                                          std::size_t multiple = 1) {
    const std::vector<std::size_t> counts = counts_to_go(rankings, sparsity, multiple);
    RemovedGroups choice;
    for (std::size_t i = 0; i < rankings.size(); ++i) choice.merge(first_groups(rankings[i], counts[i]));
    return choice;
}

/// The choice without groups whose removal would leave a layer no channel: a layer that reads a slice of another's
/// channels may lose all of them though the other keeps some.
[[nodiscard]] inline RemovedGroups sparing(Graph const& graph, Coupling const& coupling, RemovedGroups choice) {
    for (std::size_t i = 0; i < graph.size(); ++i) {
        std::vector<std::size_t> const& groups = coupling.groups_of(i);
        const auto goes = [&](std::size_t group) { return choice.contains(group); };
        if (!groups.empty() && std::ranges::all_of(groups, goes)) choice.erase(groups[0]);
    }
    return choice;
}

}  // namespace primsel::inline PRIMSEL_ABI::prune
