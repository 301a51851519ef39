#include <primsel/network/zoo/squeezenet.hpp>

#include "counts.hpp"

#include <doctest/doctest.h>

namespace ps = primsel;

static_assert(ps::zoo::SqueezeNet10::input_shape == ps::Shape{3, 224, 224});
static_assert(ps::zoo::SqueezeNet10::output_shape == ps::Shape{1000, 1, 1});
static_assert(ps::zoo::SqueezeNet10Of<21, 7, std::ratio<1, 4>>::output_shape == ps::Shape{7, 1, 1});
static_assert(ps::zoo::SqueezeNet11::output_shape == ps::Shape{1000, 1, 1});
static_assert(ps::zoo::SqueezeNet11Of<17, 7, std::ratio<1, 4>>::output_shape == ps::Shape{7, 1, 1});

TEST_CASE("zoo: SqueezeNet's sizes are those published") {
    // Iandola et al. 2016, table 1, at its 224x224: where pooling rounds up, 55, 27 and 13.
    const ps::Graph graph = ps::zoo::SqueezeNet10Of<227>::graph();
    const auto shape = [&](std::string_view layer) { return graph[graph.find(layer)].shape; };
    CHECK(shape("features.0") == ps::Shape{96, 111, 111});
    CHECK(shape("features.3.concat1") == ps::Shape{128, 55, 55});
    CHECK(shape("features.7.concat1") == ps::Shape{256, 27, 27});
    CHECK(shape("features.12.concat1") == ps::Shape{512, 13, 13});
    CHECK(shape("classifier.1") == ps::Shape{1000, 13, 13});
    // torchvision's squeezenet1_1 with 7 classes.
    CHECK(counts::parameters(ps::zoo::SqueezeNet11Of<224, 7>::graph()) == 726'087);
}
