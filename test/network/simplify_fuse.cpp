// Layers that become part of another.
#include "simplified.hpp"

#include <doctest/doctest.h>

#include <primsel/network/simplify.hpp>

#include <string>
#include <vector>

namespace ps = primsel;
using namespace simplified_graph;

TEST_CASE("simplify: batch norm and scale fold into the convolution or dense layer before them") {
    const ps::BatchNormParams norm{0.01F};
    CHECK(simplified(Builder().add("a", conv).add("n", norm)) == "a[n](image)");
    CHECK(simplified(Builder().add("a", conv).add("s", ps::ScaleParams{})) == "a[s](image)");
    CHECK(simplified(Builder().add("a", conv).add("n", norm).add("s", ps::ScaleParams{}).add("m", norm)) ==
          "a[n][s][m](image)");
    CHECK(simplified(Builder().add("fc", ps::DenseParams{3}).add("n", norm)) == "fc[n](image)");
    const ps::Graph folded = checked(Builder().add("a", conv).add("n", norm).graph());
    CHECK(std::get<ps::BatchNormParams>(folded[1].epilogue.folded[0].layer).epsilon == 0.01F);
    CHECK(params<ps::ConvParams>(folded, "a") == conv);

    // Through a dropout.
    CHECK(simplified(Builder().add("a", conv).add("drop", ps::DropoutParams{}).add("n", norm)) == "a[n](image)");
}

TEST_CASE("simplify: batch norm stays where it cannot fold") {
    const ps::BatchNormParams norm{};
    CHECK(simplified(Builder().add("n", norm).add("a", conv)) == "n(image) a(n)");
    CHECK(simplified(Builder().add("pool", ps::PoolParams{}).add("n", norm)) == "pool(image) n(pool)");
    // The ReLU is between them.
    CHECK(simplified(Builder().add("a", conv).add("r", relu).add("n", norm)) == "a(image) n(a)");
    // Somebody reads the convolution itself.
    CHECK(simplified(Builder().add("a", conv).add("n", norm).add("join", ps::ConcatParams{}, {"a", "n"})) ==
          "a(image) n(a) join(a, n)");
    CHECK(simplified(Builder()
                         .add("a", conv)
                         .add("drop", ps::DropoutParams{})
                         .add("n", norm, {"a"})
                         .add("s", sigmoid_layer, {"drop"})
                         .add("join", ps::ConcatParams{}, {"n", "s"})) == "a(image) n(a) s(a) join(n, s)");
    // The sum is between them.
    CHECK(simplified(Builder().add("a", conv).add("sum", ps::AddParams{}, {"a", "image"}).add("n", norm)) ==
          "a(image, image) n(a)");
}

TEST_CASE("simplify: zero padding becomes the convolution's") {
    const ps::ConvParams open{.k = 4, .kernel = 3};
    const ps::PadParams pad{ps::Padding{1, 2, 3, 4}};
    const ps::Graph fused = checked(Builder().add("pad", pad).add("a", open).graph());
    CHECK(text(fused) == "a(image)");
    CHECK(params<ps::ConvParams>(fused, "a").padding == ps::Padding{1, 2, 3, 4});
    // On top of its own, and one padding after the other.
    const ps::Graph more = checked(Builder().add("p", pad).add("q", ps::PadParams{1}).add("a", conv).graph());
    CHECK(text(more) == "a(image)");
    CHECK(params<ps::ConvParams>(more, "a").padding == ps::Padding{3, 4, 5, 6});

    // A border that is not zero, another reader, another kind of layer.
    CHECK(simplified(Builder().add("p", ps::PadParams{1, 0.5F}).add("a", open)) == "p(image) a(p)");
    CHECK(simplified(
              Builder().add("p", pad).add("a", open).add("b", open, {"p"}).add("sum", ps::AddParams{}, {"a", "b"})) ==
          "p(image) a(p) b(p, a)");
    CHECK(simplified(Builder().add("p", pad).add("pool", ps::PoolParams{})) == "p(image) pool(p)");
    CHECK(simplified(Builder().add("p", pad).add("fc", ps::DenseParams{2})) == "p(image) fc(p)");
}

