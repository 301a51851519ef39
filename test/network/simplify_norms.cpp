// Normalisations that are written out as reductions and arithmetic.
#include "simplified.hpp"

#include <doctest/doctest.h>

#include <primsel/network/simplify.hpp>

#include <algorithm>
#include <string>
#include <variant>

namespace simplify_norms {

namespace ps = primsel;
using namespace simplified_graph;
using Kind = ps::ActivationKind;

constexpr ps::BinaryParams times{ps::BinaryKind::multiply}, less{ps::BinaryKind::subtract},
    over{ps::BinaryKind::divide}, plus{ps::BinaryKind::add};
constexpr ps::ActivationParams square{Kind::power, 2.0F}, root{Kind::sqrt};
constexpr ps::GlobalPoolParams mean_of_pixels{ps::PoolKind::average};
constexpr ps::ReduceParams mean_of_channels{ps::ReduceKind::mean, ps::Axis::c};
constexpr ps::ScaleParams plus_epsilon{.known = true, .shift = 1e-3F};

/// The layers up to the root of the variance plus epsilon, called r; d is x less its mean m.
Builder variance(ps::AnyLayer const& mean, std::string const& x = "image", Builder before = {}) {
    return before.add("m", mean, {x})
        .add("d", less, {x, "m"})
        .add("s", square)
        .add("v", mean)
        .add("e", plus_epsilon)
        .add("r", root);
}
ps::StandardizeParams only(ps::Graph const& graph) {
    REQUIRE(graph.size() == 2);
    return std::get<ps::StandardizeParams>(graph[1].layer);
}

TEST_CASE("simplify: a normalisation that is written out becomes one layer") {
    const ps::StandardizeParams of_channels{.along_c = true, .epsilon = 1e-3F},
        of_pixels{.along_h = true, .along_w = true, .epsilon = 1e-3F};
    CHECK(only(checked(variance(mean_of_channels).add("y", over, {"d", "r"}).graph())) == of_channels);
    CHECK(only(checked(variance(mean_of_pixels).add("y", over, {"d", "r"}).graph())) == of_pixels);
    // A square that is written as a product; products with an inverse.
    CHECK(only(checked(Builder()
                           .add("m", mean_of_pixels)
                           .add("d", less, {"image", "m"})
                           .add("s", times, {"d", "d"})
                           .add("v", mean_of_pixels)
                           .add("e", plus_epsilon)
                           .add("r", root)
                           .add("y", over, {"d", "r"})
                           .graph())) == of_pixels);
    const ps::ActivationParams inverse{Kind::power, -1.0F}, inverse_root{Kind::power, -0.5F};
    CHECK(only(checked(variance(mean_of_pixels).add("i", inverse).add("y", times, {"i", "d"}).graph())) == of_pixels);
    CHECK(only(checked(Builder()
                           .add("m", mean_of_channels)
                           .add("d", less, {"image", "m"})
                           .add("s", square)
                           .add("v", mean_of_channels)
                           .add("e", plus_epsilon)
                           .add("i", inverse_root)
                           .add("y", times, {"d", "i"})
                           .graph())) == of_channels);
    // Axis after axis; without an epsilon.
    const ps::ReduceParams along_h{ps::ReduceKind::mean, ps::Axis::h}, along_w{ps::ReduceKind::mean, ps::Axis::w};
    ps::StandardizeParams no_epsilon = of_pixels;
    no_epsilon.epsilon = 0;
    CHECK(only(checked(Builder()
                           .add("mh", along_h)
                           .add("m", along_w)
                           .add("d", less, {"image", "m"})
                           .add("s", square)
                           .add("vw", along_w)
                           .add("v", along_h)
                           .add("r", root)
                           .add("y", over, {"d", "r"})
                           .graph())) == no_epsilon);
}

TEST_CASE("simplify: what is centred twice is centred once") {
    Builder twice;
    twice.add("m0", mean_of_pixels).add("d0", less, {"image", "m0"});
    CHECK(only(checked(variance(mean_of_pixels, "d0", twice).add("y", over, {"d", "r"}).graph())) ==
          ps::StandardizeParams{.along_h = true, .along_w = true, .epsilon = 1e-3F});
    // Along another axis, it is a layer of its own.
    Builder other;
    other.add("m0", mean_of_channels).add("d0", less, {"image", "m0"});
    CHECK(simplified(variance(mean_of_pixels, "d0", other).add("y", over, {"d", "r"})) ==
          "m0(image) d0(image, m0) y(d0)");
}

TEST_CASE("simplify: a mean square without a mean") {
    const ps::StandardizeParams expected{.along_c = true, .epsilon = 1e-3F, .centres = false};
    const Builder norm = Builder()
                             .add("s", square)
                             .add("v", mean_of_channels)
                             .add("e", plus_epsilon)
                             .add("r", root)
                             .add("y", over, {"image", "r"});
    CHECK(only(checked(norm.graph())) == expected);
}

TEST_CASE("simplify: the statistics of the whole image, in another shape") {
    const ps::ReshapeParams line{{1, 144, 1}};
    const ps::ReduceParams along_h{ps::ReduceKind::mean, ps::Axis::h};
    CHECK(only(checked(Builder()
                           .add("x", line)
                           .add("m", along_h)
                           .add("d", less, {"image", "m"})
                           .add("s", square)
                           .add("q", line)
                           .add("v", along_h)
                           .add("e", plus_epsilon)
                           .add("r", root)
                           .add("y", over, {"d", "r"})
                           .graph())) ==
          ps::StandardizeParams{.along_c = true, .along_h = true, .along_w = true, .epsilon = 1e-3F});
}

TEST_CASE("simplify: factors, summands and a clamp behind a normalisation become part of it") {
    const auto norm = [] { return variance(mean_of_pixels).add("y", over, {"d", "r"}); };
    CHECK(simplified(norm().add("scale", ps::ScaleParams{}).add("bn", ps::BatchNormParams{}).add("relu", relu)) ==
          "y[scale][bn](image)");
    // A value for each place of a set.
    const ps::ConstantParams places{.shape = {4, 1, 1}};
    const auto layer_norm = [] { return variance(mean_of_channels).add("y", over, {"d", "r"}); };
    CHECK(simplified(layer_norm()
                         .add("a", places)
                         .add("ya", times, {"a", "y"})
                         .add("b", places)
                         .add("yb", plus, {"ya", "b"})
                         .add("relu", relu)) == "yb(image, a, b)");
    CHECK(simplified(layer_norm().add("b", places).add("yb", plus, {"y", "b"})) == "yb(image, b)");
    // A factor behind a summand, and one for each set rather than for each place.
    CHECK(
        simplified(
            layer_norm().add("b", places).add("yb", plus, {"y", "b"}).add("a", places).add("ya", times, {"a", "yb"})) ==
        "yb(image, b) ya(a, yb)");
    CHECK(simplified(norm().add("a", places).add("ya", times, {"y", "a"})) == "y(image) ya(y, a)");
}

TEST_CASE("simplify: a normalisation of channels between reshapes is one of groups") {
    const auto groups = [](int count) {
        Builder view;
        view.add("x", ps::ReshapeParams{{count, 1, 144 / count}});
        return variance(mean_of_pixels, "x", view).add("y", over, {"d", "r"});
    };
    const ps::ReshapeParams back{{4, 6, 6}};
    const ps::StandardizeParams of_two{
        .along_c = true, .along_h = true, .along_w = true, .groups = 2, .epsilon = 1e-3F};
    CHECK(only(checked(groups(2).add("z", back).graph())) == of_two);
    CHECK(only(checked(groups(4).add("z", back).graph())) ==
          ps::StandardizeParams{.along_h = true, .along_w = true, .epsilon = 1e-3F});
    const Builder scaled = groups(2).add("g", ps::ScaleParams{}).add("z", back).add("c", ps::ScaleParams{});
    CHECK(simplified(scaled) == "z[g][c](image)");
    const ps::Graph graph = checked(scaled.graph());
    CHECK(graph[1].epilogue.folded[0].repeat == 2);
    CHECK(graph[1].epilogue.folded[1].repeat == 1);
    // Parts that are no whole channels, and an image of another shape.
    CHECK(simplified(groups(8).add("z", back)) == "x(image) y(x) z(y)");
    CHECK(simplified(groups(2).add("z", ps::ReshapeParams{{4, 9, 4}}).add("soft", ps::SoftmaxParams{})) ==
          "x(image) y(x) z(y) soft(z)");
}

TEST_CASE("simplify: what other layers read of a normalisation stays") {
    const auto is_left = [](Builder const& builder) {
        const ps::Graph result = checked(builder.graph());
        return std::ranges::none_of(result.nodes(), [](ps::Node const& node) {
            return std::holds_alternative<ps::StandardizeParams>(node.layer);
        });
    };
    const auto norm = [] { return variance(mean_of_channels).add("y", over, {"d", "r"}); };
    CHECK(is_left(norm().add("more", plus, {"y", "v"})));
    CHECK(is_left(norm().add("more", plus, {"y", "r"})));
    CHECK(is_left(norm().add("more", plus, {"y", "s"})));
    CHECK(!is_left(norm()));
    // The mean and what is less it: only the mean square of that is left to be found.
    for (const std::string read : {"m", "d"}) {
        const ps::Graph result = checked(norm().add("more", plus, {"y", read}).graph());
        CHECK(!params<ps::StandardizeParams>(result, "y").centres);
    }
    ps::Graph results = norm().graph();
    results.set_outputs({results.find("y"), results.find("v")});
    CHECK(ps::simplify(results) == results);
    // Other arithmetic.
    CHECK(is_left(variance(mean_of_channels).add("y", over, {"r", "d"})));
    CHECK(is_left(variance(mean_of_channels).add("y", over, {"image", "r"})));
    CHECK(is_left(variance(mean_of_channels).add("y", times, {"d", "r"})));
    CHECK(is_left(variance(ps::ReduceParams{ps::ReduceKind::max, ps::Axis::c}).add("y", over, {"d", "r"})));
    CHECK(is_left(variance(ps::GlobalPoolParams{ps::PoolKind::max}).add("y", over, {"d", "r"})));
    CHECK(is_left(Builder()
                      .add("s", square)
                      .add("v", mean_of_channels)
                      .add("e", ps::ScaleParams{.known = true, .factor = 0.5F, .shift = 1e-3F})
                      .add("r", root)
                      .add("y", over, {"image", "r"})));
}

TEST_CASE("simplify: a normalisation whose mean and variance are along different axes is one of a mean square") {
    const ps::Graph result = checked(Builder()
                                         .add("m", mean_of_channels)
                                         .add("d", less, {"image", "m"})
                                         .add("s", square)
                                         .add("v", mean_of_pixels)
                                         .add("e", plus_epsilon)
                                         .add("r", root)
                                         .add("y", over, {"d", "r"})
                                         .graph());
    CHECK(text(result) == "m(image) d(image, m) y(d)");
    CHECK(params<ps::StandardizeParams>(result, "y") ==
          ps::StandardizeParams{.along_h = true, .along_w = true, .epsilon = 1e-3F, .centres = false});
}

TEST_CASE("simplify: a normalisation stays written out where weights are to be trained") {
    ps::Graph graph = variance(mean_of_channels).add("y", over, {"d", "r"}).add("scale", ps::ScaleParams{}).graph();
    graph.set_trainable({"scale.weight", "scale.bias"});
    CHECK(ps::simplify(graph) == graph);
}

}  // namespace simplify_norms
