// Layers that go, or of which a simpler one is left.
#include "simplified.hpp"

#include <doctest/doctest.h>

#include <primsel/network/fingerprint.hpp>
#include <primsel/network/simplify.hpp>

#include <cstddef>
#include <string>
#include <variant>

namespace ps = primsel;
using namespace simplified_graph;

TEST_CASE("simplify: dropout goes") {
    CHECK(simplified(Builder().add("drop", ps::DropoutParams{}).add("a", conv)) == "a(image)");
    CHECK(simplified(Builder()
                         .add("a", conv)
                         .add("drop", ps::DropoutParams{})
                         .add("more", ps::DropoutParams{})
                         .add("s", sigmoid_layer)) == "a(image) s(a)");
    // Read twice, and by layers that read what is before it as well.
    CHECK(simplified(Builder()
                         .add("a", sigmoid_layer)
                         .add("drop", ps::DropoutParams{})
                         .add("b", sigmoid_layer)
                         .add("c", sigmoid_layer, {"drop"})
                         .add("sum", ps::AddParams{}, {"a", "b", "c"})) == "a(image) b(a) c(a) sum(a, b, c)");
}

TEST_CASE("simplify: an identity at the end goes if nobody else reads what is before it") {
    CHECK(simplified(Builder().add("a", sigmoid_layer).add("drop", ps::DropoutParams{})) == "a(image)");
    CHECK(simplified(
              Builder().add("a", sigmoid_layer).add("drop", ps::DropoutParams{}).add("more", ps::DropoutParams{})) ==
          "a(image)");
    // The result is the last layer: b would be, without the dropout.
    CHECK(
        simplified(Builder().add("a", sigmoid_layer).add("b", sigmoid_layer).add("drop", ps::DropoutParams{}, {"a"})) ==
        "a(image) b(a) drop(a)");
    CHECK(simplified(Builder().add("drop", ps::DropoutParams{})) == "drop(image)");
    // It may be simplified in its new place.
    CHECK(simplified(Builder().add("a", conv).add("norm", ps::BatchNormParams{}).add("drop", ps::DropoutParams{})) ==
          "a[norm](image)");
}

TEST_CASE("simplify: layers that happen to do nothing go, and others of their kind stay") {
    const auto between = [](ps::AnyLayer const& layer) {
        return simplified(Builder().add("a", sigmoid_layer).add("x", layer).add("b", sigmoid_layer));
    };
    const std::string gone = "a(image) b(a)", stays = "a(image) x(a) b(x)";
    CHECK(between(ps::PadParams{}) == gone);
    CHECK(between(ps::PadParams{{}, 3.0F}) == gone);
    CHECK(between(ps::PadParams{ps::Padding{0, 0, 0, 1}}) == stays);
    CHECK(between(ps::SliceParams{0, 4}) == gone);
    CHECK(between(ps::SliceParams{1, 4}) == stays);
    CHECK(between(ps::ChannelShuffleParams{1}) == gone);
    CHECK(between(ps::ChannelShuffleParams{4}) == gone);
    CHECK(between(ps::ChannelShuffleParams{2}) == stays);
    CHECK(between(ps::ConcatParams{}) == gone);
    for (const auto kind : {ps::PoolKind::max, ps::PoolKind::average}) {
        CHECK(between(ps::PoolParams{.kind = kind, .window = 1, .stride = 1}) == gone);
        CHECK(between(ps::PoolParams{.kind = kind, .window = 1, .stride = 2}) == stays);
        CHECK(between(ps::PoolParams{.kind = kind, .window = {1, 2}, .stride = 1}) == stays);
    }
    CHECK(between(ps::GlobalPoolParams{}) == stays);
    CHECK(between(ps::SoftmaxParams{}) == stays);
    CHECK(between(relu) == stays);  // not after a convolution, dense layer or sum

    CHECK(simplified(Builder()
                         .add("a", ps::GlobalPoolParams{})
                         .add("x", ps::GlobalPoolParams{ps::PoolKind::max})
                         .add("flat", ps::FlattenParams{})
                         .add("b", sigmoid_layer)) == "a(image) b(a)");
}

