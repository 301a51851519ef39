// Programs of several inputs and results, constants, and results in places that want a copy.
#include <primsel/cost/extern_kernels.hpp>
#include <primsel/primsel.hpp>

#include <doctest/doctest.h>

#include <array>
#include <span>
#include <string>
#include <vector>

namespace ps = primsel;

namespace {

std::vector<float> ramp(std::size_t size, float first) {
    std::vector<float> values(size);
    for (std::size_t i = 0; i < size; ++i) values[i] = first + static_cast<float>(i);
    return values;
}

/// All results of a graph.
std::vector<std::vector<float>> results_of(ps::Graph const& graph, ps::Weights const& weights,
                                           std::vector<std::vector<float>> const& inputs) {
    ps::Engine<ps::Graph> engine(graph, weights);
    std::vector<std::span<const float>> srcs(inputs.begin(), inputs.end());
    std::vector<std::vector<float>> results;
    for (ps::Shape const& shape : engine.out_shapes()) {
        results.emplace_back(static_cast<std::size_t>(engine.batch()) * shape.size(), -1.0F);
    }
    std::vector<std::span<float>> dsts(results.begin(), results.end());
    engine.run(srcs, dsts);
    return results;
}

}  // namespace

TEST_CASE("several inputs, each read where it belongs, and several results in their order") {
    for (const int batch : {1, 3}) {
        ps::Graph graph(batch);
        const ps::Shape shape{.c = 5, .h = 3, .w = 4};
        const std::size_t a = graph.add("a", ps::InputParams{shape}, {});
        const std::size_t b = graph.add("b", ps::InputParams{shape}, {});
        const std::size_t difference = graph.add("difference", ps::BinaryParams{ps::BinaryKind::subtract}, {a, b});
        const std::size_t relu = graph.add("relu", ps::ActivationParams{}, {difference});
        graph.set_outputs({relu, difference});
        const auto size = static_cast<std::size_t>(batch) * shape.size();
        const std::vector<float> left = ramp(size, 0.0F), right(size, 7.0F);
        const auto results = results_of(graph, {}, {left, right});
        REQUIRE(results.size() == 2);
        for (std::size_t i = 0; i < size; ++i) {
            CHECK(results[0][i] == std::max(left[i] - 7.0F, 0.0F));
            CHECK(results[1][i] == left[i] - 7.0F);  // not overwritten by the activation in place
        }
    }
}

TEST_CASE("a result may be an input, a constant, and the same as another") {
    ps::Graph graph(2);
    const ps::Shape shape{.c = 2, .h = 2, .w = 3};
    const std::size_t image = graph.add("image", ps::InputParams{shape}, {});
    const std::size_t constant = graph.add("constant", ps::ConstantParams{shape}, {});
    const std::size_t sum = graph.add("sum", ps::AddParams{}, {image, constant});
    graph.set_outputs({image, constant, sum, sum});
    ps::Weights weights;
    weights.add("constant.value", {2, 2, 3}, ramp(12, 100.0F));
    const std::vector<float> values = ramp(24, 1.0F);
    const auto results = results_of(graph, weights, {values});
    REQUIRE(results.size() == 4);
    CHECK(results[0] == values);
    for (std::size_t i = 0; i < 24; ++i) {
        CHECK(results[1][i] == 100.0F + static_cast<float>(i % 12));
        CHECK(results[2][i] == values[i] + results[1][i]);
    }
    CHECK(results[3] == results[2]);
}

TEST_CASE("a convolution's result that leaves and is read on, by readers that want other layouts") {
    ps::Graph graph;
    const std::size_t image = graph.add("image", ps::InputParams{ps::Shape{.c = 16, .h = 9, .w = 7}}, {});
    const std::size_t conv = graph.add("conv", ps::ConvParams{.k = 24, .kernel = {3, 3}, .padding = {1}}, {image});
    const std::size_t next = graph.add("next", ps::ConvParams{.k = 8, .bias = false}, {conv});
    graph.set_outputs({conv, next});
    const ps::Weights weights = ps::random_weights(graph);
    std::vector<float> values(16 * 9 * 7);
    for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 17) - 8.0F;
    const auto both = results_of(graph, weights, {values});

    ps::Graph alone;
    alone.add("image", ps::InputParams{ps::Shape{.c = 16, .h = 9, .w = 7}}, {});
    alone.add("conv", ps::ConvParams{.k = 24, .kernel = {3, 3}, .padding = {1}}, {0});
    ps::Weights own;
    for (auto const& [name, tensor] : weights) {
        if (name.starts_with("conv.")) own.add(name, tensor);
    }
    const auto one = results_of(alone, own, {values});
    for (std::size_t i = 0; i < one[0].size(); ++i) CHECK(both[0][i] == doctest::Approx(one[0][i]).epsilon(1e-4));
    CHECK(both[1].size() == 8 * 9 * 7);
}

TEST_CASE("a reshape costs nothing and an image that is reshaped is read in chw order") {
    ps::Graph graph;
    graph.add("image", ps::InputParams{ps::Shape{.c = 2, .h = 3, .w = 4}}, {});
    graph.add("reshape", ps::ReshapeParams{ps::Shape{.c = 4, .h = 2, .w = 3}}, {0});
    graph.add("transpose",
              ps::AsStridedParams{.dims = {3, 8}, .strides = {1, 3}, .offset = 0, .shape = {.c = 3, .h = 8, .w = 1}},
              {1});
    const std::vector<float> values = ramp(24, 0.0F);
    const auto results = results_of(graph, {}, {values});
    for (std::size_t i = 0; i < 24; ++i) CHECK(results[0][i] == static_cast<float>(i % 8 * 3 + i / 8));
}
