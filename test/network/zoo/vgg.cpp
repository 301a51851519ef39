#include <primsel/network/zoo/vgg.hpp>

#include "counts.hpp"

#include <doctest/doctest.h>

namespace ps = primsel;

static_assert(ps::zoo::Vgg16::input_shape == ps::Shape{3, 224, 224});
static_assert(ps::zoo::Vgg16::output_shape == ps::Shape{1000, 1, 1});
static_assert(ps::zoo::Vgg11Of<32, 7, std::ratio<1, 4>>::output_shape == ps::Shape{7, 1, 1});
static_assert(ps::zoo::Vgg13Of<32, 7, std::ratio<1, 2>>::output_shape == ps::Shape{7, 1, 1});
static_assert(ps::zoo::Vgg16Of<33, 7, std::ratio<3, 2>>::output_shape == ps::Shape{7, 1, 1});
static_assert(ps::zoo::Vgg19Of<63, 7, std::ratio<2>>::output_shape == ps::Shape{7, 1, 1});

TEST_CASE("zoo: VGG has as many parameters as published") {
    // Simonyan and Zisserman 2014, table 2, in millions: A 133, B 133, D 138, E 144.
    const auto millions = [](ps::Graph const& graph) { return (counts::parameters(graph) + 500'000) / 1'000'000; };
    CHECK(millions(ps::zoo::Vgg11::graph()) == 133);
    CHECK(millions(ps::zoo::Vgg13::graph()) == 133);
    CHECK(millions(ps::zoo::Vgg16::graph()) == 138);
    CHECK(millions(ps::zoo::Vgg19::graph()) == 144);
    // torchvision's vgg16 with 7 classes.
    CHECK(counts::parameters(ps::zoo::Vgg16Of<224, 7>::graph()) == 134'289'223);
}