TEST_CASE("simplify: a flatten goes if only dense layers read it") {
    CHECK(
        simplified(Builder().add("a", sigmoid_layer).add("flat", ps::FlattenParams{}).add("fc", ps::DenseParams{5})) ==
        "a(image) fc(a)");
    CHECK(simplified(Builder()
                         .add("flat", ps::FlattenParams{})
                         .add("one", ps::DenseParams{5})
                         .add("drop", ps::DropoutParams{}, {"flat"})
                         .add("two", ps::DenseParams{5})
                         .add("sum", ps::AddParams{}, {"one", "two"})) == "one(image) two(image) sum(one, two)");
    CHECK(simplified(Builder()
                         .add("flat", ps::FlattenParams{})
                         .add("again", ps::FlattenParams{})
                         .add("fc", ps::DenseParams{5})) == "fc(image)");
    // Other readers see another shape; so does who takes the result.
    CHECK(simplified(Builder().add("flat", ps::FlattenParams{}).add("soft", ps::SoftmaxParams{})) ==
          "flat(image) soft(flat)");
    CHECK(simplified(Builder()
                         .add("flat", ps::FlattenParams{})
                         .add("soft", ps::SoftmaxParams{})
                         .add("fc", ps::DenseParams{144}, {"flat"})
                         .add("sum", ps::AddParams{}, {"soft", "fc"})) ==
          "flat(image) soft(flat) fc(flat) sum(soft, fc)");
    CHECK(simplified(Builder().add("a", sigmoid_layer).add("flat", ps::FlattenParams{})) == "a(image) flat(a)");
    CHECK(simplified(
              Builder().add("a", sigmoid_layer).add("flat", ps::FlattenParams{}).add("drop", ps::DropoutParams{})) ==
          "a(image) flat(a)");
    CHECK(simplified(Builder()
                         .add("flat", ps::FlattenParams{})
                         .add("drop", ps::DropoutParams{})
                         .add("fc", ps::DenseParams{144})
                         .add("soft", ps::SoftmaxParams{}, {"drop"})
                         .add("sum", ps::AddParams{}, {"soft", "fc"})) ==
          "flat(image) fc(flat) soft(flat) sum(soft, fc)");
}

TEST_CASE("simplify: a reshape goes where only the order of the elements counts") {
    const ps::ReshapeParams flat{{.c = 144}}, wide{{.c = 8, .h = 18, .w = 1}};
    CHECK(simplified(Builder().add("r", flat).add("fc", ps::DenseParams{7})) == "fc(image)");
    CHECK(simplified(Builder().add("r", flat).add("q", wide).add("s", sigmoid_layer)) == "q(image) s(q)");
    CHECK(simplified(Builder().add("r", flat).add("q", ps::ReshapeParams{{4, 6, 6}}).add("s", sigmoid_layer)) ==
          "s(image)");
    CHECK(simplified(Builder().add("r", wide).add("s", sigmoid_layer)) == "r(image) s(r)");
    CHECK(simplified(Builder().add("s", sigmoid_layer).add("r", wide)) == "s(image) r(s)");
}

TEST_CASE("simplify: reshape, transpose and reshape are one reordering, and a channel shuffle where they are that") {
    // 4 channels of 6x6 as 2 groups of 2, transposed.
    const ps::AsStridedParams swapped{
        .dims = {1, 2, 2, 6, 6}, .strides = {144, 36, 72, 6, 1}, .offset = 0, .shape = {.c = 4, .h = 6, .w = 6}};
    const Builder shuffle = Builder()
                                .add("r", ps::ReshapeParams{{.c = 2, .h = 72, .w = 1}})
                                .add("t", swapped)
                                .add("q", ps::ReshapeParams{{.c = 4, .h = 6, .w = 6}})
                                .add("s", sigmoid_layer);
    const ps::Graph graph = checked(shuffle.graph());
    CHECK(text(graph) == "t(image) s(t)");
    CHECK(params<ps::ChannelShuffleParams>(graph, "t").groups == 2);

    ps::AsStridedParams still{.dims = {2, 2, 36}, .strides = {72, 36, 1}, .offset = 0, .shape = {.c = 144}};
    CHECK(params<ps::ReshapeParams>(checked(Builder().add("t", still).add("s", sigmoid_layer).graph()), "t").shape.c ==
          144);
    still.shape = {.c = 4, .h = 6, .w = 6};
    CHECK(simplified(Builder().add("t", still).add("s", sigmoid_layer)) == "s(image)");
    // Half of the elements, and elements in another order.
    const ps::AsStridedParams half{.dims = {72}, .strides = {1}, .offset = 0, .shape = {.c = 72}};
    CHECK(params<ps::AsStridedParams>(checked(Builder().add("t", half).add("s", sigmoid_layer).graph()), "t") == half);
    const ps::AsStridedParams reversed{.dims = {144}, .strides = {-1}, .offset = 143, .shape = {4, 6, 6}};
    CHECK(params<ps::AsStridedParams>(checked(Builder().add("t", reversed).add("s", sigmoid_layer).graph()), "t") ==
          reversed);
}

