#include "shapes.hpp"

#include <primsel/layer/combine.hpp>

#include <doctest/doctest.h>

namespace {

namespace ps = primsel;
using laws::check;
using laws::output;
using ps::Fault;

static_assert(ps::LayerParams<ps::AddParams> && ps::LayerParams<ps::ConcatParams>);
static_assert(ps::LayerParams<ps::BinaryParams> && ps::LayerParams<ps::MatMulParams>);

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

TEST_CASE("concat adds up the extents along its axis") {
    const ps::ConcatParams rows{ps::Axis::h}, columns{ps::Axis::w};
    CHECK(output(rows, {{2, 3, 4}, {2, 5, 4}}) == ps::Shape{2, 8, 4});
    CHECK(output(columns, {{2, 3, 4}, {2, 3, 1}, {2, 3, 2}}) == ps::Shape{2, 3, 7});
    CHECK(check(rows, {{2, 3, 4}, {2, 5, 4}}) == Fault::none);
    CHECK(check(rows, {{2, 3, 4}, {2, 3, 5}}) == Fault::sizes_differ);
    CHECK(check(columns, {{2, 3, 4}, {1, 3, 4}}) == Fault::sizes_differ);
    CHECK(rows != ps::ConcatParams{});
}

TEST_CASE("a binary function broadcasts single elements") {
    const ps::BinaryParams params;
    CHECK(output(params, {{2, 3, 4}, {2, 3, 4}}) == ps::Shape{2, 3, 4});
    CHECK(output(params, {{2, 3, 4}, {2, 1, 1}}) == ps::Shape{2, 3, 4});
    CHECK(output(params, {{1, 3, 1}, {2, 1, 4}}) == ps::Shape{2, 3, 4});
    CHECK(check(params, {{1, 3, 1}, {2, 1, 4}}) == Fault::none);
    CHECK(check(params, {{2, 3, 4}, {2, 3, 2}}) == Fault::shapes_differ);
    CHECK(check(params, {{2, 3, 4}, {3, 3, 4}}) == Fault::shapes_differ);
    CHECK(check(params, {{2, 3, 4}}) == Fault::wrong_input_count);
    CHECK(check(params, {{2, 3, 4}, {2, 3, 4}, {2, 3, 4}}) == Fault::wrong_input_count);
    CHECK(ps::BinaryParams{ps::BinaryKind::add}.name() == "broadcast_add");
    CHECK(ps::BinaryParams{ps::BinaryKind::subtract}.name() == "subtract");
    CHECK(ps::BinaryParams{ps::BinaryKind::multiply}.name() == "multiply");
    CHECK(ps::BinaryParams{ps::BinaryKind::divide}.name() == "divide");
    CHECK(ps::BinaryParams{ps::BinaryKind::prelu}.name() == "prelu");
    CHECK(ps::BinaryParams{ps::BinaryKind::power}.name() == "power");
    CHECK(ps::BinaryParams{ps::BinaryKind::remainder}.name() == "remainder");
    CHECK(ps::BinaryParams{ps::BinaryKind::keep}.name() == "keep");
}

TEST_CASE("matmul multiplies the matrices of channels") {
    const ps::MatMulParams params;
    CHECK(output(params, {{2, 3, 4}, {2, 4, 5}}) == ps::Shape{2, 3, 5});
    CHECK(output(params, {{1, 3, 4}, {6, 4, 5}}) == ps::Shape{6, 3, 5});
    CHECK(output(params, {{6, 3, 4}, {1, 4, 5}}) == ps::Shape{6, 3, 5});
    CHECK(check(params, {{1, 3, 4}, {6, 4, 5}}) == Fault::none);
    CHECK(check(params, {{2, 3, 4}, {2, 5, 4}}) == Fault::shapes_differ);
    CHECK(check(params, {{2, 3, 4}, {3, 4, 5}}) == Fault::shapes_differ);
    CHECK(check(params, {{2, 3, 4}}) == Fault::wrong_input_count);
    CHECK(params.name() == "matmul");
}

}  // namespace
