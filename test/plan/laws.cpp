// What every plan obeys, on every network of the zoo.
#include <primsel/cost/extern_kernels.hpp>
#include <primsel/primsel.hpp>

#include <doctest/doctest.h>

#include <set>
#include <sstream>
#include <string>

namespace ps = primsel;

namespace {

const ps::Kernels kernels = ps::Engine<ps::Graph>::kernels();

double sum(ps::Plan const& plan) {
    double seconds = 0;
    for (ps::PlannedLayer const& layer : plan.layers) seconds += layer.seconds;
    for (ps::PlannedTransform const& transform : plan.transforms) seconds += transform.seconds;
    return seconds;
}

}  // namespace

TEST_CASE("the plan of every network is proven optimal, adds up, and is no dearer than any rival") {
    ps::Analytical model;
    for (ps::zoo::Entry const& entry : ps::zoo::entries) {
        CAPTURE(std::string(entry.name));
        const ps::Graph graph = ps::simplify(entry.graph(1));
        const std::vector<ps::ComparedPlan> plans = ps::rival_plans(graph, kernels, model);
        CHECK(plans[0].plan.optimal);
        CHECK(plans.size() >= 7);
        for (ps::ComparedPlan const& rival : plans) {
            CAPTURE(rival.name);
            CHECK(rival.plan.layers.size() == graph.size());
            CHECK(sum(rival.plan) == doctest::Approx(rival.plan.total_seconds));
            CHECK(plans[0].plan.total_seconds <= rival.plan.total_seconds * (1 + 1e-9));
        }
    }
}

TEST_CASE("explain lists every primitive once: its cost or its refusal") {
    ps::Analytical model;
    const ps::Plan plan = ps::make_plan(ps::simplify(ps::zoo::ResNet18::graph()), kernels, model, ps::ExactPbqp{});
    for (ps::PlannedLayer const& layer : plan.layers) {
        if (layer.kind != "conv") continue;
        std::set<std::string> ids;
        for (ps::Candidate const& candidate : layer.candidates) {
            CHECK(ids.insert(candidate.primitive).second);
            CHECK((candidate.seconds > 0) == candidate.refusal.empty());
        }
        CHECK(ids.size() == ps::AllPrimitives::size);
        CHECK(layer.seconds >= layer.candidates[0].seconds);
    }
    const std::string text = plan.explain("conv1");
    CHECK(text.find("*  " + plan.layer("conv1").primitive) != std::string::npos);
    CHECK(text.find("needs stride 1") != std::string::npos);
    CHECK_THROWS_WITH_AS((void)plan.explain("conv99"), doctest::Contains("no layer is named conv99"), ps::error);
    CHECK_THROWS_WITH_AS((void)plan.explain("conv99"), doctest::Contains("layer1.0.conv1"), ps::error);
    std::ostringstream printed;
    printed << plan;
    CHECK(printed.str().find("proven optimal by exact") != std::string::npos);
}

TEST_CASE("a bound on the error leaves Winograd's large tiles out") {
    ps::Analytical model;
    const ps::Graph graph = ps::simplify(ps::zoo::ResNet18::graph());
    const auto uses_large = [](ps::Plan const& plan) {
        for (ps::PlannedLayer const& layer : plan.layers) {
            if (layer.primitive.starts_with("winograd-4x4")) return true;
        }
        return false;
    };
    CHECK(uses_large(ps::make_plan(graph, kernels, model, ps::ExactPbqp{})));
    CHECK_FALSE(uses_large(ps::make_plan(graph, kernels, model, ps::ExactPbqp{}, {.max_error = 5e-5})));
    CHECK_THROWS_WITH_AS((void)ps::make_plan(graph, kernels, model, ps::ExactPbqp{}, {.max_error = 0.0}),
                         doctest::Contains("no primitive can compute layer conv1"), ps::error);
}

TEST_CASE("a uniform plan uses its family or primitive wherever it can, and im2 elsewhere") {
    ps::Analytical model;
    const ps::Graph graph = ps::simplify(ps::zoo::GoogLeNet::graph());
    const auto family_of = [](std::string const& id) {
        for (ps::PrimitiveEntry const& entry : kernels.primitives) {
            if (entry.id == id) return entry.family;
        }
        return ps::Family::other;
    };
    const ps::Plan wino3 = ps::make_plan(graph, kernels, model, ps::ExactPbqp{}, {.family = ps::Family::wino3});
    const ps::Plan kn2row = ps::make_plan(graph, kernels, model, ps::ExactPbqp{}, {.primitive = "kn2row"});
    for (std::size_t i = 0; i < graph.size(); ++i) {
        const auto* conv = std::get_if<ps::ConvParams>(&graph[i].layer);
        if (conv == nullptr) continue;
        const bool small = conv->kernel == ps::Extent{3} && conv->stride == ps::Extent{1};
        CHECK(family_of(wino3.layers[i].primitive) == (small ? ps::Family::wino3 : ps::Family::im2));
        if (conv->stride == ps::Extent{1}) CHECK(kn2row.layers[i].primitive == "kn2row");
    }
}

TEST_CASE("fingerprints differ where graphs differ") {
    const std::string resnet = ps::fingerprint(ps::zoo::ResNet18::graph());
    CHECK(resnet == ps::fingerprint(ps::zoo::ResNet18::graph()));
    CHECK(resnet != ps::fingerprint(ps::zoo::ResNet18::graph(2)));
    CHECK(resnet != ps::fingerprint(ps::simplify(ps::zoo::ResNet18::graph())));
    CHECK(resnet != ps::fingerprint(ps::zoo::ResNet18Of<224, 10>::graph()));
}
