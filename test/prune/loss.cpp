// Laws of every loss: nothing for nothing, never less for more; a measured one goes through what was measured.
#include "thinned.hpp"

#include <doctest/doctest.h>
#include <primsel/network/zoo.hpp>
#include <primsel/prune/measured_loss.hpp>
#include <primsel/prune/prune_to.hpp>

#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace pruning_loss {
namespace {

namespace ps = primsel;

/// The points of a study whose accuracy of 0.8 falls to `left` at each quarter that is gone.
std::vector<ps::prune::SensitivityPoint> points_of(std::string const& layer, std::size_t channels,
                                                   std::vector<double> const& left) {
    std::vector<ps::prune::SensitivityPoint> points{{.accuracy = 0.8}};
    for (std::size_t i = 0; i < left.size(); ++i) {
        const double sparsity = 0.25 * static_cast<double>(i + 1);
        points.push_back({.layer = layer,
                          .sparsity = sparsity,
                          .channels = channels,
                          .left = channels - channels * (i + 1) / 4,
                          .accuracy = 0.8 * left[i]});
    }
    return points;
}
ps::prune::Ranking ranking_of(std::string const& layer, std::vector<double> const& scores) {
    ps::prune::Ranking ranking{.layers = {layer}, .groups = {}, .scores = scores, .count = scores.size()};
    for (std::size_t i = 0; i < scores.size(); ++i) ranking.groups.push_back(i);
    return ranking;
}

template <ps::prune::PruningLoss L>
void check_laws(L const& loss, std::vector<ps::prune::Ranking> const& rankings) {
    for (ps::prune::Ranking const& ranking : rankings) {
        CHECK(loss(ranking, 0) == 0);
        for (std::size_t gone = 1; gone <= ranking.groups.size(); ++gone) {
            CHECK(loss(ranking, gone) >= loss(ranking, gone - 1));
            CHECK(std::isfinite(loss(ranking, gone)));
        }
    }
}

TEST_CASE("nothing is lost with nothing, and never less with more") {
    const ps::Graph graph = ps::zoo::MobileNetV2::graph();
    const auto rankings =
        ps::prune::rank_filters(graph, ps::random_weights(graph, 7), ps::prune::Coupling(graph), ps::prune::L1Norm{});
    check_laws(ps::prune::LogarithmicLoss{}, rankings);
    check_laws(ps::prune::LogarithmicLoss{}, {ranking_of("a", {0, 0, 0, 0})});
    std::vector<ps::prune::SensitivityPoint> points;
    for (ps::prune::Ranking const& ranking : rankings) {
        // Better without a quarter, and nothing left at three quarters.
        const auto some = points_of(ranking.layers[0], ranking.count, {1.1, 0.7, 0});
        points.insert(points.end(), some.begin(), some.end());
    }
    check_laws(ps::prune::MeasuredLoss(points), rankings);
}

TEST_CASE("a measured loss goes through what was measured") {
    const ps::prune::MeasuredLoss loss(points_of("a", 8, {0.9, 0.95, 0.6}), 0);
    const ps::prune::Ranking ranking = ranking_of("a", std::vector<double>(8, 1.0));
    CHECK(loss(ranking, 1) == doctest::Approx(std::log(1 / 0.9) / 2));
    CHECK(loss(ranking, 2) == doctest::Approx(std::log(1 / 0.9)));
    CHECK(loss(ranking, 4) == doctest::Approx(std::log(1 / 0.9)));  // more is never better
    CHECK(loss(ranking, 6) == doctest::Approx(std::log(1 / 0.6)));
    const double slope = (loss(ranking, 6) - loss(ranking, 4)) / 2;
    CHECK(loss(ranking, 7) == doctest::Approx(loss(ranking, 6) + slope));
    const ps::prune::MeasuredLoss both(points_of("a", 8, {0.9, 0.95, 0.6}), 0.5);
    CHECK(both(ranking, 6) == doctest::Approx(loss(ranking, 6) + 0.5 * ps::prune::LogarithmicLoss{}(ranking, 6)));
    CHECK_THROWS_WITH_AS((void)loss(ranking_of("b", {1, 1}), 1), "sensitivity: nothing is known of layer b", ps::error);
    CHECK_THROWS_WITH_AS((void)ps::prune::MeasuredLoss({}), doctest::Contains("nothing is known of the whole network"),
                         ps::error);
    // Few channels: two sparsities that leave as many.
    std::vector<ps::prune::SensitivityPoint> few = points_of("a", 2, {1, 0.5, 0.4});
    CHECK(ps::prune::MeasuredLoss(few, 0)(ranking_of("a", {1, 1}), 1) == doctest::Approx(std::log(2)));
}

}  // namespace
}  // namespace pruning_loss
