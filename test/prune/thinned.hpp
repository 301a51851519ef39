// The results that a thinned network must compute, and networks to thin.
#pragma once

#include <doctest/doctest.h>
#include <primsel/engine/engine.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/prune/choose.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

namespace thinned {

namespace ps = primsel;

/// Random weights. Drawing them takes as long as all else: those of the last graph are kept.
inline ps::Weights const& weights_of(ps::Graph const& graph) {
    static std::optional<std::pair<ps::Graph, ps::Weights>> last;
    if (!last || last->first != graph) last.emplace(graph, ps::random_weights(graph, 7));
    return last->second;
}

inline std::vector<float> result_of(ps::Graph const& graph, ps::Weights const& weights) {
    std::mt19937 bits(3);
    std::normal_distribution<float> normal;
    ps::Engine<ps::Graph> engine(graph, weights);
    const auto batch = static_cast<std::size_t>(graph.batch());
    std::vector<float> image(batch * graph[graph.input()].shape.size()),
        result(batch * graph[graph.output_node()].shape.size());
    for (float& value : image) value = normal(bits);
    engine.run(image, result);
    return result;
}

inline void check_same(ps::Graph const& graph, ps::prune::Coupling const& coupling,
                       ps::prune::RemovedGroups const& choice) {
    ps::Weights const& weights = weights_of(graph);
    const ps::prune::Pruned thin = ps::prune::remove_channels(graph, weights, coupling, choice);
    const std::vector<float> expected = result_of(graph, ps::prune::masked(graph, weights, coupling, choice));
    const std::vector<float> actual = result_of(thin.graph, thin.weights);
    REQUIRE(actual.size() == expected.size());
    double squares = 0, apart = 0;
    for (std::size_t i = 0; i < actual.size(); ++i) {
        squares += static_cast<double>(expected[i]) * static_cast<double>(expected[i]);
        apart = std::max(apart, std::abs(static_cast<double>(expected[i]) - static_cast<double>(actual[i])));
    }
    CHECK(apart <= 1e-5 * std::sqrt(squares / static_cast<double>(actual.size())));
}

/// Any groups that may go, so that something stays of every layer.
inline ps::prune::RemovedGroups any_choice(ps::Graph const& graph, ps::prune::Coupling const& coupling, double share,
                                           unsigned seed) {
    ps::prune::RemovedGroups choice;
    unsigned drawn = seed;
    for (ps::prune::Ranking const& ranking :
         ps::prune::rank_filters(graph, weights_of(graph), coupling, ps::prune::RandomScore{seed})) {
        drawn = drawn * 1664525U + 1013904223U;
        const ps::prune::RemovedGroups part =
            ps::prune::choose(ranking, std::min(0.7, share * (drawn >> 16U) / 65536.0));
        choice.insert(part.begin(), part.end());
    }
    return ps::prune::sparing(graph, coupling, choice);
}

template <class... Layers>
ps::Graph graph_of() {
    struct Net : ps::Network<Layers...> {};
    return Net::graph(1);
}

}  // namespace thinned