TEST_CASE("simplify: a sum becomes the residual of the later convolution that nobody else reads") {
    const ps::Graph left = checked(Builder().add("a", conv).add("sum", ps::AddParams{}, {"a", "image"}).graph());
    CHECK(text(left) == "a(image, image)");
    CHECK(left[left.find("a")].epilogue.residual);
    CHECK(simplified(Builder().add("a", conv).add("sum", ps::AddParams{}, {"image", "a"})) == "a(image, image)");
    // The later of two convolutions; in either order.
    for (const auto& inputs : {std::vector<std::string>{"a", "b"}, {"b", "a"}}) {
        CHECK(simplified(Builder().add("a", conv).add("b", conv, {"image"}).add("sum", ps::AddParams{}, inputs)) ==
              "a(image) b(image, a)");
    }
    // The earlier one moves to the sum's place where the later cannot take it.
    const ps::Graph moved = checked(
        Builder().add("a", conv).add("s", sigmoid_layer, {"image"}).add("sum", ps::AddParams{}, {"a", "s"}).graph());
    CHECK(text(moved) == "s(image) a(image, s)");
    // With batch norm before and ReLU after: a residual block.
    const ps::Graph block = checked(Builder()
                                        .add("a", conv)
                                        .add("n", ps::BatchNormParams{})
                                        .add("r", relu)
                                        .add("b", conv)
                                        .add("m", ps::BatchNormParams{})
                                        .add("sum", ps::AddParams{}, {"m", "image"})
                                        .add("last", relu)
                                        .graph());
    CHECK(text(block) == "a[n](image) b[m](a, image)");
    CHECK(block[block.find("a")].epilogue.clamp == ps::relu_clamp);
    CHECK(block[block.find("b")].epilogue.clamp == ps::relu_clamp);
}

TEST_CASE("simplify: a sum becomes the residual of a convolution in bytes, which keeps the bounds of its range") {
    const ps::TensorRange range{.scale = 0.01F, .zero_point = 100}, of_sum{.scale = 0.02F, .zero_point = 90};
    const auto graph = [&](ps::ConvParams const& params, ps::Clamp bounds, bool known) {
        const ps::Clamp after = ps::bounds_of(of_sum);
        ps::Graph result = Builder()
                               .add("a", params)
                               .add("q", ps::ActivationParams{ps::ActivationKind::clip, bounds.low, bounds.high})
                               .add("sum", ps::AddParams{}, {"q", "image"})
                               .add("r", ps::ActivationParams{ps::ActivationKind::clip, after.low, after.high})
                               .graph();
        if (known) result.set_range(result.find("q"), range);
        result.set_range(result.find("r"), of_sum);
        return result;
    };
    const ps::Graph fused = checked(graph(conv, ps::bounds_of(range), true));
    CHECK(text(fused) == "a(image, image)");
    ps::Node const& a = fused[fused.find("a")];
    CHECK(a.epilogue == ps::Epilogue{.residual = true, .summand = range, .clamp = ps::bounds_of(of_sum)});
    CHECK(a.range == of_sum);
    // Other bounds mean more than bytes; in groups no primitive has such bounds.
    ps::ConvParams grouped = conv;
    grouped.groups = 2;
    CHECK(text(checked(graph(conv, ps::bounds_of(range), false))) == "a(image) sum(a, image)");
    CHECK(text(checked(graph(conv, {-0.5F, 0.5F}, true))) == "a(image) sum(a, image)");
    CHECK(text(checked(graph(grouped, ps::bounds_of(range), true))) == "a(image) sum(a, image)");
}

TEST_CASE("simplify: a convolution that only a concatenation reads has the concatenation's range") {
    const ps::TensorRange own{.scale = 0.01F, .zero_point = 100}, of_all{.scale = 0.02F, .zero_point = 90};
    ps::Graph graph = Builder()
                          .add("a", conv)
                          .add("b", conv, {"image"})
                          .add("c", conv, {"image"})
                          .add("s", sigmoid_layer, {"image"})
                          .add("all", ps::ConcatParams{}, {"a", "b", "c", "s"})
                          .add("after", ps::ConcatParams{ps::Axis::h}, {"all", "all"})
                          .add("sum", ps::AddParams{}, {"b", "image"})
                          .add("last", ps::ConcatParams{}, {"sum", "c"})
                          .graph();
    for (const char* name : {"a", "b", "s"}) graph.set_range(graph.find(name), own);
    graph.set_range(graph.find("all"), of_all);
    const ps::Graph joined = checked(graph);
    const auto range = [&](const char* name) { return joined[joined.find(name)].range; };
    CHECK(range("a") == of_all);
    // Somebody else reads it; its range is unknown; it is no convolution.
    CHECK(range("b") == own);
    CHECK(!range("c").known());
    CHECK(range("s") == own);
}

