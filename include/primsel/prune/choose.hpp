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

namespace primsel::inline PRIMSEL_ABI {

/// floor(sparsity * count), where a product that rounding leaves just below a whole number is that number.
[[nodiscard]] inline std::size_t floor_of_share(double sparsity, std::size_t count) {
    return static_cast<std::size_t>(std::floor(sparsity * static_cast<double>(count) + 1e-9));
}

namespace detail {

inline void check_share(double sparsity, std::size_t multiple) {
    if (is_nan(sparsity) || !(sparsity >= 0 && sparsity <= 1)) fail("prune: impossible sparsity ", sparsity);
    if (multiple < 1) fail("prune: impossible multiple ", multiple);
}
/// The first groups of a ranking, at most so many: one stays, and as many as a multiple says where there are as many.
[[nodiscard]] inline Choice first_groups(Ranking const& ranking, std::size_t most, std::size_t multiple) {
    std::size_t left = std::max<std::size_t>(ranking.count - std::min(most, ranking.count), 1);
    left = std::min(ranking.count, (left + multiple - 1) / multiple * multiple);
    const std::size_t go = std::min(ranking.count - left, ranking.groups.size());
    return {ranking.groups.begin(), ranking.groups.begin() + static_cast<std::ptrdiff_t>(go)};
}

}  // namespace detail

/// The groups that go for a sparsity, the share of a ranking's channels; at least one stays. `multiple`: as many stay
/// as a multiple of it, where a whole layer has as many.
[[nodiscard]] inline Choice choose(Ranking const& ranking, double sparsity, std::size_t multiple = 1) {
    detail::check_share(sparsity, multiple);
    return detail::first_groups(ranking, floor_of_share(sparsity, ranking.count), multiple);
}

/// The same of several layers at once, or the whole network: the share of all their channels whose scores are lowest,
/// wherever they are. Of each ranking at least one stays, and as many as a multiple.
[[nodiscard]] inline Choice choose(std::span<const Ranking> rankings, double sparsity, std::size_t multiple = 1) {
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
    Choice choice;
    for (std::size_t i = 0; i < rankings.size(); ++i) {
        choice.merge(detail::first_groups(rankings[i], most[i], multiple));
    }
    return choice;
}

/// The choice without those groups that a layer needs lest none of its channels be left: a layer that reads a slice of
/// another's may lose all that it reads though the other keeps some.
[[nodiscard]] inline Choice sparing(Graph const& graph, Coupling const& coupling, Choice choice) {
    for (std::size_t i = 0; i < graph.size(); ++i) {
        std::vector<std::size_t> const& groups = coupling.groups_of(i);
        const auto goes = [&](std::size_t group) { return choice.contains(group); };
        if (!groups.empty() && std::ranges::all_of(groups, goes)) choice.erase(groups[0]);
    }
    return choice;
}

}  // namespace primsel::inline PRIMSEL_ABI
