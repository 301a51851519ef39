// A step of training: its gradients are those of finite differences whatever the layers, only what is trained is
// computed, and what cannot be trained is refused by name.
#include <doctest/doctest.h>
#include <primsel/layer/compose.hpp>
#include <primsel/network/network.hpp>
#include <primsel/network/zoo.hpp>
#include <primsel/train/trainer.hpp>
#include <primsel/train/training_step.hpp>

#include "squares.hpp"

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace differentiating {
namespace {

namespace ps = primsel;
using namespace ps::layer;  // NOLINT(google-build-using-namespace): layers, as networks are written

using squares::numbers, squares::Squares;

struct Rounded {
    static constexpr ps::ActivationParams params{ps::ActivationKind::round};
};
struct Recipe : ps::DefaultTraining {};
using Step = ps::TrainingStep<Recipe>;

bool all_weights(std::string_view) { return true; }

struct Ready {
    template <class Trains = decltype(&all_weights)>
    explicit Ready(ps::Graph const& of, Trains const& trains = &all_weights)
        : graph(of),
          parameters(graph, ps::random_weights(graph, 5)),
          step(ps::differentiate(graph, trains), parameters, ps::Predict<>(), ps::Sequential{}),
          images(numbers(static_cast<std::size_t>(graph.batch()) * graph[graph.input()].shape.size(), 1)) {
        (void)step.run(images, std::vector<float>(step.result().size()), Squares{});
        targets = numbers(step.result().size(), 2);
    }
    double run() {
        parameters.join_transposed();
        return step.run(images, targets, Squares{});
    }

    ps::Graph graph;
    ps::Parameters parameters;
    Step step;
    std::vector<float> images, targets;
};

/// Compares the gradient of some elements of every weight with the slope between two losses. Kinks lie between them now
/// and then: most elements of a weight must agree.
template <class Trains = decltype(&all_weights)>
void check_slopes(ps::Graph const& graph, double within = 0.02, Trains const& trains = &all_weights) {
    Ready net(graph, trains);
    (void)net.run();
    std::vector<std::vector<float>> gradients;
    for (ps::TrainedWeight const& weight : net.step.trained()) {
        gradients.emplace_back(weight.gradient.begin(), weight.gradient.end());
    }
    std::mt19937 bits(7);
    for (std::size_t i = 0; i < gradients.size(); ++i) {
        ps::TrainedWeight const& weight = net.step.trained()[i];
        CAPTURE(weight.name);
        double scale = 0;
        for (const float value : gradients[i]) scale = std::max(scale, static_cast<double>(std::abs(value)));
        int good = 0, tried = 0;
        for (int k = 0; k < 8; ++k, ++tried) {
            const std::size_t at = bits() % weight.values.size();
            const float old = weight.values[at], step = 4e-3F;
            weight.values[at] = old + step;
            const double above = net.run();
            weight.values[at] = old - step;
            const double below = net.run();
            weight.values[at] = old;
            const double slope = (above - below) / (2 * static_cast<double>(step));
            good += std::abs(slope - static_cast<double>(gradients[i][at])) < within * scale + 2e-3 ? 1 : 0;
        }
        CHECK(good >= tried - 2);
    }
}

template <class... Layers>
ps::Graph graph_of(int batch) {
    struct Net : ps::Network<Layers...> {};
    return Net::graph(batch);
}

}  // namespace

TEST_CASE("slopes of convolutions: grouped, strided, dilated, padded unevenly, transposed by stride, dense") {
    check_slopes(
        graph_of<Input<4, 9, 8>, Named<"a", Conv<6, 3, Stride<2>, Groups<2>>>, Named<"b", Conv<5, 2, Pad<1>>>,
                 Named<"c", Conv<4, 3, Dilation<2>>>, Flatten, Named<"d", Dense<7>>, Tanh, Named<"e", Dense<3>>>(3));
    check_slopes(graph_of<Input<3, 11, 7>,
                          Named<"a", Conv<8, ps::Extent{3, 2}, Stride<ps::Extent{3, 2}>, Pad<ps::Padding{0, 1, 1, 0}>>>,
                          Sigmoid, Named<"b", Conv<8, 3, Groups<8>, NoBias>>,
                          Named<"c", Conv<8, 3, Stride<2>, Groups<8>>>, Named<"d", Dense<3>>>(2));
}

TEST_CASE("slopes of weights that layers share, some transposed, are those of all their uses") {
    ps::Graph graph = graph_of<Input<4, 9, 8>, Named<"a", Conv<4, 3>>, Named<"n", BatchNorm>, Relu, MaxPool<2>,
                               Named<"b", Conv<4, 3>>, Named<"m", BatchNorm>, Tanh, Flatten, Named<"d", Dense<7>>, Tanh,
                               Named<"u", Dense<64>>, Tanh, Named<"e", Dense<7>>, Named<"f", Dense<3>>>(3);
    graph.set_shared({{"a.weight", {"kernel"}},
                      {"b.weight", {"kernel"}},
                      {"n.weight", {"factor"}},
                      {"m.weight", {"factor"}},
                      {"a.bias", {"bias"}},
                      {"m.bias", {"bias"}},
                      {"d.weight", {"matrix"}},
                      {"u.weight", {"matrix", true}},
                      {"e.weight", {"matrix"}}});
    check_slopes(graph, 0.05);
    Ready net(graph);
    (void)net.run();
    std::vector<std::string> names;
    for (ps::TrainedWeight const& weight : net.step.trained()) names.push_back(weight.name);
    CHECK(names.size() == ps::own_weight_specs(graph).size() - 4);  // but for the statistics
    CHECK(std::ranges::find(names, "u.weight") == names.end());
    CHECK(net.step.program().weight_bytes() == 0);
}

TEST_CASE("slopes of normalisation, pooling, activations, sums, concatenations and products") {
    check_slopes(graph_of<Input<3, 8, 8>, Named<"a", Conv<6, 3, NoBias>>, Named<"n", BatchNorm>, Relu, MaxPool<2>,
                          Residual<Named<"b", Conv<6, 3>>, Named<"m", BatchNorm>>, Relu, AveragePool<2>,
                          Concat<Path<Named<"c", Conv<4, 1>>, HardSwish>, Path<Named<"d", Conv<4, 3>>, Lrn<>>>,
                          ChannelShuffle<2>, GlobalAvgPool, Named<"e", Dense<3>>>(4),
                 0.05);
    check_slopes(graph_of<Input<4, 6, 6>, Named<"a", Conv<8, 3>>, LeakyRelu<std::ratio<1, 10>>,
                          Product<Path<>, Path<GlobalAvgPool, Named<"s", Conv<8, 1>>, HardSigmoid<>>>, ZeroPad<1>,
                          Slice<1, 7>, Named<"b", Conv<5, 3>>, GlobalMaxPool, Flatten, Named<"c", Dense<3>>>(3),
                 0.05);
}

TEST_CASE("only what leads to a trained weight is computed") {
    const ps::Graph graph = ps::zoo::ResNet18::graph(2);
    const auto count = [](ps::TrainingGraph const& step, std::string_view what) {
        return std::ranges::count_if(step.graph.nodes(),
                                     [&](ps::Node const& node) { return layer_kind(node.layer) == what; });
    };
    const ps::TrainingGraph all = ps::differentiate(graph),
                            last =
                                ps::differentiate(graph, [](std::string_view name) { return name.starts_with("fc"); });
    CHECK(all.weights.size() == 62);
    CHECK(all.batch_norms.size() == 20);
    CHECK(count(all, "conv_weight_gradient") == 21);
    CHECK(count(all, "conv_input_gradient") == 20);  // the image needs none
    CHECK(last.weights.size() == 2);
    CHECK(last.batch_norms.empty());
    CHECK(count(last, "conv_weight_gradient") == 1);
    CHECK(count(last, "conv_input_gradient") == 0);
    CHECK(count(last, "normalize") == 0);
}

TEST_CASE("every network of the zoo can be trained") {
    for (const std::string_view name : ps::zoo::names) {
        CAPTURE(name);
        const ps::Graph graph = ps::zoo::graph(name, 2);
        const ps::TrainingGraph step = ps::differentiate(graph);
        std::size_t trained = 0;
        for (ps::WeightSpec const& spec : ps::weight_specs(graph)) {
            trained += !spec.name.ends_with(".running_mean") && !spec.name.ends_with(".running_var") ? 1U : 0U;
        }
        CHECK(step.weights.size() == trained);
    }
}

TEST_CASE("frozen layers compute what they do without training") {
    const ps::Graph graph =
        graph_of<Input<3, 8, 8>, Named<"a", Conv<6, 3>>, Named<"n", BatchNorm>, Relu, Named<"b", Conv<6, 3, NoBias>>,
                 Named<"m", BatchNorm>, Relu, Named<"c", Conv<4, 3>>, GlobalAvgPool, Named<"fc", Dense<3>>>(2);
    const ps::Weights weights = ps::random_weights(graph, 5);
    ps::Parameters parameters(graph, weights);
    Step step(ps::differentiate(
                  graph, [](std::string_view name) { return name.starts_with("c.") || name.starts_with("fc."); }),
              parameters, ps::Predict<>(), ps::Sequential{});
    const std::vector<float> images = numbers(2 * 3 * 8 * 8, 1);
    for (int run = 0; run < 2; ++run) {
        (void)step.run(images, std::vector<float>(6), Squares{});
        ps::Engine<ps::Graph> engine(graph, weights);
        std::vector<float> expected(6);
        engine.run(images, expected);
        for (std::size_t i = 0; i < 6; ++i) CHECK(step.result()[i] == doctest::Approx(expected[i]).epsilon(1e-4));
    }
}

TEST_CASE("a batch norm that is not trained keeps its running statistics, and layers before it have gradients") {
    const ps::Graph graph = graph_of<Input<3, 8, 8>, Named<"a", Conv<6, 3, NoBias>>, Named<"n", BatchNorm>, Relu,
                                     Residual<Named<"b", Conv<6, 3>>, Named<"m", BatchNorm>, HardSwish>, GlobalAvgPool,
                                     Named<"c", Dense<3>>>(4);
    const auto convolutions = [](std::string_view name) {
        return name.find("n.") == std::string_view::npos && name.find("m.") == std::string_view::npos;
    };
    check_slopes(graph, 0.02, convolutions);
    Ready net(graph, convolutions);
    (void)net.run();
    net.step.update_statistics();
    ps::Engine<ps::Graph> engine(graph, net.parameters.copy(graph));
    std::vector<float> expected(12);
    engine.run(net.images, expected);
    for (std::size_t i = 0; i < 12; ++i) CHECK(net.step.result()[i] == doctest::Approx(expected[i]).epsilon(1e-4));
    for (const char* name : {"n.running_mean", "n.running_var", "sum1.m.running_mean"}) {
        const std::span<const float> kept = net.parameters[name];
        CHECK(std::ranges::equal(kept, ps::random_weights(graph, 5).at(name).values));
    }
}

TEST_CASE("running statistics keep the share that the layer's momentum says") {
    ps::Graph graph(4);
    graph.add("image", ps::InputParams{{2, 3, 3}}, {});
    graph.add("usual", ps::BatchNormParams{}, {0});
    graph.add("half", ps::BatchNormParams{.momentum = 0.5F}, {0});
    graph.add("sum", ps::AddParams{}, {1, 2});
    Ready net(graph);
    const auto moved = [&](std::string const& name, std::optional<double> share) {
        const std::span<float> values = net.parameters[name];
        const float before = 3;
        net.step.update_statistics(1.0);
        const float batch = values[0];
        values[0] = before;
        net.step.update_statistics(share);
        return (values[0] - before) / (batch - before);
    };
    (void)net.run();
    for (const std::string statistic : {".running_mean", ".running_var"}) {
        CHECK(moved("usual" + statistic, {}) == doctest::Approx(0.1).epsilon(1e-4));
        CHECK(moved("half" + statistic, {}) == doctest::Approx(0.5).epsilon(1e-4));
        CHECK(moved("half" + statistic, 0.25) == doctest::Approx(0.25).epsilon(1e-4));
    }
}

TEST_CASE("a softmax at the end, or its logarithm, is left to the loss") {
    ps::Graph graph(2);
    graph.add("image", ps::InputParams{{2, 3, 3}}, {});
    const std::size_t logits = graph.add("logits", ps::DenseParams{3}, {0});
    const ps::Graph alone = graph;
    ps::Graph soft = alone;
    soft.add("softmax", ps::SoftmaxParams{}, {logits});
    const std::size_t top = graph.add("top", ps::ReduceParams{ps::ReduceKind::max}, {logits});
    const std::size_t below = graph.add("below", ps::BinaryParams{ps::BinaryKind::subtract}, {logits, top});
    const std::size_t terms = graph.add("terms", ps::ActivationParams{ps::ActivationKind::exp}, {below});
    const std::size_t sum = graph.add("sum", ps::ReduceParams{ps::ReduceKind::sum}, {terms});
    const std::size_t log = graph.add("log", ps::ActivationParams{ps::ActivationKind::log}, {sum});
    graph.add("result", ps::BinaryParams{ps::BinaryKind::subtract}, {below, log});
    const auto step = [](ps::Graph const& of) { return ps::structure(ps::differentiate(of).graph); };
    CHECK(step(graph) == step(alone));
    CHECK(step(soft) == step(alone));
    // Something else is not taken for it.
    ps::Graph other = alone;
    other.add("difference", ps::BinaryParams{ps::BinaryKind::subtract}, {logits, logits});
    CHECK(step(other) != step(alone));
}

TEST_CASE("a batch norm that sees one value a channel is refused by name, unless it is frozen") {
    const auto graph = [](int batch, int size) {
        ps::Graph result(batch);
        result.add("image", ps::InputParams{{3, size, size}}, {});
        result.add("conv", ps::ConvParams{.k = 4}, {0});
        result.add("norm", ps::BatchNormParams{}, {1});
        return result;
    };
    CHECK_THROWS_WITH_AS((void)ps::differentiate(graph(1, 1)),
                         doctest::Contains("train: layer norm (batch_norm) sees one value a channel"), ps::error);
    CHECK_NOTHROW((void)ps::differentiate(graph(2, 1)));
    CHECK_NOTHROW((void)ps::differentiate(graph(1, 2)));
    CHECK_NOTHROW((void)ps::differentiate(graph(1, 1), [](std::string_view name) { return name.starts_with("conv"); }));
    // A batch in parts of one image.
    const ps::Graph part = graph(1, 1);
    CHECK_THROWS_WITH_AS((ps::Trainer<ps::Graph, Recipe>(part, ps::random_weights(part), {.batch = 4, .part = 1})),
                         doctest::Contains("layer norm"), ps::error);
}

TEST_CASE("dropout drops the share that the network says") {
    const auto rates = [](ps::Graph const& graph) {
        std::vector<float> found;
        const ps::Graph step = ps::differentiate(graph).graph;
        for (std::size_t i = 0; i < step.size(); ++i) {
            const auto* dropout = std::get_if<ps::RandomDropoutParams>(&step[i].layer);
            if (dropout != nullptr) found.push_back(dropout->rate);
        }
        return found;
    };
    CHECK(rates(ps::zoo::MobileNetV2::graph(2)) == std::vector{0.2F, 0.2F});  // forward and backward
    CHECK(rates(ps::zoo::SqueezeNet11::graph(2)) == std::vector{0.5F, 0.5F});
}

TEST_CASE("what cannot be trained is refused by name") {
    const auto refused = [](ps::Graph const& graph, const char* why) {
        CHECK_THROWS_WITH_AS((void)ps::differentiate(graph), doctest::Contains(why), ps::error);
    };
    refused(
        graph_of<Input<3, 8, 8>, Named<"a", Conv<4, 3>>, Rounded, Named<"b", Conv<4, 3>>>(1),
        "nothing that leads to the result depends on weight a.bias; steps, comparisons and positions pass no gradient");
    refused(graph_of<Input<3, 8, 8>, Relu>(1), "no weight is trained");
    const ps::Graph norm = graph_of<Input<3, 8, 8>, Named<"a", Conv<4, 3>>, Named<"n", BatchNorm>>(1);
    CHECK_THROWS_WITH_AS((void)ps::differentiate(ps::simplify(norm)), doctest::Contains("has others fused into it"),
                         ps::error);
}

}  // namespace differentiating
