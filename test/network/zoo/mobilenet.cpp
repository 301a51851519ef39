#include <primsel/network/zoo/mobilenet.hpp>

#include "counts.hpp"

#include <doctest/doctest.h>

#include <cmath>

namespace ps = primsel;

static_assert(ps::zoo::MobileNetV1::input_shape == ps::Shape{3, 224, 224});
static_assert(ps::zoo::MobileNetV1::output_shape == ps::Shape{1000, 1, 1});
static_assert(ps::zoo::MobileNetV1Of<32, 7, std::ratio<1, 8>>::output_shape == ps::Shape{7, 1, 1});
static_assert(ps::zoo::MobileNetV2::input_shape == ps::Shape{3, 224, 224});
static_assert(ps::zoo::MobileNetV2::output_shape == ps::Shape{1000, 1, 1});
static_assert(ps::zoo::MobileNetV2Of<33, 7, std::ratio<1, 10>>::output_shape == ps::Shape{7, 1, 1});

namespace {

/// In millions, to the last digit given: some are rounded and some cut off.
void check_published(ps::Graph const& graph, double multiply_adds, double parameters) {
    CHECK(std::abs(static_cast<double>(counts::multiply_adds(graph)) / 1e6 - multiply_adds) < 1);
    CHECK(std::abs(static_cast<double>(counts::parameters(graph)) / 1e6 - parameters) < 0.05);
}

}  // namespace

TEST_CASE("zoo: MobileNet v1 is as large as published, at every width and image size") {
    // Howard et al. 2017, tables 6 and 7.
    check_published(ps::zoo::MobileNetV1::graph(), 569, 4.2);
    check_published(ps::zoo::MobileNetV1Of<224, 1000, std::ratio<3, 4>>::graph(), 325, 2.6);
    check_published(ps::zoo::MobileNetV1Of<224, 1000, std::ratio<1, 2>>::graph(), 149, 1.3);
    check_published(ps::zoo::MobileNetV1Of<224, 1000, std::ratio<1, 4>>::graph(), 41, 0.5);
    check_published(ps::zoo::MobileNetV1Of<192>::graph(), 418, 4.2);
    check_published(ps::zoo::MobileNetV1Of<160>::graph(), 290, 4.2);
    check_published(ps::zoo::MobileNetV1Of<128>::graph(), 186, 4.2);
}

TEST_CASE("zoo: MobileNet v1's layers are those published") {
    // Table 1. The last depthwise convolution keeps its 7x7 image, as the table's sizes say, though not its stride.
    const ps::Graph graph = ps::zoo::MobileNetV1::graph();
    const auto shape = [&](std::string_view layer) { return graph[graph.find(layer)].shape; };
    CHECK(shape("features.0.0") == ps::Shape{32, 112, 112});
    CHECK(shape("features.1.3") == ps::Shape{64, 112, 112});
    CHECK(shape("features.2.0") == ps::Shape{64, 56, 56});
    CHECK(shape("features.5.3") == ps::Shape{256, 28, 28});
    CHECK(shape("features.11.3") == ps::Shape{512, 14, 14});
    CHECK(shape("features.13.3") == ps::Shape{1024, 7, 7});
    // 28 layers, counting depthwise and 1x1 convolutions apart (section 3.2).
    CHECK(counts::layers<ps::ConvParams>(graph) + counts::layers<ps::DenseParams>(graph) == 28);
}

TEST_CASE("zoo: MobileNetV2's widths round as torchvision's") {
    // torchvision.models.mobilenet_v2(width_mult=...)
    CHECK(counts::parameters(ps::zoo::MobileNetV2Of<224, 1000, std::ratio<35, 100>>::graph()) == 1'677'128);
    CHECK(counts::parameters(ps::zoo::MobileNetV2Of<224, 1000, std::ratio<1, 2>>::graph()) == 1'968'680);
    CHECK(counts::parameters(ps::zoo::MobileNetV2Of<224, 1000, std::ratio<7, 5>>::graph()) == 6'108'776);
    const ps::Graph graph = ps::zoo::MobileNetV2::graph();
    CHECK(counts::layers<ps::AddParams>(graph) == 10);  // the repetitions in table 2 of Sandler et al. 2018
}
