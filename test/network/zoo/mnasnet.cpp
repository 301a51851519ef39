#include <primsel/network/zoo/mnasnet.hpp>

#include "counts.hpp"

#include <doctest/doctest.h>

namespace ps = primsel;

static_assert(ps::zoo::MnasNet10::input_shape == ps::Shape{3, 224, 224});
static_assert(ps::zoo::MnasNet10::output_shape == ps::Shape{1000, 1, 1});
static_assert(ps::zoo::MnasNet05::output_shape == ps::Shape{1000, 1, 1});
static_assert(ps::zoo::MnasNet075::output_shape == ps::Shape{1000, 1, 1});
static_assert(ps::zoo::MnasNet13::output_shape == ps::Shape{1000, 1, 1});
static_assert(ps::zoo::MnasNetOf<33, 7, std::ratio<1, 10>>::output_shape == ps::Shape{7, 1, 1});

TEST_CASE("zoo: MnasNet's widths round as torchvision's") {
    // torchvision.models.mnasnet.MNASNet(alpha)
    CHECK(counts::parameters(ps::zoo::MnasNetOf<224, 1000, std::ratio<35, 100>>::graph()) == 1'788'232);
    CHECK(counts::parameters(ps::zoo::MnasNetOf<224, 1000, std::ratio<2>>::graph()) == 12'469'944);
}
