#include <primsel/network/prepare.hpp>

#include "evaluate.hpp"

#include <doctest/doctest.h>
#include <primsel/network/network.hpp>
#include <primsel/network/simplify.hpp>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <limits>
#include <string>
#include <utility>
#include <vector>

namespace network_prepare_tests {

namespace ps = primsel;
using namespace ps::layer;

namespace {

using Dims = std::vector<std::int64_t>;

struct Net : ps::Network<Input<4, 8, 8>, Named<"a", Conv<6, 3, Groups<2>, NoBias>>, Named<"norm", BatchNorm>, Relu,
                         Named<"b", Conv<5, 1>>, Named<"scale", Scale>, Named<"c", Dense<3>>,
                         Named<"last", BatchNormWith<std::ratio<1, 1000>>>> {};
// Layers that cannot be folded have weights of their own.
struct Unfolded
    : ps::Network<Input<4, 8, 8>, Named<"norm", BatchNorm>, Named<"scale", Scale>, Named<"d", Dense<2, NoBias>>> {};

std::vector<std::string> text(std::vector<ps::WeightSpec> const& specs) {
    std::vector<std::string> lines;
    for (ps::WeightSpec const& spec : specs) lines.push_back(spec.name + ' ' + ps::to_string(spec.dims));
    return lines;
}

/// 1, -2, 3, ... over 8.
std::vector<float> series(std::size_t size, float first = 1) {
    std::vector<float> values(size);
    for (std::size_t i = 0; i < size; ++i)
        values[i] = (first + static_cast<float>(i)) * (i % 2 == 0 ? 0.125F : -0.125F);
    return values;
}

}  // namespace

TEST_CASE("prepare: the weights a graph needs, folded or not") {
    const std::vector<std::string> expected{
        "a.weight 6x2x3x3", "norm.weight 6", "norm.bias 6",    "norm.running_mean 6", "norm.running_var 6",
        "b.weight 5x6x1x1", "b.bias 5",      "scale.weight 5", "scale.bias 5",        "c.weight 3x320",
        "c.bias 3",         "last.weight 3", "last.bias 3",    "last.running_mean 3", "last.running_var 3"};
    CHECK(text(ps::weight_specs(Net::graph())) == expected);
    CHECK(text(ps::weight_specs(Net::graph(5))) == expected);
    CHECK(text(ps::weight_specs(ps::simplify(Net::graph()))) == expected);
    CHECK(text(ps::weight_specs(Unfolded::graph())) ==
          std::vector<std::string>{"norm.weight 4", "norm.bias 4", "norm.running_mean 4", "norm.running_var 4",
                                   "scale.weight 4", "scale.bias 4", "d.weight 2x256"});
    CHECK(ps::weight_specs(ps::Graph()).empty());
}

TEST_CASE("prepare: weights that fit are accepted") {
    const ps::Graph graph = Net::graph();
    const ps::Weights weights = ps::random_weights(graph);
    CHECK_NOTHROW(ps::check_weights(graph, weights));
    CHECK_NOTHROW(ps::check_weights(ps::simplify(graph), weights));
}

TEST_CASE("prepare: all that is wrong with weights is said at once") {
    ps::Weights weights;
    for (auto const& [name, tensor] : ps::random_weights(Net::graph())) {
        if (name == "a.weight" || name == "last.running_var") continue;
        if (name == "b.bias" || name == "norm.running_mean") continue;
        weights.add(name, tensor);
    }
    weights.add("b.bias", {1, 5}, std::vector<float>(5));  // as many, but another shape
    weights.add("norm.running_mean", {4}, std::vector<float>(4));
    weights.add("a.bias", {6}, std::vector<float>(6));  // a has none
    weights.add("num_batches_tracked", {}, std::vector<float>(1));
    const std::string expected =
        "11 of 15 weights fit the network\n"
        "  missing: a.weight (6x2x3x3)\n"
        "  wrong shape: norm.running_mean is 4, the layer needs 6\n"
        "  wrong shape: b.bias is 1x5, the layer needs 5\n"
        "  missing: last.running_var (3)\n"
        "  not in the network: a.bias (6)\n"
        "  not in the network: num_batches_tracked (scalar)";
    CHECK_THROWS_WITH_AS(ps::check_weights(Net::graph(), weights), ("weights: " + expected).c_str(), ps::error);
    weights.set_source("net.safetensors");
    CHECK_THROWS_WITH_AS(ps::check_weights(Net::graph(), weights), ("net.safetensors: " + expected).c_str(), ps::error);
    CHECK_THROWS_WITH_AS(ps::check_weights(Unfolded::graph(), ps::Weights()),
                         "weights: 0 of 7 weights fit the network\n"
                         "  missing: norm.weight (4)\n  missing: norm.bias (4)\n  missing: norm.running_mean (4)\n"
                         "  missing: norm.running_var (4)\n  missing: scale.weight (4)\n  missing: scale.bias (4)\n"
                         "  missing: d.weight (2x256)",
                         ps::error);
}

TEST_CASE("prepare: without folded layers, weights are as they are") {
    const ps::Graph graph = Net::graph();
    const ps::Weights weights = ps::random_weights(graph);
    for (const char* name : {"a", "b", "c"}) {
        CAPTURE(name);
        const ps::PreparedWeights prepared = ps::prepare_weights(graph[graph.find(name)], weights);
        const auto kernel = weights.at(std::string(name) + ".weight").values;
        CHECK(std::ranges::equal(prepared.kernel, kernel));
        const ps::WeightTensor* bias = weights.find(std::string(name) + ".bias");
        CHECK(prepared.bias.empty() == (bias == nullptr));
        if (bias != nullptr) CHECK(std::ranges::equal(prepared.bias, bias->values));
    }
}

TEST_CASE("prepare: a batch norm or scale of its own is a factor and a shift") {
    ps::Weights weights;
    weights.add("norm.weight", {4}, {2, 3, -1, 0.5F});
    weights.add("norm.bias", {4}, {0, 1, 2, 3});
    weights.add("norm.running_mean", {4}, {1, -1, 0.5F, 0});
    weights.add("norm.running_var", {4}, {4, 0.25F, 1, 0});
    weights.add("scale.weight", {4}, {1, 2, 3, 4});
    weights.add("scale.bias", {4}, {5, 6, 7, 8});
    weights.add("d.weight", {2, 256}, series(512));
    const ps::Graph graph = Unfolded::graph();
    ps::check_weights(graph, weights);

    const ps::PreparedWeights norm = ps::prepare_weights(graph[graph.find("norm")], weights);
    const double epsilon = 1e-5F;
    const double factors[] = {2 / std::sqrt(4 + epsilon), 3 / std::sqrt(0.25 + epsilon), -1 / std::sqrt(1 + epsilon),
                              0.5 / std::sqrt(epsilon)};
    const double shifts[] = {0 - factors[0], 1 + factors[1], 2 - 0.5 * factors[2], 3};
    for (std::size_t i = 0; i < 4; ++i) {
        CAPTURE(i);
        CHECK(norm.kernel[i] == static_cast<float>(factors[i]));
        CHECK(norm.bias[i] == static_cast<float>(shifts[i]));
    }
    const ps::PreparedWeights scale = ps::prepare_weights(graph[graph.find("scale")], weights);
    CHECK(std::ranges::equal(scale.kernel, std::vector<float>{1, 2, 3, 4}));
    CHECK(std::ranges::equal(scale.bias, std::vector<float>{5, 6, 7, 8}));
}

TEST_CASE("prepare: folded layers are multiplied in, as double arithmetic has it") {
    // Two affine layers after a grouped convolution, one of them with another epsilon; with and without a bias.
    for (const bool bias : {false, true}) {
        CAPTURE(bias);
        ps::Graph graph;
        graph.add("image", ps::InputParams{{4, 5, 5}}, {});
        graph.add("conv", ps::ConvParams{.k = 6, .kernel = 3, .groups = 2, .bias = bias}, {0});
        graph.add("first", ps::BatchNormParams{0.01F}, {1});
        graph.add("second", ps::ScaleParams{}, {2});
        graph.add("third", ps::BatchNormParams{}, {3});
        const ps::Graph simplified = ps::simplify(graph);
        REQUIRE(simplified.size() == 2);
        REQUIRE(simplified[1].epilogue.folded.size() == 3);
        const ps::Weights weights = ps::random_weights(graph, 7);
        const ps::PreparedWeights prepared = ps::prepare_weights(simplified[1], weights);

        // From the definition: what the three layers make of 0, and of the response to one tap at a time.
        const auto after = [&](double x, std::size_t k) {
            for (const std::size_t node : {2U, 3U, 4U}) {
                std::string const& name = graph[node].name;
                const auto weight = [&](const char* which) {
                    return static_cast<double>(weights.at(name + which).values[k]);
                };
                if (const auto* norm = std::get_if<ps::BatchNormParams>(&graph[node].layer)) {
                    x = (x - weight(".running_mean")) /
                        std::sqrt(weight(".running_var") + static_cast<double>(norm->epsilon));
                }
                x = x * weight(".weight") + weight(".bias");
            }
            return x;
        };
        const auto kernel = weights.at("conv.weight").values;
        REQUIRE(prepared.kernel.size() == kernel.size());
        REQUIRE(prepared.bias.size() == 6);
        const std::size_t depth = kernel.size() / 6;
        for (std::size_t k = 0; k < 6; ++k) {
            const double own = bias ? static_cast<double>(weights.at("conv.bias").values[k]) : 0.0;
            CHECK(prepared.bias[k] == doctest::Approx(after(own, k)).epsilon(1e-7));
            const double factor = after(1, k) - after(0, k);
            for (std::size_t i = k * depth; i < (k + 1) * depth; ++i) {
                CHECK(prepared.kernel[i] == doctest::Approx(kernel[i] * factor).epsilon(1e-7));
            }
        }
    }
}

TEST_CASE("prepare: a graph of prepared weights computes the same") {
    const ps::Graph graph = Net::graph(), simplified = ps::simplify(graph);
    CHECK(simplified.size() == 4);
    const ps::Weights weights = ps::random_weights(graph);
    ps::Weights prepared;
    ps::Graph bare;  // as simplified, but nothing is folded: the prepared weights say it all
    for (ps::Node const& node : simplified.nodes()) {
        ps::AnyLayer layer = node.layer;
        if (auto* conv = std::get_if<ps::ConvParams>(&layer)) conv->bias = true;
        if (auto* dense = std::get_if<ps::DenseParams>(&layer)) dense->bias = true;
        ps::Epilogue epilogue = node.epilogue;
        epilogue.folded.clear();
        bare.add(node.name, layer, node.inputs, epilogue);
        if (node.inputs.empty()) continue;
        const ps::PreparedWeights own = ps::prepare_weights(node, weights);
        Dims dims = weights.at(node.name + ".weight").dims;
        prepared.add(node.name + ".weight", dims, {own.kernel.begin(), own.kernel.end()});
        prepared.add(node.name + ".bias", {dims[0]}, {own.bias.begin(), own.bias.end()});
    }
    evaluate::Image image(Net::input_shape);
    const std::vector<float> values = series(image.data.size());
    for (std::size_t i = 0; i < values.size(); ++i) image.data[i] = std::sin(values[i]);
    const evaluate::Image expected = evaluate::graph(graph, image, weights),
                          actual = evaluate::graph(bare, image, prepared);
    REQUIRE(actual.shape == expected.shape);
    for (std::size_t i = 0; i < expected.data.size(); ++i) {
        CHECK(actual.data[i] == doctest::Approx(expected.data[i]).epsilon(1e-5));
    }
}

TEST_CASE("prepare: random weights are the same for the same seed, and of the right size") {
    struct Wide
        : ps::Network<Input<64, 4, 4>, Named<"conv", Conv<64, 3>>, Named<"norm", BatchNorm>, Named<"fc", Dense<100>>> {
    };
    const ps::Graph graph = Wide::graph();
    const ps::Weights a = ps::random_weights(graph), b = ps::random_weights(graph, 1), c = ps::random_weights(graph, 2);
    CHECK_NOTHROW(ps::check_weights(graph, a));
    std::size_t differing = 0;
    for (auto const& item : a) {  // a structured binding cannot be captured with clang and OpenMP
        auto const& name = item.first;
        auto const& tensor = item.second;
        CAPTURE(name);
        REQUIRE(b.at(name).values.size() == tensor.values.size());
        CHECK(std::memcmp(b.at(name).values.data(), tensor.values.data(), tensor.values.size_bytes()) == 0);
        differing += std::memcmp(c.at(name).values.data(), tensor.values.data(), tensor.values.size_bytes()) != 0;
        for (const float value : tensor.values) REQUIRE(std::isfinite(value));
    }
    CHECK(differing == a.size());

    // The kernels keep the variance of what they read through a ReLU: 2 / depth.
    const auto variance = [&](const char* name) {
        double sum = 0;
        for (const float value : a.at(name).values) sum += static_cast<double>(value) * value;
        return sum / static_cast<double>(a.at(name).values.size());
    };
    CHECK(variance("conv.weight") == doctest::Approx(2.0 / (64 * 9)).epsilon(0.05));
    CHECK(variance("fc.weight") == doctest::Approx(2.0 / (64 * 16)).epsilon(0.05));
    for (const float value : a.at("norm.running_var").values) CHECK(value >= 0.5F);
}

namespace {

/// The weights of Net with one value changed.
ps::Weights with_value(std::string const& weight, std::size_t at, float value) {
    ps::Weights weights;
    for (auto const& [name, tensor] : ps::random_weights(Net::graph())) {
        std::vector<float> values(tensor.values.begin(), tensor.values.end());
        if (name == weight) values[at] = value;
        weights.add(name, tensor.dims, std::move(values));
    }
    return weights;
}
std::string error_of(ps::Graph const& graph, ps::Weights const& weights) {
    try {
        ps::check_weights(graph, weights);
    } catch (ps::error const& error) {
        return error.what();
    }
    return "";
}

}  // namespace

TEST_CASE("prepare: values that would make every result NaN or infinite are refused by name and place") {
    constexpr float infinite = std::numeric_limits<float>::infinity(), nan = std::numeric_limits<float>::quiet_NaN();
    const std::string head = "weights: 14 of 15 weights fit the network\n  ";
    for (ps::Graph const& graph : {Net::graph(), ps::simplify(Net::graph())}) {
        // a.weight is 6x2x3x3: value 41 is [2, 0, 1, 2].
        CHECK(error_of(graph, with_value("a.weight", 41, nan)) == head + "not a number: a.weight[2, 0, 1, 2] is nan");
        CHECK(error_of(graph, with_value("a.weight", 107, -infinite)) ==
              head + "not finite: a.weight[5, 1, 2, 2] is -inf");
        CHECK(error_of(graph, with_value("b.bias", 0, infinite)) == head + "not finite: b.bias[0] is inf");
        CHECK(error_of(graph, with_value("norm.running_mean", 5, nan)) ==
              head + "not a number: norm.running_mean[5] is nan");
        CHECK(error_of(graph, with_value("norm.running_var", 1, -0.5F)) ==
              head + "negative variance: norm.running_var[1] is -0.5");
        CHECK(error_of(graph, with_value("norm.running_var", 1, 0.0F)).empty());
        CHECK(error_of(graph, with_value("scale.bias", 4, nan)) == head + "not a number: scale.bias[4] is nan");
        // As masks are.
        CHECK(error_of(graph, with_value("scale.bias", 4, -infinite)).empty());
        CHECK(error_of(graph, with_value("c.weight", 959, 3e38F)).empty());
    }
}

TEST_CASE("prepare: every NaN and infinity is found, wherever it lies") {
    for (std::size_t size = 0; size < 50; ++size) {
        std::vector<float> values(size, -std::numeric_limits<float>::max());
        CHECK(ps::network::all_finite(std::as_bytes(std::span(values))));
        for (float& value : values) {
            for (const float bad : {INFINITY, -INFINITY, NAN, -NAN}) {
                const float good = std::exchange(value, bad);
                CHECK_FALSE(ps::network::all_finite(std::as_bytes(std::span(values))));
                value = good;
            }
        }
    }
}

TEST_CASE("prepare: a variance of 0 needs an epsilon, and a constant may be anything") {
    ps::Graph graph;
    graph.add("image", ps::InputParams{{2, 3, 3}}, {});
    graph.add("norm", ps::BatchNormParams{.epsilon = 0.0F}, {0});
    graph.add("mask", ps::ConstantParams{{2, 3, 3}}, {});
    graph.add("sum", ps::AddParams{}, {1, 2});
    ps::Weights weights;
    weights.add("mask.value", {2, 3, 3}, std::vector<float>(18, -INFINITY));
    for (const char* name : {"norm.weight", "norm.bias", "norm.running_mean"}) weights.add(name, {2}, {1, 2});
    ps::Weights zero = weights;
    weights.add("norm.running_var", {2}, {1, 1});
    CHECK(error_of(graph, weights).empty());
    zero.add("norm.running_var", {2}, {1, 0});
    CHECK(
        error_of(graph, zero).ends_with("\n  variance without epsilon that is not positive: norm.running_var[1] is 0"));
}

}  // namespace network_prepare_tests
