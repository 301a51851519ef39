#include <primsel/plan/conv_shape_of.hpp>

#include <doctest/doctest.h>

namespace ps = primsel;

TEST_CASE("a convolution layer and its shape for primitives agree on everything") {
    const ps::ConvParams params{.k = 6,
                                .kernel = {3, 5},
                                .stride = {2, 1},
                                .padding = {1, 2, 3, 4},
                                .dilation = {1, 2},
                                .groups = 2,
                                .bias = false};
    const ps::Shape input{.c = 4, .h = 11, .w = 13};
    const ps::ConvShape shape = ps::conv_shape_of(params, input);
    CHECK(shape == ps::ConvShape{.c = 4,
                                 .k = 6,
                                 .h = 11,
                                 .w = 13,
                                 .fh = 3,
                                 .fw = 5,
                                 .stride_h = 2,
                                 .stride_w = 1,
                                 .pad_top = 1,
                                 .pad_bottom = 2,
                                 .pad_left = 3,
                                 .pad_right = 4,
                                 .dilation_h = 1,
                                 .dilation_w = 2,
                                 .groups = 2});
    CHECK(shape.valid());
    const ps::Shape inputs[] = {input};
    CHECK(shape.out_shape() == params.output(inputs));
}
