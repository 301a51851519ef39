#include <primsel/network/network.hpp>

#include <doctest/doctest.h>

#include <string>
#include <vector>

namespace ps = primsel;
using namespace ps::layer;

namespace {

using Names = std::vector<std::string>;

template <class Net>
Names names(std::size_t first = 1) {
    Names result;
    const ps::Graph graph = Net::graph();
    for (std::size_t i = first; i < graph.size(); ++i) result.push_back(graph[i].name);
    return result;
}

struct Tiny : ps::Network<Input<3, 32, 32>, Conv<64, 3>, Relu, MaxPool<2>, GlobalAvgPool, Dense<10>, Softmax> {};

static_assert(ps::NetworkType<Tiny>);
static_assert(ps::NetworkType<ps::Network<Input<1, 1, 1>>>);
static_assert(!ps::NetworkType<ps::Graph>);
static_assert(!ps::NetworkType<Conv<1, 1>>);
static_assert(!ps::NetworkType<int>);

static_assert(Tiny::input_shape == ps::Shape{3, 32, 32});
static_assert(Tiny::output_shape == ps::Shape{10, 1, 1});
static_assert(ps::Network<Input<2, 3, 5>>::output_shape == ps::Shape{2, 3, 5});
static_assert(ps::Network<Input<3, 32, 30>, Conv<8, 3, Stride<2>>>::output_shape == ps::Shape{8, 16, 15});
static_assert(ps::Network<Input<3, 32, 30>, Conv<8, ps::Extent{1, 7}, Pad<0>>>::output_shape == ps::Shape{8, 32, 24});
static_assert(ps::Network<Input<4, 8, 8>, Sum<Conv<6, 1>, Conv<6, 3>, Path<Relu, Conv<6, 5>>>>::output_shape ==
              ps::Shape{6, 8, 8});
static_assert(
    ps::Network<Input<4, 8, 8>, Concat<Path<>, Conv<6, 3>, Path<MaxPool<2>, Conv<9, 1, Pad<2>>>>>::output_shape ==
    ps::Shape{19, 8, 8});
static_assert(ps::Network<Input<4, 8, 8>, Residual<>>::output_shape == ps::Shape{4, 8, 8});
static_assert(ps::Network<Input<4, 8, 6>, Flatten>::output_shape == ps::Shape{192, 1, 1});
static_assert(ps::Network<Input<4, 8, 6>, Slice<1, 3>, ZeroPad<1>>::output_shape == ps::Shape{2, 10, 8});

/// Every kind of layer there is, in a type.
struct Everything
    : ps::Network<Input<3, 32, 30>, Conv<8, 3, Stride<2>, NoBias>, BatchNorm, Relu, Conv<8, 3, Groups<4>, Dilation<2>>,
                  Scale, Relu6, ChannelShuffle<4>, MaxPool<3, Stride<2>, Pad<1>, CeilMode>, LeakyRelu<>, Lrn<>,
                  AveragePool<2, Stride<1>, ExcludePad>, Concat<Conv<2, 1>, Path<HardSwish, Conv<4, 1>>, Slice<2, 5>>,
                  ZeroPad<1>, Residual<Sigmoid>, Dropout, Flatten, Dense<12, NoBias>, Dense<5>, Softmax> {};

}  // namespace

