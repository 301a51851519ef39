#include <primsel/network/zoo/shufflenet.hpp>

#include "counts.hpp"

#include <doctest/doctest.h>

namespace ps = primsel;

static_assert(ps::zoo::ShuffleNetV2X10::input_shape == ps::Shape{3, 224, 224});
static_assert(ps::zoo::ShuffleNetV2X10::output_shape == ps::Shape{1000, 1, 1});
static_assert(ps::zoo::ShuffleNetV2X05Of<32, 7>::output_shape == ps::Shape{7, 1, 1});
static_assert(ps::zoo::ShuffleNetV2X15Of<33, 7, std::ratio<1, 4>>::output_shape == ps::Shape{7, 1, 1});
static_assert(ps::zoo::ShuffleNetV2X20Of<64, 7, std::ratio<3, 2>>::output_shape == ps::Shape{7, 1, 1});

TEST_CASE("zoo: half of ShuffleNet's channels go by") {
    const ps::Graph graph = ps::zoo::ShuffleNetV2X10::graph();
    const auto shape = [&](std::string_view layer) { return graph[graph.find(layer)].shape; };
    CHECK(shape("stage2.0.branch1.0") == ps::Shape{24, 28, 28});
    CHECK(shape("stage2.0.branch2.0") == ps::Shape{58, 56, 56});
    CHECK(shape("stage2.1.concat1") == ps::Shape{116, 28, 28});
    CHECK(shape("conv5.0") == ps::Shape{1024, 7, 7});
    ps::Node const& concat = graph[graph.find("stage3.7.concat1")];
    ps::Node const& kept = graph[concat.inputs[0]];
    CHECK(kept.layer == ps::AnyLayer(ps::SliceParams{0, 116}));
    ps::Node const& worked_on = graph[graph[graph.find("stage3.7.branch2.0")].inputs[0]];
    CHECK(worked_on.layer == ps::AnyLayer(ps::SliceParams{116, 232}));
    CHECK(worked_on.inputs == kept.inputs);

    // torchvision's ShuffleNetV2 with half the channels in each stage.
    CHECK(counts::parameters(ps::zoo::ShuffleNetV2X10Of<224, 1000, std::ratio<1, 2>>::graph()) == 836'143);
}
