#include "shapes.hpp"

#include <doctest/doctest.h>
#include <primsel/layer/all.hpp>

#include <cmath>

namespace {

namespace ps = primsel;
using laws::check;
using laws::output;
using ps::Fault;

constexpr ps::Shape x{6, 8, 9}, channels{6, 1, 1}, twice{12, 1, 1};

static_assert(ps::of_batch(ps::ParameterParams{}) && ps::of_batch(ps::BatchStatisticsParams{}));
static_assert(ps::of_batch(ps::NormalizeSumsParams{}) && ps::of_batch(ps::ChannelSumParams{}));
static_assert(!ps::of_batch(ps::NormalizeParams{}) && !ps::of_batch(ps::ConstantParams{}));
static_assert(ps::trains<ps::NormalizeParams> && !ps::trains<ps::BatchNormParams>);

TEST_CASE("parameters, and sums over the batch") {
    CHECK(check(ps::ParameterParams{{4, 3, 2}}, {}) == Fault::none);
    CHECK(output(ps::ParameterParams{{4, 3, 2}}, {}) == ps::Shape{4, 3, 2});
    CHECK(check(ps::ParameterParams{{4, 3, 2}}, {x}) == Fault::wrong_input_count);
    CHECK(check(ps::ParameterParams{{4, 0, 2}}, {}) == Fault::impossible_parameter);
    CHECK(output(ps::BatchStatisticsParams{}, {x}) == twice);
    CHECK(check(ps::BatchStatisticsParams{}, {{ps::max_extent, 1, 1}}) == Fault::too_large);
    CHECK(check(ps::BatchStatisticsParams{}, {x, x}) == Fault::wrong_input_count);
    CHECK(output(ps::ChannelSumParams{}, {x}) == channels);
}

TEST_CASE("normalisation by the batch and its gradients") {
    CHECK(check(ps::NormalizeParams{}, {x, twice, channels, channels}) == Fault::none);
    CHECK(output(ps::NormalizeParams{}, {x, twice, channels, channels}) == x);
    CHECK(check(ps::NormalizeParams{}, {x, twice, channels}) == Fault::wrong_input_count);
    CHECK(check(ps::NormalizeParams{}, {x, channels, channels, channels}) == Fault::shapes_differ);
    CHECK(check(ps::NormalizeParams{.epsilon = -1}, {x, twice, channels, channels}) == Fault::impossible_parameter);
    CHECK(output(ps::NormalizeSumsParams{}, {x, twice, channels, channels, x}) == twice);
    CHECK(check(ps::NormalizeSumsParams{}, {x, twice, channels, channels, channels}) == Fault::shapes_differ);
    CHECK(check(ps::NormalizeGradientParams{}, {x, twice, channels, channels, x, twice}) == Fault::none);
    CHECK(check(ps::NormalizeGradientParams{}, {x, twice, channels, channels, x, x}) == Fault::shapes_differ);
}

TEST_CASE("gradients have the shape of the input") {
    const ps::PoolParams pool{};
    const ps::Shape half{6, 4, 4};
    CHECK(check(ps::PoolGradientParams{pool, x}, {x, half, half}) == Fault::none);
    CHECK(output(ps::PoolGradientParams{pool, x}, {x, half, half}) == x);
    CHECK(check(ps::PoolGradientParams{pool, x}, {half}) == Fault::wrong_input_count);
    CHECK(check(ps::PoolGradientParams{pool, x}, {x, half, x}) == Fault::shapes_differ);
    CHECK(check(ps::PoolGradientParams{{.kind = ps::PoolKind::average}, x}, {half}) == Fault::none);
    CHECK(check(ps::PoolGradientParams{pool, {6, 1, 1}}, {x, half, half}) == Fault::kernel_exceeds_input);
    CHECK(check(ps::GlobalPoolGradientParams{ps::PoolKind::average, x}, {channels}) == Fault::none);
    CHECK(check(ps::GlobalPoolGradientParams{ps::PoolKind::max, x}, {x, channels, channels}) == Fault::none);
    CHECK(check(ps::GlobalPoolGradientParams{ps::PoolKind::max, x}, {channels}) == Fault::wrong_input_count);
    CHECK(check(ps::ActivationGradientParams{}, {x, x}) == Fault::none);
    CHECK(check(ps::ActivationGradientParams{}, {x, half}) == Fault::shapes_differ);
    CHECK(check(ps::ActivationGradientParams{{ps::ActivationKind::floor}}, {x, x}) == Fault::impossible_parameter);
    CHECK(check(ps::LrnGradientParams{}, {x, x, x}) == Fault::none);
    CHECK(check(ps::LrnGradientParams{{.alpha = NAN}}, {x, x, x}) == Fault::impossible_parameter);
    CHECK(check(ps::SoftmaxGradientParams{}, {x, x}) == Fault::none);
}

TEST_CASE("gradients of layers that move pixels know the image that these come from") {
    const ps::ResizeParams twice_as_large{.size = {16, 18}};
    CHECK(check(ps::ResizeGradientParams{twice_as_large, x}, {{6, 16, 18}}) == Fault::none);
    CHECK(output(ps::ResizeGradientParams{twice_as_large, x}, {{6, 16, 18}}) == x);
    CHECK(check(ps::ResizeGradientParams{twice_as_large, x}, {x}) == Fault::shapes_differ);
    CHECK(check(ps::ResizeGradientParams{twice_as_large, x}, {x, x}) == Fault::wrong_input_count);
    CHECK(check(ps::ResizeGradientParams{{.size = {0, 1}}, x}, {x}) == Fault::impossible_parameter);
    const ps::AsStridedParams first{{8}, {9}, 0, {8, 1, 1}};
    CHECK(check(ps::AsStridedGradientParams{first, x}, {{8, 1, 1}}) == Fault::none);
    CHECK(output(ps::AsStridedGradientParams{first, x}, {{8, 1, 1}}) == x);
    CHECK(check(ps::AsStridedGradientParams{first, {1, 7, 9}}, {{8, 1, 1}}) == Fault::slice_outside);
    CHECK(check(ps::AsStridedGradientParams{first, {0, 8, 9}}, {{8, 1, 1}}) == Fault::impossible_parameter);
    const ps::GatherParams elements{.elements = true};
    CHECK(check(ps::PlacedGradientParams{{}, x}, {{5, 2, 1}, {6, 10, 9}}) == Fault::none);
    CHECK(output(ps::PlacedGradientParams{{}, x}, {{5, 2, 1}, {6, 10, 9}}) == x);
    CHECK(check(ps::PlacedGradientParams{{}, x}, {{5, 2, 1}, {6, 9, 9}}) == Fault::shapes_differ);
    CHECK(check(ps::PlacedGradientParams{{}, x}, {x}) == Fault::wrong_input_count);
    CHECK(check(ps::PlacedGradientParams{{elements}, x}, {{6, 2, 9}, {6, 2, 9}}) == Fault::none);
    CHECK(check(ps::PlacedGradientParams{{elements}, x}, {{5, 2, 9}, {5, 2, 9}}) == Fault::shapes_differ);
    CHECK(check(ps::PlacedGradientParams{{}, {0, 8, 9}}, {x, x}) == Fault::impossible_parameter);
    CHECK(check(ps::PlacedGradientParams{{}, x, 1}, {x, {5, 2, 1}, {6, 10, 9}}) == Fault::impossible_parameter);
    const ps::PlacedLayer scatter{ps::ScatterParams{}}, product{ps::ScatterParams{ps::ScatterKind::multiply}};
    const ps::Shape changes{4, x.h, x.w};
    CHECK(check(ps::PlacedGradientParams{scatter, x, 2}, {{4, 1, 1}, changes, x}) == Fault::none);
    CHECK(output(ps::PlacedGradientParams{scatter, x, 2}, {{4, 1, 1}, changes, x}) == changes);
    CHECK(check(ps::PlacedGradientParams{product, x, 2}, {x, {4, 1, 1}, changes, x}) == Fault::none);
    CHECK(output(ps::PlacedGradientParams{product, x, 2}, {x, {4, 1, 1}, changes, x}) == changes);
    CHECK(check(ps::PlacedGradientParams{product, x, 2}, {{4, 1, 1}, changes, x}) == Fault::wrong_input_count);
    CHECK(check(ps::PlacedGradientParams{product, x}, {changes, {4, 1, 1}, changes, x}) == Fault::shapes_differ);
    const ps::RecurrentGradientParams lstm;
    const ps::Shape steps{5, 2, 12}, results{5, 2, 3};
    CHECK(check(lstm, {steps, {36, 1, 1}, {12, 1, 1}, results}) == Fault::none);
    CHECK(output(lstm, {steps, {36, 1, 1}, {12, 1, 1}, results}) == ps::Shape{6, 2, 15});
    CHECK(check(lstm, {steps, {36, 1, 1}, {12, 1, 1}, steps}) == Fault::shapes_differ);
    CHECK(check(lstm, {steps, {35, 1, 1}, {12, 1, 1}, results}) == Fault::shapes_differ);
    CHECK(check(ps::RecurrentGradientParams{{}}, {steps, results}) == Fault::impossible_parameter);
    CHECK(check(ps::RepeatParams{}, {channels}) == Fault::none);
    CHECK(output(ps::RepeatParams{}, {channels}) == channels);
    CHECK(check(ps::RepeatParams{}, {x}) == Fault::shapes_differ);
}

TEST_CASE("what a function's gradient is computed from") {
    using Gradient = ps::ActivationGradientParams;
    CHECK(Gradient::from_result({ps::ActivationKind::relu}));
    CHECK(Gradient::from_result({ps::ActivationKind::leaky_relu, 0.1F}));
    CHECK_FALSE(Gradient::from_result({ps::ActivationKind::leaky_relu, -0.1F}));
    CHECK_FALSE(Gradient::from_result({ps::ActivationKind::hard_swish}));
    CHECK(Gradient::differentiable(ps::ActivationKind::erf));
    CHECK_FALSE(Gradient::differentiable(ps::ActivationKind::round));
}

TEST_CASE("dropout") {
    CHECK(check(ps::RandomDropoutParams{}, {x, {2, 1, 1}}) == Fault::none);
    CHECK(output(ps::RandomDropoutParams{}, {x, {2, 1, 1}}) == x);
    CHECK(check(ps::RandomDropoutParams{}, {x, x}) == Fault::shapes_differ);
    CHECK(check(ps::RandomDropoutParams{.rate = 1.5F}, {x, {2, 1, 1}}) == Fault::impossible_parameter);
}

}  // namespace
