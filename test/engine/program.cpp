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

TEST_CASE("convolutions write their parts of a concatenation, where nobody else reads them") {
    const ps::Kernels kernels = ps::make_kernels<ps::DefaultPrimitives, ps::default_arch, ps::AllLayouts>();
    for (const bool shared : {false, true}) {
        for (const int batch : {1, 3}) {
            ps::Graph graph(batch);
            const std::size_t image = graph.add("image", ps::InputParams{{16, 9, 11}}, {});
            const std::size_t stem = graph.add("stem", ps::ConvParams{.k = 20, .kernel = 1}, {image});
            const std::size_t a =
                graph.add("a", ps::ConvParams{.k = 24, .kernel = 3, .padding = 1, .bias = true}, {stem});
            const std::size_t b = graph.add("b", ps::ConvParams{.k = 8, .kernel = 1}, {stem});
            const std::size_t c = graph.add("c", ps::ConvParams{.k = 17, .kernel = 5, .padding = 2}, {stem});
            const std::size_t joined = graph.add("joined", ps::ConcatParams{}, {a, b, c});
            std::size_t last = graph.add("last", ps::ConvParams{.k = 5, .kernel = 1}, {joined});
            if (shared) graph.set_outputs({last, b});  // b leaves the network too
            const ps::Weights weights = ps::random_weights(graph);
            std::vector<float> src(static_cast<std::size_t>(batch) * 16 * 9 * 11);
            for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<float>(i % 23) / 11.0F - 1.0F;

            ps::Analytical model;
            ps::Sequential executor;
            std::vector<std::vector<float>> results;
            for (const std::string primitive : {"direct-hwc", "winograd-2x2-3x3-vec-16", "im2row-copy-short-ab-ik"}) {
                CAPTURE(primitive);
                const ps::Plan plan = ps::make_plan(graph, kernels, model, ps::ExactPbqp{}, {.primitive = primitive});
                ps::Program program(graph, kernels, plan, weights, 1);
                bool copied = false;
                for (std::size_t step = 0; step < program.steps(); ++step)
                    copied |= program.step_name(step) == "joined";
                CHECK(copied == (shared || primitive != "direct-hwc"));  // others stand aside for the 1x1
                std::vector<float> dst(program.out_floats(0)), other(shared ? program.out_floats(1) : 0);
                const float* srcs[] = {src.data()};
                float* dsts[] = {dst.data(), other.data()};
                program.run(srcs, std::span(dsts, shared ? 2 : 1), executor);
                results.push_back(std::move(dst));
            }
            for (std::size_t i = 0; i < results[0].size(); ++i) {
                CHECK(results[0][i] == doctest::Approx(results[2][i]).epsilon(1e-4).scale(1));
                CHECK(results[1][i] == doctest::Approx(results[2][i]).epsilon(1e-4).scale(1));
            }
        }
    }
}
