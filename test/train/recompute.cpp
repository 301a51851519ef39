// Layers that are computed again: whichever they are, the gradients stay; and an arena stays within what it may take.
#include "bars.hpp"

#include "../quick.hpp"

#include <doctest/doctest.h>
#include <primsel/cost/analytical.hpp>
#include <primsel/network/zoo.hpp>
#include <primsel/train/trainer.hpp>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <vector>

namespace recomputing {
namespace {

namespace ps = primsel;
using namespace ps::layer;  // NOLINT(google-build-using-namespace): layers, as networks are written

/// The same plans wherever the tests run: other primitives round otherwise, which three steps multiply.
struct SameEverywhere : ps::Analytical {
    SameEverywhere() : ps::Analytical(ps::Machine{}) {}
};
struct Recipe : ps::DefaultTraining {
    using learning_rate = ps::Constant;
    using cost_model = SameEverywhere;
};
using Step = ps::TrainingStep<Recipe>;

/// Something of everything that reads its own result or its input in the backward pass.
struct Mixed
    : ps::Network<Input<3, 16, 16>, Named<"a", Conv<16, 3, NoBias>>, Named<"an", BatchNorm>, Relu,
                  Residual<Named<"b", Conv<16, 3, NoBias>>, Named<"bn", BatchNorm>, Relu,
                           Named<"c", Conv<16, 3, NoBias>>, Named<"cn", BatchNorm>>,
                  Relu, MaxPool<2>, Concat<Path<Named<"d", Conv<8, 1>>, Relu>, Path<Named<"e", Conv<8, 3>>, HardSwish>>,
                  Lrn<>, AveragePool<2>, Dropout, Named<"f", Conv<12, 3, Groups<4>>>, Sigmoid, GlobalAvgPool,
                  Named<"g", Dense<5>>> {};

struct Deep : ps::Network<Input<1, 8, 8>, Named<"a", Conv<8, 3, NoBias>>, Named<"an", BatchNorm>, Relu,
                          Named<"b", Conv<8, 3, NoBias>>, Named<"bn", BatchNorm>, Relu, Named<"c", Conv<8, 3, NoBias>>,
                          Named<"cn", BatchNorm>, Relu, Dropout, GlobalAvgPool, Named<"fc", Dense<3>>> {};

struct Ready {
    Ready(ps::Graph const& graph, ps::TrainingGraph const& step)
        : parameters(graph, ps::random_weights(graph, 5)), step(step, parameters, ps::Predict<>(), ps::Sequential{}) {}

    std::vector<float> gradients(std::vector<float> const& images, std::vector<float> const& targets) {
        step.seed(3, 4);
        (void)step.run(images, targets, ps::SoftmaxCrossEntropy{});
        std::vector<float> all;
        for (ps::TrainedWeight const& weight : step.trained()) {
            all.insert(all.end(), weight.gradient.begin(), weight.gradient.end());
        }
        return all;
    }

    ps::Parameters parameters;
    Step step;
};

double distance(std::vector<float> const& a, std::vector<float> const& b) {
    REQUIRE(a.size() == b.size());
    double apart = 0, largest = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        apart = std::max(apart, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
        largest = std::max(largest, std::abs(static_cast<double>(a[i])));
    }
    return apart / largest;
}

std::vector<float> numbers(std::size_t count) {
    std::mt19937 bits(1);
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& value : values) value = normal(bits);
    return values;
}

}  // namespace

TEST_CASE("whatever is computed again, the gradients are the same") {
    const ps::Graph graph = Mixed::graph(4);
    ps::TrainingGraph step = ps::differentiate(graph);
    step.graph = ps::simplify(step.graph);
    const std::vector<float> images = numbers(4 * std::size_t{3} * 16 * 16), targets{0, 3, 1, 4};
    const std::vector<float> expected = Ready(graph, step).gradients(images, targets);

    const std::size_t backward = step.graph.find(step.gradient);
    const std::vector<std::size_t> outputs = step.graph.outputs();
    std::mt19937 bits(2);
    for (int round = 0; round < 12; ++round) {
        std::vector<bool> again(step.graph.size(), false);
        std::size_t chosen = 0;
        for (std::size_t i = 0; i < backward; ++i) {
            ps::AnyLayer const& layer = step.graph[i].layer;
            const bool given =
                std::holds_alternative<ps::InputParams>(layer) || std::holds_alternative<ps::ParameterParams>(layer);
            const bool result = std::ranges::find(outputs, i) != outputs.end();
            again[i] = !given && !result && (round == 0 || bits() % 3 == 0);
            chosen += again[i] ? 1U : 0U;
        }
        ps::TrainingGraph other = step;
        other.graph = ps::recompute(step.graph, backward, again);
        CHECK(other.graph.size() > step.graph.size());
        CHECK(other.graph.size() <= step.graph.size() + chosen);
        CHECK(distance(expected, Ready(graph, other).gradients(images, targets)) < 1e-5);
    }
}

