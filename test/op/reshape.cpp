#include "laws.hpp"

#include <primsel/op/reshape.hpp>

namespace {

namespace ps = primsel;

TEST_CASE("flatten gives chw order in every layout") {
    for (ps::Shape const& shape : laws::odd_shapes()) laws::check(ps::FlattenParams{}, shape, 0);
}

TEST_CASE("dropout is the identity") {
    for (ps::Shape const& shape : laws::odd_shapes()) laws::check(ps::DropoutParams{}, shape, 0);
}

TEST_CASE("reshape keeps chw order") {
    for (ps::Shape const& shape : laws::odd_shapes()) {
        laws::check(ps::ReshapeParams{{shape.w, shape.c, shape.h}}, shape, 0);
        laws::check(ps::ReshapeParams{{1, 1, static_cast<int>(shape.size())}}, shape, 0);
    }
}

TEST_CASE("channel shuffle transposes groups and the rest") {
    for (ps::Shape shape : laws::odd_shapes()) {
        for (const int groups : {1, 2, 3, 5}) {
            for (const int rest : {1, 2, 7, 16}) {
                shape.c = groups * rest;
                laws::check(ps::ChannelShuffleParams{groups}, shape, 0);
            }
        }
    }
    // From PyTorch 1.13.
    CHECK(laws::run_one<ps::hwc>(ps::ChannelShuffleParams{3}, {6, 1, 1}, {0, 1, 2, 3, 4, 5}) ==
          std::vector<float>{0, 2, 4, 1, 3, 5});
}

TEST_CASE("slice takes a range along any axis") {
    for (ps::Shape const& shape : laws::odd_shapes()) {
        for (const ps::Axis axis : {ps::Axis::c, ps::Axis::h, ps::Axis::w}) {
            const int count = ps::extent(shape, axis);
            laws::check(ps::SliceParams{0, count, axis}, shape, 0);
            laws::check(ps::SliceParams{count / 2, count, axis}, shape, 0);
            laws::check(ps::SliceParams{count / 3, count / 3 + 1, axis}, shape, 0);
        }
    }
}

}  // namespace
