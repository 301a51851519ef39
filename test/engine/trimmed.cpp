// Engines of convolutions without the taps that simplify left out, against the definition.
#include "../network/evaluate.hpp"

#include <primsel/primsel.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <random>
#include <vector>

namespace engine_trimmed {

namespace ps = primsel;

struct Policies : ps::DefaultPolicies {
    using primitives = ps::TypeList<ps::DirectHwc, ps::Indirect, ps::DepthwiseHwc, ps::GroupedHwc, ps::DepthwiseChw>;
};

TEST_CASE("engine: convolutions without their idle taps compute the definition") {
    std::mt19937 bits(7);
    const auto pick = [&bits](int low, int high) { return std::uniform_int_distribution(low, high)(bits); };
    int trimmed = 0;
    for (int i = 0; i < 60; ++i) {
        const int c = pick(1, 20);
        const ps::Shape image{c, pick(1, 6), pick(1, 6)};
        ps::ConvParams conv{.k = pick(1, 20), .kernel = {pick(1, 5), pick(1, 5)}, .dilation = {pick(1, 7), pick(1, 7)}};
        conv.padding = {conv.kernel.h / 2 * conv.dilation.h, conv.kernel.w / 2 * conv.dilation.w};
        if (i % 3 == 0) conv.groups = conv.k = c;
        ps::Graph graph;
        graph.add("image", ps::InputParams{image}, {});
        if (conv.check({&image, 1}) != ps::Fault::none) continue;
        graph.add("a", conv, {0});
        graph.add("n", ps::BatchNormParams{}, {1});
        graph.add("r", ps::ActivationParams{}, {2});
        CAPTURE(i);
        const ps::Weights weights = ps::random_weights(graph);
        ps::Engine<ps::Graph, Policies> engine(graph, weights);
        evaluate::Image input(image);
        std::vector<float> src;
        for (double& value : input.data) {
            value = static_cast<double>(static_cast<float>(pick(-1000, 1000)) / 500);
            src.push_back(static_cast<float>(value));
        }
        const evaluate::Image wanted = evaluate::graph(graph, input, weights);
        std::vector<float> dst(wanted.data.size());
        engine.run(src, dst);
        for (std::size_t j = 0; j < dst.size(); ++j)
            CHECK(static_cast<double>(dst[j]) == doctest::Approx(wanted.data[j]).epsilon(1e-5));
        trimmed += ps::simplify(graph)[1].epilogue.kernel != ps::KernelPart{};
    }
    CHECK(trimmed > 10);
}

}  // namespace engine_trimmed
