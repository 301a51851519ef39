#include "shapes.hpp"

#include <primsel/layer/reshape.hpp>

#include <doctest/doctest.h>

#include <cmath>

namespace {

namespace ps = primsel;
using namespace ps::layer;
using laws::check;
using laws::output;
using ps::Fault;

static_assert(ps::LayerParams<ps::FlattenParams> && ps::LayerParams<ps::DropoutParams>);
static_assert(ps::LayerParams<ps::PadParams> && ps::LayerParams<ps::ChannelShuffleParams>);
static_assert(ps::LayerParams<ps::SliceParams> && ps::LayerParams<ps::ReshapeParams>);
static_assert(ps::LayerParams<ps::AsStridedParams> && ps::LayerParams<ps::ResizeParams>);

TEST_CASE("flatten and dropout") {
    CHECK(output(Flatten::params, {{3, 4, 5}}) == ps::Shape{60, 1, 1});
    CHECK(check(Flatten::params, {{3, 4, 5}}) == Fault::none);
    CHECK(check(Flatten::params, {}) == Fault::wrong_input_count);
    CHECK(laws::keeps_shape(Dropout::params));
    CHECK(Flatten::params.name() == "flatten");
    CHECK(Dropout::params.name() == "dropout");
}

TEST_CASE("pad adds a border to each side") {
    constexpr ps::PadParams params{{1, 2, 3, 4}, 0.5F};
    CHECK(output(params, {{2, 5, 6}}) == ps::Shape{2, 8, 13});
    CHECK(check(params, {{2, 5, 6}}) == Fault::none);
    CHECK(check(params, {}) == Fault::wrong_input_count);
    CHECK(check(ps::PadParams{{0, 0, -1, 0}}, {{2, 5, 6}}) == Fault::impossible_parameter);
    CHECK(ZeroPad<ps::Padding{1, 2}>::params == ps::PadParams{{1, 1, 2, 2}, 0.0F});
    CHECK(params.name() == "pad");
}

TEST_CASE("channel shuffle needs groups that divide the channels") {
    CHECK(laws::keeps_shape(ChannelShuffle<3>::params));
    CHECK(check(ChannelShuffle<4>::params, {{6, 1, 1}}) == Fault::groups_do_not_divide);
    CHECK(check(ps::ChannelShuffleParams{0}, {{6, 1, 1}}) == Fault::impossible_parameter);
    CHECK(ChannelShuffle<3>::params.name() == "channel_shuffle");
}

TEST_CASE("slice takes channels inside the image") {
    CHECK(output(Slice<1, 4>::params, {{4, 5, 6}}) == ps::Shape{3, 5, 6});
    CHECK(check(Slice<1, 4>::params, {{4, 5, 6}}) == Fault::none);
    CHECK(check(Slice<1, 5>::params, {{4, 5, 6}}) == Fault::slice_outside);
    CHECK(check(Slice<2, 2>::params, {{4, 5, 6}}) == Fault::slice_outside);
    CHECK(check(Slice<-1, 2>::params, {{4, 5, 6}}) == Fault::slice_outside);
    CHECK(check(Slice<1, 2>::params, {}) == Fault::wrong_input_count);
    CHECK(Slice<1, 4>::params.name() == "slice");
}

TEST_CASE("slice along rows and columns") {
    CHECK(output(ps::SliceParams{1, 4, ps::Axis::h}, {{2, 5, 6}}) == ps::Shape{2, 3, 6});
    CHECK(output(ps::SliceParams{1, 6, ps::Axis::w}, {{2, 5, 6}}) == ps::Shape{2, 5, 5});
    CHECK(check(ps::SliceParams{1, 6, ps::Axis::w}, {{2, 5, 6}}) == Fault::none);
    CHECK(check(ps::SliceParams{1, 6, ps::Axis::h}, {{2, 5, 6}}) == Fault::slice_outside);
}

TEST_CASE("pad mirrors no more than there is, and adds channels of a constant only") {
    constexpr ps::PadParams channels{.front = 1, .back = 2};
    CHECK(output(channels, {{2, 5, 6}}) == ps::Shape{5, 5, 6});
    CHECK(check(channels, {{2, 5, 6}}) == Fault::none);
    CHECK(channels == ChannelPad<1, 2>::params);
    CHECK(check(ps::PadParams{.front = -1}, {{2, 5, 6}}) == Fault::impossible_parameter);
    CHECK(check(ps::PadParams{.back = -1}, {{2, 5, 6}}) == Fault::impossible_parameter);
    for (const ps::PadMode mode : {ps::PadMode::reflect, ps::PadMode::edge}) {
        CHECK(check(ps::PadParams{.mode = mode, .front = 1}, {{2, 5, 6}}) == Fault::impossible_parameter);
        CHECK(check(ps::PadParams{.padding = {4, 4, 5, 5}, .mode = mode}, {{2, 5, 6}}) == Fault::none);
    }
    for (const ps::Padding padding : {ps::Padding{5, 0, 0, 0}, {0, 5, 0, 0}, {0, 0, 6, 0}, {0, 0, 0, 6}}) {
        const ps::PadParams reflect{.padding = padding, .mode = ps::PadMode::reflect};
        CHECK(check(reflect, {{2, 5, 6}}) == Fault::padding_exceeds_input);
        CHECK(check(ps::PadParams{.padding = padding, .mode = ps::PadMode::edge}, {{2, 5, 6}}) == Fault::none);
    }
}

TEST_CASE("reshape keeps the number of elements") {
    const ps::ReshapeParams params{{6, 2, 5}};
    CHECK(output(params, {{3, 4, 5}}) == ps::Shape{6, 2, 5});
    CHECK(check(params, {{3, 4, 5}}) == Fault::none);
    CHECK(check(params, {{3, 4, 6}}) == Fault::shapes_differ);
    CHECK(check(params, {}) == Fault::wrong_input_count);
    CHECK(check(ps::ReshapeParams{{0, 4, 5}}, {{3, 4, 5}}) == Fault::impossible_parameter);
    CHECK(params.name() == "reshape");
}

TEST_CASE("as_strided stays inside the input") {
    const ps::AsStridedParams params{{4, 3}, {3, -1}, 2, {1, 4, 3}};
    CHECK(output(params, {{3, 2, 2}}) == ps::Shape{1, 4, 3});
    CHECK(check(params, {{3, 2, 2}}) == Fault::none);
    CHECK(check(params, {}) == Fault::wrong_input_count);
    CHECK(check(params, {{1, 1, 11}}) == Fault::slice_outside);
    CHECK(check(ps::AsStridedParams{{4, 3}, {3, -1}, 1, {1, 4, 3}}, {{3, 2, 2}}) == Fault::slice_outside);
    CHECK(check(ps::AsStridedParams{{4, 3}, {3, -1}, 2, {1, 4, 4}}, {{3, 2, 2}}) == Fault::shapes_differ);
    CHECK(check(ps::AsStridedParams{{0, 3}, {3, -1}, 2, {1, 4, 3}}, {{3, 2, 2}}) == Fault::impossible_parameter);
    CHECK(check(ps::AsStridedParams{{4, 3}, {3, -1}, 2, {1, 4, 0}}, {{3, 2, 2}}) == Fault::impossible_parameter);
    CHECK(params.name() == "as_strided");
}

TEST_CASE("resize changes rows and columns") {
    const ps::ResizeParams params{.size = {7, 2}};
    CHECK(output(params, {{3, 4, 5}}) == ps::Shape{3, 7, 2});
    CHECK(check(params, {{3, 4, 5}}) == Fault::none);
    CHECK(check(params, {}) == Fault::wrong_input_count);
    CHECK(check(ps::ResizeParams{.size = {0, 2}}, {{3, 4, 5}}) == Fault::impossible_parameter);
    CHECK(check(ps::ResizeParams{.size = {7, -1}}, {{3, 4, 5}}) == Fault::impossible_parameter);
    CHECK(check(ps::ResizeParams{.size = 2, .scale_h = -1.0F}, {{3, 4, 5}}) == Fault::impossible_parameter);
    const ps::ResizeParams smooth{.size = 2, .mode = ps::ResizeMode::linear, .scale_h = 4.5F, .antialias = true};
    CHECK(check(smooth, {{3, 5, 5}}) == Fault::none);
    CHECK(check(smooth, {{3, 4, 5}}) == Fault::kernel_exceeds_input);
    CHECK(check(ps::ResizeParams{.size = 2, .scale_w = std::nanf("")}, {{3, 4, 5}}) == Fault::impossible_parameter);
    CHECK(params.name() == "resize");
}

}  // namespace