TEST_CASE("an arena takes no more than it may, and the training is the same") {
    std::vector<ps::Graph> graphs{Mixed::graph(64), ps::zoo::graph("resnet56", quick() ? 1 : 4)};
    if (!quick()) graphs.push_back(ps::zoo::graph("squeezenet1_1", 2));
    for (ps::Graph const& graph : graphs) {
        const ps::Weights weights = ps::random_weights(graph, 3);
        const auto batch = static_cast<std::size_t>(graph.batch());
        const std::vector<float> images = numbers(batch * graph[graph.input()].shape.size());
        std::vector<float> targets(batch);
        for (std::size_t i = 0; i < batch; ++i) targets[i] = static_cast<float>(i % 5);
        const auto losses = [&](std::size_t most, std::size_t& bytes, double& again) {
            ps::Trainer<ps::Graph, Recipe> trainer(graph, weights, {.batch = graph.batch(), .max_arena = most});
            bytes = trainer.arena_bytes();
            again = ps::recomputing_seconds(trainer.plan());
            std::vector<float> result;
            for (int step = 0; step < 3; ++step) {
                result.push_back(static_cast<float>(trainer.step(images, targets, 0.01)));
            }
            return result;
        };
        std::size_t all = 0;
        double none = 0;
        const std::vector<float> expected = losses(ps::TrainingOptions{}.max_arena, all, none);
        CHECK(none == 0);
        for (const double share : {0.9, graph.size() > 40 ? 0.6 : 0.8}) {
            CAPTURE(share);
            const auto most = static_cast<std::size_t>(share * static_cast<double>(all));
            std::size_t bytes = 0;
            double again = 0;
            const std::vector<float> there = losses(most, bytes, again);
            CHECK(bytes <= most);
            CHECK(distance(expected, there) < 1e-4);
        }
    }
}

TEST_CASE("an arena that is too small for every step is refused") {
    try {
        const ps::Graph graph = Mixed::graph(4);
        ps::Trainer<ps::Graph, Recipe>(graph, ps::random_weights(graph), {.batch = 4, .max_arena = 1000});
        FAIL("accepted");
    } catch (ps::error const& refusal) {
        CHECK(std::string(refusal.what())
                  .starts_with("train: no step found needs at most 1000 bytes of arena; the smallest needs "));
    }
}

TEST_CASE("a training that computes layers again goes on to the same bits") {
    const ps::Weights weights = ps::random_weights(Deep::graph());
    ps::TrainingOptions options{.batch = 64, .epochs = 4};
    using Trainer = ps::Trainer<Deep, training::Recipe>;
    options.max_arena = Trainer(weights, options).arena_bytes() * 19 / 20;
    Trainer whole(weights, options);
    CHECK(ps::recomputing_seconds(whole.plan()) > 0);
    whole.fit(training::Bars{});
    Trainer begun(weights, options);
    begun.fit(training::Bars{}, {}, ps::NoAugment{}, ps::NoValidation{}, ps::IgnoreReports{},
              [](std::int64_t updates) { return updates < 5; });
    const ps::Checkpoint checkpoint = begun.checkpoint();
    Trainer resumed(weights, options, {.plan = checkpoint.plan});
    CHECK(resumed.step_graph() == begun.step_graph());
    resumed.resume(checkpoint);
    resumed.fit(training::Bars{});
    CHECK(training::all_values(resumed.weights()) == training::all_values(whole.weights()));
}

}  // namespace recomputing
