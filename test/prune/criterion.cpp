#include "thinned.hpp"

#include <doctest/doctest.h>
#include <primsel/layer/compose.hpp>
#include <primsel/prune/ranking.hpp>

#include <cstddef>
#include <vector>

namespace criteria {
namespace {

namespace ps = primsel;
using namespace ps::layer;  // NOLINT(google-build-using-namespace): layers, as networks are written
using namespace thinned;    // NOLINT(google-build-using-namespace)

TEST_CASE("criteria: the least of each goes first") {
    const ps::Graph graph = graph_of<Input<1, 4, 4>, Named<"a", Conv<4, 1, NoBias>>, Named<"n", BatchNorm>,
                                     Named<"b", Conv<2, 1, NoBias>>>();
    ps::Weights weights;
    weights.add("a.weight", {4, 1, 1, 1}, {4.0F, 2.25F, 2.0F, -0.5F});
    weights.add("b.weight", {2, 4, 1, 1}, std::vector<float>(8, 1.0F));
    weights.add("n.weight", {4}, {3.0F, 1.0F, -2.0F, 4.0F});
    weights.add("n.bias", {4}, std::vector<float>(4));
    weights.add("n.running_mean", {4}, std::vector<float>(4));
    weights.add("n.running_var", {4}, std::vector<float>(4, 1.0F));
    const ps::prune::Coupling coupling(graph);
    const auto order = [&](auto const& criterion) {
        std::vector<std::size_t> channels;
        const auto rankings = ps::prune::rank_filters(graph, weights, coupling, criterion);
        REQUIRE(rankings.size() == 1);
        for (const std::size_t group : rankings[0].groups) {
            channels.push_back(coupling.groups()[group].channels.front().channel);
        }
        return channels;
    };
    using Order = std::vector<std::size_t>;
    CHECK(order(ps::prune::L1Norm{}) == Order{3, 2, 1, 0});
    CHECK(order(ps::prune::L2Norm{}) == Order{3, 2, 1, 0});
    CHECK(order(ps::prune::GeometricMedian{}) == Order{1, 2, 0, 3});
    CHECK(order(ps::prune::BatchNormScale{}) == Order{1, 2, 0, 3});
    CHECK(order(ps::prune::RandomScore{1}) == order(ps::prune::RandomScore{1}));
    const ps::Graph bare = graph_of<Input<1, 4, 4>, Named<"a", Conv<4, 1>>, Named<"b", Conv<2, 1>>>();
    CHECK_THROWS_WITH_AS((void)ps::prune::rank_filters(bare, ps::random_weights(bare), ps::prune::Coupling(bare),
                                                       ps::prune::BatchNormScale{}),
                         "prune: no batch norm alone reads layer a", ps::error);
}

}  // namespace
}  // namespace criteria
