// Laws of every graph.
#include "simplified.hpp"

#include <doctest/doctest.h>

#include <primsel/network/simplify.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace ps = primsel;
using namespace simplified_graph;

TEST_CASE("simplify: what has nothing to simplify stays as it is") {
    Builder builder;
    builder.add("a", conv)
        .add("s", sigmoid_layer)
        .add("b", conv)
        .add("pool", ps::PoolParams{})
        .add("fc", ps::DenseParams{7});
    CHECK(checked(builder.graph()) == builder.graph());
    CHECK(checked(Builder().graph()) == Builder().graph());
    ps::Graph batch(3);
    batch.add("image", ps::InputParams{{1, 2, 2}}, {});
    CHECK(checked(batch).batch() == 3);
}

TEST_CASE("simplify: a layer that is the result is read once more") {
    // The convolution is the result as well as the ReLU's input.
    ps::Graph graph = Builder().add("r", relu).add("a", conv).graph();
    CHECK(text(checked(graph)) == "r(image) a(r)");
    // A layer that nobody reads stays: its weights would be unknown without it.
    CHECK(simplified(Builder().add("a", conv).add("dead", relu).add("b", conv, {"image"})) == "a(image) b(image)");
    CHECK(simplified(Builder().add("dead", conv).add("b", sigmoid_layer, {"image"})) == "dead(image) b(image)");
}

TEST_CASE("simplify: random graphs compute the same in fewer layers") {
    std::size_t before = 0, after = 0, folded = 0, residuals = 0;
    for (std::uint32_t seed = 0; seed < 1000; ++seed) {
        CAPTURE(seed);
        std::mt19937 bits(seed);
        const auto below = [&](std::size_t bound) { return bits() % bound; };
        const auto chance = [&] { return below(2) == 0; };
        const auto any = [&](int first, int last) {
            return first + static_cast<int>(below(static_cast<std::size_t>(last - first + 1)));
        };
        const auto layer = [&](ps::Shape in) -> ps::AnyLayer {
            switch (below(18)) {
                case 0:
                case 1:
                case 2:
                    return ps::ConvParams{.k = chance() ? in.c : any(1, 4),
                                          .kernel = {any(1, 3), any(1, 3)},
                                          .stride = chance() ? 1 : 2,
                                          .padding = {any(0, 1), any(0, 1), any(0, 1), any(0, 1)},
                                          .groups = chance() ? 1 : 2,
                                          .bias = chance()};
                case 3:
                    return ps::ConvParams{.k = in.c, .kernel = 3, .padding = 1};
                case 4:
                case 5:
                    return ps::BatchNormParams{};
                case 6:
                    return ps::ScaleParams{};
                case 7:
                case 8:
                    return relu;
                case 9:
                    return chance() ? relu6 : sigmoid_layer;
                case 10:
                    return ps::DropoutParams{};
                case 11:
                    return ps::PadParams{any(0, 1), chance() ? 0.0F : 1.0F};
                case 12:
                    return ps::PoolParams{.window = any(1, 2), .stride = any(1, 2)};
                case 13:
                    return ps::FlattenParams{};
                case 14:
                    return ps::DenseParams{any(1, 6), chance()};
                case 15:
                    return ps::SliceParams{0, any(1, in.c)};
                case 16:
                    return ps::ChannelShuffleParams{any(1, 2)};
                default:
                    return ps::GlobalPoolParams{};
            }
        };
        ps::Graph graph;
        graph.add("image", ps::InputParams{{any(1, 4), any(3, 7), any(3, 7)}}, {});
        for (std::size_t tries = 5 + below(20); tries-- > 0;) {
            // Mostly one after the other; now and then two layers that are alike are added, or several concatenated.
            std::size_t from = graph.size() - 1;
            if (below(5) == 0) from = below(graph.size());
            std::vector<std::size_t> inputs{from};
            const ps::Shape shape = graph[from].shape;
            std::optional<ps::AnyLayer> chosen;
            if (below(4) == 0) {
                for (std::size_t other = 0; other < graph.size(); ++other) {
                    if (graph[other].shape == shape && below(3) == 0) inputs.push_back(other);
                }
                chosen = chance() ? ps::AnyLayer(ps::AddParams{}) : ps::AnyLayer(ps::ConcatParams{});
                if (chance() && inputs.size() > 2) inputs.resize(2);
            } else {
                chosen = layer(shape);
            }
            try {
                graph.add("layer" + std::to_string(graph.size()), *chosen, inputs);
            } catch (ps::error const&) {  // it does not fit: another one, then
            }
        }
        CAPTURE(text(graph));
        const ps::Graph result = checked(graph);
        CAPTURE(text(result));
        check_same(graph, result, seed + 1);
        before += graph.size();
        after += result.size();
        for (ps::Node const& node : result.nodes()) {
            folded += node.epilogue.folded.size();
            residuals += node.epilogue.residual ? 1 : 0;
        }
    }
    // Else the law would say little.
    CHECK(after < before * 9 / 10);
    CHECK(folded > 100);
    CHECK(residuals > 20);
}

TEST_CASE("simplify: results other than the last layer stay") {
    Builder builder;
    builder.add("a", conv).add("relu", ps::ActivationParams{}).add("drop", ps::DropoutParams{}).add("s", sigmoid_layer);
    ps::Graph graph = builder.graph();
    graph.set_outputs({graph.find("a"), graph.find("drop"), graph.find("s")});
    const ps::Graph simple = ps::simplify(graph);
    REQUIRE(simple.outputs().size() == 3);
    CHECK(text(simple) == "a(image) relu(a) s(relu)");
    CHECK(simple[simple.outputs()[0]].name == "a");
    CHECK(simple[simple.outputs()[1]].name == "relu");
    CHECK(simple[simple.outputs()[2]].name == "s");
}
