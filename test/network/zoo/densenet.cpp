#include <primsel/network/zoo/densenet.hpp>

#include "counts.hpp"

#include <doctest/doctest.h>

namespace ps = primsel;

static_assert(ps::zoo::DenseNet121::input_shape == ps::Shape{3, 224, 224});
static_assert(ps::zoo::DenseNet121::output_shape == ps::Shape{1000, 1, 1});
static_assert(ps::zoo::DenseNet121Of<32, 7, std::ratio<1, 4>>::output_shape == ps::Shape{7, 1, 1});
static_assert(ps::zoo::DenseNet161Of<33, 7, std::ratio<1, 2>>::output_shape == ps::Shape{7, 1, 1});
static_assert(ps::zoo::DenseNet169Of<64, 7, std::ratio<3, 2>>::output_shape == ps::Shape{7, 1, 1});
static_assert(ps::zoo::DenseNet201Of<64, 7, std::ratio<1, 2>>::output_shape == ps::Shape{7, 1, 1});

TEST_CASE("zoo: DenseNet's layers add to what is before them") {
    const ps::Graph graph = ps::zoo::DenseNet121::graph();
    const auto shape = [&](std::string_view layer) { return graph[graph.find(layer)].shape; };
    CHECK(shape("features.denseblock1.denselayer1.conv1") == ps::Shape{128, 56, 56});
    CHECK(shape("features.denseblock1.denselayer1.conv2") == ps::Shape{32, 56, 56});
    CHECK(shape("features.denseblock1.denselayer6.concat") == ps::Shape{256, 56, 56});
    CHECK(shape("features.transition1.conv") == ps::Shape{128, 56, 56});
    CHECK(shape("features.denseblock2.denselayer1.norm1") == ps::Shape{128, 28, 28});
    CHECK(shape("features.norm5") == ps::Shape{1024, 7, 7});
    // The channels before them come first.
    ps::Node const& concat = graph[graph.find("features.denseblock4.denselayer16.concat")];
    CHECK(graph[concat.inputs[0]].name == "features.denseblock4.denselayer15.concat");
    CHECK(graph[concat.inputs[1]].name == "features.denseblock4.denselayer16.conv2");

    // torchvision's DenseNet with growth rate 16 and 32 channels to begin with.
    CHECK(counts::parameters(ps::zoo::DenseNet121Of<224, 1000, std::ratio<1, 2>>::graph()) == 2'274'728);
}
