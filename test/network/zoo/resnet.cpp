#include <primsel/network/zoo/resnet.hpp>

#include "counts.hpp"

#include <doctest/doctest.h>
#include <primsel/network/simplify.hpp>

#include <cmath>

namespace ps = primsel;

static_assert(ps::zoo::ResNet18::input_shape == ps::Shape{3, 224, 224});
static_assert(ps::zoo::ResNet18::output_shape == ps::Shape{1000, 1, 1});
static_assert(ps::zoo::ResNet18Of<32, 7, std::ratio<1, 4>>::output_shape == ps::Shape{7, 1, 1});
static_assert(ps::zoo::ResNet34Of<33, 7, std::ratio<3, 2>>::output_shape == ps::Shape{7, 1, 1});
static_assert(ps::zoo::ResNet50Of<64, 7, std::ratio<1, 2>>::output_shape == ps::Shape{7, 1, 1});
static_assert(ps::zoo::ResNet101Of<64, 7, std::ratio<1, 2>>::output_shape == ps::Shape{7, 1, 1});
static_assert(ps::zoo::ResNet152Of<64, 7, std::ratio<1, 2>>::output_shape == ps::Shape{7, 1, 1});
static_assert(ps::zoo::ResNeXt50Of<64, 7, std::ratio<1, 2>>::output_shape == ps::Shape{7, 1, 1});
static_assert(ps::zoo::ResNeXt101Of<64, 7, std::ratio<1, 2>>::output_shape == ps::Shape{7, 1, 1});
static_assert(ps::zoo::ResNet56::input_shape == ps::Shape{3, 32, 32});
static_assert(ps::zoo::ResNet56::output_shape == ps::Shape{10, 1, 1});
static_assert(ps::zoo::ResNet56Of<20, 7, std::ratio<2>>::output_shape == ps::Shape{7, 1, 1});

TEST_CASE("zoo: ResNets name their layers as torchvision does") {
    const ps::Graph graph = ps::zoo::ResNet50::graph();
    const auto shape = [&](std::string_view layer) { return graph[graph.find(layer)].shape; };
    CHECK(shape("conv1") == ps::Shape{64, 112, 112});
    CHECK(shape("layer1.0.downsample.0") == ps::Shape{256, 56, 56});
    CHECK(shape("layer2.0.conv1") == ps::Shape{128, 56, 56});  // the next convolution halves the image
    CHECK(shape("layer2.0.conv2") == ps::Shape{128, 28, 28});
    CHECK(shape("layer4.2.bn3") == ps::Shape{2048, 7, 7});
    // torchvision's model with 7 classes.
    CHECK(counts::parameters(ps::zoo::ResNet50Of<224, 7>::graph()) == 23'522'375);
    const ps::Graph next = ps::zoo::ResNeXt101Of<224, 1000, std::ratio<1, 2>>::graph();
    const auto conv = std::get<ps::ConvParams>(next[next.find("layer3.22.conv2")].layer);
    CHECK(conv.groups == 32);
    CHECK(conv.k == 512);
}

TEST_CASE("zoo: ResNet-56 is as large as published") {
    const ps::Graph graph = ps::zoo::ResNet56::graph();
    // He et al. 2016, table 6: 0.85 million parameters. Li et al. 2017, table 1: 1.25e8 multiply-adds, 8.5e5
    // parameters.
    CHECK(std::abs(static_cast<double>(counts::parameters(graph)) / 1e6 - 0.85) < 0.005);
    CHECK(std::abs(static_cast<double>(counts::multiply_adds(graph)) / 1e8 - 1.25) < 0.005);
    // 6n + 2 layers with weights, n = 9; shortcuts have none.
    CHECK(counts::layers<ps::ConvParams>(graph) + counts::layers<ps::DenseParams>(graph) == 56);

    // Option A: every other pixel, then zeros.
    const ps::Graph simplified = ps::simplify(graph);
    ps::Node const& sum = simplified[simplified.find("layer2.0.conv2")];
    REQUIRE(sum.inputs.size() == 2);
    ps::Node const& pad = simplified[sum.inputs[1]];
    CHECK(pad.shape == ps::Shape{32, 16, 16});
    CHECK(pad.layer == ps::AnyLayer(ps::PadParams{.front = 0, .back = 16}));
    CHECK(simplified[pad.inputs[0]].layer == ps::AnyLayer(ps::PoolParams{.window = 1, .stride = 2}));
}
