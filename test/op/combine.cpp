#include "laws.hpp"

#include <primsel/op/combine.hpp>

namespace {

namespace ps = primsel;

TEST_CASE("add agrees with the reference for any number of inputs") {
    for (ps::Shape const& shape : laws::odd_shapes()) {
        for (const std::size_t inputs : {2U, 3U, 7U}) {
            laws::check(ps::AddParams{}, shape, 2e-6, {}, inputs);
            laws::check(ps::AddParams{}, shape, 2e-6, {}, inputs, 2.0F, ps::relu_clamp);
            laws::check(ps::AddParams{}, shape, 2e-6, {}, inputs, 2.0F, {-0.5F, 0.5F});
        }
    }
}

TEST_CASE("the clamp of add keeps NaN") {
    laws::Image image({1, 1, 19});
    std::ranges::fill(image.data, std::nan(""));
    ps::Sequential sequential;
    for (const float y : laws::run<ps::chw>(ps::AddParams{}, {{image}, {image}}, {}, sequential, false, ps::relu_clamp))
        CHECK(std::isnan(y));
}

TEST_CASE("concat puts inputs one after the other along any axis in every layout") {
    const std::vector<std::vector<int>> lists = {{1}, {1, 1}, {3, 5, 2}, {16, 32, 8, 24}, {17, 1, 33}, {64, 64}};
    const std::vector<ps::Shape> sizes = {{1, 1, 1}, {1, 1, 9},   {9, 1, 1},  {1, 7, 1},
                                          {5, 6, 5}, {1, 30, 33}, {33, 30, 4}};
    for (const ps::Axis axis : {ps::Axis::c, ps::Axis::h, ps::Axis::w}) {
        for (std::vector<int> const& extents : lists) {
            for (ps::Shape shape : sizes) {
                std::vector<ps::Shape> shapes;
                for (const int extent : extents) {
                    ps::extent(shape, axis) = extent;
                    shapes.push_back(shape);
                }
                laws::check(ps::ConcatParams{axis}, shapes, 0);
            }
        }
    }
}

}  // namespace
