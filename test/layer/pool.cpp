#include "shapes.hpp"

#include <primsel/layer/pool.hpp>

#include <doctest/doctest.h>

namespace {

namespace ps = primsel;
using namespace ps::layer;
using laws::check;
using laws::output;
using ps::Fault;
using ps::PoolKind;
using ps::PoolParams;

static_assert(ps::LayerParams<PoolParams> && ps::LayerParams<ps::GlobalPoolParams>);
static_assert(ps::LayerParams<ps::MaxPoolIndicesParams> && ps::LayerParams<ps::ReduceParams>);
static_assert(ps::LayerParams<ps::TopKParams>);

// Sizes from PyTorch 1.13.
struct KnownPool {
    int h, w;
    ps::Extent window, stride;
    ps::Padding padding;
    bool ceil_mode;
    int out_h, out_w;
};

TEST_CASE("pooling gives PyTorch's sizes") {
    const KnownPool table[] = {
        {5, 19, {1, 3}, {1, 4}, {0, 1}, true, 5, 5},    {13, 26, {2, 1}, {4, 1}, {1, 0}, true, 4, 26},
        {25, 25, {1, 4}, {3, 2}, {0, 1}, false, 9, 12}, {1, 1, {5, 1}, {4, 2}, {1, 0}, true, 1, 1},
        {8, 25, {4, 4}, {2, 3}, {0, 2}, false, 3, 9},   {25, 15, {3, 1}, {4, 1}, {0, 0}, false, 6, 15},
        {24, 11, {5, 4}, {2, 3}, {1, 2}, true, 12, 5},  {29, 16, {5, 4}, {1, 4}, {0, 2}, true, 25, 5},
        {13, 14, {2, 3}, {3, 1}, {1, 0}, true, 5, 12},  {6, 17, {4, 3}, {4, 1}, {1, 0}, false, 2, 15},
        {23, 28, {5, 5}, {4, 2}, {0, 2}, false, 5, 14}, {1, 25, {2, 5}, {2, 4}, {1, 2}, false, 1, 7},
        {15, 30, {3, 5}, {1, 4}, {0, 2}, true, 13, 8},  {18, 7, {4, 1}, {4, 3}, {2, 0}, true, 5, 3},
        {17, 14, {4, 3}, {4, 3}, {0, 1}, false, 4, 5},  {22, 3, {1, 1}, {4, 1}, {0, 0}, false, 6, 3},
        {9, 17, {2, 3}, {3, 4}, {1, 1}, false, 4, 5},   {9, 29, {5, 2}, {4, 1}, {0, 0}, false, 2, 28},
        {21, 1, {4, 5}, {3, 4}, {0, 2}, false, 6, 1},   {5, 7, {1, 3}, {1, 1}, {0, 1}, true, 5, 7},
        {6, 14, {5, 3}, {2, 1}, {2, 0}, true, 4, 12},   {27, 7, {5, 4}, {2, 1}, {1, 0}, false, 13, 4},
        {10, 17, {4, 1}, {3, 4}, {1, 0}, false, 3, 5},  {7, 28, {3, 5}, {2, 3}, {1, 0}, false, 4, 8},
    };
    for (KnownPool const& known : table) {
        const PoolParams params{
            .window = known.window, .stride = known.stride, .padding = known.padding, .ceil_mode = known.ceil_mode};
        CAPTURE(known.h);
        CAPTURE(known.w);
        CHECK(check(params, {{7, known.h, known.w}}) == Fault::none);
        CHECK(output(params, {{7, known.h, known.w}}) == ps::Shape{7, known.out_h, known.out_w});
    }
}

// Sizes from PyTorch 1.13.
TEST_CASE("pooling with gaps gives PyTorch's sizes") {
    struct Dilated {
        int h, w;
        ps::Extent window, stride;
        ps::Padding padding;
        bool ceil_mode;
        ps::Extent dilation;
        int out_h, out_w;
    };
    const Dilated table[] = {
        {16, 9, {5, 2}, {2, 4}, {1, 0}, true, {3, 3}, 4, 3},    {5, 28, {5, 4}, {1, 1}, {1, 0}, false, {1, 2}, 3, 22},
        {5, 16, {2, 3}, {4, 3}, {1, 1}, false, {2, 3}, 2, 4},   {29, 11, {1, 3}, {2, 3}, {0, 1}, true, {3, 2}, 15, 4},
        {14, 28, {1, 1}, {1, 4}, {0, 0}, false, {3, 3}, 14, 7}, {10, 1, {1, 1}, {1, 2}, {0, 0}, false, {2, 3}, 10, 1},
        {28, 11, {3, 3}, {2, 4}, {1, 0}, false, {2, 3}, 13, 2}, {26, 17, {3, 4}, {2, 3}, {1, 2}, true, {2, 3}, 13, 5},
        {26, 14, {5, 3}, {1, 4}, {0, 1}, true, {3, 2}, 14, 4},  {22, 30, {3, 5}, {3, 4}, {0, 1}, true, {1, 2}, 8, 7},
    };
    for (Dilated const& known : table) {
        const PoolParams params{.window = known.window,
                                .stride = known.stride,
                                .padding = known.padding,
                                .ceil_mode = known.ceil_mode,
                                .dilation = known.dilation};
        CAPTURE(known.h);
        CAPTURE(known.w);
        CHECK(check(params, {{7, known.h, known.w}}) == Fault::none);
        CHECK(output(params, {{7, known.h, known.w}}) == ps::Shape{7, known.out_h, known.out_w});
    }
}

TEST_CASE("padding may differ from side to side") {
    const PoolParams params{.window = 3, .stride = 2, .padding = {0, 1, 2, 0}};
    CHECK(output(params, {{1, 6, 6}}) == ps::Shape{1, 3, 3});
    CHECK(output(params, {{1, 7, 7}}) == ps::Shape{1, 3, 4});
}

TEST_CASE("each fault of pooling") {
    const PoolParams good{.window = 3, .stride = 2, .padding = 1};
    CHECK(check(good, {{1, 1, 1}}) == Fault::none);
    CHECK(check(good, {}) == Fault::wrong_input_count);
    CHECK(check(good, {{1, 9, 9}, {1, 9, 9}}) == Fault::wrong_input_count);
    const auto with = [&good](auto const& change) {
        PoolParams params = good;
        change(params);
        return check(params, {{1, 5, 5}});
    };
    CHECK(with([](PoolParams& p) { p.window.h = 0; }) == Fault::impossible_parameter);
    CHECK(with([](PoolParams& p) { p.window.w = -1; }) == Fault::impossible_parameter);
    CHECK(with([](PoolParams& p) { p.stride.h = 0; }) == Fault::impossible_parameter);
    CHECK(with([](PoolParams& p) { p.stride.w = 0; }) == Fault::impossible_parameter);
    CHECK(with([](PoolParams& p) { p.padding.left = -1; }) == Fault::impossible_parameter);
    CHECK(with([](PoolParams& p) { p.padding.top = 3; }) == Fault::padding_exceeds_kernel);
    CHECK(with([](PoolParams& p) { p.padding.bottom = 3; }) == Fault::padding_exceeds_kernel);
    CHECK(with([](PoolParams& p) { p.padding.left = 3; }) == Fault::padding_exceeds_kernel);
    CHECK(with([](PoolParams& p) { p.padding.right = 3; }) == Fault::padding_exceeds_kernel);
    CHECK(with([](PoolParams& p) { p.window = 7; }) == Fault::none);
    CHECK(with([](PoolParams& p) { p.window = {8, 3}; }) == Fault::kernel_exceeds_input);
    CHECK(with([](PoolParams& p) { p.window = {3, 8}; }) == Fault::kernel_exceeds_input);
    CHECK(with([](PoolParams& p) { p.dilation.h = 0; }) == Fault::impossible_parameter);
    CHECK(with([](PoolParams& p) { p.dilation.w = -1; }) == Fault::impossible_parameter);
    CHECK(with([](PoolParams& p) { p.dilation = 3; }) == Fault::none);
    CHECK(with([](PoolParams& p) { p.dilation = {4, 1}; }) == Fault::kernel_exceeds_input);
    CHECK(with([](PoolParams& p) { p.dilation = {1, 4}; }) == Fault::kernel_exceeds_input);
    CHECK(with([](PoolParams& p) { p.dilation = 2, p.padding = 4; }) == Fault::none);
    CHECK(with([](PoolParams& p) { p.dilation = 2, p.padding = 5; }) == Fault::padding_exceeds_kernel);
    // Rounding up, by less than a stride, as in PyTorch.
    CHECK(with([](PoolParams& p) { p.window = 8, p.ceil_mode = true; }) == Fault::none);
    CHECK(with([](PoolParams& p) { p.window = {9, 3}, p.ceil_mode = true; }) == Fault::kernel_exceeds_input);
    CHECK(with([](PoolParams& p) { p.window = {3, 9}, p.ceil_mode = true; }) == Fault::kernel_exceeds_input);
}

TEST_CASE("pooling as types") {
    CHECK(MaxPool<2>::params == PoolParams{.kind = PoolKind::max, .window = 2, .stride = 2});
    CHECK(MaxPool<3, Stride<2>, Pad<1>, CeilMode>::params ==
          PoolParams{.kind = PoolKind::max, .window = 3, .stride = 2, .padding = 1, .ceil_mode = true});
    CHECK(AveragePool<ps::Extent{2, 3}, ExcludePad, Pad<ps::Padding{0, 1}>>::params ==
          PoolParams{.kind = PoolKind::average,
                     .window = {2, 3},
                     .stride = {2, 3},
                     .padding = {0, 1},
                     .count_include_pad = false});
    CHECK(PoolParams{.kind = PoolKind::max}.name() == "max_pool");
    CHECK(PoolParams{.kind = PoolKind::average}.name() == "average_pool");
}

TEST_CASE("global pooling") {
    CHECK(output(GlobalAvgPool::params, {{5, 7, 9}}) == ps::Shape{5, 1, 1});
    CHECK(GlobalAvgPool::params.kind == PoolKind::average);
    CHECK(GlobalMaxPool::params.kind == PoolKind::max);
    CHECK(GlobalAvgPool::params.name() == "global_average_pool");
    CHECK(GlobalMaxPool::params.name() == "global_max_pool");
    CHECK(check(GlobalAvgPool::params, {{5, 7, 9}}) == Fault::none);
    CHECK(check(GlobalAvgPool::params, {}) == Fault::wrong_input_count);
}

TEST_CASE("indices of maxima have the shape of the maxima; an average has none") {
    const PoolParams pool{.window = 3, .stride = 2, .padding = 1};
    const ps::MaxPoolIndicesParams params{pool};
    CHECK(output(params, {{5, 7, 9}}) == output(pool, {{5, 7, 9}}));
    CHECK(check(params, {{5, 7, 9}}) == Fault::none);
    CHECK(check(params, {}) == Fault::wrong_input_count);
    CHECK(check(ps::MaxPoolIndicesParams{{.kind = PoolKind::average}}, {{5, 7, 9}}) == Fault::impossible_parameter);
    CHECK(params.name() == "max_pool_indices");
}

TEST_CASE("a reduction leaves one element along its axis") {
    using ps::ReduceKind;
    using ps::ReduceParams;
    CHECK(output(ReduceParams{ReduceKind::mean, ps::Axis::c}, {{5, 7, 9}}) == ps::Shape{1, 7, 9});
    CHECK(output(ReduceParams{ReduceKind::sum, ps::Axis::h}, {{5, 7, 9}}) == ps::Shape{5, 1, 9});
    CHECK(output(ReduceParams{ReduceKind::max, ps::Axis::w}, {{5, 7, 9}}) == ps::Shape{5, 7, 1});
    CHECK(check(ReduceParams{}, {{5, 7, 9}}) == Fault::none);
    CHECK(check(ReduceParams{}, {}) == Fault::wrong_input_count);
    CHECK(ReduceParams{ReduceKind::mean}.name() == "reduce_mean");
    CHECK(ReduceParams{ReduceKind::sum}.name() == "reduce_sum");
    CHECK(ReduceParams{ReduceKind::max}.name() == "reduce_max");
    CHECK(ReduceParams{ReduceKind::arg_max}.name() == "arg_max");
}

TEST_CASE("the k best of each row") {
    const ps::TopKParams params{3};
    CHECK(output(params, {{5, 7, 9}}) == ps::Shape{5, 7, 3});
    CHECK(check(params, {{5, 7, 3}}) == Fault::none);
    CHECK(check(params, {{5, 7, 2}}) == Fault::impossible_parameter);
    CHECK(check(ps::TopKParams{0}, {{5, 7, 2}}) == Fault::impossible_parameter);
    CHECK(check(params, {}) == Fault::wrong_input_count);
    CHECK(params.name() == "top_k");
    CHECK(ps::TopKParams{.positions = true}.name() == "top_k_positions");
}

}  // namespace
