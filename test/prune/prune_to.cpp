// A network is thinned to so many milliseconds, multiply-adds or filters; the table of what is coupled to what.
#include "../fixed_machines.hpp"
#include "thinned.hpp"

#include <doctest/doctest.h>
#include <primsel/layer/compose.hpp>
#include <primsel/network/resized.hpp>
#include <primsel/network/zoo.hpp>
#include <primsel/prune/coupled_layers.hpp>
#include <primsel/prune/prune_to.hpp>
#include <primsel/show/coupling_dot.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <vector>

namespace prune_to {
namespace {

namespace ps = primsel;
using namespace ps::layer;  // NOLINT(google-build-using-namespace): layers, as networks are written
using namespace thinned;    // NOLINT(google-build-using-namespace)

TEST_CASE("operations and filters of a network") {
    // As torchvision's documentation has them.
    CHECK(ps::multiply_adds(ps::zoo::ResNet18::graph()) == doctest::Approx(1.814e9).epsilon(1e-3));
    CHECK(ps::multiply_adds(ps::zoo::MobileNetV2::graph()) == doctest::Approx(0.301e9).epsilon(1e-2));
    CHECK(ps::prune::filters(graph_of<Input<3, 8, 8>, Conv<8, 3>, Conv<8, 3, Groups<8>>, Dense<5>>()) == 13);
}

/// Counts them one by one: padding as if it were image, and of a transposed convolution also those that fall into its
/// padding.
double counted(ps::ConvParams const& conv, ps::Shape in, ps::Shape out) {
    double count = 0;
    for (int k = 0; k < out.c; ++k) {
        const int group = k / (out.c / conv.groups);
        for (int c = 0; c < in.c; ++c) {
            if (c / (in.c / conv.groups) != group) continue;
            for (int pixel = 0; pixel < out.h * out.w; ++pixel) {
                for (int tap = 0; tap < conv.kernel.h * conv.kernel.w; ++tap) ++count;
            }
        }
    }
    return count;
}
double counted(ps::ConvTransposeParams const& conv, ps::Shape in, ps::Shape out) {
    const ps::ConvParams rotated{.kernel = conv.kernel, .groups = conv.groups};
    return counted(rotated, out, in);
}
double counted(ps::DenseParams const&, ps::Shape in, ps::Shape out) {
    double count = 0;
    for (std::size_t i = 0; i < in.size() * out.size(); ++i) ++count;
    return count;
}
/// Each row of the first with each column of the second.
double counted(ps::MatMulParams const&, ps::Shape in, ps::Shape out) {
    double count = 0;
    for (std::size_t i = 0; i < out.size(); ++i) {
        for (int j = 0; j < in.w; ++j) ++count;
    }
    return count;
}

TEST_CASE("the operations of every layer with weights are those that are counted one by one") {
    const ps::Shape image{.c = 6, .h = 9, .w = 7}, line{.c = 6, .h = 1, .w = 20};
    const auto check = [](auto const& layer, ps::Shape in, bool reads_weights = false) {
        ps::Graph graph(3);
        std::vector<std::size_t> inputs{graph.add("input", ps::InputParams{in}, {})};
        if (reads_weights) inputs.push_back(graph.add("w", ps::ConstantParams{.shape = {1, in.w, 5}}, {}));
        const std::size_t at = graph.add("layer", layer, inputs);
        graph.set_outputs({graph.add("relu", ps::ActivationParams{}, {at})});
        CAPTURE(ps::layer_kind(graph[at].layer));
        CHECK(ps::multiply_adds(graph) > 0);
        CHECK(ps::multiply_adds(graph) == counted(layer, in, graph[at].shape));
    };
    for (const int groups : {1, 2, 6}) {
        check(ps::ConvParams{.k = 12, .kernel = {3, 2}, .stride = {2, 1}, .padding = 1, .groups = groups}, image);
        check(ps::ConvParams{.k = 12, .kernel = {1, 5}, .dilation = {1, 2}, .groups = groups}, line);
        check(
            ps::ConvTransposeParams{
                .k = 12, .kernel = {3, 2}, .stride = {2, 3}, .padding = 1, .extra_h = 1, .groups = groups},
            image);
        check(ps::ConvTransposeParams{.k = 12, .kernel = {1, 4}, .stride = {1, 2}, .groups = groups}, line);
    }
    check(ps::DenseParams{.k = 10}, image);
    check(ps::DenseParams{.k = 10, .bias = false}, line);
    check(ps::MatMulParams{}, image, true);
    check(ps::MatMulParams{}, line, true);
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

TEST_CASE("the table of what is coupled to what") {
    const ps::Graph graph = graph_of<Input<3, 8, 8>, Named<"a", Conv<8, 3>>, Named<"n", BatchNorm>,
                                     Named<"r", Residual<Named<"b", Conv<8, 3>>>>, Named<"d", Conv<8, 3, Groups<8>>>,
                                     Named<"c", Conv<4, 3>>>();
    const ps::prune::Coupling coupling(graph);
    const std::vector<ps::prune::CoupledLayers> table = ps::prune::coupled_layers(graph, coupling);
    using Names = std::vector<std::string>;
    REQUIRE(table.size() == 2);
    CHECK(table[0].made_by == Names{"a", "r.b"});
    CHECK(table[0].passed_by == Names{"n", graph[4].name, "d"});
    CHECK(table[0].read_by == Names{"r.b", "c"});
    CHECK(table[0].groups.size() == 8);
    CHECK(table[0].may_go == 8);
    CHECK(table[1].made_by == Names{"c"});
    CHECK(table[1].may_go == 0);
    CHECK(ps::prune::to_text(table) ==
          "filters of  channels  may go  read by  the others stay because\n"
          "a, r.b      8         8       r.b, c   \n"
          "c           4         0                they are the network's result\n");
    const std::string dot = ps::show::to_dot(graph, coupling);
    CHECK(dot.starts_with("digraph coupling {\n"));
    CHECK(dot.find("n1 [label=\"a\\nconv, 8 channels\", fillcolor=\"0.000 0.4 0.95\", penwidth=3];") !=
          std::string::npos);
    CHECK(dot.find("n4 [label=\"" + graph[4].name + "\\nadd, 8 channels\", fillcolor=\"0.000 0.4 0.95\"];") !=
          std::string::npos);
    CHECK(dot.find("c\\nconv, 4 channels\", fillcolor=\"#e4e7ea\"];") != std::string::npos);
    CHECK(dot.find("n3 -> n4;\n") != std::string::npos);
}

}  // namespace
}  // namespace prune_to
