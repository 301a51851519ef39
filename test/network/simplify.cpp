#include <primsel/network/simplify.hpp>

#include "evaluate.hpp"

#include <doctest/doctest.h>
#include <primsel/network/prepare.hpp>

#include <cmath>
#include <optional>
#include <random>
#include <sstream>
#include <string>
#include <vector>

namespace ps = primsel;

namespace {

constexpr ps::ActivationParams relu{ps::ActivationKind::relu}, relu6{ps::ActivationKind::relu6},
    sigmoid_layer{ps::ActivationKind::sigmoid};
constexpr ps::ConvParams conv{.k = 4, .kernel = 3, .padding = 1};

/// A graph under construction: an image of 4x6x6, then layers by name. Without inputs, a layer reads the one before it.
class Builder {
public:
    Builder() { graph_.add("image", ps::InputParams{{4, 6, 6}}, {}); }
    Builder& add(std::string name, ps::AnyLayer layer, std::vector<std::string> const& inputs = {}) {
        std::vector<std::size_t> positions;
        for (std::string const& input : inputs) positions.push_back(graph_.find(input));
        if (inputs.empty()) positions.push_back(graph_.size() - 1);
        graph_.add(std::move(name), std::move(layer), std::move(positions));
        return *this;
    }
    [[nodiscard]] ps::Graph const& graph() const { return graph_; }

private:
    ps::Graph graph_;
};

/// "a(image) b[norm](a, image) r": layers with what is folded into them and what they read.
std::string text(ps::Graph const& graph) {
    std::string result;
    for (ps::Node const& node : graph.nodes()) {
        if (node.inputs.empty()) continue;
        result += (result.empty() ? "" : " ") + node.name;
        for (ps::Folded const& folded : node.epilogue.folded) result += '[' + folded.name + ']';
        for (std::size_t i = 0; i < node.inputs.size(); ++i) {
            result += (i == 0 ? "(" : ", ") + graph[node.inputs[i]].name;
        }
        result += ')';
    }
    return result;
}

/// Both graphs need the same weights and compute the same.
void check_same(ps::Graph const& graph, ps::Graph const& simplified, std::uint32_t seed = 1) {
    const ps::Weights weights = ps::random_weights(graph, seed);
    REQUIRE_NOTHROW(ps::check_weights(simplified, weights));
    std::mt19937 bits(seed);
    evaluate::Image image(graph[graph.input()].shape);
    for (double& value : image.data) value = static_cast<double>(bits() % 4001) / 1000 - 2;
    const evaluate::Image expected = evaluate::graph(graph, image, weights);
    const evaluate::Image actual = evaluate::graph(simplified, image, weights);
    REQUIRE(actual.shape == expected.shape);
    double worst = 0;
    for (std::size_t i = 0; i < expected.data.size(); ++i) {
        const double scale = std::max(1.0, std::abs(expected.data[i]));
        const double error = std::abs(actual.data[i] - expected.data[i]) / scale;
        worst = error <= worst ? worst : error;
    }
    CHECK(worst < 1e-9);
}

/// Simplifies, and checks what may never change.
ps::Graph checked(ps::Graph const& graph) {
    ps::Graph simplified = ps::simplify(graph);
    CHECK(simplified.batch() == graph.batch());
    CHECK(simplified.size() <= graph.size());
    CHECK(simplified[simplified.output_node()].shape == graph[graph.output_node()].shape);
    CHECK(ps::simplify(simplified) == simplified);
    check_same(graph, simplified);
    return simplified;
}
std::string simplified(Builder const& builder) { return text(checked(builder.graph())); }

template <class Params>
Params params(ps::Graph const& graph, std::string_view name) {
    return std::get<Params>(graph[graph.find(name)].layer);
}

}  // namespace

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
    // Of two, the later; in either order.
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

    // Other activations, layers that cannot clamp, a second clamp, another reader.
    CHECK(simplified(Builder().add("a", conv).add("s", sigmoid_layer)) == "a(image) s(a)");
    CHECK(simplified(Builder().add("a", conv).add("l", ps::ActivationParams{ps::ActivationKind::leaky_relu, 0.1F})) ==
          "a(image) l(a)");
    CHECK(simplified(Builder().add("a", conv).add("h", ps::ActivationParams{ps::ActivationKind::hard_swish})) ==
          "a(image) h(a)");
    CHECK(simplified(Builder().add("pool", ps::PoolParams{}).add("r", relu)) == "pool(image) r(pool)");
    CHECK(simplified(Builder().add("a", conv).add("r", relu).add("q", relu6)) == "a(image) q(a)");
    CHECK(simplified(Builder().add("a", conv).add("r", relu).add("join", ps::ConcatParams{}, {"a", "r"})) ==
          "a(image) r(a) join(a, r)");
    CHECK(simplified(Builder()
                         .add("a", conv)
                         .add("r", relu)
                         .add("q", relu, {"a"})
                         .add("join", ps::ConcatParams{}, {"r", "q"})) == "a(image) r(a) q(a) join(r, q)");
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
