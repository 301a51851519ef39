#include "simplified.hpp"

#include <doctest/doctest.h>

#include <primsel/network/fingerprint.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/network/trimmed.hpp>

#include <cstddef>
#include <random>
#include <vector>

namespace network_trimmed {

namespace ps = primsel;
using namespace simplified_graph;

ps::Graph graph_of(ps::ConvParams const& conv, ps::Shape image) {
    ps::Graph graph;
    graph.add("image", ps::InputParams{image}, {});
    graph.add("a", conv, {0});
    return graph;
}
ps::ConvParams trimmed(ps::ConvParams const& conv, ps::Shape image) {
    return params<ps::ConvParams>(checked(graph_of(conv, image)), "a");
}

TEST_CASE("simplify: taps that never meet the image are left out") {
    // A dilation as large as the image: the middle tap is left.
    CHECK(trimmed({.k = 2, .kernel = 3, .padding = 24, .dilation = 24}, {3, 8, 8}) == ps::ConvParams{.k = 2});
    CHECK(trimmed({.k = 2, .kernel = 3, .padding = 8, .dilation = 8}, {3, 8, 8}) == ps::ConvParams{.k = 2});
    CHECK(trimmed({.k = 2, .kernel = 3, .padding = 7, .dilation = 7}, {3, 8, 8}).kernel == ps::Extent{3});
    // One pixel; one row.
    CHECK(trimmed({.k = 4, .kernel = 5, .padding = 2, .groups = 4}, {4, 1, 1}) == ps::ConvParams{.k = 4, .groups = 4});
    CHECK(trimmed({.k = 2, .kernel = 9, .padding = 4, .bias = false}, {3, 1, 16}) ==
          ps::ConvParams{.k = 2, .kernel = {1, 9}, .padding = {0, 4}, .bias = false});
    // Two of three rows, from the second on.
    const ps::Graph below = checked(graph_of({.k = 2, .kernel = 3, .stride = 2, .padding = 1}, {3, 2, 5}));
    CHECK(params<ps::ConvParams>(below, "a") ==
          ps::ConvParams{.k = 2, .kernel = {2, 3}, .stride = 2, .padding = {0, 0, 1, 1}});
    CHECK(below[1].epilogue.kernel == ps::KernelPart{.whole = {3, 3}, .first = {1, 0}});
    CHECK(ps::fingerprint(below) != ps::fingerprint(graph_of(params<ps::ConvParams>(below, "a"), {3, 2, 5})));
}

TEST_CASE("simplify: after a border became the convolution's, and beside batch norm, residual and clamp") {
    const ps::Graph graph = checked(Builder()
                                        .add("pad", ps::PadParams{12})
                                        .add("a", ps::ConvParams{.k = 4, .kernel = 3, .dilation = 12})
                                        .add("n", ps::BatchNormParams{})
                                        .add("sum", ps::AddParams{}, {"image", "n"})
                                        .add("r", relu)
                                        .graph());
    CHECK(text(graph) == "a[n](image, image)");
    CHECK(params<ps::ConvParams>(graph, "a") == ps::ConvParams{.k = 4});
    const ps::Weights weights = ps::random_weights(graph);
    const ps::PreparedWeights prepared = ps::prepare_weights(graph[1], weights);
    ps::Node whole = graph[1];
    whole.epilogue.kernel = {};
    const ps::PreparedWeights all = ps::prepare_weights(whole, weights);
    REQUIRE(prepared.kernel.size() == 16);
    for (std::size_t i = 0; i < 16; ++i) CHECK(prepared.kernel[i] == all.kernel[9 * i + 4]);
    CHECK(std::vector(prepared.bias.begin(), prepared.bias.end()) == std::vector(all.bias.begin(), all.bias.end()));
}

TEST_CASE("simplify: kernels of what is trained stay whole") {
    ps::Graph graph = graph_of({.k = 2, .kernel = 3, .padding = 1}, {3, 1, 1});
    graph.set_trainable({"a.weight"});
    CHECK(ps::simplify(graph) == graph);
}

TEST_CASE("trimmed: the same results for any convolution, and no row of taps at an end that could still go") {
    std::mt19937 bits(1);
    const auto pick = [&bits](int low, int high) { return std::uniform_int_distribution(low, high)(bits); };
    int fewer = 0;
    for (int i = 0; i < 3000; ++i) {
        const ps::ConvParams conv{.k = 2,
                                  .kernel = {pick(1, 5), pick(1, 5)},
                                  .stride = {pick(1, 4), pick(1, 4)},
                                  .padding = {pick(0, 9), pick(0, 9), pick(0, 9), pick(0, 9)},
                                  .dilation = {pick(1, 9), pick(1, 9)},
                                  .groups = pick(1, 2)};
        const ps::Shape image{2, pick(1, 8), pick(1, 8)};
        if (conv.check({&image, 1}) != ps::Fault::none) continue;
        CAPTURE(i);
        const ps::Graph graph = graph_of(conv, image), less = checked(graph);
        const auto left = params<ps::ConvParams>(less, "a");
        CHECK(left.output({&image, 1}) == conv.output({&image, 1}));
        CHECK_FALSE(left.padding.negative());
        CHECK(ps::network::trimmed(left, image).params == left);
        const ps::Weights weights = ps::random_weights(graph);
        const ps::PreparedWeights prepared = ps::prepare_weights(less[1], weights);
        const std::size_t taps = static_cast<std::size_t>(left.kernel.h) * static_cast<std::size_t>(left.kernel.w);
        CHECK(prepared.kernel.size() == taps * static_cast<std::size_t>(2 * 2 / conv.groups));
        fewer += left.kernel != conv.kernel;
    }
    CHECK(fewer > 300);
}

}  // namespace network_trimmed