TEST_CASE("network: the graph has the layers of the type, in order, and their shapes") {
    const ps::Graph graph = Everything::graph(3);
    CHECK(graph.batch() == 3);
    CHECK(graph[graph.input()].shape == Everything::input_shape);
    CHECK(graph[graph.output_node()].shape == Everything::output_shape);
    struct Expected {
        std::string name;
        ps::Shape shape;
    };
    const std::vector<Expected> expected{{"input", {3, 32, 30}},        {"conv1", {8, 16, 15}},
                                         {"batch_norm1", {8, 16, 15}},  {"relu1", {8, 16, 15}},
                                         {"conv2", {8, 16, 15}},        {"scale1", {8, 16, 15}},
                                         {"relu61", {8, 16, 15}},       {"channel_shuffle1", {8, 16, 15}},
                                         {"max_pool1", {8, 9, 8}},      {"leaky_relu1", {8, 9, 8}},
                                         {"lrn1", {8, 9, 8}},           {"average_pool1", {8, 8, 7}},
                                         {"concat1.conv1", {2, 8, 7}},  {"concat1.hard_swish1", {8, 8, 7}},
                                         {"concat1.conv2", {4, 8, 7}},  {"concat1.slice1", {3, 8, 7}},
                                         {"concat1.concat", {9, 8, 7}}, {"pad1", {9, 10, 9}},
                                         {"sum1.sigmoid1", {9, 10, 9}}, {"sum1.add", {9, 10, 9}},
                                         {"dropout1", {9, 10, 9}},      {"flatten1", {810, 1, 1}},
                                         {"dense1", {12, 1, 1}},        {"dense2", {5, 1, 1}},
                                         {"softmax1", {5, 1, 1}}};
    REQUIRE(graph.size() == expected.size());
    for (std::size_t i = 0; i < graph.size(); ++i) {
        CAPTURE(i);
        CHECK(graph[i].name == expected[i].name);
        CHECK(graph[i].shape == expected[i].shape);
    }
    // Whether the options arrived.
    auto const& first = std::get<ps::ConvParams>(graph[1].layer);
    CHECK(first == ps::ConvParams{.k = 8, .kernel = 3, .stride = 2, .padding = 1, .bias = false});
    auto const& second = std::get<ps::ConvParams>(graph[4].layer);
    CHECK(second == ps::ConvParams{.k = 8, .kernel = 3, .padding = 2, .dilation = 2, .groups = 4});
}

TEST_CASE("network: branches read what is before them") {
    struct Net : ps::Network<Input<2, 6, 6>, Relu, Concat<Path<>, Conv<3, 1>, Path<Conv<4, 3>, Relu>>, Residual<Relu>> {
    };
    const ps::Graph graph = Net::graph();
    const std::size_t relu = graph.find("relu1"), joined = graph.find("concat1.concat");
    CHECK(graph[graph.find("concat1.conv1")].inputs == std::vector{relu});
    CHECK(graph[graph.find("concat1.conv2")].inputs == std::vector{relu});
    CHECK(graph[joined].inputs == std::vector{relu, graph.find("concat1.conv1"), graph.find("concat1.relu1")});
    CHECK(graph[graph.find("sum1.add")].inputs == std::vector{graph.find("sum1.relu1"), joined});
}

TEST_CASE("network: without names, layers are named by kind and count") {
    struct Net : ps::Network<Input<3, 8, 8>, Conv<4, 3>, Relu, Conv<4, 3>, Relu, MaxPool<2>, Conv<4, 1>> {};
    CHECK(names<Net>() == Names{"conv1", "relu1", "conv2", "relu2", "max_pool1", "conv3"});
}

TEST_CASE("network: a Path without a name shares the names around it, whatever its depth") {
    struct Net : ps::Network<Input<3, 8, 8>, Conv<4, 3>, Path<Conv<4, 3>, Path<Conv<4, 3>, Relu>, Path<>>, Conv<4, 3>> {
    };
    CHECK(names<Net>() == Names{"conv1", "conv2", "conv3", "relu1", "conv4"});
}

TEST_CASE("network: Named names a layer, and is a prefix for what holds layers") {
    struct Net : ps::Network<
                     Input<3, 8, 8>, Named<"stem", Conv<4, 3>>, Conv<4, 3>,
                     Named<"stage", Path<Conv<4, 3>, Named<"norm", BatchNorm>, Named<"inner", Path<Conv<4, 3>, Relu>>>>,
                     Named<"block", Residual<Conv<4, 3>, Relu, Named<"last", Conv<4, 3>>>>,
                     Named<"fork", Concat<Named<"left", Conv<2, 1>>, Named<"right", Path<Conv<2, 1>, Conv<2, 3>>>>>,
                     Named<"nothing", Path<>>> {};
    CHECK(names<Net>() == Names{"stem", "conv1",                                                        //
                                "stage.conv1", "stage.norm", "stage.inner.conv1", "stage.inner.relu1",  //
                                "block.conv1", "block.relu1", "block.last", "block.add",                //
                                "fork.left", "fork.right.conv1", "fork.right.conv2", "fork.concat"});
}

