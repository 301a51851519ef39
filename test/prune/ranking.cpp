#include "thinned.hpp"

#include <doctest/doctest.h>
#include <primsel/layer/compose.hpp>
#include <primsel/prune/ranking.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace rankings {
namespace {

namespace ps = primsel;
using namespace ps::layer;  // NOLINT(google-build-using-namespace): layers, as networks are written
using namespace thinned;    // NOLINT(google-build-using-namespace)

TEST_CASE("channels are judged by the kernels that read them") {
    const ps::Graph graph =
        graph_of<Input<2, 4, 4>, Named<"a", Conv<4, 1, NoBias>>, Named<"b", Conv<4, 1, Groups<2>, NoBias>>, Flatten,
                 Named<"c", Dense<1, NoBias>>>();
    ps::Weights weights;
    weights.add("a.weight", {4, 2, 1, 1}, {1, 1, 2, 2, 3, 3, 4, 4});
    weights.add("b.weight", {4, 2, 1, 1}, {2, 5, 1, 5, 1, 4, 1, 4});
    std::vector<float> dense(64);
    for (std::size_t i = 0; i < dense.size(); ++i) dense[i] = i / 16 % 2 == 0 ? 2.0F : 1.0F;
    weights.add("c.weight", {1, 64}, dense);
    const ps::prune::Coupling coupling(graph);
    const auto first = [&](ps::prune::GroupType type) {
        std::vector<std::pair<std::string, std::size_t>> least;
        for (ps::prune::Ranking const& ranking :
             ps::prune::rank_filters(graph, weights, coupling, ps::prune::L1Norm{}, type)) {
            ps::prune::CoupledChannels const& group = coupling.groups()[ranking.groups[0]];
            least.emplace_back(ranking.layers[0], group.channels[0].channel);
        }
        return least;
    };
    using Least = std::vector<std::pair<std::string, std::size_t>>;
    // The kernels of a in two groups read channels 0 and 2 least; the dense layer reads the second of b's least.
    CHECK(first(ps::prune::GroupType::channels) == Least{{"b", 0}, {"c", 1}});
    CHECK(first(ps::prune::GroupType::filters) == Least{{"a", 0}, {"b", 1}});
}

TEST_CASE("a score that is not finite is refused with its layer") {
    struct Wrong {
        void operator()(ps::prune::Filters const& filters, std::span<double> scores) const {
            scores[0] = std::sqrt(-static_cast<double>(filters.count));
        }
    };
    const ps::Graph graph = graph_of<Input<1, 4, 4>, Named<"a", Conv<4, 1>>, Named<"b", Conv<2, 1>>>();
    CHECK_THROWS_WITH_AS(
        (void)ps::prune::rank_filters(graph, ps::random_weights(graph), ps::prune::Coupling(graph), Wrong{}),
        "prune: a score of a filter of layer a is not finite", ps::error);
    // Larger than any float, but a score is a double.
    const auto large = [](ps::prune::Filters const&, std::span<double> scores) { std::ranges::fill(scores, 1e100); };
    CHECK_FALSE(ps::prune::rank_filters(graph, ps::random_weights(graph), ps::prune::Coupling(graph), large).empty());
}

}  // namespace
}  // namespace rankings
