#include <primsel/network/fingerprint.hpp>
#include <primsel/network/graph_editor.hpp>
#include <primsel/network/ranges.hpp>
#include <primsel/network/simplify.hpp>

#include <doctest/doctest.h>

namespace ps = primsel;

namespace {

ps::Graph residual_block() {
    ps::Graph graph;
    const ps::ConvParams conv{.k = 4, .kernel = {3}, .padding = {1, 1, 1, 1}};
    graph.add("image", ps::InputParams{{4, 6, 5}}, {});
    graph.add("a", conv, {0});
    graph.add("norm", ps::BatchNormParams{}, {1});
    graph.add("relu", ps::ActivationParams{ps::ActivationKind::relu}, {2});
    graph.add("drop", ps::DropoutParams{}, {3});
    graph.add("b", conv, {4});
    graph.add("sum", ps::AddParams{}, {5, 0});
    graph.add("sigmoid", ps::ActivationParams{ps::ActivationKind::sigmoid}, {6});
    return graph;
}

}  // namespace

TEST_CASE("ranges: a layer that takes over others has the range of the last of them") {
    ps::TensorRanges ranges;
    const ps::Graph block = residual_block();
    for (ps::Node const& node : block.nodes()) {
        ranges[node.name] = {.scale = static_cast<float>(ranges.size() + 1), .zero_point = 3};
    }
    const ps::Graph graph = ps::with_ranges(block, ranges), simplified = ps::simplify(graph);
    REQUIRE(simplified.size() == 4);
    CHECK(simplified[simplified.find("image")].range == ranges["image"]);
    CHECK(simplified[simplified.find("a")].range == ranges["relu"]);
    CHECK(simplified[simplified.find("b")].range == ranges["sum"]);
    CHECK(simplified[simplified.find("sigmoid")].range == ranges["sigmoid"]);
    ranges.erase("relu");
    const ps::Graph unknown = ps::simplify(ps::with_ranges(block, ranges));
    CHECK(!unknown[unknown.find("a")].range.known());
}

TEST_CASE("ranges: graphs and plans of other ranges are others, and editors keep them") {
    const ps::Graph plain = residual_block(), known = ps::with_ranges(plain, {{"b", ps::range_of(-1, 1)}});
    CHECK(plain != known);
    CHECK(fingerprint(plain) != fingerprint(known));
    CHECK(fingerprint(known) != fingerprint(ps::with_ranges(plain, {{"b", ps::range_of(-1, 2)}})));
    CHECK(ps::GraphEditor(known).graph() == known);
    ps::GraphEditor editor(plain);
    editor.set_range(plain.find("b"), ps::range_of(-1, 1));
    CHECK(editor.graph() == known);
    CHECK_THROWS_WITH_AS((void)ps::with_ranges(plain, {{"c", ps::range_of(0, 1)}}), "graph: no layer is named c",
                         ps::error);
}

TEST_CASE("ranges: layers that select values keep them") {
    CHECK(ps::keeps_range(ps::PoolParams{}));
    CHECK(ps::keeps_range(ps::FlattenParams{}));
    CHECK(!ps::keeps_range(ps::PoolParams{.kind = ps::PoolKind::average}));
    CHECK(!ps::keeps_range(ps::AddParams{}));
    CHECK(ps::keeps_range(ps::PadParams{}));
    CHECK(!ps::keeps_range(ps::PadParams{.value = 1.0F}));
    CHECK(ps::keeps_range(ps::PadParams{.value = 1.0F, .mode = ps::PadMode::edge}));
    CHECK(ps::keeps_range(ps::ResizeParams{.size = 3}));
    CHECK(!ps::keeps_range(ps::ResizeParams{.size = 3, .mode = ps::ResizeMode::linear}));
}
