#include "shapes.hpp"

#include <primsel/layer/input.hpp>

#include <doctest/doctest.h>

namespace {

namespace ps = primsel;
using laws::check;
using ps::Fault;

static_assert(ps::LayerParams<ps::InputParams> && ps::LayerParams<ps::ConstantParams>);

TEST_CASE("an input has a shape and reads nothing") {
    constexpr ps::InputParams params = ps::layer::Input<3, 224, 225>::params;
    CHECK(laws::output(params, {}) == ps::Shape{3, 224, 225});
    CHECK(check(params, {}) == Fault::none);
    CHECK(check(params, {{1, 1, 1}}) == Fault::wrong_input_count);
    CHECK(check(ps::InputParams{{0, 1, 1}}, {}) == Fault::impossible_parameter);
    CHECK(check(ps::InputParams{{1, 0, 1}}, {}) == Fault::impossible_parameter);
    CHECK(check(ps::InputParams{{1, 1, -1}}, {}) == Fault::impossible_parameter);
    CHECK(params.name() == "input");
}

TEST_CASE("so has a constant") {
    constexpr ps::ConstantParams params{{3, 4, 5}};
    CHECK(laws::output(params, {}) == ps::Shape{3, 4, 5});
    CHECK(check(params, {}) == Fault::none);
    CHECK(check(params, {{1, 1, 1}}) == Fault::wrong_input_count);
    CHECK(check(ps::ConstantParams{{1, 1, 0}}, {}) == Fault::impossible_parameter);
    CHECK(params.name() == "constant");
}

}  // namespace
