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

TEST_CASE("pad puts a constant border around every channel") {
    for (ps::Shape const& shape : laws::odd_shapes()) {
        for (ps::PadParams const& params : {ps::PadParams{}, ps::PadParams{1}, ps::PadParams{{3, 0, 0, 1}, -1.5F},
                                            ps::PadParams{{0, 2, 17, 5}, 0.25F}}) {
            laws::check(params, shape, 0);
        }
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

TEST_CASE("slice takes a range of channels") {
    for (ps::Shape const& shape : laws::odd_shapes()) {
        laws::check(ps::SliceParams{0, shape.c}, shape, 0);
        laws::check(ps::SliceParams{shape.c / 2, shape.c}, shape, 0);
        laws::check(ps::SliceParams{shape.c / 3, shape.c / 3 + 1}, shape, 0);
    }
}

}  // namespace
