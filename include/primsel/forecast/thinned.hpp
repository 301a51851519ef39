#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/prune/choose.hpp>
#include <primsel/prune/coupling.hpp>
#include <primsel/prune/criterion.hpp>
#include <primsel/prune/ranking.hpp>
#include <primsel/prune/surgery.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::forecast {

/// Where the filters of a network go from: drawn evenly in every layer (random), the smallest L1 norms of all layers
/// (l1), more of them in early, middle or late layers, or another share in every layer, drawn (mixed). Rajagopal and
/// Bouganis 2021, sections 5.1.1 and 6.2.
inline constexpr std::array<std::string_view, 6> thinning_strategies{"random", "l1",   "early",
                                                                     "middle", "late", "mixed"};

/// How a network is made thinner for a profile.
struct Thinning {
    /// The share of the filters that go, 0 to less than 1.
    double level = 0;
    std::string strategy = "random";
    /// The seed of what is drawn, and of the weights whose L1 norms are taken.
    std::uint32_t seed = 1;
    friend bool operator==(Thinning const&, Thinning const&) = default;
};

namespace detail {

/// Returns the share of filters that is removed from the layer at `place`: 0 is the first pruned layer, 1 the last.
[[nodiscard]] inline double thinning_share(Thinning const& how, double place, std::mt19937& bits) {
    double share = how.level;
    if (how.strategy == "early") share = 2 * how.level * (1 - place);
    if (how.strategy == "middle") share = 2 * how.level * (1 - std::abs(2 * place - 1));
    if (how.strategy == "late") share = 2 * how.level * place;
    if (how.strategy == "mixed") share = 2 * how.level * static_cast<double>(bits()) * 0x1p-32;
    return std::clamp(share, 0.0, 0.95);
}

}  // namespace detail

/// Returns the network without a share of its filters; each layer keeps at least one. The same seed gives the same
/// network. Throws error if the level is not in [0, 1) or the strategy is unknown, and as Coupling does.
[[nodiscard]] inline Graph thinned(Graph const& graph, Thinning const& how) {
    if (is_nan(how.level) || !(how.level >= 0 && how.level < 1)) fail("forecast: impossible level ", how.level);
    if (std::ranges::find(thinning_strategies, how.strategy) == thinning_strategies.end()) {
        fail("forecast: there is no strategy ", how.strategy);
    }
    if (how.level == 0) return graph;
    const prune::Coupling coupling(graph);
    const Weights weights = random_weights(graph, how.seed);
    if (how.strategy == "l1") {
        const std::vector<prune::Ranking> rankings = prune::rank_filters(graph, weights, coupling, prune::L1Norm{});
        return prune::remove_channels(graph, coupling,
                                      prune::sparing(graph, coupling, prune::choose(rankings, how.level)));
    }
    const std::vector<prune::Ranking> rankings =
        prune::rank_filters(graph, weights, coupling, prune::RandomScore{how.seed});
    std::mt19937 bits(how.seed);
    prune::RemovedGroups choice;
    for (std::size_t i = 0; i < rankings.size(); ++i) {
        const double place = (static_cast<double>(i) + 0.5) / static_cast<double>(rankings.size());
        choice.merge(prune::choose(rankings[i], detail::thinning_share(how, place, bits)));
    }
    return prune::remove_channels(graph, coupling, prune::sparing(graph, coupling, std::move(choice)));
}

}  // namespace primsel::inline PRIMSEL_ABI::forecast
