#include <primsel/core/error.hpp>
#include <primsel/tensor/shape.hpp>

#include <doctest/doctest.h>

namespace {

namespace ps = primsel;

TEST_CASE("a shape's size and pixels do not overflow int") {
    constexpr ps::Shape shape{3, 224, 225};
    CHECK(shape.size() == 3 * 224 * 225);
    CHECK(shape.pixels() == 224 * 225);
    CHECK(ps::Shape{70'000, 70'000, 2}.size() == 9'800'000'000U);
    CHECK(ps::Shape{}.size() == 1);
}

TEST_CASE("shapes compare and print as channels x height x width") {
    CHECK(ps::Shape{1, 2, 3} == ps::Shape{.c = 1, .h = 2, .w = 3});
    CHECK(ps::Shape{1, 2, 3} != ps::Shape{1, 3, 2});
    CHECK(ps::to_string(ps::Shape{3, 224, 225}) == "3x224x225");
    CHECK(ps::join("input of ", ps::Shape{1, 28, 28}) == "input of 1x28x28");
}

}  // namespace
