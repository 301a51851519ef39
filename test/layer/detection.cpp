#include "shapes.hpp"

#include <primsel/layer/detection.hpp>

#include <doctest/doctest.h>

#include <cmath>

namespace {

namespace ps = primsel;
using laws::check;
using laws::output;
using ps::Fault;
using ps::GatherParams;
using ps::NonMaxSuppressionParams;

static_assert(ps::LayerParams<NonMaxSuppressionParams> && ps::LayerParams<GatherParams>);

TEST_CASE("non-maximum suppression has a row for each box that may stay") {
    const NonMaxSuppressionParams params{.boxes_per_class = 5};
    CHECK(params.name() == "non_max_suppression");
    CHECK(output(params, {{2, 100, 4}, {2, 3, 100}}) == ps::Shape{1, 30, 3});
    CHECK(output(params, {{1, 2, 4}, {1, 3, 2}}) == ps::Shape{1, 6, 3});  // no more than there are
    CHECK(check(params, {{2, 100, 4}, {2, 3, 100}}) == Fault::none);
    CHECK(check(params, {{2, 100, 4}}) == Fault::wrong_input_count);
    CHECK(check(params, {{2, 100, 5}, {2, 3, 100}}) == Fault::shapes_differ);
    CHECK(check(params, {{2, 100, 4}, {2, 3, 99}}) == Fault::shapes_differ);
    CHECK(check(params, {{2, 100, 4}, {1, 3, 100}}) == Fault::shapes_differ);
    CHECK(check(params, {{1, (1 << 24) + 1, 4}, {1, 1, (1 << 24) + 1}}) == Fault::too_large);
    CHECK(check(NonMaxSuppressionParams{.boxes_per_class = 1 << 20}, {{1, 1 << 20, 4}, {1, 1 << 10, 1 << 20}}) ==
          Fault::too_large);
}

TEST_CASE("thresholds that mean nothing are impossible") {
    const auto fault = [](NonMaxSuppressionParams const& params) { return check(params, {{1, 9, 4}, {1, 3, 9}}); };
    CHECK(fault({.boxes_per_class = 0}) == Fault::impossible_parameter);
    CHECK(fault({.iou_threshold = -0.5F}) == Fault::impossible_parameter);
    CHECK(fault({.iou_threshold = NAN}) == Fault::impossible_parameter);
    CHECK(fault({.score_threshold = NAN}) == Fault::impossible_parameter);
    CHECK(fault({.iou_threshold = 1, .score_threshold = INFINITY}) == Fault::none);
    CHECK(NonMaxSuppressionParams{.iou_threshold = 2}.impossible() ==
          "the threshold of the overlap must be from 0 to 1");
}

TEST_CASE("a gather has a row for each index") {
    CHECK(GatherParams{}.name() == "gather");
    CHECK(output(GatherParams{}, {{3, 100, 4}, {2, 3, 5}}) == ps::Shape{3, 30, 4});
    CHECK(check(GatherParams{}, {{3, 100, 4}, {7, 1, 1}}) == Fault::none);
    CHECK(check(GatherParams{}, {{3, 100, 4}}) == Fault::wrong_input_count);
    const GatherParams elements{.elements = true};
    CHECK(output(elements, {{3, 100, 4}, {3, 7, 4}}) == ps::Shape{3, 7, 4});
    CHECK(check(elements, {{3, 100, 4}, {2, 7, 4}}) == Fault::shapes_differ);
    CHECK(check(elements, {{3, 100, 4}, {3, 7, 1}}) == Fault::shapes_differ);
    CHECK(check(GatherParams{}, {{3, 100, 4}, {1 << 20, 1 << 10, 1}}) == Fault::too_large);
}

TEST_CASE("a scatter has a channel for each number") {
    using ps::ScatterParams;
    CHECK(ScatterParams{}.name() == "scatter");
    CHECK(output(ScatterParams{}, {{5, 3, 4}, {1, 2, 1}, {2, 3, 4}}) == ps::Shape{5, 3, 4});
    CHECK(check(ScatterParams{}, {{5, 3, 4}, {1, 2, 1}, {2, 3, 4}}) == Fault::none);
    CHECK(check(ScatterParams{}, {{5, 3, 4}, {1, 3, 1}, {2, 3, 4}}) == Fault::shapes_differ);
    CHECK(check(ScatterParams{}, {{5, 3, 4}, {1, 2, 1}, {2, 4, 3}}) == Fault::shapes_differ);
    CHECK(check(ScatterParams{}, {{5, 3, 4}, {1, 2, 1}}) == Fault::wrong_input_count);
}

}  // namespace
