#include "laws.hpp"

#include <primsel/op/conv_transpose.hpp>

namespace {

namespace ps = primsel;
using ps::ConvTransposeParams;

void check(ConvTransposeParams const& params, ps::Shape shape) {
    if (params.check({&shape, 1}) != ps::Fault::none) return;
    laws::Random random(static_cast<unsigned>(params.k + shape.w));
    const auto weights =
        static_cast<std::size_t>(shape.c * params.k / params.groups * params.kernel.h * params.kernel.w);
    const std::vector<float> kernel = random.floats(weights, 0.5F);
    const std::vector<float> bias = random.floats(params.bias ? static_cast<std::size_t>(params.k) : 0);
    CAPTURE(params.k);
    CAPTURE(params.groups);
    CAPTURE(params.kernel.w);
    CAPTURE(params.stride.w);
    CAPTURE(params.dilation.w);
    laws::check(params, shape, 1e-5, {kernel, bias});
}

TEST_CASE("transposed convolution agrees with the reference") {
    const std::vector<ConvTransposeParams> all = {
        {.kernel = 1},
        {.kernel = 2, .stride = 2},
        {.kernel = 3, .stride = 1, .padding = 1, .bias = false},
        {.kernel = 4, .stride = 2, .padding = 1},
        {.kernel = 3, .stride = 2, .padding = 1, .extra_h = 1, .extra_w = 1},
        {.kernel = {2, 5}, .stride = {3, 4}, .padding = {0, 1, 2, 3}, .dilation = {2, 1}, .extra_h = 2, .extra_w = 3},
        {.kernel = {5, 3}, .stride = {1, 3}, .padding = {4, 0, 0, 5}, .dilation = {1, 4}},
        {.kernel = {1, 9}, .stride = {5, 1}, .padding = {0, 4}, .extra_h = 7},
        {.kernel = 2, .stride = 5, .dilation = 3, .bias = false},
        {.kernel = 8, .stride = 4, .padding = 2},
    };
    for (ConvTransposeParams params : all) {
        for (ps::Shape shape : {ps::Shape{1, 1, 1}, {2, 3, 5}, {5, 4, 17}, {3, 2, 33}, {6, 7, 40}}) {
            for (const int k : {1, 2, 5, 8}) {
                params.k = k;
                check(params, shape);
            }
            for (const int groups : {2, 3}) {
                for (const int k : {1, 3, 5}) {
                    params.groups = groups;
                    params.k = groups * k;
                    check(params, {groups * shape.c, shape.h, shape.w});
                    params.groups = 1;
                }
            }
            params.groups = params.k = shape.c;  // depthwise
            check(params, shape);
            params.groups = 1;
        }
    }
}

TEST_CASE("transposed convolution of many channels agrees with the reference") {
    const std::vector<ConvTransposeParams> all = {
        {.kernel = 2, .stride = 2},
        {.kernel = 4, .stride = 2, .padding = 1},
        {.kernel = 8, .stride = 4, .padding = 2, .bias = false},
        {.kernel = 3, .stride = 2, .padding = 1, .extra_h = 1, .extra_w = 1},
        {.kernel = {2, 5}, .stride = {3, 3}, .padding = {0, 1, 2, 3}, .dilation = {2, 1}, .extra_h = 2, .extra_w = 3},
        {.kernel = {5, 3}, .stride = {1, 4}, .padding = {4, 0, 0, 5}, .dilation = {1, 4}},
        {.kernel = {1, 9}, .stride = {5, 1}, .padding = {0, 4}, .extra_h = 7},
        {.kernel = 2, .stride = 5, .dilation = 3, .bias = false},
    };
    unsigned turn = 0;
    for (ConvTransposeParams params : all) {
        for (ps::Shape shape : {ps::Shape{16, 1, 1}, {17, 2, 9}, {35, 5, 17}}) {
            const unsigned at = turn++;
            if (quick() && at % 3 != at / 3 % 3) continue;  // each way on one shape
            params.k = 5;
            check(params, shape);
            params.groups = 2;
            params.k = 6;
            check(params, {2 * shape.c, shape.h, shape.w});
            params.groups = 1;
        }
    }
    // Images of one to four columns, which are transposed.
    for (ConvTransposeParams params : all) {
        for (ps::Shape shape : {ps::Shape{5, 33, 1}, {18, 17, 2}, {3, 71, 4}}) {
            params.k = 7;
            check(params, shape);
            params.k = params.groups = shape.c;
            check(params, shape);
            params.groups = 1;
        }
    }
    // Several tiles in each direction, and several products; images of one row.
    check({.k = 20, .kernel = 3, .stride = 2, .padding = {0, 1, 1, 0}}, {16, 37, 41});
    check({.k = 3, .kernel = 4, .stride = 2, .padding = 1}, {16, 19, 200});
    check({.k = 12, .kernel = {1, 8}, .stride = {1, 4}, .padding = {0, 0, 2, 2}}, {16, 1, 1700});
    check({.k = 4, .kernel = 4, .stride = 1, .dilation = {7, 15}}, {16, 11, 160});
}

TEST_CASE("transposed convolution of a known image") {
    // From PyTorch 1.13.
    const std::vector<float> kernel{1, 10, 100, 1000}, bias{0.5F};
    CHECK(laws::run_one<ps::chw>(ConvTransposeParams{.kernel = 2, .stride = 1}, {1, 2, 2}, {1, 2, 3, 4},
                                 {kernel, bias}) ==
          std::vector<float>{1.5F, 12.5F, 20.5F, 103.5F, 1234.5F, 2040.5F, 300.5F, 3400.5F, 4000.5F});
}

}  // namespace
