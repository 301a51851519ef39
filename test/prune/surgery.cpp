// A thinned network computes what the whole one does with the same filters masked, whatever the network, the criterion
// and the choice; what must stay is refused by name.
#include "../quick.hpp"
#include "thinned.hpp"

#include <doctest/doctest.h>
#include <primsel/layer/compose.hpp>
#include <primsel/network/resized.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/network/zoo.hpp>
#include <primsel/prune/choose.hpp>
#include <primsel/prune/coupled_layers.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace surgery {
namespace {

namespace ps = primsel;
using namespace ps::layer;  // NOLINT(google-build-using-namespace): layers, as networks are written
using namespace thinned;    // NOLINT(google-build-using-namespace)

std::size_t floats_of(ps::Weights const& weights) {
    std::size_t floats = 0;
    for (auto const& [name, tensor] : weights) floats += tensor.values.size();
    return floats;
}

/// A network of each family of the zoo, on small images where it takes them; a few where an emulator runs them.
std::vector<ps::Graph> networks() {
    namespace zoo = ps::zoo;
    std::vector<ps::Graph> graphs{zoo::MobileNetV2::graph(), zoo::ShuffleNetV2X05::graph(), zoo::SqueezeNet11::graph()};
    if (!::quick()) {
        for (ps::Graph& graph :
             std::vector{zoo::DenseNet121::graph(), zoo::GoogLeNet::graph(), zoo::GoogLeNetBn::graph(),
                         zoo::InceptionV3::graph(), zoo::MnasNet05::graph(), zoo::MobileNetV1::graph(),
                         zoo::ResNet18::graph(), zoo::ResNet50::graph(), zoo::ResNeXt50::graph()}) {
            graphs.push_back(std::move(graph));
        }
    }
    for (ps::Graph& graph : graphs) graph = ps::resized(graph, {3, 96, 96});
    graphs.push_back(zoo::AlexNetCifar::graph());
    graphs.push_back(zoo::ResNet56::graph());
    return graphs;
}

TEST_CASE("layers that share a weight lose the same filters, and have one weight still") {
    ps::Graph graph =
        graph_of<Input<3, 12, 12>, Named<"stem", Conv<8, 3>>, Named<"a", Conv<8, 3>>, Named<"n", BatchNorm>, Relu,
                 MaxPool<2>, Named<"b", Conv<8, 3>>, Named<"m", BatchNorm>, Flatten, Named<"in", Dense<10>>, Relu,
                 Named<"code", Dense<288>>, Relu, Named<"y", Dense<3>>>();
    const double apart = ps::parameter_count(graph);
    graph.set_shared({{"a.weight", {"kernel"}},
                      {"b.weight", {"kernel"}},
                      {"n.bias", {"bias"}},
                      {"m.bias", {"bias"}},
                      {"in.weight", {"matrix"}},
                      {"code.weight", {"matrix", true}}});
    CHECK(ps::parameter_count(graph) == apart - 8 * 8 * 9 - 8 - 10 * 288);
    const ps::prune::Coupling coupling(graph);
    CHECK(coupling.groups_of(graph.find("a")) == coupling.groups_of(graph.find("b")));
    for (const unsigned seed : {1U, 2U, 3U}) {
        const ps::prune::RemovedGroups choice = any_choice(graph, coupling, 1.4, seed);
        CHECK(!choice.empty());
        check_same(graph, coupling, choice);
        const ps::prune::Pruned thin = ps::prune::remove_channels(graph, ps::random_weights(graph), coupling, choice);
        CHECK(thin.graph.shared() == graph.shared());
        CHECK(thin.weights.at("a.weight").values.data() == thin.weights.at("b.weight").values.data());
        ps::check_weights(thin.graph, thin.weights);
    }
}

TEST_CASE("thinned networks of the zoo are the masked ones") {
    for (ps::Graph const& graph : networks()) {
        CAPTURE(graph[graph.size() - 2].name);
        const ps::prune::Coupling coupling(graph);
        const ps::prune::RemovedGroups choice = any_choice(graph, coupling, 1.4, 5);
        CHECK(choice.size() > 20);
        check_same(graph, coupling, choice);
    }
}

TEST_CASE("whatever the criterion and the group type, a thinned network is the masked one") {
    const ps::Graph graph = graph_of<
        Input<3, 8, 8>, Named<"a", Conv<8, 3>>, Named<"n", BatchNorm>, Relu,
        Residual<Named<"b", Conv<6, 3>>, Named<"m", BatchNorm>, Relu, Named<"c", Conv<8, 3>>, Named<"o", BatchNorm>>,
        MaxPool<2>, Named<"d", Conv<12, 3, Groups<2>>>, Named<"p", BatchNorm>, Flatten, Named<"e", Dense<5>>>();
    const ps::Weights weights = ps::random_weights(graph, 7);
    const ps::prune::Coupling coupling(graph);
    const auto check = [&](auto const& criterion, ps::prune::GroupType type) {
        const std::vector<ps::prune::Ranking> rankings =
            ps::prune::rank_filters(graph, weights, coupling, criterion, type);
        CHECK(rankings.size() == 3);
        for (const double sparsity : {0.3, 0.5, 0.7}) {
            check_same(graph, coupling, ps::prune::sparing(graph, coupling, ps::prune::choose(rankings, sparsity)));
            check_same(graph, coupling, ps::prune::sparing(graph, coupling, ps::prune::choose(rankings, sparsity, 4)));
        }
    };
    for (const ps::prune::GroupType type : {ps::prune::GroupType::filters, ps::prune::GroupType::channels}) {
        check(ps::prune::L1Norm{}, type);
        check(ps::prune::L2Norm{}, type);
        check(ps::prune::GeometricMedian{}, type);
        check(ps::prune::RandomScore{3}, type);
    }
    check(ps::prune::BatchNormScale{}, ps::prune::GroupType::filters);
}

TEST_CASE("every network of the zoo thinned is the masked one; slow" * doctest::skip()) {
    for (const std::string_view name : ps::zoo::names) {
        CAPTURE(name);
        ps::Graph graph = ps::zoo::graph(name);
        try {
            graph = ps::resized(graph, {3, 96, 96});
        } catch (ps::error const&) {  // its dense layers want its own size
        }
        const ps::prune::Coupling coupling(graph);
        for (const double share : {0.6, 1.0, 1.4}) {
            check_same(graph, coupling, any_choice(graph, coupling, share, static_cast<unsigned>(10 * share)));
        }
    }
}

TEST_CASE("groups, shuffles, slices, paddings, products and flattening") {
    const std::vector<ps::Graph> graphs{
        graph_of<Input<4, 9, 8>, Named<"a", Conv<12, 3>>, Named<"b", Conv<18, 3, Groups<3>>>, Relu, ChannelShuffle<3>,
                 Named<"c", Conv<18, 3, Groups<18>>>, Named<"d", Conv<8, 1>>, Flatten, Named<"e", Dense<5>>>(),
        graph_of<Input<3, 8, 8>, Named<"a", Conv<8, 3>>,
                 Product<Path<>, Path<GlobalAvgPool, Named<"s", Conv<4, 1>>, Relu, Named<"t", Conv<8, 1>>, Sigmoid>>,
                 Residual<Named<"b", Conv<6, 3>>, Sigmoid, Named<"c", Conv<8, 3>>>, Named<"d", Dense<7>>,
                 Named<"e", Dense<3>>>(),
        graph_of<Input<3, 8, 8>, Named<"a", Conv<10, 3>>, Named<"n", BatchNorm>,
                 Concat<Path<Slice<0, 4>, Named<"b", Conv<6, 3>>>, Path<Slice<4, 10>>>, MaxPool<2>,
                 Named<"f", Conv<24, 3, Groups<12>>>, Named<"e", Conv<3, 1>>>(),
    };
    for (std::size_t i = 0; i < graphs.size(); ++i) {
        CAPTURE(i);
        const ps::prune::Coupling coupling(graphs[i]);
        for (unsigned seed = 1; seed < 9; ++seed) {
            CAPTURE(seed);
            check_same(graphs[i], coupling, any_choice(graphs[i], coupling, 1.0, seed));
        }
    }
}

/// The image, two convolutions of 8 and 12 filters around what `between` adds behind the first, and one more.
template <class Between>
ps::Graph around(Between const& between, ps::Shape image = {.c = 3, .h = 8, .w = 6}, int filters = 8) {
    ps::Graph graph(1);
    std::size_t at = graph.add("input", ps::InputParams{image}, {});
    at = graph.add("a", ps::ConvParams{.k = filters, .kernel = 3, .padding = 1}, {at});
    at = between(graph, at);
    at = graph.add("b", ps::ConvParams{.k = 12}, {at});
    at = graph.add("relu", ps::ActivationParams{}, {at});
    graph.set_outputs({graph.add("c", ps::ConvParams{.k = 2}, {at})});
    return graph;
}

/// Walks over an image as depth-to-space does, or as space-to-depth, in blocks of 2 x 2: by ONNX's modes.
ps::AsStridedParams in_blocks(ps::Shape in, bool deeper, bool column_row_depth) {
    const int c = in.c / 4, pixels = static_cast<int>(in.pixels());
    ps::AsStridedParams params;
    if (deeper) {
        params.shape = {.c = in.c * 4, .h = in.h / 2, .w = in.w / 2};
        params.dims = {2, 2, in.c, in.h / 2, in.w / 2};
        params.strides = {in.w, 1, pixels, 2 * in.w, 2};
        if (column_row_depth)
            params.dims = {in.c, 2, 2, in.h / 2, in.w / 2}, params.strides = {pixels, in.w, 1, 2 * in.w, 2};
        return params;
    }
    params.shape = {.c = c, .h = in.h * 2, .w = in.w * 2};
    params.dims = {c, in.h, 2, in.w, 2};
    params.strides = {pixels, in.w, 2 * c * pixels, 1, c * pixels};
    if (column_row_depth) params.strides = {4 * pixels, in.w, 2 * pixels, 1, pixels};
    return params;
}

/// Networks in which a layer of each kind passes channels on, and how many sets of them may go of the layer before it.
std::vector<std::pair<ps::Graph, std::size_t>> passing() {
    std::vector<std::pair<ps::Graph, std::size_t>> graphs;
    const auto add = [&](std::size_t may_go, auto const& between) { graphs.emplace_back(around(between), may_go); };
    const auto constant = [](ps::Graph& graph, ps::Shape shape, bool parameter = false) {
        return graph.add("values", ps::ConstantParams{.shape = shape, .parameter = parameter}, {});
    };
    for (const ps::BinaryKind kind : {ps::BinaryKind::prelu, ps::BinaryKind::multiply, ps::BinaryKind::add,
                                      ps::BinaryKind::divide, ps::BinaryKind::maximum, ps::BinaryKind::subtract}) {
        for (const ps::Shape shape : {ps::Shape{8, 1, 1}, ps::Shape{8, 8, 6}, ps::Shape{8, 1, 6}, ps::Shape{1, 8, 6}}) {
            add(8, [&](ps::Graph& graph, std::size_t at) {
                return graph.add("both", ps::BinaryParams{kind}, {at, constant(graph, shape, shape.h == 1)});
            });
        }
        add(8, [&](ps::Graph& graph, std::size_t at) {
            const std::size_t values = constant(graph, {8, 1, 1});
            return kind == ps::BinaryKind::divide ? at : graph.add("both", ps::BinaryParams{kind}, {values, at});
        });
    }
    add(8, [&](ps::Graph& graph, std::size_t at) {
        return graph.add("sum", ps::AddParams{}, {at, constant(graph, {8, 8, 6})});
    });
    add(8, [](ps::Graph& graph, std::size_t at) { return graph.add("scale", ps::ScaleParams{}, {at}); });
    for (const int groups : {1, 2, 8}) {
        add(groups == 2 ? 4 : 8, [&](ps::Graph& graph, std::size_t at) {
            return graph.add("up",
                             ps::ConvTransposeParams{
                                 .k = 16, .kernel = {3, 2}, .stride = 2, .padding = 1, .extra_h = 1, .groups = groups},
                             {at});
        });
    }
    for (const ps::Axis axis : {ps::Axis::h, ps::Axis::w}) {
        add(8, [&](ps::Graph& graph, std::size_t at) {
            return graph.add("mean", ps::ReduceParams{ps::ReduceKind::mean, axis}, {at});
        });
        add(8, [&](ps::Graph& graph, std::size_t at) { return graph.add("softmax", ps::SoftmaxParams{axis}, {at}); });
    }
    add(8, [&](ps::Graph& graph, std::size_t at) {
        return graph.add("product", ps::MatMulParams{}, {at, constant(graph, {8, 6, 5})});
    });
    add(8, [](ps::Graph& graph, std::size_t at) { return graph.add("rows", ps::DenseRowsParams{.k = 3}, {at}); });
    add(8, [](ps::Graph& graph, std::size_t at) { return graph.add("top", ps::TopKParams{.k = 3}, {at}); });
    // Group normalization, as ONNX files have it: whole groups go.
    for (const int groups : {2, 4, 8}) {
        add(static_cast<std::size_t>(groups), [&](ps::Graph& graph, std::size_t at) {
            const std::size_t grouped = graph.add("grouped", ps::ReshapeParams{{groups, 8 / groups * 48, 1}}, {at});
            const std::size_t mean = graph.add("mean", ps::ReduceParams{ps::ReduceKind::mean, ps::Axis::h}, {grouped});
            const std::size_t apart = graph.add("apart", ps::BinaryParams{ps::BinaryKind::subtract}, {grouped, mean});
            const std::size_t square = graph.add("square", ps::BinaryParams{ps::BinaryKind::multiply}, {apart, apart});
            std::size_t variance = graph.add("variance", ps::ReduceParams{ps::ReduceKind::mean, ps::Axis::h}, {square});
            variance = graph.add("epsilon", ps::ScaleParams{.known = true, .shift = 1e-5F}, {variance});
            variance = graph.add("root", ps::ActivationParams{ps::ActivationKind::sqrt}, {variance});
            at = graph.add("normal", ps::BinaryParams{ps::BinaryKind::divide}, {apart, variance});
            at = graph.add("back", ps::ReshapeParams{{8, 8, 6}}, {at});
            return graph.add("scale", ps::ScaleParams{}, {at});
        });
    }
    for (const bool deeper : {false, true}) {
        for (const bool column_row_depth : {false, true}) {
            add(deeper ? 8 : 2, [&](ps::Graph& graph, std::size_t at) {
                return graph.add("blocks", in_blocks(graph[at].shape, deeper, column_row_depth), {at});
            });
        }
    }
    // A shuffle of 2 x 4 channels, a transposed image, every second row, and channels repeated.
    add(4, [](ps::Graph& graph, std::size_t at) {
        return graph.add("shuffle",
                         ps::AsStridedParams{.dims = {4, 2, 48}, .strides = {48, 192, 1}, .shape = {8, 8, 6}}, {at});
    });
    add(8, [](ps::Graph& graph, std::size_t at) {
        return graph.add("turned", ps::AsStridedParams{.dims = {8, 6, 8}, .strides = {48, 1, 6}, .shape = {8, 6, 8}},
                         {at});
    });
    add(8, [](ps::Graph& graph, std::size_t at) {
        return graph.add(
            "rows", ps::AsStridedParams{.dims = {32, 6}, .strides = {12, 1}, .offset = 6, .shape = {8, 4, 6}}, {at});
    });
    add(8, [](ps::Graph& graph, std::size_t at) {
        return graph.add("twice", ps::AsStridedParams{.dims = {8, 2, 48}, .strides = {48, 0, 1}, .shape = {16, 8, 6}},
                         {at});
    });
    add(8, [](ps::Graph& graph, std::size_t at) { return graph.add("rows", ps::ReshapeParams{{64, 6, 1}}, {at}); });
    // Flattened with channels last.
    add(8, [](ps::Graph& graph, std::size_t at) {
        return graph.add("flat", ps::AsStridedParams{.dims = {48, 8}, .strides = {1, 48}, .shape = {384, 1, 1}}, {at});
    });
    return graphs;
}

TEST_CASE("a layer that passes channels on keeps those that are left, whatever its kind") {
    for (auto const& each : passing()) {
        auto const& graph = std::get<0>(each);
        auto const& may_go = std::get<1>(each);
        CAPTURE(graph[2].name);
        CAPTURE(graph.size());
        const ps::prune::Coupling coupling(graph);
        std::set<std::size_t> free;
        for (const std::size_t group : coupling.groups_of(graph.find("a"))) {
            if (coupling.groups()[group].fixed.empty()) free.insert(group);
        }
        CHECK(free.size() == may_go);
        for (unsigned seed = 1; seed < 4; ++seed) {
            CAPTURE(seed);
            const ps::prune::RemovedGroups choice = any_choice(graph, coupling, 2.0, seed);
            check_same(graph, coupling, choice);
        }
        // The first half of them.
        ps::prune::RemovedGroups half;
        for (const std::size_t group : free) {
            if (half.size() < free.size() / 2) half.insert(group);
        }
        CHECK(!half.empty());
        check_same(graph, coupling, half);
        CHECK(ps::prune::remove_channels(graph, coupling, half)[graph.find("a")].shape.c == 4);
    }
}

TEST_CASE("what mixes channels holds them back, and is named") {
    const auto held = [](auto const& between) {
        const ps::Graph graph = around(between);
        return ps::prune::held_back_text(ps::prune::held_back(graph, ps::prune::Coupling(graph)));
    };
    const auto alone = [&](ps::AnyLayer const& layer) {
        return held([&](ps::Graph& graph, std::size_t at) { return graph.add("between", layer, {at}); });
    };
    CHECK(alone(ps::ActivationParams{}).empty());
    CHECK(alone(ps::LrnParams{}) == "a: 8 of 8 stay: layer between (lrn) normalises each by its neighbours");
    const std::string mixes = "mixes channels in a way that none can be left out of";
    CHECK(alone(ps::SoftmaxParams{}) == "a: 8 of 8 stay: layer between (softmax) " + mixes);
    CHECK(alone(ps::ReduceParams{}) == "a: 8 of 8 stay: layer between (reduce_mean) " + mixes);
    CHECK(alone(ps::ReshapeParams{{1, 48, 8}}) == "a: 8 of 8 stay: layer between (reshape) makes one channel of all");
    CHECK(alone(ps::AsStridedParams{.dims = {6, 8, 8}, .strides = {1, 6, 48}, .shape = {6, 8, 8}}) ==
          "a: 8 of 8 stay: layer between (as_strided) moves elements from channel to channel");
    // Every second channel: those between would change the steps.
    CHECK(alone(ps::AsStridedParams{.dims = {4, 48}, .strides = {96, 1}, .shape = {4, 8, 6}}) ==
          "a: 8 of 8 stay: layer between (as_strided) moves elements from channel to channel");
    // Some of them: what a slice reads is held back.
    CHECK(held([](ps::Graph& graph, std::size_t at) {
              const std::size_t part = graph.add("part", ps::SliceParams{0, 3}, {at});
              const std::size_t rest = graph.add("rest", ps::SliceParams{3, 8}, {at});
              return graph.add("all", ps::ConcatParams{}, {graph.add("between", ps::SoftmaxParams{}, {part}), rest});
          }) == "a: 3 of 8 stay: layer between (softmax) " + mixes);
    // Shuffles of 2 and of 4 x 2 channels couple all.
    CHECK(held([](ps::Graph& graph, std::size_t at) {
              at = graph.add("two", ps::ChannelShuffleParams{2}, {at});
              return graph.add("four", ps::ChannelShuffleParams{8}, {at});
          }) == "a: 8 of 8 stay: all of them are coupled to each other");
    // The last filters are the result's, whatever is behind them, and hold nothing back.
    const ps::Graph classifier = graph_of<Input<3, 8, 8>, Named<"a", Conv<8, 3>>, Named<"b", Dense<5>>, Softmax>();
    CHECK(ps::prune::held_back(classifier, ps::prune::Coupling(classifier)).empty());
}

TEST_CASE("layers that are added lose the same channels") {
    const ps::Graph graph =
        graph_of<Input<3, 8, 8>, Named<"a", Conv<8, 3>>, Residual<Named<"b", Conv<8, 3>>>, Named<"c", Conv<4, 3>>>();
    const ps::prune::Coupling coupling(graph);
    const std::size_t a = graph.find("a"), b = graph.find("sum1.b"), c = graph.find("c");
    CHECK(coupling.groups_of(a) == coupling.groups_of(b));
    for (const std::size_t group : coupling.groups_of(c)) {
        CHECK(coupling.groups()[group].fixed == "they are the network's result");
    }
    const auto rankings = ps::prune::rank_filters(graph, ps::random_weights(graph, 1), coupling, ps::prune::L1Norm{});
    REQUIRE(rankings.size() == 1);
    CHECK(rankings[0].layers == std::vector<std::string>{"a", "sum1.b"});
    const ps::prune::RemovedGroups choice = ps::prune::choose(rankings[0], 0.5);
    const ps::prune::Pruned thin = ps::prune::remove_channels(graph, ps::random_weights(graph, 1), coupling, choice);
    CHECK(thin.graph[a].shape.c == 4);
    CHECK(thin.graph[b].shape.c == 4);
    CHECK(thin.graph[c].shape.c == 4);
    CHECK(floats_of(thin.weights) == 4 * 27 + 4 + 4 * 4 * 9 + 4 + 4 * 4 * 9 + 4);
}

TEST_CASE("coupled layers of different widths lose the same share each") {
    for (const ps::Graph& graph : {ps::zoo::ResNet56::graph(), ps::zoo::ShuffleNetV2X05::graph()}) {
        const ps::prune::Coupling coupling(graph);
        const auto groups_of = [&](std::string const& layer) {
            std::vector<std::size_t> const& each = coupling.groups_of(graph.find(layer));
            return std::set<std::size_t>(each.begin(), each.end());
        };
        std::size_t different = 0;
        for (ps::prune::Ranking const& ranking :
             ps::prune::rank_filters(graph, ps::random_weights(graph), coupling, ps::prune::L1Norm{})) {
            for (std::string const& layer : ranking.layers) {
                const std::set<std::size_t> groups = groups_of(layer);
                different += groups.size() == ranking.count ? 0U : 1U;
                for (const double share : {0.25, 0.5, 0.75}) {
                    const ps::prune::RemovedGroups choice = ps::prune::choose(ranking, share);
                    const auto gone = std::ranges::count_if(groups, [&](std::size_t g) { return choice.contains(g); });
                    CAPTURE(layer);
                    CAPTURE(share);
                    CHECK(std::abs(static_cast<double>(gone) - share * static_cast<double>(groups.size())) <= 1);
                }
            }
        }
        CHECK(different > 0);
    }
}

TEST_CASE("what must stay is refused by name and reason") {
    const ps::Graph graph =
        graph_of<Input<3, 8, 8>, Named<"a", Conv<8, 3>>, Lrn<>, Named<"b", Conv<4, 3>>, Named<"c", Conv<4, 3>>>();
    const ps::Weights weights = ps::random_weights(graph);
    const ps::prune::Coupling coupling(graph);
    const auto refused = [&](std::size_t group, const char* why) {
        CHECK_THROWS_WITH_AS((void)ps::prune::remove_channels(graph, weights, coupling, {group}),
                             doctest::Contains(why), ps::error);
    };
    refused(coupling.groups_of(graph.find("a"))[2],
            "channel 2 of layer a must stay: layer lrn1 (lrn) normalises each by its neighbours");
    refused(coupling.groups_of(graph.find("c"))[0], "channel 0 of layer c must stay: they are the network's result");
    refused(coupling.groups_of(0)[1], "must stay: layer input (input) is the image");
    refused(10'000, "there is no group 10000");
    ps::prune::RemovedGroups all;
    for (const std::size_t group : coupling.groups_of(graph.find("b"))) all.insert(group);
    CHECK_THROWS_WITH_AS((void)ps::prune::remove_channels(graph, weights, coupling, all),
                         "prune: no channel would be left of layer b", ps::error);
    CHECK_THROWS_WITH_AS((void)ps::prune::Coupling(ps::simplify(ps::zoo::ResNet18::graph())),
                         doctest::Contains("has others fused into it"), ps::error);
}

}  // namespace
}  // namespace surgery
