#include "shapes.hpp"

#include <primsel/layer/reshape.hpp>

#include <doctest/doctest.h>

namespace {

namespace ps = primsel;
using namespace ps::layer;
using laws::check;
using laws::output;
using ps::Fault;

static_assert(ps::LayerParams<ps::FlattenParams> && ps::LayerParams<ps::DropoutParams>);
static_assert(ps::LayerParams<ps::PadParams> && ps::LayerParams<ps::ChannelShuffleParams>);
static_assert(ps::LayerParams<ps::SliceParams>);

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

}  // namespace
