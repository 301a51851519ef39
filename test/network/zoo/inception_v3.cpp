#include <primsel/network/zoo/inception_v3.hpp>

#include "counts.hpp"

#include <doctest/doctest.h>

namespace ps = primsel;

static_assert(ps::zoo::InceptionV3::input_shape == ps::Shape{3, 299, 299});
static_assert(ps::zoo::InceptionV3::output_shape == ps::Shape{1000, 1, 1});
static_assert(ps::zoo::InceptionV3Of<75, 7, std::ratio<1, 2>>::output_shape == ps::Shape{7, 1, 1});

TEST_CASE("zoo: Inception v3's sizes are those published") {
    // Szegedy et al. 2016, table 1.
    const ps::Graph graph = ps::zoo::InceptionV3::graph();
    const auto shape = [&](std::string_view layer) { return graph[graph.find(layer)].shape; };
    CHECK(shape("Conv2d_1a_3x3.conv") == ps::Shape{32, 149, 149});
    CHECK(shape("Conv2d_2a_3x3.conv") == ps::Shape{32, 147, 147});
    CHECK(shape("Conv2d_2b_3x3.conv") == ps::Shape{64, 147, 147});
    CHECK(shape("Conv2d_4a_3x3.conv") == ps::Shape{192, 71, 71});
    CHECK(shape("Mixed_5b.concat") == ps::Shape{256, 35, 35});
    CHECK(shape("Mixed_5d.concat") == ps::Shape{288, 35, 35});
    CHECK(shape("Mixed_6e.concat") == ps::Shape{768, 17, 17});
    CHECK(shape("Mixed_7a.concat") == ps::Shape{1280, 8, 8});
    CHECK(shape("Mixed_7c.concat") == ps::Shape{2048, 8, 8});
    // 1x7 before 7x1.
    CHECK(std::get<ps::ConvParams>(graph[graph.find("Mixed_6b.branch7x7_2.conv")].layer).kernel == ps::Extent{1, 7});
    CHECK(std::get<ps::ConvParams>(graph[graph.find("Mixed_6b.branch7x7_3.conv")].layer).kernel == ps::Extent{7, 1});
}
