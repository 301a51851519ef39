#include <primsel/primitive/conv_shape.hpp>

#include <doctest/doctest.h>

namespace ps = primsel;

TEST_CASE("what a ConvShape says of itself") {
    constexpr ps::ConvShape s{.c = 8,
                              .k = 12,
                              .h = 11,
                              .w = 7,
                              .fh = 3,
                              .fw = 2,
                              .stride_h = 2,
                              .stride_w = 1,
                              .pad_top = 1,
                              .pad_bottom = 0,
                              .pad_left = 2,
                              .pad_right = 1,
                              .dilation_h = 2,
                              .dilation_w = 3,
                              .groups = 4};
    static_assert(s.valid() && s.strided() && s.padded() && s.dilated());
    static_assert(s.span_h() == 5 && s.span_w() == 4);
    static_assert(s.padded_h() == 12 && s.padded_w() == 10);
    static_assert(s.in_shape() == ps::Shape{.c = 8, .h = 11, .w = 7} && s.in_pixels() == 77);
    static_assert(s.out_shape() == ps::Shape{.c = 12, .h = 4, .w = 7} && s.out_pixels() == 28);
    static_assert(s.group_c() == 2 && s.group_k() == 3);
    static_assert(s.taps() == 6 && s.depth() == 12 && s.kernel_size() == 144);
    static_assert(s.operations() == 2.0 * 28 * 12 * 12);
    CHECK(to_string(s) == "8x11x7 -> 12x4x7, 3x2, stride 2x1, pad 1,0,2,1, dilation 2x3, groups 4");
    CHECK(to_string(s, 1) == to_string(s));
    CHECK(to_string(s, 2) == to_string(s) + ", batch 2");
}

TEST_CASE("what is usual goes without saying") {
    constexpr ps::ConvShape one;
    static_assert(one.valid() && !one.strided() && !one.padded() && !one.dilated());
    CHECK(to_string(one) == "1x1x1 -> 1x1x1, 1x1");
    CHECK(to_string(ps::ConvShape{
              .h = 3, .w = 3, .fh = 3, .fw = 3, .pad_top = 1, .pad_bottom = 1, .pad_left = 1, .pad_right = 1}) ==
          "1x3x3 -> 1x3x3, 3x3, pad 1");
    CHECK(to_string(ps::ConvShape{.h = 3, .w = 3, .pad_bottom = 2}) == "1x3x3 -> 1x5x3, 1x1, pad 0,2,0,0");
}

TEST_CASE("what is no convolution is not valid") {
    constexpr ps::ConvShape good{.c = 4, .k = 6, .h = 5, .w = 5, .fh = 3, .fw = 3, .pad_top = 1, .groups = 2};
    static_assert(good.valid());
    const auto with = [&](auto change) {
        ps::ConvShape s = good;
        change(s);
        return s.valid();
    };
    CHECK_FALSE(with([](auto& s) { s.c = 0; }));
    CHECK_FALSE(with([](auto& s) { s.c = 5; }));
    CHECK_FALSE(with([](auto& s) { s.k = 7; }));
    CHECK_FALSE(with([](auto& s) { s.k = -6; }));
    CHECK_FALSE(with([](auto& s) { s.h = 0; }));
    CHECK_FALSE(with([](auto& s) { s.h = 1; }));  // with its padding 2, and the kernel is 3
    CHECK(with([](auto& s) { s.h = 2; }));
    CHECK_FALSE(with([](auto& s) { s.w = 2; }));
    CHECK_FALSE(with([](auto& s) { s.fh = 0; }));
    CHECK_FALSE(with([](auto& s) { s.fw = 6; }));
    CHECK_FALSE(with([](auto& s) { s.stride_h = 0; }));
    CHECK_FALSE(with([](auto& s) { s.stride_w = -1; }));
    CHECK_FALSE(with([](auto& s) { s.pad_top = -1; }));
    CHECK_FALSE(with([](auto& s) { s.pad_bottom = -1; }));
    CHECK_FALSE(with([](auto& s) { s.pad_left = -1; }));
    CHECK_FALSE(with([](auto& s) { s.pad_right = -1; }));
    CHECK_FALSE(with([](auto& s) { s.dilation_h = 0; }));
    CHECK_FALSE(with([](auto& s) { s.dilation_h = 3; }));
    CHECK_FALSE(with([](auto& s) { s.dilation_w = 3; }));
    CHECK_FALSE(with([](auto& s) { s.groups = 0; }));
}
