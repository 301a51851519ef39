#include "shapes.hpp"

#include <primsel/layer/combine.hpp>

#include <doctest/doctest.h>

namespace {

namespace ps = primsel;
using laws::check;
using laws::output;
using ps::Fault;

static_assert(ps::LayerParams<ps::AddParams> && ps::LayerParams<ps::ConcatParams>);

TEST_CASE("add takes two or more inputs of one shape") {
    const ps::AddParams params;
    CHECK(output(params, {{2, 3, 4}, {2, 3, 4}}) == ps::Shape{2, 3, 4});
    CHECK(check(params, {{2, 3, 4}, {2, 3, 4}, {2, 3, 4}}) == Fault::none);
    CHECK(check(params, {}) == Fault::wrong_input_count);
    CHECK(check(params, {{2, 3, 4}}) == Fault::wrong_input_count);
    CHECK(check(params, {{2, 3, 4}, {2, 3, 4}, {2, 4, 3}}) == Fault::shapes_differ);
    CHECK(check(params, {{2, 3, 4}, {1, 3, 4}}) == Fault::shapes_differ);
    CHECK(params.name() == "add");
}

TEST_CASE("concat adds up the channels of inputs of one height and width") {
    const ps::ConcatParams params;
    CHECK(output(params, {{2, 3, 4}}) == ps::Shape{2, 3, 4});
    CHECK(output(params, {{2, 3, 4}, {5, 3, 4}, {1, 3, 4}}) == ps::Shape{8, 3, 4});
    CHECK(check(params, {{2, 3, 4}, {5, 3, 4}}) == Fault::none);
    CHECK(check(params, {}) == Fault::wrong_input_count);
    CHECK(check(params, {{2, 3, 4}, {2, 3, 5}}) == Fault::sizes_differ);
    CHECK(check(params, {{2, 3, 4}, {2, 2, 4}}) == Fault::sizes_differ);
    CHECK(params.name() == "concat");
}

}  // namespace
