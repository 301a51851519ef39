#include "own_layers.hpp"

#include <primsel/layer/own_layer.hpp>
#include <primsel/network/fingerprint.hpp>
#include <primsel/network/network.hpp>
#include <primsel/network/weight_specs.hpp>

#include <doctest/doctest.h>

#include <string>
#include <type_traits>
#include <vector>

#include "../error_of.hpp"

namespace layer_own_layer_tests {

namespace {

namespace ps = primsel;
using namespace ps::layer;
using own::Gate, own::Mirror, own::Times;
using tests::error_of;

static_assert(ps::OwnLayer<Mirror> && ps::OwnLayer<Gate> && ps::OwnLayer<Times>);
static_assert(!ps::OwnLayer<ps::ConvParams> && !ps::OwnLayer<ps::ActivationParams> && !ps::OwnLayer<int>);
static_assert(std::is_trivially_copyable_v<ps::AnyLayer>);
static_assert(ps::LayerParams<ps::OwnLayerParams>);

struct Net : ps::Network<Input<3, 4, 5>, Own<Mirror, 7>, Relu, Named<"second", Own<Mirror>>> {};
static_assert(Net::output_shape == ps::Shape{3, 4, 5});

std::string fields_of(ps::AnyLayer const& layer) {
    std::string text;
    std::get<ps::OwnLayerParams>(layer).each_field(
        [&](std::string_view name, std::string_view value) { text += ps::join(name, '=', value, ';'); });
    return text;
}

TEST_CASE("a layer of the user's own is a layer: it copies, compares and names its parameters") {
    const ps::AnyLayer a = Mirror{3}, b = Mirror{4};
    CHECK(a == ps::AnyLayer(Mirror{3}));
    CHECK(a != b);
    CHECK(a != ps::AnyLayer(Times{3}));
    ps::AnyLayer copy = b;
    copy = a;
    CHECK(copy == a);
    CHECK(ps::layer_kind(a) == "mirror");
    CHECK(fields_of(a) == "shift=3;");
    CHECK(fields_of(Times{0.1F}) == "factor=0.1;");
    CHECK(fields_of(Gate{}).empty());
    CHECK(ps::AnyLayer(Gate{}) == ps::AnyLayer(Gate{}));
    REQUIRE(ps::own_params<Mirror>(a) != nullptr);
    CHECK(ps::own_params<Mirror>(a)->shift == 3);
    CHECK(ps::own_params<Times>(a) == nullptr);
    CHECK(ps::own_params<Mirror>(ps::ReshapeParams{}) == nullptr);
}

TEST_CASE("it stands in a network type and in a graph, under its name") {
    ps::Graph added;
    added.add("input", ps::InputParams{{3, 4, 5}}, {});
    added.add("mirror1", Mirror{7}, {0});
    added.add("relu1", ps::ActivationParams{}, {1});
    added.add("second", Mirror{}, {2});
    CHECK(Net::graph() == added);
    CHECK(ps::fingerprint(Net::graph()) == ps::fingerprint(added));
    CHECK(ps::join(Net::graph()[1].shape) == "3x4x5");
}

TEST_CASE("the fingerprint tells layers apart by their name and parameters") {
    const auto print = [](ps::AnyLayer const& layer) {
        ps::Graph graph;
        graph.add("input", ps::InputParams{{3, 4, 5}}, {});
        graph.add("layer", layer, {0});
        return ps::fingerprint(graph) + ' ' + ps::structure(graph);
    };
    CHECK(print(Mirror{1}) == print(Mirror{1}));
    CHECK(print(Mirror{1}) != print(Mirror{2}));
    CHECK(print(Times{1}) != print(Mirror{1}));
}

TEST_CASE("it refuses inputs with a reason of its own") {
    ps::Graph graph;
    graph.add("input", ps::InputParams{{3, 4, 1}}, {});
    CHECK(error_of([&] { graph.add("thin", Mirror{}, {0}); }) ==
          "graph: layer thin (mirror) on 3x4x1: needs rows of two pixels or more");
    CHECK(error_of([&] {
              graph.add("two", Times{}, {0, 0});
          }) == "graph: layer two (times) on 3x4x1, 3x4x1: it reads one input");
    CHECK(error_of([&] { graph.add("none", Times{}, {}); }) ==
          "graph: layer none (times) on nothing: it reads at least one input");
}

/// Gives a result that has no pixels.
struct Nothing {
    static constexpr std::string_view name = "nothing";
    [[nodiscard]] static constexpr ps::Shape output(std::span<const ps::Shape> inputs) { return {inputs[0].c, 0, 1}; }
    template <class Arch, class L>
    void run(ps::OpArgs const&) const noexcept {}
};
TEST_CASE("an impossible output shape is refused") {
    ps::Graph graph;
    graph.add("input", ps::InputParams{{3, 4, 1}}, {});
    CHECK(error_of([&] { graph.add("nothing", Nothing{}, {0}); }) ==
          "graph: layer nothing (nothing) on 3x4x1: an extent of its output is not from 1 to 2^29");
}

TEST_CASE("its weights are the network's") {
    ps::Graph graph;
    graph.add("input", ps::InputParams{{3, 4, 5}}, {});
    graph.add("gate", Gate{}, {0, 0});
    const std::vector<ps::WeightSpec> specs = ps::weight_specs(graph);
    REQUIRE(specs.size() == 2);
    CHECK(specs[0].name == "gate.gain");
    CHECK(specs[1].name == "gate.shift");
    CHECK(specs[1].dims == std::vector<std::int64_t>{3});
}

}  // namespace

}  // namespace layer_own_layer_tests
