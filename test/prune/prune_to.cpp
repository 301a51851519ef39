// A network is thinned to so many milliseconds, multiply-adds or filters; the table of what is coupled to what.
#include "../fixed_machines.hpp"
#include "thinned.hpp"

#include <doctest/doctest.h>
#include <primsel/layer/compose.hpp>
#include <primsel/network/resized.hpp>
#include <primsel/network/zoo.hpp>
#include <primsel/prune/coupled_layers.hpp>
#include <primsel/prune/prune_to.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace prune_to {
namespace {

namespace ps = primsel;
using namespace ps::layer;  // NOLINT(google-build-using-namespace): layers, as networks are written
using namespace thinned;    // NOLINT(google-build-using-namespace)

TEST_CASE("filters of a network") {
    CHECK(ps::prune::filters(graph_of<Input<3, 8, 8>, Conv<8, 3>, Conv<8, 3, Groups<8>>, Dense<5>>()) == 13);
}

TEST_CASE("a goal that cannot be reached names what holds filters back") {
    const ps::Kernels kernels = fixed::on_fixed_machine(ps::Engine<ps::Graph>::kernels());
    const ps::Graph graph = graph_of<Input<3, 8, 8>, Named<"a", Conv<32, 3>>, Lrn<>, Named<"b", Conv<8, 1>>, Relu,
                                     Named<"c", Conv<2, 1>>>();
    const ps::prune::Coupling coupling(graph);
    const auto rankings = ps::prune::rank_filters(graph, ps::random_weights(graph), coupling, ps::prune::L1Norm{});
    ps::SemiEmpiricalCosts model;
    for (const ps::prune::Measure measure :
         {ps::prune::Measure::seconds, ps::prune::Measure::operations, ps::prune::Measure::filters}) {
        CHECK_THROWS_WITH_AS(
            (void)ps::prune::prune_to(graph, {coupling, rankings}, kernels, model, ps::ExactPbqp{},
                                      {.measure = measure, .share = 0.1}),
            doctest::Contains("what holds filters back: a: 32 of 32 stay: layer lrn1 (lrn) normalises each by its"),
            ps::error);
    }
}

TEST_CASE("what is asked for is reached, and told as it is") {
    const ps::Kernels kernels = fixed::on_fixed_machine(ps::Engine<ps::Graph>::kernels());
    ps::SemiEmpiricalCosts model;
    const ps::ExactPbqp solver;
    for (ps::Graph const& graph : {ps::resized(ps::zoo::ResNet18::graph(), {3, 96, 96}),
                                   ps::resized(ps::zoo::MobileNetV2::graph(), {3, 96, 96})}) {
        const ps::prune::Coupling coupling(graph);
        const auto rankings =
            ps::prune::rank_filters(graph, ps::random_weights(graph, 7), coupling, ps::prune::L1Norm{});
        for (const ps::prune::Measure measure :
             {ps::prune::Measure::seconds, ps::prune::Measure::operations, ps::prune::Measure::filters}) {
            CAPTURE(ps::prune::to_string_view(measure));
            const ps::prune::PruneTarget target{.measure = measure, .share = 0.6, .multiple = 4};
            const ps::prune::PrunedTo reached =
                ps::prune::prune_to(graph, {coupling, rankings}, kernels, model, solver, target);
            CHECK(reached.after <= 0.6 * reached.before);
            CHECK(reached.after > 0.4 * reached.before);
            const ps::Graph thin = ps::prune::remove_channels(graph, coupling, reached.choice);
            if (measure == ps::prune::Measure::seconds) {
                CHECK(ps::prune::predicted_seconds(thin, kernels, model, solver) == reached.after);
            } else if (measure == ps::prune::Measure::operations) {
                CHECK(ps::multiply_adds(thin) == doctest::Approx(reached.after));
            } else {
                CHECK(ps::prune::filters(thin) == doctest::Approx(reached.after));
            }
            for (ps::prune::Ranking const& ranking : rankings) {
                const auto gone = static_cast<std::size_t>(std::ranges::count_if(
                    ranking.groups, [&](std::size_t group) { return reached.choice.contains(group); }));
                CHECK((ranking.count - gone) % 4 == 0);
                CHECK(static_cast<double>(gone) <= 0.9 * static_cast<double>(ranking.count));
            }
        }
    }
}

TEST_CASE("milliseconds are saved where they are: what costs little keeps its filters") {
    // The first layers cost all the time; the filters of all matter the same.
    const ps::Graph graph =
        graph_of<Input<16, 64, 64>, Named<"big", Conv<64, 3>>, MaxPool<2, Stride<2>>, MaxPool<2, Stride<2>>,
                 MaxPool<2, Stride<2>>, MaxPool<2, Stride<2>>, Named<"small", Conv<64, 3>>, Named<"end", Conv<8, 1>>>();
    ps::Weights weights;
    weights.add("big.weight", {64, 16, 3, 3}, std::vector<float>(64 * 16 * 9, 1.0F));
    weights.add("big.bias", {64}, std::vector<float>(64));
    weights.add("small.weight", {64, 64, 3, 3}, std::vector<float>(64 * 64 * 9, 1.0F));
    weights.add("small.bias", {64}, std::vector<float>(64));
    weights.add("end.weight", {8, 64, 1, 1}, std::vector<float>(8 * 64, 1.0F));
    weights.add("end.bias", {8}, std::vector<float>(8));
    const ps::prune::Coupling coupling(graph);
    const auto rankings = ps::prune::rank_filters(graph, weights, coupling, ps::prune::L1Norm{});
    ps::Analytical model;
    const ps::prune::PrunedTo reached =
        ps::prune::prune_to(graph, {coupling, rankings}, fixed::on_fixed_machine(ps::Engine<ps::Graph>::kernels()),
                            model, ps::ExactPbqp{}, {.share = 0.7, .multiple = 8});
    const ps::Graph thin = ps::prune::remove_channels(graph, coupling, reached.choice);
    CHECK(thin[thin.find("big")].shape.c < thin[thin.find("small")].shape.c);
}

TEST_CASE("by predicted seconds no more is lost than by another measure that leaves as many") {
    const ps::Kernels kernels = fixed::on_fixed_machine(ps::Engine<ps::Graph>::kernels());
    ps::SemiEmpiricalCosts model;
    const ps::ExactPbqp solver;
    for (ps::Graph const& graph :
         {ps::resized(ps::zoo::MobileNetV2::graph(), {3, 32, 32}),
          ps::resized(ps::zoo::SqueezeNet11::graph(), {3, 64, 64}), ps::zoo::ResNet56::graph()}) {
        const ps::prune::Coupling coupling(graph);
        const auto rankings =
            ps::prune::rank_filters(graph, ps::random_weights(graph, 7), coupling, ps::prune::L1Norm{});
        const auto to = [&](ps::prune::Measure measure, double share) {
            return ps::prune::prune_to(graph, {coupling, rankings}, kernels, model, solver,
                                       {.measure = measure, .share = share});
        };
        for (const ps::prune::Measure measure : {ps::prune::Measure::operations, ps::prune::Measure::filters}) {
            CAPTURE(ps::prune::to_string_view(measure));
            const ps::prune::PrunedTo other = to(measure, 0.6);
            const double seconds = ps::prune::predicted_seconds(
                ps::prune::remove_channels(graph, coupling, other.choice), kernels, model, solver);
            const double whole = ps::prune::predicted_seconds(graph, kernels, model, solver);
            CHECK(to(ps::prune::Measure::seconds, seconds / whole).loss <= 1.02 * other.loss);
        }
    }
}

TEST_CASE("nothing that goes would fit back, and what is lost less goes first") {
    const ps::Graph graph = graph_of<Input<3, 8, 8>, Named<"a", Conv<12, 3>>, Named<"b", Conv<9, 3>>,
                                     Named<"c", Conv<16, 3, Stride<2>>>, Named<"end", Conv<4, 1>>>();
    const ps::prune::Coupling coupling(graph);
    const auto rankings = ps::prune::rank_filters(graph, ps::random_weights(graph, 3), coupling, ps::prune::L1Norm{});
    ps::Analytical model;
    const auto check = [&](auto const& loss) {
        const ps::prune::PruneTarget target{.measure = ps::prune::Measure::operations, .share = 0.2};
        const ps::prune::PrunedTo reached =
            ps::prune::prune_to(graph, {coupling, rankings}, fixed::on_fixed_machine(ps::Engine<ps::Graph>::kernels()),
                                model, ps::ExactPbqp{}, target, loss);
        double sum = 0;
        std::vector<std::size_t> all_gone;
        for (ps::prune::Ranking const& ranking : rankings) {
            const auto goes = [&](std::size_t group) { return reached.choice.contains(group); };
            const auto gone = static_cast<std::size_t>(std::ranges::count_if(ranking.groups, goes));
            all_gone.push_back(gone);
            sum += loss(ranking, gone);
            if (gone == 0) continue;
            ps::prune::RemovedGroups choice = reached.choice;
            choice.erase(ranking.groups[gone - 1]);
            CHECK(ps::multiply_adds(ps::prune::remove_channels(graph, coupling, choice)) > 0.2 * reached.before);
        }
        CHECK(reached.loss == doctest::Approx(sum));
        return all_gone;
    };
    (void)check(ps::prune::LogarithmicLoss{});
    // With b next to nothing is lost.
    const auto gone = check([](ps::prune::Ranking const& ranking, std::size_t count) {
        return static_cast<double>(count) * (ranking.layers[0] == "b" ? 1e-3 : 1);
    });
    REQUIRE(gone.size() == 3);
    CHECK(gone[1] == 8);
}

TEST_CASE("a target that cannot be reached is refused, and how far it goes is said") {
    const ps::Graph graph = graph_of<Input<3, 8, 8>, Named<"a", Conv<8, 3>>, Named<"b", Conv<8, 3>>>();
    const ps::prune::Coupling coupling(graph);
    const auto rankings = ps::prune::rank_filters(graph, ps::random_weights(graph, 1), coupling, ps::prune::L1Norm{});
    ps::Analytical model;
    const auto to = [&](ps::prune::PruneTarget const& target) {
        return ps::prune::prune_to(graph, {coupling, rankings},
                                   fixed::on_fixed_machine(ps::Engine<ps::Graph>::kernels()), model, ps::ExactPbqp{},
                                   target);
    };
    CHECK_THROWS_WITH_AS((void)to({.measure = ps::prune::Measure::filters, .share = 0.5}),
                         "prune: 50 % of the filters cannot be reached: with all that may go gone, 56.25 % are "
                         "left",
                         ps::error);
    CHECK(to({.measure = ps::prune::Measure::filters, .share = 0.6}).after == 9);
    CHECK_THROWS_WITH_AS((void)to({.share = 0}), "prune: impossible share 0", ps::error);
    CHECK_THROWS_WITH_AS((void)to({.share = 0.5, .multiple = 0}), "prune: impossible multiple 0", ps::error);
}

}  // namespace
}  // namespace prune_to