TEST_CASE("simplify: slices with steps that a concatenation joins are one reordering") {
    // The four phases of an image of 4x6x6.
    const auto phase = [](std::ptrdiff_t offset) {
        return ps::AsStridedParams{
            .dims = {4, 3, 3}, .strides = {36, 12, 2}, .offset = offset, .shape = {.c = 4, .h = 3, .w = 3}};
    };
    const auto focus = [&](std::vector<std::ptrdiff_t> const& offsets, ps::Axis axis = ps::Axis::c) {
        Builder builder;
        std::vector<std::string> names;
        for (const std::ptrdiff_t offset : offsets) {
            names.push_back("p" + std::to_string(names.size()));
            builder.add(names.back(), phase(offset), {"image"});
        }
        return checked(builder.add("c", ps::ConcatParams{axis}, names).add("s", sigmoid_layer).graph());
    };
    CHECK(text(focus({0, 6, 1, 7})) == "c(image) s(c)");
    CHECK(params<ps::AsStridedParams>(focus({0, 6, 1, 7}), "c") ==
          ps::AsStridedParams{
              .dims = {2, 2, 12, 3}, .strides = {1, 6, 12, 2}, .offset = 0, .shape = {.c = 16, .h = 3, .w = 3}});
    CHECK(text(focus({7, 6, 1, 0})) == "c(image) s(c)");
    CHECK(text(focus({1, 1, 1})) == "c(image) s(c)");
    // No strides lead to these.
    CHECK(text(focus({0, 6, 1, 0})) == "p0(image) p1(image) p2(image) p3(image) c(p0, p1, p2, p3) s(c)");
    CHECK(text(focus({0, 1, 7})) == "p0(image) p1(image) p2(image) c(p0, p1, p2) s(c)");
    CHECK(text(focus({0, 6}, ps::Axis::h)) == "p0(image) p1(image) c(p0, p1) s(c)");
}

TEST_CASE("simplify: pooling over the whole image is global, and clip becomes the clamp of what is before it") {
    const ps::Graph pooled = checked(Builder()
                                         .add("a", ps::PoolParams{.kind = ps::PoolKind::average, .window = {6, 6}})
                                         .add("s", sigmoid_layer)
                                         .graph());
    CHECK(params<ps::GlobalPoolParams>(pooled, "a").kind == ps::PoolKind::average);
    const ps::PoolParams plain{.window = 3, .stride = 1, .padding = 1};
    ps::PoolParams other = plain;
    other.ceil_mode = true, other.count_include_pad = false;  // neither matters here
    CHECK(params<ps::PoolParams>(checked(Builder().add("p", other).add("s", sigmoid_layer).graph()), "p") == plain);
    ps::PoolParams average = other;
    average.kind = ps::PoolKind::average, average.ceil_mode = false;
    CHECK(params<ps::PoolParams>(checked(Builder().add("p", average).add("s", sigmoid_layer).graph()), "p") == average);
    ps::PoolParams partial{.window = 3, .stride = 2, .ceil_mode = true};
    CHECK(params<ps::PoolParams>(checked(Builder().add("p", partial).add("s", sigmoid_layer).graph()), "p").ceil_mode);
    const ps::Graph clipped =
        checked(Builder().add("a", conv).add("c", ps::ActivationParams{ps::ActivationKind::clip, -1, 2}).graph());
    CHECK(clipped[clipped.find("a")].epilogue.clamp == ps::Clamp{-1, 2});
}