TEST_CASE("simplify: a sum stays where no convolution can take it") {
    CHECK(simplified(Builder().add("s", sigmoid_layer).add("sum", ps::AddParams{}, {"s", "image"})) ==
          "s(image) sum(s, image)");
    // The ReLU is between them.
    CHECK(simplified(Builder().add("a", conv).add("r", relu).add("sum", ps::AddParams{}, {"r", "image"})) ==
          "a(image) sum(a, image)");
    // Somebody else reads the convolution; or the sum reads it twice.
    CHECK(simplified(Builder()
                         .add("a", conv)
                         .add("sum", ps::AddParams{}, {"a", "image"})
                         .add("join", ps::ConcatParams{}, {"a", "sum"})) == "a(image) sum(a, image) join(a, sum)");
    CHECK(simplified(Builder().add("a", conv).add("sum", ps::AddParams{}, {"a", "a"})) == "a(image) sum(a, a)");
    CHECK(simplified(Builder().add("a", conv).add("s", sigmoid_layer).add("sum", ps::AddParams{}, {"a", "s"})) ==
          "a(image) s(a) sum(a, s)");
    // Three summands.
    CHECK(simplified(
              Builder().add("a", conv).add("b", conv, {"image"}).add("sum", ps::AddParams{}, {"a", "b", "image"})) ==
          "a(image) b(image) sum(a, b, image)");
    // A dense layer adds nothing.
    CHECK(simplified(Builder()
                         .add("a", ps::DenseParams{3})
                         .add("b", ps::DenseParams{3}, {"image"})
                         .add("sum", ps::AddParams{}, {"a", "b"})) == "a(image) b(image) sum(a, b)");
    // A convolution has one residual: the second sum finds another convolution, or stays.
    CHECK(simplified(Builder()
                         .add("a", conv)
                         .add("sum", ps::AddParams{}, {"a", "image"})
                         .add("more", ps::AddParams{}, {"sum", "image"})) == "a(image, image) more(a, image)");
    CHECK(simplified(Builder()
                         .add("a", conv)
                         .add("sum", ps::AddParams{}, {"a", "image"})
                         .add("b", conv, {"image"})
                         .add("more", ps::AddParams{}, {"b", "sum"})) == "a(image, image) b(image, a)");
}

TEST_CASE("simplify: ReLU and ReLU6 become the clamp of the layer before them") {
    ps::Graph fused = checked(Builder().add("a", conv).add("r", relu).graph());
    CHECK(text(fused) == "a(image)");
    CHECK(fused[fused.find("a")].epilogue.clamp == ps::relu_clamp);
    fused = checked(Builder().add("fc", ps::DenseParams{3}).add("r", relu6).graph());
    CHECK(text(fused) == "fc(image)");
    CHECK(fused[fused.find("fc")].epilogue.clamp == ps::relu6_clamp);
    fused =
        checked(Builder().add("s", sigmoid_layer).add("sum", ps::AddParams{}, {"s", "image"}).add("r", relu).graph());
    CHECK(text(fused) == "s(image) sum(s, image)");
    CHECK(fused[fused.find("sum")].epilogue.clamp == ps::relu_clamp);

    // Bounds behind bounds.
    CHECK(simplified(Builder().add("a", conv).add("r", relu).add("q", relu6)) == "a(image)");

    // Other activations, layers that cannot clamp, another reader.
    CHECK(simplified(Builder().add("a", conv).add("s", sigmoid_layer)) == "a(image) s(a)");
    CHECK(simplified(Builder().add("a", conv).add("l", ps::ActivationParams{ps::ActivationKind::leaky_relu, 0.1F})) ==
          "a(image) l(a)");
    CHECK(simplified(Builder().add("a", conv).add("h", ps::ActivationParams{ps::ActivationKind::hard_swish})) ==
          "a(image) h(a)");
    CHECK(simplified(Builder().add("pool", ps::PoolParams{}).add("r", relu)) == "pool(image) r(pool)");
    CHECK(simplified(Builder().add("a", conv).add("r", relu).add("join", ps::ConcatParams{}, {"a", "r"})) ==
          "a(image) r(a) join(a, r)");
    CHECK(simplified(Builder()
                         .add("a", conv)
                         .add("r", relu)
                         .add("q", relu, {"a"})
                         .add("join", ps::ConcatParams{}, {"r", "q"})) == "a(image) r(a) q(a) join(r, q)");
}

TEST_CASE("simplify: a border of zeros becomes the average pooling's") {
    const ps::PadParams border{.padding = 1};
    ps::PoolParams average{.kind = ps::PoolKind::average, .window = 3, .stride = 1, .count_include_pad = false};
    const ps::Graph graph = checked(Builder().add("pad", border).add("p", average).add("s", sigmoid_layer).graph());
    CHECK(text(graph) == "p(image) s(p)");
    CHECK(params<ps::PoolParams>(graph, "p").padding == ps::Padding(1));
    CHECK(params<ps::PoolParams>(graph, "p").count_include_pad);
    // Not where the pooling would not count it, where the window would lie in it, or where it is no zeros.
    average.padding = 1;
    CHECK(simplified(Builder().add("pad", border).add("p", average).add("s", sigmoid_layer)) ==
          "pad(image) p(pad) s(p)");
    average.padding = 0;
    CHECK(simplified(Builder().add("pad", ps::PadParams{.padding = 3}).add("p", average).add("s", sigmoid_layer)) ==
          "pad(image) p(pad) s(p)");
    CHECK(simplified(Builder()
                         .add("pad", ps::PadParams{.padding = 1, .value = 1.0F})
                         .add("p", average)
                         .add("s", sigmoid_layer)) == "pad(image) p(pad) s(p)");
    CHECK(simplified(Builder().add("pad", border).add("p", ps::PoolParams{}).add("s", sigmoid_layer)) ==
          "pad(image) p(pad) s(p)");
}
