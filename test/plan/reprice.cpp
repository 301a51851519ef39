#include <primsel/plan/reprice.hpp>

#include "../fixed_machines.hpp"
#include "fakes.hpp"
#include "random_graphs.hpp"

#include <doctest/doctest.h>
#include <primsel/cost/analytical.hpp>
#include <primsel/cost/semi_empirical.hpp>
#include <primsel/measure/measured.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/network/zoo/by_name.hpp>
#include <primsel/pbqp/exact.hpp>
#include <primsel/train/differentiate.hpp>
#include <primsel/train/policies.hpp>

#include <string>
#include <vector>

namespace repricing {

namespace ps = primsel;
using fakes::chw, fakes::hwc;

namespace {

const std::vector<ps::PrimitiveEntry> primitives{
    fakes::primitive("here", chw, chw), fakes::primitive("there", hwc, hwc),
    fakes::primitive("across", chw, hwc, {.fuses_epilogue = false}), fakes::primitive("back", hwc, chw)};

}  // namespace

TEST_CASE("the model that made a plan says the same again; another says no less than its own best plan takes") {
    const ps::Kernels kernels = fakes::kernels(primitives);
    for (unsigned seed = 0; seed < 50; ++seed) {
        CAPTURE(seed);
        const ps::Graph graph = ps::simplify(random_graphs::Maker(seed).make(8));
        fakes::HashedCosts costs(seed), others(seed + 1000);
        const ps::Plan plan = ps::make_plan(graph, kernels, costs, ps::ExactPbqp{});
        const ps::Plan best = ps::make_plan(graph, kernels, others, ps::ExactPbqp{});
        CHECK(ps::reprice(plan, graph, kernels, costs) == doctest::Approx(plan.total_seconds));
        CHECK(ps::reprice(plan, graph, kernels, others) >= best.total_seconds * (1 - 1e-12));
    }
}

namespace {

/// A plan by this model says its own price again, and its bound is not above that.
template <class Model>
void check_own_price(Model&& model, ps::Graph const& graph, ps::Kernels const& kernels) {
    const ps::Plan plan = ps::make_plan(graph, kernels, model, ps::ExactPbqp{});
    CAPTURE(plan.cost_model);
    CHECK(ps::reprice(plan, graph, kernels, model) == doctest::Approx(plan.total_seconds).epsilon(1e-12));
    CHECK(plan.bound_seconds <= plan.total_seconds * (1 + 1e-12));
}

}  // namespace

TEST_CASE("every model that is computed says of its plan what it said when it made it: inference, batches, training") {
    const ps::Kernels kernels = fixed::on_fixed_machine(
        ps::make_kernels<ps::TrainingPrimitives, ps::default_arch, ps::AllLayouts, ps::CompileTraining>());
    for (const char* name : {"resnet18", "mobilenet_v2", "squeezenet1_1", "alexnet_cifar"}) {
        for (const int batch : {1, 4}) {
            for (const bool trains : {false, true}) {
                CAPTURE(name);
                CAPTURE(batch);
                CAPTURE(trains);
                ps::Graph graph = ps::zoo::graph(name, batch);
                if (trains) graph = ps::differentiate(graph).graph;
                graph = ps::simplify(graph);
                for (ps::Machine const& machine : {fixed::machines()[0], fixed::machines()[1]}) {
                    check_own_price(ps::Analytical(machine), graph, kernels);
                    check_own_price(ps::SemiEmpiricalCosts(machine), graph, kernels);
                }
            }
        }
    }
}

TEST_CASE("what was measured is remembered for every context that a time depends on") {
    ps::Graph graph(2);
    graph.add("image", ps::InputParams{{4, 12, 12}}, {});
    graph.add("conv1", ps::ConvParams{.k = 8, .kernel = 3, .padding = 1}, {0});
    graph.add("relu1", ps::ActivationParams{}, {1});
    graph.add("conv2", ps::ConvParams{.k = 8, .kernel = 3, .padding = 1}, {2});
    const ps::Kernels kernels =
        ps::make_kernels<ps::TrainingPrimitives, ps::default_arch, ps::AllLayouts, ps::CompileTraining>();
    ps::measure::Measured measured(1);
    check_own_price(measured, ps::simplify(graph), kernels);
    check_own_price(measured, ps::simplify(ps::differentiate(graph).graph), kernels);
}

TEST_CASE("a plan of another network or of other kernels is refused") {
    const ps::Kernels kernels = fakes::kernels(primitives);
    fakes::HashedCosts costs(1);
    const ps::Graph graph = ps::simplify(random_graphs::Maker(1).make(8, 1, true)),
                    other = ps::simplify(random_graphs::Maker(2).make(9));
    ps::Plan plan = ps::make_plan(graph, kernels, costs, ps::ExactPbqp{});
    CHECK_THROWS_AS((void)ps::reprice(plan, other, kernels, costs), ps::error);
    const ps::Kernels fewer = fakes::kernels(std::span(primitives).first(1));
    for (ps::PlannedLayer& layer : plan.layers) {
        if (!layer.primitive.empty()) layer.primitive = "there";
    }
    bool convolutions = false;
    for (ps::PlannedLayer const& layer : plan.layers) convolutions = convolutions || !layer.primitive.empty();
    REQUIRE(convolutions);
    CHECK_THROWS_WITH_AS((void)ps::reprice(plan, graph, fewer, costs),
                         doctest::Contains("uses there, which is not among the kernels"), ps::error);
}

}  // namespace repricing