TEST_CASE("network: sums and concats are counted, and count their layers anew") {
    struct Net : ps::Network<Input<4, 8, 8>, Residual<Conv<4, 3>>, Residual<Conv<4, 3>>, Concat<Conv<2, 1>, Conv<2, 1>>,
                             Residual<Concat<Residual<Relu>>>> {};
    CHECK(names<Net>() == Names{"sum1.conv1", "sum1.add", "sum2.conv1", "sum2.add",  //
                                "concat1.conv1", "concat1.conv2", "concat1.concat",  //
                                "sum3.concat1.sum1.relu1", "sum3.concat1.sum1.add",  //
                                "sum3.concat1.concat", "sum3.add"});
}

TEST_CASE("network: named twice, the outer name is a prefix") {
    struct Net : ps::Network<Input<4, 8, 8>, Named<"a", Named<"b", Conv<4, 3>>>,
                             Named<"c", Named<"d", Path<Relu, Named<"e", Named<"f", Relu>>>>>> {};
    CHECK(names<Net>() == Names{"a.b", "c.d.relu1", "c.d.e.f"});
}

TEST_CASE("network: an empty name is no prefix") {
    struct Net : ps::Network<Input<4, 8, 8>, Named<"", Conv<4, 3>>, Named<"", Path<Conv<4, 3>, Named<"a", Relu>>>,
                             Named<"b", Path<Named<"", Residual<Named<"c", Conv<4, 3>>, Relu>>,
                                             Named<"", Concat<Relu, Named<"", Residual<Named<"d", Relu>>>>>>>,
                             Named<"", Named<"e", Relu>>, Conv<4, 3>> {};
    CHECK(names<Net>() == Names{"conv1", "conv2", "a",       //
                                "b.c", "b.relu1", "b.add1",  //
                                "b.relu2", "b.d", "b.add2", "b.concat1", "e", "conv3"});
    CHECK(Net::output_shape == ps::Shape{4, 8, 8});
}

TEST_CASE("network: branches within branches read what is before their own") {
    struct Net
        : ps::Network<Input<4, 8, 8>, Relu,
                      Concat<Path<>, Path<Relu, Concat<Path<>, Sum<Path<>, Path<>, Sigmoid>, Sigmoid>, Relu6>, Relu6>> {
    };
    const ps::Graph graph = Net::graph();
    const auto inputs = [&](std::string const& layer) {
        Names result;
        for (const std::size_t input : graph[graph.find(layer)].inputs) result.push_back(graph[input].name);
        return result;
    };
    CHECK(inputs("concat1.concat1.sum1.add") ==
          Names{"concat1.relu1", "concat1.relu1", "concat1.concat1.sum1.sigmoid1"});
    CHECK(inputs("concat1.concat1.concat") ==
          Names{"concat1.relu1", "concat1.concat1.sum1.add", "concat1.concat1.sigmoid1"});
    CHECK(inputs("concat1.relu61") == Names{"concat1.concat1.concat"});
    CHECK(inputs("concat1.relu62") == Names{"relu1"});
    CHECK(inputs("concat1.concat") == Names{"relu1", "concat1.relu61", "concat1.relu62"});
}

TEST_CASE("network: a name that is taken is an error when the graph is made") {
    struct Twice : ps::Network<Input<3, 8, 8>, Named<"same", Relu>, Named<"same", Relu>> {};
    CHECK_THROWS_WITH_AS((void)Twice::graph(), "graph: two layers are named same", ps::error);
    struct Counted : ps::Network<Input<3, 8, 8>, Named<"conv1", Conv<4, 3>>, Conv<4, 3>> {};
    CHECK_THROWS_WITH_AS((void)Counted::graph(), "graph: two layers are named conv1", ps::error);
    struct Reserved : ps::Network<Input<3, 8, 8>, Named<"input", Relu>> {};
    CHECK_THROWS_WITH_AS((void)Reserved::graph(), "graph: two layers are named input", ps::error);
}
