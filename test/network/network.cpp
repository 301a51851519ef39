#include <primsel/network/network.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <string>
#include <string_view>
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

TEST_CASE("network: a product's layers are named inside it, and so are those of a whole, but for the last") {
    struct Net : ps::Network<Input<4, 8, 8>, Gated<Sigmoid>, Named<"act", Gated<Sigmoid>>, Gated<GlobalAvgPool>,
                             Named<"norm", LayerNorm<>>, LayerNorm<>, Named<"", LayerNorm<>>> {};
    const Names all = names<Net>();
    CHECK(Names(all.begin(), all.begin() + 6) == Names{"product1.sigmoid1", "product1.multiply", "act.sigmoid1",
                                                       "act.multiply", "product2.global_average_pool1",
                                                       "product2.multiply"});
    const Names inside{"subtract1.reduce_mean1", "subtract1.subtract", "divide1.product1.multiply",
                       "divide1.reduce_mean1",   "divide1.scale1",     "divide1.sqrt1",
                       "divide1.divide"};
    Names expected;
    for (const char* name : {"norm", "layer_norm1", "layer_norm2"}) {
        for (std::string const& layer : inside) expected.push_back(std::string(name) + '.' + layer);
        expected.push_back(name);
    }
    CHECK(Names(all.begin() + 6, all.end()) == expected);
}

TEST_CASE("network: a parameter reads nothing, and the layers after it what is before") {
    struct Net : ps::Network<Input<4, 8, 8>, Relu, Named<"act", PRelu<4>>, Sum<Path<>, Parameter<4, 8, 8>>> {};
    const ps::Graph graph = Net::graph();
    CHECK(graph[graph.find("act.weight")].inputs.empty());
    CHECK(graph[graph.find("act.prelu")].inputs == std::vector{graph.find("relu1"), graph.find("act.weight")});
    CHECK(graph[graph.output_node()].inputs == std::vector{graph.find("act.prelu"), graph.find("sum1.constant1")});
}

TEST_CASE("network: each impossible parameter is named") {
    using ps::network::detail::culprit;
    using enum ps::network::detail::LayerParameter;
    static_assert(culprit(Input<0, 8, 8>::params) == shape && culprit(Reshape<2, 0, 3>::params) == shape);
    static_assert(culprit(Conv<0, 3>::params) == channels && culprit(Dense<0>::params) == channels);
    static_assert(culprit(Conv<1, ps::Extent{0, 3}>::params) == kernel && culprit(MaxPool<-1>::params) == kernel);
    static_assert(culprit(Conv<1, 3, Stride<0>>::params) == stride);
    static_assert(culprit(AveragePool<2, Stride<ps::Extent{1, 0}>>::params) == stride);
    static_assert(culprit(MaxPool<2, Dilation<0>>::params) == dilation);
    static_assert(culprit(Conv<1, 3, Pad<0>, Dilation<-1>>::params) == dilation);
    static_assert(culprit(ConvTranspose<1, 3, Groups<0>>::params) == groups &&
                  culprit(ChannelShuffle<0>::params) == groups);
    static_assert(culprit(Conv<1, 3, Pad<-1>>::params) == padding && culprit(ZeroPad<-1>::params) == padding);
    static_assert(culprit(ChannelPad<0, -1>::params) == padding);
    static_assert(culprit(ConvTranspose<1, 3, OutputPad<-1>>::params) == output_padding);
    static_assert(culprit(Resize<0>::params) == size && culprit(Lrn<0>::params) == size);
    static_assert(culprit(BatchNormWith<std::ratio<-1>>::params) == epsilon);
}

/// The compiler finds what a graph would: the first name that is taken.
TEST_CASE("network: names are compared as the graph has them") {
    using ps::network::detail::TapeMark;
    constexpr ps::AnyLayer relu = ps::ActivationParams{}, conv = ps::ConvParams{};
    const auto layer = [&](std::string_view name) { return TapeMark{TapeMark::Kind::layer, name, &relu}; };
    const TapeMark enter{TapeMark::Kind::enter, "a"}, counted{TapeMark::Kind::enter_counted, "sum"},
        leave{TapeMark::Kind::leave}, whole{TapeMark::Kind::whole, {}, &conv};
    unsigned state = 1;
    const auto below = [&](unsigned count) { return (state = state * 1664525U + 1013904223U) / 65536 % count; };
    std::size_t taken = 0;
    for (int trial = 0; trial < 300; ++trial) {
        std::vector<TapeMark> steps;
        std::size_t depth = 0;
        for (unsigned i = 0, count = below(12); i < count; ++i) {
            const unsigned kind = below(10);
            if (kind < 2) {
                steps.push_back(kind == 0 ? enter : counted), ++depth;
            } else if (kind < 4 && depth > 0) {
                steps.push_back(kind == 2 ? leave : whole), --depth;
            } else {
                steps.push_back(layer(std::array{"", "a", "b", "c", "relu1", "sum1", "input"}[below(7)]));
            }
        }
        Names so_far{"input"};
        std::size_t expected = ps::network::detail::no_name;
        ps::network::detail::each_name<std::string>(steps, [&](std::string const& name) {
            if (expected == ps::network::detail::no_name &&
                std::find(so_far.begin(), so_far.end(), name) != so_far.end()) {
                expected = so_far.size() - 1;
            }
            so_far.push_back(name);
        });
        REQUIRE(ps::network::detail::first_name_taken(steps) == expected);
        if (expected == ps::network::detail::no_name) continue;
        ++taken;
        const ps::network::detail::NameText name = ps::network::detail::name_at(steps, expected);
        CHECK(std::string_view(name.text, name.size) == so_far[expected + 1]);
        ps::Graph graph;
        graph.add("input", ps::InputParams{{1, 1, 1}}, {});
        CHECK_THROWS_WITH_AS(ps::network::detail::add_steps(graph, steps),
                             ("graph: two layers are named " + so_far[expected + 1]).c_str(), ps::error);
    }
    CHECK(taken > 50);
    CHECK(taken < 250);
}
