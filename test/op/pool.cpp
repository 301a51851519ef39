#include "laws.hpp"

#include <primsel/op/pool.hpp>

namespace op_pool {

namespace {

namespace ps = primsel;
using ps::PoolKind;
using ps::PoolParams;

using laws::infinity;
const float nan = std::nanf("");

void check_kinds(PoolParams params, ps::Shape const& shape) {
    CAPTURE(params.window.h);
    CAPTURE(params.window.w);
    CAPTURE(params.stride.w);
    params.kind = PoolKind::max;
    laws::check(params, shape, 0);
    params.kind = PoolKind::average;
    for (const bool count_include_pad : {true, false}) {
        params.count_include_pad = count_include_pad;
        laws::check(params, shape, 2e-6);
    }
}

TEST_CASE("pooling agrees with the reference in every layout") {
    const std::vector<PoolParams> all = {
        {.window = 2, .stride = 2},
        {.window = 2, .stride = 2, .ceil_mode = true},
        {.window = 3, .stride = 2},
        {.window = 3, .stride = 2, .padding = 1},
        {.window = 3, .stride = 2, .padding = 1, .ceil_mode = true},
        {.window = 3, .stride = 1, .padding = 1},
        {.window = 1, .stride = 1},
        {.window = 1, .stride = 3},
        {.window = {1, 2}, .stride = {1, 2}},
        {.window = {5, 4}, .stride = {1, 3}, .padding = {2, 1}},
        {.window = {2, 5}, .stride = {3, 2}, .padding = {0, 1, 0, 3}, .ceil_mode = true},
        {.window = {3, 7}, .stride = {2, 1}, .padding = {1, 2, 6, 0}},
        {.window = {1, 9}, .stride = {1, 4}, .padding = {0, 4}, .ceil_mode = true},
        {.window = {6, 33}, .stride = {5, 2}, .padding = {1, 16}},
        {.window = {2, 5}, .stride = 1, .padding = {1, 2}},
        {.window = {5, 3}, .stride = 1, .padding = {4, 0, 0, 2}},
    };
    for (PoolParams const& params : all) {
        for (ps::Shape const& shape : laws::odd_shapes()) {
            if (params.check({&shape, 1}) != ps::Fault::none) continue;
            check_kinds(params, shape);
        }
    }
}

TEST_CASE("pooling over windows with gaps") {
    const std::vector<PoolParams> all = {
        {.window = 2, .stride = 1, .dilation = 2},
        {.window = 3, .stride = 2, .padding = 2, .dilation = 2},
        {.window = {3, 2}, .stride = {1, 3}, .padding = {1, 2, 3, 0}, .ceil_mode = true, .dilation = {1, 5}},
        {.window = {2, 3}, .stride = {3, 1}, .padding = {1, 1}, .dilation = {3, 1}},
        {.window = {1, 17}, .stride = {1, 1}, .padding = {0, 16}, .dilation = {7, 2}},
    };
    for (PoolParams params : all) {
        for (ps::Shape const& shape : laws::odd_shapes()) {
            if (params.check({&shape, 1}) != ps::Fault::none) continue;
            CAPTURE(params.window.w);
            CAPTURE(params.dilation.w);
            params.kind = PoolKind::max;
            laws::check(params, shape, 0);
            // An average without the padding has nothing to divide by where all taps lie there.
            params.kind = PoolKind::average;
            params.count_include_pad = true;
            laws::check(params, shape, 2e-6);
            const bool always_inside = shape.h > params.dilation.h && shape.w > 3 * params.dilation.w;
            params.count_include_pad = false;
            if (always_inside) laws::check(params, shape, 2e-6);
        }
    }
    // From PyTorch 1.13.
    CHECK(laws::run_one<ps::hcw>(PoolParams{.window = 2, .stride = 1, .dilation = {2, 1}}, {1, 3, 3},
                                 {1, 3, 9, 8, 8, 8, 7, 2, 5}) == std::vector<float>{7, 9});
}

TEST_CASE("a NaN in a window with gaps wins over every maximum") {
    const PoolParams params{.window = 2, .stride = 1, .dilation = 2};
    const std::vector<float> y = laws::run_one<ps::chw>(params, {1, 3, 4}, {nan, 1, 2, 3, 4, 5, 6, 7, 8, 9, 1, 2});
    CHECK(std::isnan(y[0]));
    CHECK(y[1] == 9.0F);
}

TEST_CASE("pooling of rows too wide for one piece, and of windows wider than that") {
    for (const PoolKind kind : {PoolKind::max, PoolKind::average}) {
        const double tolerance = kind == PoolKind::max ? 0 : 2e-6;
        for (const int stride : {1, 2, 3}) {
            if (quick() && stride != 2) continue;
            PoolParams params{.kind = kind, .window = 3, .stride = stride, .padding = 1, .count_include_pad = false};
            laws::check(params, {2, 3, 4097}, tolerance);
            params.window = {2, 1500};
            params.padding = {1, 700};
            laws::check(params, {1, 2, 1800}, tolerance);
        }
    }
}

TEST_CASE("pooling of large windows over rows of many channels, reduced in several pieces") {
    for (const int stride : {1, 2}) {
        PoolParams params{.window = {9, 7}, .stride = stride, .padding = 3, .count_include_pad = false};
        params.kind = PoolKind::max;
        laws::check(params, {130, 9, 70}, 0);
        params.kind = PoolKind::average;
        laws::check(params, {130, 9, 70}, 2e-6);
    }
}

TEST_CASE("pooling of large windows that slide over the columns of one channel") {
    std::vector<PoolParams> all = {
        {.window = 7, .stride = 1, .padding = 3},
        {.window = {13, 12}, .stride = {1, 2}, .padding = 6, .ceil_mode = true},
        {.window = {9, 11}, .stride = {2, 3}, .padding = {4, 3, 5, 2}},
        {.window = {13, 10}, .stride = {3, 3}, .padding = {0, 9, 6, 1}},
        {.window = {32, 31}, .stride = {3, 1}, .padding = {30, 14}},
        {.window = {5, 32}, .stride = {1, 2}, .padding = {2, 16}},
        {.window = {32, 1}, .stride = {1, 1}, .padding = {16, 0}},
    };
    for (PoolParams const& params : all) {
        for (ps::Shape const& shape : {ps::Shape{2, 7, 5}, {1, 13, 37}, {1, 3, 203}, {1, 90, 4}}) {
            if (params.check({&shape, 1}) != ps::Fault::none) continue;
            check_kinds(params, shape);
        }
    }
}

TEST_CASE("a NaN in a large window wins over every maximum, and is in no other window") {
    const PoolParams params{.window = 9, .stride = 1};
    std::vector<float> x(9 * 40, 1.0F);
    x[4 * 40 + 20] = nan;
    const std::vector<float> y = laws::run_one<ps::chw>(params, {1, 9, 40}, x);
    for (std::size_t i = 0; i < y.size(); ++i) CHECK(std::isnan(y[i]) == (i >= 12 && i <= 20));
}

// An image of h x w whose elements are i * 7 % 11 + 1; expected: from PyTorch 1.13.
struct Known {
    int h, w;
    PoolParams params;
    std::vector<float> expected;
};

TEST_CASE("pooling gives PyTorch's numbers in ceil mode and whatever is counted") {
    const std::vector<Known> table = {
        {5,
         6,
         {.kind = PoolKind::average, .window = {3, 3}, .stride = {2, 2}, .padding = {1, 1}},
         {2.777778F, 4.444445F, 4.0F, 4.0F, 6.111111F, 5.444445F, 2.555556F, 4.111111F, 3.666667F}},
        {5,
         6,
         {.kind = PoolKind::average, .window = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .count_include_pad = false},
         {6.25F, 6.666667F, 6.0F, 6.0F, 6.111111F, 5.444445F, 5.75F, 6.166667F, 5.5F}},
        {5,
         6,
         {.kind = PoolKind::max, .window = {3, 3}, .stride = {2, 2}, .padding = {1, 1}},
         {10.0F, 11.0F, 11.0F, 10.0F, 11.0F, 10.0F, 11.0F, 11.0F, 10.0F}},
        {5,
         6,
         {.kind = PoolKind::average, .window = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .ceil_mode = true},
         {2.777778F, 4.444445F, 4.0F, 0.6666667F, 4.0F, 6.111111F, 5.444445F, 3.166667F, 2.555556F, 4.111111F,
          3.666667F, 2.333333F}},
        {5,
         6,
         {.kind = PoolKind::average,
          .window = {3, 3},
          .stride = {2, 2},
          .padding = {1, 1},
          .ceil_mode = true,
          .count_include_pad = false},
         {6.25F, 6.666667F, 6.0F, 2.0F, 6.0F, 6.111111F, 5.444445F, 6.333333F, 5.75F, 6.166667F, 5.5F, 7.0F}},
        {5,
         6,
         {.kind = PoolKind::max, .window = {3, 3}, .stride = {2, 2}, .padding = {1, 1}, .ceil_mode = true},
         {10.0F, 11.0F, 11.0F, 3.0F, 10.0F, 11.0F, 10.0F, 10.0F, 11.0F, 11.0F, 10.0F, 8.0F}},
        {4, 5, {.kind = PoolKind::average, .window = {2, 2}, .stride = {2, 2}}, {5.5F, 5.75F, 4.0F, 7.0F}},
        {4,
         5,
         {.kind = PoolKind::average, .window = {2, 2}, .stride = {2, 2}, .count_include_pad = false},
         {5.5F, 5.75F, 4.0F, 7.0F}},
        {4, 5, {.kind = PoolKind::max, .window = {2, 2}, .stride = {2, 2}}, {10.0F, 11.0F, 7.0F, 10.0F}},
        {4,
         5,
         {.kind = PoolKind::average, .window = {2, 2}, .stride = {2, 2}, .ceil_mode = true},
         {5.5F, 5.75F, 8.0F, 4.0F, 7.0F, 6.5F}},
        {4,
         5,
         {.kind = PoolKind::average, .window = {2, 2}, .stride = {2, 2}, .ceil_mode = true, .count_include_pad = false},
         {5.5F, 5.75F, 8.0F, 4.0F, 7.0F, 6.5F}},
        {4,
         5,
         {.kind = PoolKind::max, .window = {2, 2}, .stride = {2, 2}, .ceil_mode = true},
         {10.0F, 11.0F, 9.0F, 7.0F, 10.0F, 11.0F}},
        {6,
         5,
         {.kind = PoolKind::average, .window = {3, 3}, .stride = {2, 2}},
         {5.111111F, 6.888889F, 5.444445F, 6.0F}},
        {6,
         5,
         {.kind = PoolKind::average, .window = {3, 3}, .stride = {2, 2}, .count_include_pad = false},
         {5.111111F, 6.888889F, 5.444445F, 6.0F}},
        {6, 5, {.kind = PoolKind::max, .window = {3, 3}, .stride = {2, 2}}, {10.0F, 11.0F, 10.0F, 11.0F}},
        {6,
         5,
         {.kind = PoolKind::average, .window = {3, 3}, .stride = {2, 2}, .ceil_mode = true},
         {5.111111F, 6.888889F, 5.444445F, 6.0F, 6.0F, 5.333333F}},
        {6,
         5,
         {.kind = PoolKind::average, .window = {3, 3}, .stride = {2, 2}, .ceil_mode = true, .count_include_pad = false},
         {5.111111F, 6.888889F, 5.444445F, 6.0F, 6.0F, 5.333333F}},
        {6,
         5,
         {.kind = PoolKind::max, .window = {3, 3}, .stride = {2, 2}, .ceil_mode = true},
         {10.0F, 11.0F, 10.0F, 11.0F, 11.0F, 10.0F}},
        {7,
         7,
         {.kind = PoolKind::average, .window = {3, 3}, .stride = {3, 3}, .padding = {1, 1}},
         {1.888889F, 4.111111F, 2.777778F, 4.444445F, 6.444445F, 3.333333F, 3.222222F, 3.666667F, 2.888889F}},
        {7,
         7,
         {.kind = PoolKind::average, .window = {3, 3}, .stride = {3, 3}, .padding = {1, 1}, .count_include_pad = false},
         {4.25F, 6.166667F, 6.25F, 6.666667F, 6.444445F, 5.0F, 7.25F, 5.5F, 6.5F}},
        {7,
         7,
         {.kind = PoolKind::max, .window = {3, 3}, .stride = {3, 3}, .padding = {1, 1}},
         {8.0F, 11.0F, 10.0F, 11.0F, 11.0F, 9.0F, 11.0F, 10.0F, 11.0F}},
        {7,
         7,
         {.kind = PoolKind::average, .window = {3, 3}, .stride = {3, 3}, .padding = {1, 1}, .ceil_mode = true},
         {1.888889F, 4.111111F, 2.777778F, 4.444445F, 6.444445F, 3.333333F, 3.222222F, 3.666667F, 2.888889F}},
        {7,
         7,
         {.kind = PoolKind::average,
          .window = {3, 3},
          .stride = {3, 3},
          .padding = {1, 1},
          .ceil_mode = true,
          .count_include_pad = false},
         {4.25F, 6.166667F, 6.25F, 6.666667F, 6.444445F, 5.0F, 7.25F, 5.5F, 6.5F}},
        {7,
         7,
         {.kind = PoolKind::max, .window = {3, 3}, .stride = {3, 3}, .padding = {1, 1}, .ceil_mode = true},
         {8.0F, 11.0F, 10.0F, 11.0F, 11.0F, 9.0F, 11.0F, 10.0F, 11.0F}},
        {5,
         5,
         {.kind = PoolKind::average, .window = {2, 2}, .stride = {3, 3}, .padding = {1, 1}},
         {0.25F, 3.75F, 3.0F, 7.0F}},
        {5,
         5,
         {.kind = PoolKind::average, .window = {2, 2}, .stride = {3, 3}, .padding = {1, 1}, .count_include_pad = false},
         {1.0F, 7.5F, 6.0F, 7.0F}},
        {5,
         5,
         {.kind = PoolKind::max, .window = {2, 2}, .stride = {3, 3}, .padding = {1, 1}},
         {1.0F, 11.0F, 7.0F, 10.0F}},
        {5,
         5,
         {.kind = PoolKind::average, .window = {2, 2}, .stride = {3, 3}, .padding = {1, 1}, .ceil_mode = true},
         {0.25F, 3.75F, 3.0F, 7.0F}},
        {5,
         5,
         {.kind = PoolKind::average,
          .window = {2, 2},
          .stride = {3, 3},
          .padding = {1, 1},
          .ceil_mode = true,
          .count_include_pad = false},
         {1.0F, 7.5F, 6.0F, 7.0F}},
        {5,
         5,
         {.kind = PoolKind::max, .window = {2, 2}, .stride = {3, 3}, .padding = {1, 1}, .ceil_mode = true},
         {1.0F, 11.0F, 7.0F, 10.0F}},
        {6,
         6,
         {.kind = PoolKind::average, .window = {3, 2}, .stride = {2, 3}, .padding = {1, 0}},
         {4.166667F, 5.333333F, 6.0F, 5.0F, 5.666667F, 4.666667F}},
        {6,
         6,
         {.kind = PoolKind::average, .window = {3, 2}, .stride = {2, 3}, .padding = {1, 0}, .count_include_pad = false},
         {6.25F, 8.0F, 6.0F, 5.0F, 5.666667F, 4.666667F}},
        {6,
         6,
         {.kind = PoolKind::max, .window = {3, 2}, .stride = {2, 3}, .padding = {1, 0}},
         {10.0F, 11.0F, 10.0F, 9.0F, 11.0F, 10.0F}},
        {6,
         6,
         {.kind = PoolKind::average, .window = {3, 2}, .stride = {2, 3}, .padding = {1, 0}, .ceil_mode = true},
         {4.166667F, 5.333333F, 6.0F, 5.0F, 5.666667F, 4.666667F, 2.75F, 2.25F}},
        {6,
         6,
         {.kind = PoolKind::average,
          .window = {3, 2},
          .stride = {2, 3},
          .padding = {1, 0},
          .ceil_mode = true,
          .count_include_pad = false},
         {6.25F, 8.0F, 6.0F, 5.0F, 5.666667F, 4.666667F, 5.5F, 4.5F}},
        {6,
         6,
         {.kind = PoolKind::max, .window = {3, 2}, .stride = {2, 3}, .padding = {1, 0}, .ceil_mode = true},
         {10.0F, 11.0F, 10.0F, 9.0F, 11.0F, 10.0F, 9.0F, 8.0F}},
    };
    for (Known const& known : table) {
        const ps::Shape shape{1, known.h, known.w};
        std::vector<float> elements(shape.size());
        for (std::size_t i = 0; i < elements.size(); ++i) elements[i] = static_cast<float>(i * 7 % 11 + 1);
        CAPTURE(ps::to_string(shape));
        CAPTURE(known.params.ceil_mode);
        CAPTURE(known.params.count_include_pad);
        for (auto const& actual : {laws::run_one<ps::chw>(known.params, shape, elements),
                                   laws::run_one<ps::hcw>(known.params, shape, elements),
                                   laws::run_one<ps::hwc>(known.params, shape, elements)}) {
            REQUIRE(actual.size() == known.expected.size());
            for (std::size_t i = 0; i < actual.size(); ++i)
                CHECK(actual[i] == doctest::Approx(known.expected[i]).epsilon(1e-6));
        }
    }
}

template <class L>
void check_special_values() {
    // A NaN anywhere in the window wins, whatever comes before and after it.
    const PoolParams params{.kind = PoolKind::max, .window = 3, .stride = 3};
    for (std::size_t at = 0; at < 9; ++at) {
        for (const int channels : {1, 2, 70}) {
            // The last channel has one; the others are left alone.
            std::vector<float> elements;
            for (int c = 0; c < channels; ++c) {
                elements.insert(elements.end(), {3, -1, 2, 7, 5, -7, 4, -infinity, 6});
            }
            elements[elements.size() - 9 + at] = nan;
            const std::vector<float> y = laws::run_one<L>(params, {channels, 3, 3}, elements);
            CHECK(std::isnan(y.back()));
            CHECK(std::all_of(y.begin(), y.end() - 1, [](float x) { return x == 7; }));
        }
    }
    CHECK(laws::run_one<L>(params, {1, 3, 3}, std::vector<float>(9, -infinity))[0] == -infinity);
    // Padding is no zero: a negative maximum at the border stays negative.
    CHECK(laws::run_one<L>(PoolParams{.kind = PoolKind::max, .window = 3, .stride = 1, .padding = 1}, {1, 1, 1},
                           {-4.0F})[0] == -4.0F);
    // The average of equal values is that value.
    CHECK(laws::run_one<L>(PoolParams{.kind = PoolKind::average, .window = 3, .stride = 3}, {1, 3, 3},
                           std::vector<float>(9, 0.1F))[0] == doctest::Approx(0.1F).epsilon(1e-7));
}

TEST_CASE("maximum of NaN and infinities") {
    check_special_values<ps::chw>();
    check_special_values<ps::hcw>();
    check_special_values<ps::hwc>();
}

TEST_CASE("a window may exceed the image in ceil mode") {
    const PoolParams params{.window = {5, 1}, .stride = {4, 2}, .padding = {1, 0}, .ceil_mode = true};
    laws::check(params, {3, 1, 1}, 0);
    laws::check(params, {20, 1, 9}, 0);
}

}  // namespace

}  // namespace op_pool
