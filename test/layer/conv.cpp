#include "shapes.hpp"

#include <primsel/layer/conv.hpp>

#include <doctest/doctest.h>

namespace {

namespace ps = primsel;
using namespace ps::layer;
using laws::check;
using laws::output;
using ps::ConvParams;
using ps::Fault;

static_assert(ps::LayerParams<ConvParams> && ps::LayerParams<ps::ConvTransposeParams>);

// Sizes from PyTorch 1.13.
struct Known {
    int h, w;
    ps::Extent kernel, stride;
    ps::Padding padding;
    ps::Extent dilation;
    int out_h, out_w;
};

TEST_CASE("convolution gives PyTorch's sizes") {
    const Known table[] = {
        {2, 3, {2, 2}, {2, 2}, {2, 2}, {3, 3}, 2, 2},     {27, 9, {3, 3}, {3, 1}, {2, 1}, {3, 3}, 9, 5},
        {29, 16, {2, 5}, {1, 3}, {0, 3}, {1, 2}, 28, 5},  {28, 26, {2, 2}, {3, 1}, {4, 4}, {2, 1}, 12, 33},
        {19, 18, {2, 5}, {1, 3}, {2, 2}, {3, 3}, 20, 4},  {4, 15, {2, 2}, {2, 1}, {3, 3}, {3, 2}, 4, 19},
        {18, 9, {4, 3}, {1, 2}, {2, 0}, {1, 1}, 19, 4},   {26, 30, {3, 5}, {3, 4}, {3, 2}, {2, 1}, 10, 8},
        {3, 30, {3, 5}, {4, 1}, {2, 1}, {3, 3}, 1, 20},   {28, 23, {4, 3}, {3, 2}, {4, 1}, {2, 1}, 10, 12},
        {8, 12, {1, 3}, {1, 4}, {0, 4}, {3, 2}, 8, 4},    {8, 13, {3, 1}, {3, 2}, {2, 4}, {2, 1}, 3, 11},
        {16, 28, {2, 1}, {3, 1}, {4, 1}, {1, 1}, 8, 30},  {5, 27, {3, 3}, {1, 3}, {1, 1}, {1, 3}, 5, 8},
        {30, 24, {1, 3}, {2, 2}, {2, 3}, {3, 1}, 17, 14}, {2, 23, {2, 3}, {1, 4}, {3, 4}, {2, 3}, 6, 7},
        {15, 28, {5, 4}, {1, 4}, {2, 1}, {2, 2}, 11, 6},  {1, 26, {4, 5}, {1, 1}, {2, 4}, {1, 3}, 2, 22},
        {5, 5, {3, 3}, {4, 4}, {1, 4}, {1, 1}, 2, 3},     {22, 16, {2, 4}, {3, 3}, {1, 0}, {1, 3}, 8, 3},
        {21, 29, {3, 2}, {2, 3}, {2, 2}, {3, 2}, 10, 11}, {6, 23, {4, 5}, {1, 1}, {4, 4}, {3, 2}, 5, 23},
        {6, 5, {3, 4}, {2, 1}, {3, 3}, {3, 3}, 3, 2},     {12, 13, {5, 2}, {1, 1}, {2, 0}, {2, 3}, 8, 10},
    };
    for (Known const& known : table) {
        const ConvParams params{.k = 5,
                                .kernel = known.kernel,
                                .stride = known.stride,
                                .padding = known.padding,
                                .dilation = known.dilation};
        CAPTURE(known.h);
        CAPTURE(known.w);
        CHECK(check(params, {{3, known.h, known.w}}) == Fault::none);
        CHECK(output(params, {{3, known.h, known.w}}) == ps::Shape{5, known.out_h, known.out_w});
    }
}

TEST_CASE("padding may differ from side to side") {
    const ConvParams params{.k = 1, .kernel = 3, .padding = {0, 1, 2, 0}};
    CHECK(output(params, {{1, 6, 6}}) == ps::Shape{1, 5, 6});
}

TEST_CASE("each fault of convolution") {
    const ConvParams good{.k = 6, .kernel = 3, .padding = 1, .groups = 2};
    CHECK(check(good, {{4, 1, 1}}) == Fault::none);
    CHECK(check(good, {}) == Fault::wrong_input_count);
    CHECK(check(good, {{4, 5, 5}, {6, 5, 5}}) == Fault::wrong_input_count);
    const auto with = [&good](auto const& change) {
        ConvParams params = good;
        change(params);
        return check(params, {{4, 5, 5}});
    };
    CHECK(with([](ConvParams& p) { p.k = 0; }) == Fault::impossible_parameter);
    CHECK(with([](ConvParams& p) { p.kernel.h = 0; }) == Fault::impossible_parameter);
    CHECK(with([](ConvParams& p) { p.kernel.w = 0; }) == Fault::impossible_parameter);
    CHECK(with([](ConvParams& p) { p.stride.h = 0; }) == Fault::impossible_parameter);
    CHECK(with([](ConvParams& p) { p.stride.w = -2; }) == Fault::impossible_parameter);
    CHECK(with([](ConvParams& p) { p.dilation.h = 0; }) == Fault::impossible_parameter);
    CHECK(with([](ConvParams& p) { p.dilation.w = 0; }) == Fault::impossible_parameter);
    CHECK(with([](ConvParams& p) { p.groups = 0; }) == Fault::impossible_parameter);
    CHECK(with([](ConvParams& p) { p.padding.bottom = -1; }) == Fault::impossible_parameter);
    CHECK(with([](ConvParams& p) { p.groups = 3; }) == Fault::groups_do_not_divide);  // 4 channels
    CHECK(with([](ConvParams& p) { p.groups = 4; }) == Fault::groups_do_not_divide);  // 6 kernels
    CHECK(with([](ConvParams& p) { p.kernel = 7; }) == Fault::none);
    CHECK(with([](ConvParams& p) { p.kernel = {8, 1}; }) == Fault::kernel_exceeds_input);
    CHECK(with([](ConvParams& p) { p.kernel = {1, 8}; }) == Fault::kernel_exceeds_input);
    CHECK(with([](ConvParams& p) { p.dilation = {3, 1}; }) == Fault::none);
    CHECK(with([](ConvParams& p) { p.dilation = {4, 1}; }) == Fault::kernel_exceeds_input);
    CHECK(with([](ConvParams& p) { p.dilation = {1, 4}; }) == Fault::kernel_exceeds_input);
}

TEST_CASE("convolution as types: the padding defaults to half the dilated kernel") {
    CHECK(Conv<64, 3>::params == ConvParams{.k = 64, .kernel = 3, .padding = 1});
    CHECK(Conv<64, 1>::params == ConvParams{.k = 64});
    CHECK(Conv<8, ps::Extent{1, 7}>::params == ConvParams{.k = 8, .kernel = {1, 7}, .padding = {0, 3}});
    CHECK(Conv<8, 3, Dilation<2>>::params == ConvParams{.k = 8, .kernel = 3, .padding = 2, .dilation = 2});
    CHECK(Conv<8, 11, Stride<4>, Pad<2>, Groups<2>, NoBias>::params ==
          ConvParams{.k = 8, .kernel = 11, .stride = 4, .padding = 2, .groups = 2, .bias = false});
    CHECK(Conv<8, 3, Pad<0>>::params.padding == ps::Padding{});
    CHECK(ConvParams::name() == "conv");
}

// Sizes from PyTorch 1.13.
TEST_CASE("transposed convolution gives PyTorch's sizes") {
    struct Transposed {
        int h, w;
        ps::Extent kernel, stride;
        ps::Padding padding;
        ps::Extent dilation;
        int extra_h, extra_w;
        int out_h, out_w;
    };
    const Transposed table[] = {
        {8, 5, {5, 5}, {3, 2}, {2, 2}, {2, 1}, 2, 1, 28, 10},   {5, 7, {1, 1}, {2, 3}, {2, 1}, {3, 1}, 1, 0, 6, 17},
        {11, 7, {1, 1}, {3, 3}, {3, 1}, {3, 1}, 0, 1, 25, 18},  {12, 11, {2, 5}, {4, 3}, {0, 1}, {1, 1}, 2, 2, 48, 35},
        {3, 5, {3, 1}, {3, 2}, {2, 3}, {2, 2}, 1, 1, 8, 4},     {5, 7, {5, 4}, {1, 4}, {0, 3}, {1, 1}, 0, 1, 9, 23},
        {1, 12, {5, 2}, {4, 1}, {0, 1}, {1, 2}, 2, 0, 7, 12},   {11, 1, {5, 5}, {4, 1}, {2, 1}, {3, 1}, 2, 0, 51, 3},
        {11, 10, {4, 1}, {3, 2}, {3, 0}, {2, 3}, 1, 1, 32, 20}, {1, 1, {2, 1}, {1, 1}, {0, 0}, {1, 2}, 0, 1, 2, 2},
        {3, 6, {1, 3}, {4, 4}, {2, 2}, {3, 2}, 1, 2, 6, 23},    {7, 2, {2, 5}, {1, 4}, {1, 0}, {1, 3}, 0, 3, 6, 20},
    };
    for (Transposed const& known : table) {
        const ps::ConvTransposeParams params{.k = 5,
                                             .kernel = known.kernel,
                                             .stride = known.stride,
                                             .padding = known.padding,
                                             .dilation = known.dilation,
                                             .extra_h = known.extra_h,
                                             .extra_w = known.extra_w};
        CAPTURE(known.h);
        CAPTURE(known.w);
        CHECK(check(params, {{3, known.h, known.w}}) == Fault::none);
        CHECK(output(params, {{3, known.h, known.w}}) == ps::Shape{5, known.out_h, known.out_w});
    }
}

TEST_CASE("each fault of transposed convolution") {
    using ps::ConvTransposeParams;
    const ConvTransposeParams good{.k = 6, .kernel = 3, .stride = 2, .padding = 1, .groups = 2};
    CHECK(check(good, {{4, 1, 1}}) == Fault::none);
    CHECK(check(good, {}) == Fault::wrong_input_count);
    CHECK(check(good, {{4, 5, 5}, {6, 5, 5}}) == Fault::wrong_input_count);
    const auto with = [&good](auto const& change) {
        ConvTransposeParams params = good;
        change(params);
        return check(params, {{4, 1, 1}});
    };
    CHECK(with([](ConvTransposeParams& p) { p.k = 0; }) == Fault::impossible_parameter);
    CHECK(with([](ConvTransposeParams& p) { p.kernel.h = 0; }) == Fault::impossible_parameter);
    CHECK(with([](ConvTransposeParams& p) { p.kernel.w = 0; }) == Fault::impossible_parameter);
    CHECK(with([](ConvTransposeParams& p) { p.stride.h = 0; }) == Fault::impossible_parameter);
    CHECK(with([](ConvTransposeParams& p) { p.stride.w = 0; }) == Fault::impossible_parameter);
    CHECK(with([](ConvTransposeParams& p) { p.dilation.h = 0; }) == Fault::impossible_parameter);
    CHECK(with([](ConvTransposeParams& p) { p.dilation.w = 0; }) == Fault::impossible_parameter);
    CHECK(with([](ConvTransposeParams& p) { p.groups = 0; }) == Fault::impossible_parameter);
    CHECK(with([](ConvTransposeParams& p) { p.padding.left = -1; }) == Fault::impossible_parameter);
    CHECK(with([](ConvTransposeParams& p) { p.extra_h = -1; }) == Fault::impossible_parameter);
    CHECK(with([](ConvTransposeParams& p) { p.extra_w = -1; }) == Fault::impossible_parameter);
    CHECK(with([](ConvTransposeParams& p) { p.groups = 3; }) == Fault::groups_do_not_divide);  // 4 channels
    CHECK(with([](ConvTransposeParams& p) { p.groups = 4; }) == Fault::groups_do_not_divide);  // 6 kernels
    // Nothing is left.
    CHECK(with([](ConvTransposeParams& p) { p.padding = {2, 1, 0, 0}; }) == Fault::kernel_exceeds_input);
    CHECK(with([](ConvTransposeParams& p) { p.padding = {0, 0, 1, 2}; }) == Fault::kernel_exceeds_input);
    CHECK(with([](ConvTransposeParams& p) { p.padding = {1, 1, 0, 2}; }) == Fault::none);
    CHECK(ConvTransposeParams::name() == "conv_transpose");
}

}  // namespace
