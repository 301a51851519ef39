#include <primsel/network/graph.hpp>

#include <doctest/doctest.h>

#include <sstream>

namespace ps = primsel;

namespace {

ps::Graph small() {
    ps::Graph graph;
    const std::size_t image = graph.add("image", ps::InputParams{{3, 8, 6}}, {});
    const std::size_t conv = graph.add("conv", ps::ConvParams{.k = 4, .kernel = 3, .padding = 1}, {image});
    const std::size_t relu = graph.add("relu", ps::ActivationParams{ps::ActivationKind::relu}, {conv});
    graph.add("sum", ps::AddParams{}, {conv, relu});
    return graph;
}

std::string print(ps::Graph const& graph) {
    std::ostringstream out;
    out << graph;
    return out.str();
}

}  // namespace

TEST_CASE("graph: layers in order, with inputs and shapes") {
    const ps::Graph graph = small();
    REQUIRE(graph.size() == 4);
    CHECK(graph.batch() == 1);
    CHECK(graph.input() == 0);
    CHECK(graph.output_node() == 3);
    CHECK(graph.find("relu") == 2);
    CHECK(graph[1].shape == ps::Shape{4, 8, 6});
    CHECK(graph[3].inputs == std::vector<std::size_t>{1, 2});
    CHECK(graph.input_shapes(3) == std::vector<ps::Shape>{{4, 8, 6}, {4, 8, 6}});
    CHECK(graph.input_shapes(0).empty());
    // The result counts as read once more.
    CHECK(graph.uses() == std::vector<std::size_t>{1, 2, 1, 1});
    CHECK(ps::layer_kind(graph[2].layer) == "relu");
    CHECK(print(graph) ==
          "image: input -> 3x8x6\n"
          "conv: conv(image) -> 4x8x6\n"
          "relu: relu(conv) -> 4x8x6\n"
          "sum: add(conv, relu) -> 4x8x6\n");
}

TEST_CASE("graph: is a value") {
    const ps::Graph graph = small();
    ps::Graph copy = graph;
    CHECK(copy == graph);
    copy.add("more", ps::SoftmaxParams{}, {3});
    CHECK_FALSE(copy == graph);
    CHECK(graph.size() == 4);
    CHECK_THROWS_AS((void)graph.find("more"), ps::error);
    CHECK(copy.find("more") == 4);
    const ps::Graph moved = std::move(copy);
    CHECK(moved.size() == 5);

    ps::Graph batch(2), other(2);
    CHECK(batch == other);
    CHECK_FALSE(batch == ps::Graph());
    batch.add("a", ps::InputParams{{1, 2, 3}}, {});
    other.add("a", ps::InputParams{{1, 2, 4}}, {});
    CHECK_FALSE(batch == other);
}

TEST_CASE("graph: every error names the layer and what is wrong") {
    ps::Graph graph = small();
    const auto conv = [](int kernel) { return ps::ConvParams{.k = 4, .kernel = kernel}; };
    CHECK_THROWS_WITH_AS(graph.add("next", conv(1), {4}),
                         "graph: layer next reads a layer that does not come before it", ps::error);
    CHECK_THROWS_WITH_AS(graph.add("conv", conv(1), {0}), "graph: two layers are named conv", ps::error);
    CHECK_THROWS_WITH_AS(graph.add("big", conv(9), {0}),
                         "graph: layer big (conv) on 3x8x6: the kernel is larger than the padded input", ps::error);
    CHECK_THROWS_WITH_AS(graph.add("uneven", ps::AddParams{}, {0, 1}),
                         "graph: layer uneven (add) on 3x8x6, 4x8x6: the inputs differ in shape", ps::error);
    CHECK_THROWS_WITH_AS(graph.add("lonely", ps::AddParams{}, {}),
                         "graph: layer lonely (add) on nothing: wrong number of inputs", ps::error);
    CHECK_THROWS_WITH_AS(graph.add("grouped", ps::ConvParams{.k = 4, .groups = 2}, {0}),
                         "graph: layer grouped (conv) on 3x8x6: the groups do not divide the channels", ps::error);
    CHECK_THROWS_WITH_AS(graph.add("cut", ps::SliceParams{1, 5}, {1}),
                         "graph: layer cut (slice) on 4x8x6: the slice lies outside the input", ps::error);
    CHECK_THROWS_WITH_AS(graph.add("pool", ps::PoolParams{.window = 2, .stride = 1, .padding = 2}, {1}),
                         "graph: layer pool (max_pool) on 4x8x6: the padding is larger than the pooling window",
                         ps::error);
    CHECK_THROWS_WITH_AS(graph.add("still", ps::ConvParams{.k = 1, .stride = 0}, {1}),
                         "graph: layer still (conv) on 4x8x6: the stride must be from 1 to 2^29", ps::error);
    const std::size_t pooled = graph.add("pooled", ps::PoolParams{}, {1});
    CHECK_THROWS_WITH_AS(graph.add("joined", ps::ConcatParams{}, {1, pooled}),
                         "graph: layer joined (concat) on 4x8x6, 4x4x3: the inputs differ in size along another axis "
                         "than that of the concatenation",
                         ps::error);
    CHECK_THROWS_WITH_AS((void)graph.find("missing"), "graph: no layer is named missing", ps::error);
    CHECK_THROWS_WITH_AS(ps::Graph(0), "graph: impossible batch 0", ps::error);

    // A refused layer left no trace: its name is free.
    CHECK(graph.size() == 5);
    CHECK(graph.add("big", conv(1), {0}) == 5);
}

