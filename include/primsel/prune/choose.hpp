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

/// floor(sparsity * count), where a product that rounding leaves just below a whole number is that number.
[[nodiscard]] inline std::size_t floor_of_share(double sparsity, std::size_t count) {
    return static_cast<std::size_t>(std::floor(sparsity * static_cast<double>(count) + 1e-9));
}

namespace detail {

inline void check_share(double sparsity, std::size_t multiple) {
    if (is_nan(sparsity) || !(sparsity >= 0 && sparsity <= 1)) fail("prune: impossible sparsity ", sparsity);
    if (multiple < 1) fail("prune: impossible multiple ", multiple);
}
/// How many groups of a ranking go, at most so many: one stays, and as many as a multiple says where there are as many.
[[nodiscard]] inline std::size_t count_to_go(Ranking const& ranking, std::size_t most, std::size_t multiple) {
    std::size_t left = std::max<std::size_t>(ranking.count - std::min(most, ranking.count), 1);
    left = std::min(ranking.count, (left + multiple - 1) / multiple * multiple);
    return std::min(ranking.count - left, ranking.groups.size());
}

}  // namespace detail

/// The first groups of a ranking, which matter least. It must have as many.
[[nodiscard]] inline RemovedGroups first_groups(Ranking const& ranking, std::size_t count) {
    return {ranking.groups.begin(), ranking.groups.begin() + static_cast<std::ptrdiff_t>(count)};
}

/// How many groups go for a sparsity, the share of a ranking's channels; at least one stays. `multiple`: as many stay
/// as a multiple of it, where a whole layer has as many.
[[nodiscard]] inline std::size_t count_to_go(Ranking const& ranking, double sparsity, std::size_t multiple = 1) {
    detail::check_share(sparsity, multiple);
    return detail::count_to_go(ranking, floor_of_share(sparsity, ranking.count), multiple);
}
/// Those groups.
[[nodiscard]] inline RemovedGroups choose(Ranking const& ranking, double sparsity, std::size_t multiple = 1) {
    return first_groups(ranking, count_to_go(ranking, sparsity, multiple));
}

/// How many groups of each ranking go where they are judged together, as several layers or the whole network: the share
/// of all their channels whose scores are lowest, wherever they are. Of each ranking at least one stays, and as many as
/// a multiple.
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
/// Those groups.
[[nodiscard]] inline RemovedGroups choose(std::span<const Ranking> rankings, double sparsity,
                                          std::size_t multiple = 1) {
    const std::vector<std::size_t> counts = counts_to_go(rankings, sparsity, multiple);
    RemovedGroups choice;
    for (std::size_t i = 0; i < rankings.size(); ++i) choice.merge(first_groups(rankings[i], counts[i]));
    return choice;
}

/// The choice without those groups that a layer needs lest none of its channels be left: a layer that reads a slice of
/// another's may lose all that it reads though the other keeps some.
[[nodiscard]] inline RemovedGroups sparing(Graph const& graph, Coupling const& coupling, RemovedGroups choice) {
    for (std::size_t i = 0; i < graph.size(); ++i) {
        std::vector<std::size_t> const& groups = coupling.groups_of(i);
        const auto goes = [&](std::size_t group) { return choice.contains(group); };
        if (!groups.empty() && std::ranges::all_of(groups, goes)) choice.erase(groups[0]);
    }
    return choice;
}

}  // namespace primsel::inline PRIMSEL_ABI::prune
