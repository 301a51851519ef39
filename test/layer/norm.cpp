#include "shapes.hpp"

#include <primsel/layer/norm.hpp>

#include <doctest/doctest.h>

#include <cmath>

namespace {

namespace ps = primsel;
using namespace ps::layer;
using laws::check;
using ps::Fault;

static_assert(ps::LayerParams<ps::BatchNormParams> && ps::LayerParams<ps::ScaleParams>);
static_assert(ps::LayerParams<ps::LrnParams> && ps::LayerParams<ps::SoftmaxParams>);

TEST_CASE("normalisations keep the shape") {
    CHECK(laws::keeps_shape(BatchNorm::params));
    CHECK(laws::keeps_shape(Scale::params));
    CHECK(laws::keeps_shape(Lrn<>::params));
    CHECK(laws::keeps_shape(Softmax::params));
}

TEST_CASE("impossible parameters of normalisations") {
    CHECK(check(ps::BatchNormParams{.epsilon = 0.0F}, {{1, 1, 1}}) == Fault::none);
    CHECK(check(ps::BatchNormParams{.epsilon = -1e-5F}, {{1, 1, 1}}) == Fault::impossible_parameter);
    CHECK(check(ps::BatchNormParams{.epsilon = std::nanf("")}, {{1, 1, 1}}) == Fault::impossible_parameter);
    CHECK(check(ps::LrnParams{.size = 0}, {{1, 1, 1}}) == Fault::impossible_parameter);
}

TEST_CASE("standardisation: what must fit") {
    const ps::Shape image{6, 4, 5};
    const ps::StandardizeParams rows{.along_w = true, .scales = true, .shifts = true},
        all{.along_c = true, .along_h = true, .along_w = true, .shifts = true};
    ps::StandardizeParams groups = all;
    groups.shifts = false, groups.groups = 3;
    CHECK(laws::keeps_shape(groups));
    CHECK(check(groups, {image}) == Fault::none);
    CHECK(check(groups, {{8, 4, 5}}) == Fault::impossible_parameter);
    CHECK(check(rows, {image, {1, 1, 5}, {1, 1, 5}}) == Fault::none);
    CHECK(check(rows, {image, {1, 1, 5}}) == Fault::wrong_input_count);
    CHECK(check(rows, {image, {1, 1, 5}, {1, 4, 5}}) == Fault::shapes_differ);
    CHECK(check(all, {image, image}) == Fault::none);
    ps::StandardizeParams planes = rows;
    planes.along_h = true;
    CHECK(check(planes, {image, {1, 4, 5}, {1, 4, 5}}) == Fault::impossible_parameter);
    CHECK(check(planes, {{6, 1, 5}, {1, 1, 5}, {1, 1, 5}}) == Fault::none);
    CHECK(check(ps::StandardizeParams{}, {image}) == Fault::impossible_parameter);
    CHECK(check(ps::StandardizeParams{.along_w = true, .groups = 2}, {image}) == Fault::impossible_parameter);
    CHECK(check(ps::StandardizeParams{.along_w = true, .epsilon = -1e-5F}, {image}) == Fault::impossible_parameter);
}

TEST_CASE("normalisations as types") {
    CHECK(BatchNorm::params == ps::BatchNormParams{.epsilon = 1e-5F});
    CHECK(BatchNormWith<std::ratio<1, 1000>>::params.epsilon == 1e-3F);
    CHECK(Lrn<>::params == ps::LrnParams{.size = 5, .alpha = 1e-4F, .beta = 0.75F, .k = 1.0F});
    CHECK(Lrn<3, std::ratio<1, 2>, std::ratio<1>, std::ratio<2>>::params == ps::LrnParams{3, 0.5F, 1.0F, 2.0F});
    CHECK(BatchNorm::params.name() == "batch_norm");
    CHECK(Scale::params.name() == "scale");
    CHECK(Lrn<>::params.name() == "lrn");
    CHECK(Softmax::params.name() == "softmax");
}

}  // namespace
