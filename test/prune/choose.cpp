#include <doctest/doctest.h>
#include <primsel/network/zoo.hpp>
#include <primsel/prune/choose.hpp>

#include <cstddef>
#include <vector>

namespace choosing {
namespace {

namespace ps = primsel;

TEST_CASE("the least of a network go wherever they are") {
    ps::prune::Ranking a, b;
    a.layers = {"a"}, a.groups = {3, 1, 2}, a.scores = {0.1, 0.2, 0.9}, a.count = 4;
    b.layers = {"b"}, b.groups = {7, 6}, b.scores = {0.5, 0.8}, b.count = 2;
    const std::vector<ps::prune::Ranking> both{a, b};
    CHECK(ps::prune::choose(both, 0.0).empty());
    CHECK(ps::prune::choose(both, 0.5) == ps::prune::RemovedGroups{1, 3, 7});
    CHECK(ps::prune::choose(both, 1.0) == ps::prune::RemovedGroups{1, 2, 3, 7});  // one of each stays
    CHECK(ps::prune::choose(both, 0.5, 2) == ps::prune::RemovedGroups{1, 3});
}

TEST_CASE("how many go is told without naming them") {
    const ps::Graph graph = ps::zoo::AlexNetCifar::graph();
    const ps::Weights weights = ps::random_weights(graph);
    const ps::prune::Coupling coupling(graph);
    const std::vector<ps::prune::Ranking> rankings =
        ps::prune::rank_filters(graph, weights, coupling, ps::prune::L1Norm{});
    for (const double sparsity : {0.0, 0.3, 0.99, 1.0}) {
        for (const std::size_t multiple : {1U, 4U}) {
            const std::vector<std::size_t> counts = ps::prune::counts_to_go(rankings, sparsity, multiple);
            ps::prune::RemovedGroups together;
            REQUIRE(counts.size() == rankings.size());
            for (std::size_t i = 0; i < rankings.size(); ++i) {
                together.merge(ps::prune::first_groups(rankings[i], counts[i]));
                CHECK(ps::prune::choose(rankings[i], sparsity, multiple) ==
                      ps::prune::first_groups(rankings[i], ps::prune::count_to_go(rankings[i], sparsity, multiple)));
            }
            CHECK(ps::prune::choose(rankings, sparsity, multiple) == together);
        }
    }
}

TEST_CASE("as many stay as are asked for") {
    ps::prune::Ranking ranking;
    ranking.count = 20;
    for (std::size_t i = 0; i < 20; ++i) ranking.groups.push_back(i);
    CHECK(ps::prune::choose(ranking, 0).empty());
    CHECK(ps::prune::choose(ranking, 0.3).size() == 6);
    CHECK(ps::prune::choose(ranking, 1).size() == 19);
    CHECK(ps::prune::choose(ranking, 0.3, 8).size() == 4);
    CHECK(ps::prune::choose(ranking, 0.3, 64).empty());
    CHECK_THROWS_WITH_AS((void)ps::prune::choose(ranking, 1.5), "prune: impossible sparsity 1.5", ps::error);
}

}  // namespace
}  // namespace choosing
