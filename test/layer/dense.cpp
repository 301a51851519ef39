#include "shapes.hpp"

#include <primsel/layer/dense.hpp>

#include <doctest/doctest.h>

namespace {

namespace ps = primsel;
using namespace ps::layer;
using laws::check;
using laws::output;
using ps::Fault;

static_assert(ps::LayerParams<ps::DenseParams> && ps::LayerParams<ps::DenseRowsParams>);

TEST_CASE("dense makes k channels of one pixel of an image of any shape") {
    CHECK(output(Dense<10>::params, {{512, 1, 1}}) == ps::Shape{10, 1, 1});
    CHECK(output(Dense<10>::params, {{3, 4, 5}}) == ps::Shape{10, 1, 1});
    CHECK(check(Dense<10>::params, {{3, 4, 5}}) == Fault::none);
    CHECK(check(Dense<10>::params, {}) == Fault::wrong_input_count);
    CHECK(check(ps::DenseParams{.k = 0}, {{3, 4, 5}}) == Fault::impossible_parameter);
    CHECK(Dense<10>::params == ps::DenseParams{.k = 10, .bias = true});
    CHECK(Dense<10, NoBias>::params == ps::DenseParams{.k = 10, .bias = false});
    CHECK(ps::DenseParams::name() == "dense");
    const ps::DenseRowsParams rows{.k = 10};
    CHECK(output(rows, {{3, 4, 5}}) == ps::Shape{3, 4, 10});
    CHECK(check(rows, {{3, 4, 5}}) == Fault::none);
    CHECK(check(rows, {}) == Fault::wrong_input_count);
    CHECK(check(ps::DenseRowsParams{.k = 0}, {{3, 4, 5}}) == Fault::impossible_parameter);
    CHECK(check(ps::DenseRowsParams{.k = 1 << 29}, {{1 << 10, 1 << 10, 5}}) == Fault::too_large);
    CHECK(ps::DenseRowsParams::name() == "dense_rows");
}

}  // namespace
