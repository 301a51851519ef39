// Networks in groups: what they are made of, that groups which are absent are as groups of zeros, and what is refused.
#include "networks.hpp"

#include <doctest/doctest.h>
#include <primsel/dynamic/nested.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <vector>

namespace dynamic {
namespace {

double apart(std::vector<float> const& a, std::vector<float> const& b) {
    REQUIRE(a.size() == b.size());
    double squares = 0, most = 0;
    for (std::size_t i = 0; i < a.size(); ++i) {
        squares += static_cast<double>(a[i]) * static_cast<double>(a[i]);
        most = std::max(most, std::abs(static_cast<double>(a[i]) - static_cast<double>(b[i])));
    }
    return most / std::sqrt(squares / static_cast<double>(a.size()));
}

/// With zeros for all that groups beyond so many have, and for what reads them.
ps::Weights without_groups(ps::Graph const& graph, ps::Weights const& weights, int groups) {
    ps::Weights zeros;
    for (auto const& [name, tensor] : weights) {
        const float value = name.ends_with("running_var") ? 1.0F : 0.0F;
        zeros.add(name, tensor.dims, std::vector<float>(tensor.values.size(), value));
    }
    const ps::dynamic::Configuration part =
        ps::dynamic::configuration_of(graph, ps::dynamic::configuration(graph, groups));
    return ps::dynamic::with_configuration(graph, zeros, part,
                                           ps::dynamic::configuration_weights(graph, weights, part));
}

ps::Weights slice(ps::Graph const& graph, ps::Weights const& weights, int groups) {
    return ps::dynamic::configuration_weights(
        graph, weights, ps::dynamic::configuration_of(graph, ps::dynamic::configuration(graph, groups)));
}

/// Table II of Xun et al. 2019 before it is divided: one group of four times the channels.
struct WholeAlexNet
    : ps::Network<Input<3, 32, 32>, Named<"conv1", Conv<64, 3, Pad<0>>>, Relu, Lrn<>, MaxPool<4, Stride<1>>,
                  Named<"conv2", Conv<64, 5>>, Relu, Lrn<>, MaxPool<3, Stride<2>>, Named<"conv3", Conv<64, 3>>, Relu,
                  Named<"conv4", Conv<64, 3>>, Relu, Named<"conv5", Conv<64, 3>>, Relu, MaxPool<3, Stride<2>>,
                  Named<"fc6", Dense<10>>, Softmax> {};

TEST_CASE("the network of the paper, from its ungrouped form and from one in a single group") {
    const ps::Graph expected = ps::zoo::AlexNetCifar::graph();
    CHECK(ps::dynamic::grouped(WholeAlexNet::graph(), 4) == expected);
    CHECK(ps::dynamic::grouped(ps::zoo::AlexNetCifarOf<32, 10, std::ratio<4>, 1>::graph(), 4) == expected);
    CHECK(ps::dynamic::Grouped<WholeAlexNet, 4>::graph(2) == ps::zoo::AlexNetCifar::graph(2));
    CHECK(ps::NetworkType<ps::dynamic::Grouped<WholeAlexNet, 4>>);
    CHECK(ps::dynamic::configuration(expected, 4) == expected);
    CHECK(ps::dynamic::configuration(expected, 2) == ps::zoo::AlexNetCifarOf<32, 10, std::ratio<1>, 2>::graph());
    std::size_t floats = 0;
    for (ps::WeightSpec const& spec : ps::weight_specs(expected)) {
        std::size_t size = 1;
        for (const std::int64_t dim : spec.dims) size *= static_cast<std::size_t>(dim);
        floats += size;
    }
    CHECK(floats == 4 * (27 * 16 + 25 * 16 * 16 + 3 * 9 * 16 * 16 + 5 * 16) + 6 * 6 * 64 * 10 + 10);
}

TEST_CASE("groups that are absent are as groups of zeros") {
    for (auto const& network : in_four_groups()) {
        CAPTURE(network.name);
        ps::Graph const& graph = network.graph;
        CHECK(ps::dynamic::group_count(graph) == 4);
        const ps::Weights weights = ps::random_weights(graph, 7);
        for (const int groups : {1, 3}) {
            CAPTURE(groups);
            const ps::Graph part = ps::dynamic::configuration(graph, groups);
            CHECK(part.size() < graph.size());
            CHECK(apart(result_of(graph, without_groups(graph, weights, groups)),
                        result_of(part, slice(graph, weights, groups))) < 1e-5);
        }
    }
}

TEST_CASE("a part's weights share the values of whole layers, and go back to their places") {
    const ps::Graph graph = ps::dynamic::grouped(Plain::graph(), 2);
    const ps::Weights weights = ps::random_weights(graph, 7), others = ps::random_weights(graph, 8);
    const ps::dynamic::Configuration part = ps::dynamic::configuration_of(graph, ps::dynamic::configuration(graph, 1));
    const ps::Weights slices = ps::dynamic::configuration_weights(graph, weights, part);
    CHECK(slices.at("group1.a.weight").values.data() == weights.at("group1.a.weight").values.data());
    CHECK(slices.find("group2.a.weight") == nullptr);
    // In chw order, the first group's channels are the first columns.
    const auto all = weights.at("fc1.weight").values, first = slices.at("fc1.weight").values;
    REQUIRE(first.size() == all.size() / 2);
    const std::size_t width = all.size() / 20;
    for (std::size_t row = 0; row < 20; ++row) {
        CHECK(std::equal(first.begin() + static_cast<std::ptrdiff_t>(row * width / 2),
                         first.begin() + static_cast<std::ptrdiff_t>((row + 1) * width / 2),
                         all.begin() + static_cast<std::ptrdiff_t>(row * width)));
    }
    const ps::Weights merged = ps::dynamic::with_configuration(graph, others, part, slices);
    const ps::Weights again = ps::dynamic::configuration_weights(graph, merged, part);
    for (auto const& [name, tensor] : again) CHECK(std::ranges::equal(tensor.values, slices.at(name).values));
    CHECK(std::ranges::equal(merged.at("group2.a.weight").values, others.at("group2.a.weight").values));
}

TEST_CASE("nested by channels: a part is the whole with zeros elsewhere") {
    namespace zoo = ps::zoo;
    const std::vector<ps::Graph> graphs{Plain::graph(), Gate::graph(), WholeAlexNet::graph(),
                                        ps::resized(zoo::GoogLeNet::graph(), {3, 32, 32}),
                                        ps::resized(zoo::MobileNetV1::graph(), {3, 32, 32})};
    for (ps::Graph const& graph : graphs) {
        CAPTURE(graph.size());
        const std::vector<ps::dynamic::Configuration> parts = ps::dynamic::nested(graph, 4);
        REQUIRE(parts.size() == 4);
        CHECK(parts[3].graph == graph);
        const ps::Weights weights = ps::random_weights(graph, 7);
        for (const std::size_t part : {std::size_t{0}, std::size_t{2}}) {
            // Normalisation by neighbours meets zeros at the part's end as it meets the end.
            ps::Weights zeros;
            for (auto const& [name, tensor] : weights) {
                const float value = name.ends_with("running_var") ? 1.0F : 0.0F;
                zeros.add(name, tensor.dims, std::vector<float>(tensor.values.size(), value));
            }
            const ps::Weights own = ps::dynamic::configuration_weights(graph, weights, parts[part]);
            CHECK(apart(result_of(graph, ps::dynamic::with_configuration(graph, zeros, parts[part], own)),
                        result_of(parts[part].graph, own)) < 1e-5);
        }
    }
}

TEST_CASE("channels that the groups do not divide") {
    using Odd = ps::Network<Input<3, 8, 8>, Named<"a", Conv<6, 3>>, Relu, GlobalAvgPool, Named<"fc", Dense<5>>>;
    CHECK_THROWS_WITH_AS((void)ps::dynamic::grouped(Odd::graph(), 4),
                         "grouped: layer a (conv) has 6 kernels, which 4 groups do not divide", ps::error);
    const ps::Graph rounded = ps::dynamic::grouped(Odd::graph(), 4, {.round = true});
    CHECK(rounded[rounded.find("group4.a")].shape.c == 2);
    CHECK(rounded[rounded.find("concat1")].shape.c == 8);
}

TEST_CASE("what cannot be divided is refused by name") {
    const auto refused = [](ps::Graph const& graph, const char* why, ps::dynamic::GroupOptions const& options = {}) {
        CHECK_THROWS_WITH_AS((void)ps::dynamic::grouped(graph, 2, options), doctest::Contains(why), ps::error);
    };
    refused(ps::simplify(Plain::graph()), "has others fused into it");
    refused(Plain::graph(), "no layer is named nowhere", {.head = "nowhere"});
    struct Across : ps::Network<Input<4, 8, 8>, Named<"a", Conv<4, 3>>,
                                Concat<Named<"b", Dense<4>>, Path<Named<"c", Conv<4, 3>>, GlobalAvgPool>>> {};
    refused(Across::graph(), "the network has no dense part");
    refused(Across::graph(), "layer concat1.concat, behind concat1.b, reads concat1.global_average_pool1",
            {.head = "concat1.b"});
    struct Mixed
        : ps::Network<Input<4, 8, 8>, Named<"a", Conv<8, 3>>, SoftmaxAlong<ps::Axis::c>, Named<"b", Dense<4>>> {};
    refused(Mixed::graph(), "softmax1 (softmax) mixes channels");
    CHECK_THROWS_WITH_AS((void)ps::dynamic::grouped(Plain::graph(), 0), "grouped: impossible number of groups 0",
                         ps::error);
    CHECK_THROWS_WITH_AS((void)ps::dynamic::configuration(Plain::graph(), 1),
                         doctest::Contains("the network has no groups"), ps::error);
    const ps::Graph graph = ps::dynamic::grouped(Plain::graph(), 2);
    CHECK_THROWS_WITH_AS((void)ps::dynamic::configuration(graph, 3), "configuration: 3 groups of a network that has 2",
                         ps::error);
    ps::Graph odd;
    odd.add("input", ps::InputParams{{4, 8, 8}}, {});
    odd.add("group1.a", ps::ConvParams{.k = 4}, {0});
    odd.add("relu", ps::ActivationParams{}, {1});
    CHECK_THROWS_WITH_AS((void)ps::dynamic::configuration(odd, 1), doctest::Contains("layer relu (relu) reads a group"),
                         ps::error);
    CHECK_THROWS_WITH_AS(
        (void)ps::dynamic::nested(ps::zoo::ShuffleNetV2X05::graph(), 4),
        doctest::Contains("layer stage2.1.slice1 (slice): which of the channels it has cannot be told"), ps::error);
}

TEST_CASE("the head can be named, and dropout and flattening belong to it") {
    const ps::Graph graph = ps::dynamic::grouped(Plain::graph(), 4);
    CHECK(graph[graph.find("flatten1")].shape.c == 16 * 36);
    CHECK(graph[graph.find("concat1")].shape.c == 16);
    const ps::Graph deep = ps::dynamic::grouped(Plain::graph(), 4, {.head = "fc2"});
    CHECK(deep[deep.find("group4.fc1")].shape.c == 5);
    CHECK(ps::dynamic::group_number("group12.a.weight") == 12);
    CHECK(ps::dynamic::group_number("group.a") == 0);
    CHECK(ps::dynamic::group_number("group1a.b") == 0);
    CHECK(ps::dynamic::group_number("fc6") == 0);
}

}  // namespace
}  // namespace dynamic