TEST_CASE("simplify: a concatenation that begins as another does reads that one") {
    const Builder dense = Builder()
                              .add("a", conv)
                              .add("ab", ps::ConcatParams{}, {"image", "a"})
                              .add("b", conv)
                              .add("abc", ps::ConcatParams{}, {"image", "a", "b"})
                              .add("c", conv)
                              .add("abcd", ps::ConcatParams{}, {"image", "a", "b", "c"})
                              .add("s", sigmoid_layer)
                              .add("other", ps::ConcatParams{}, {"a", "b", "abcd"});
    CHECK(simplified(dense) == "a(image) ab(image, a) b(ab) abc(ab, b) c(abc) abcd(abc, c) s(abcd) other(a, b, abcd)");
    // Read by nobody else: the parts go straight into the outer one.
    CHECK(simplified(Builder()
                         .add("a", sigmoid_layer)
                         .add("inner", ps::ConcatParams{}, {"image", "a"})
                         .add("b", sigmoid_layer, {"a"})
                         .add("outer", ps::ConcatParams{}, {"b", "inner", "a"})) ==
          "a(image) b(a) outer(b, image, a, a)");
    // Along another axis.
    CHECK(simplified(Builder()
                         .add("a", sigmoid_layer)
                         .add("ab", ps::ConcatParams{ps::Axis::h}, {"image", "a"})
                         .add("b", ps::ConcatParams{}, {"image", "a", "a"})
                         .add("c", ps::SliceParams{0, 4}, {"b"})
                         .add("d", ps::ConcatParams{ps::Axis::h}, {"ab", "c"})) ==
          "a(image) b(image, a, a) c(b) d(image, a, c)");
}

TEST_CASE("join_reorderings: a reshape, a transpose and a reshape are a channel shuffle, and all else stays") {
    ps::Graph graph(1);
    std::size_t at = graph.add("image", ps::InputParams{{.c = 6, .h = 4, .w = 2}}, {});
    at = graph.add("drop", ps::DropoutParams{}, {at});
    at = graph.add("apart", ps::ReshapeParams{{.c = 2, .h = 12, .w = 2}}, {at});
    at = graph.add(
        "turn", ps::AsStridedParams{.dims = {3, 2, 4, 2}, .strides = {8, 24, 2, 1}, .shape = {.c = 3, .h = 8, .w = 2}},
        {at});
    at = graph.add("together", ps::ReshapeParams{{.c = 6, .h = 4, .w = 2}}, {at});
    at = graph.add("norm", ps::BatchNormParams{}, {at});
    at = graph.add("relu", ps::ActivationParams{}, {at});
    const ps::Graph joined = ps::join_reorderings(graph);
    REQUIRE(joined.size() == 5);
    CHECK(joined[1].name == "drop");
    CHECK(std::get<ps::ChannelShuffleParams>(joined[2].layer) == ps::ChannelShuffleParams{2});
    CHECK(joined[3].name == "norm");
    CHECK(joined[4].epilogue == ps::Epilogue{});
}

TEST_CASE("join_reorderings: a network without reorderings stays as it is") {
    ps::Graph graph(1);
    std::size_t at = graph.add("image", ps::InputParams{{.c = 6, .h = 4, .w = 2}}, {});
    at = graph.add("flat", ps::FlattenParams{}, {at});
    at = graph.add("dense", ps::DenseParams{.k = 3}, {at});
    graph.add("same", ps::ReshapeParams{{.c = 3, .h = 1, .w = 1}}, {at});
    CHECK(ps::structure(ps::join_reorderings(graph)) == ps::structure(graph));
}

TEST_CASE("join_reorderings: a flattened transpose is one layer, that of each reader") {
    for (const bool flatten : {true, false}) {
        ps::Graph graph(1);
        std::size_t at = graph.add("image", ps::InputParams{{.c = 6, .h = 4, .w = 2}}, {});
        at = graph.add("turn",
                       ps::AsStridedParams{.dims = {8, 6}, .strides = {1, 8}, .shape = {.c = 4, .h = 2, .w = 6}}, {at});
        at = flatten ? graph.add("flat", ps::FlattenParams{}, {at})
                     : graph.add("flat", ps::ReshapeParams{{.c = 48, .h = 1, .w = 1}}, {at});
        graph.add("dense", ps::DenseParams{.k = 3}, {at});
        const ps::Graph joined = ps::join_reorderings(graph);
        REQUIRE(joined.size() == 3);
        CHECK(std::get<ps::AsStridedParams>(joined[1].layer).shape == ps::Shape{.c = 48, .h = 1, .w = 1});
    }
}
