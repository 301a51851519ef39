// Engines in layouts of a user's own.
#include "../primitive/own_primitive.hpp"
#include "../tensor/orders.hpp"

#include <primsel/primsel.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <span>
#include <vector>

namespace ps = primsel;

namespace {

template <class Primitive, class Layouts>
struct OwnPolicies : ps::DefaultPolicies {
    using primitives = ps::TypeList<Primitive>;
    using layouts = Layouts;
};

/// The result of a graph of one input, which comes in chw.
template <class Primitive, class Layouts>
std::vector<float> result_of(ps::Graph const& graph, ps::Weights const& weights) {
    ps::Engine<ps::Graph, OwnPolicies<Primitive, Layouts>> engine(graph, weights);
    std::vector<float> src(engine.in_shape().size() * static_cast<std::size_t>(engine.batch())),
        dst(engine.out_shape().size() * static_cast<std::size_t>(engine.batch()));
    for (std::size_t i = 0; i < src.size(); ++i) src[i] = static_cast<float>(i * 7919 % 1000) / 500 - 1;
    engine.run(src, dst);
    return dst;
}

template <class Primitive>
void check_against_chw(ps::Graph const& graph) {
    const ps::Weights weights = ps::random_weights(graph);
    const std::vector<float> actual = result_of<Primitive, ps::AllLayouts::with<typename Primitive::out_layout>>(
                                 graph, weights),
                             expected = result_of<ps::DirectSum2d, ps::TypeList<ps::chw>>(graph, weights);
    REQUIRE(actual.size() == expected.size());
    for (std::size_t i = 0; i < actual.size(); ++i) CHECK(std::abs(actual[i] - expected[i]) <= 1e-4F);
}

TEST_CASE("an own primitive in an own layout gets a pass for bias, residual and activation") {
    for (const int batch : {1, 3}) {
        for (int with = 0; with < 8; ++with) {
            CAPTURE(batch);
            CAPTURE(with);
            const bool bias = (with & 1) != 0, residual = (with & 2) != 0, activation = (with & 4) != 0;
            ps::Graph graph(batch);
            graph.add("image", ps::InputParams{{5, 9, 7}}, {});
            graph.add("conv", ps::ConvParams{.k = 5, .kernel = 3, .padding = 1, .bias = bias}, {0});
            if (residual) graph.add("sum", ps::AddParams{}, {1, 0});
            if (activation) graph.add("relu", ps::ActivationParams{}, {graph.size() - 1});
            graph.add("next", ps::ConvParams{.k = 11, .kernel = 2, .bias = bias}, {graph.size() - 1});
            check_against_chw<OwnBlocked>(graph);
            check_against_chw<OwnColumns>(graph);
        }
    }
}

/// Rows padded to whole vectors: strides, but with gaps.
struct padded_rows {
    static constexpr std::string_view name = "padded_rows";
    static constexpr std::size_t pitch(ps::Shape shape) { return (static_cast<std::size_t>(shape.w) + 7) / 8 * 8; }
    static constexpr ps::Strides strides(ps::Shape shape) {
        return {static_cast<std::size_t>(shape.h) * pitch(shape), pitch(shape), 1};
    }
    static constexpr std::size_t size(ps::Shape shape) { return static_cast<std::size_t>(shape.c) * strides(shape).c; }
    static constexpr std::size_t offset(ps::Shape shape, ps::Coord at) {
        const ps::Strides s = strides(shape);
        return static_cast<std::size_t>(at.c) * s.c + static_cast<std::size_t>(at.h) * s.h +
               static_cast<std::size_t>(at.w);
    }
};

TEST_CASE("strides with gaps are refused where an engine is made") {
    ps::Graph graph;
    graph.add("image", ps::InputParams{{5, 9, 8}}, {});
    graph.add("pool", ps::PoolParams{.window = 2, .stride = 1}, {0});
    const ps::Weights weights = ps::random_weights(graph);
    CHECK_THROWS_WITH_AS(
        (result_of<ps::DirectSum2d, ps::AllLayouts::with<padded_rows>>(graph, weights)),
        "plan: the strides of layout padded_rows leave gaps in 5x8x7, the result of layer pool, or order its axes "
        "otherwise than those of 2x3x5; see docs/tensor/layout.md",
        ps::error);
}

}  // namespace