TEST_CASE("graph: exactly one input, at least one layer") {
    ps::Graph graph;
    CHECK_THROWS_WITH_AS((void)graph.input(), "graph: no input", ps::error);
    CHECK_THROWS_WITH_AS((void)graph.output_node(), "graph: no layers", ps::error);
    CHECK(graph.uses().empty());
    CHECK(print(graph).empty());
    graph.add("left", ps::InputParams{{1, 1, 1}}, {});
    CHECK(graph.input() == 0);
    graph.add("right", ps::InputParams{{1, 1, 1}}, {});
    CHECK_THROWS_WITH_AS((void)graph.input(), "graph: two inputs, left and right", ps::error);
}

TEST_CASE("graph: only convolutions, dense layers and sums have an epilogue, and a residual is of the result's shape") {
    ps::Graph graph = small();
    const ps::ConvParams conv{.k = 4, .kernel = 3, .padding = 1};
    const std::size_t residual = graph.add("residual", conv, {1, 2}, {.residual = true, .clamp = ps::relu_clamp});
    CHECK(graph[residual].shape == ps::Shape{4, 8, 6});
    CHECK(graph[residual].epilogue == ps::Epilogue{.folded = {}, .residual = true, .clamp = ps::relu_clamp});
    graph.add("dense", ps::DenseParams{5}, {1}, {.folded = {{"norm", ps::BatchNormParams{}}}, .clamp = {0, 1}});
    graph.add("clamped", ps::AddParams{}, {1, 2}, {.clamp = ps::relu6_clamp});
    const auto message = [&graph](ps::AnyLayer const& layer, std::vector<std::size_t> inputs, ps::Epilogue epilogue) {
        const std::size_t size = graph.size();
        std::string text;
        try {
            graph.add("x", layer, std::move(inputs), std::move(epilogue));
        } catch (ps::error const& fault) {
            text = fault.what();
        }
        CHECK(graph.size() == size);
        return text;
    };
    CHECK(message(conv, {1, 0}, {.residual = true}) ==
          "graph: layer x (conv) on 4x8x6, 3x8x6: the inputs differ in shape");
    CHECK(message(conv, {1}, {.residual = true}) == "graph: layer x (conv) on 4x8x6: wrong number of inputs");
    CHECK(message(conv, {1, 2}, {}) == "graph: layer x (conv) on 4x8x6, 4x8x6: wrong number of inputs");
    CHECK(message(ps::AddParams{}, {1, 2}, {.residual = true}) == "graph: layer x (add) cannot have a residual");
    CHECK(message(ps::PoolParams{}, {1}, {.clamp = ps::relu_clamp}) == "graph: layer x (max_pool) cannot have a clamp");
    CHECK(message(ps::AddParams{}, {1, 2}, {.folded = {{"n", ps::ScaleParams{}}}}) ==
          "graph: layer x (add) cannot have folded layers");
}
