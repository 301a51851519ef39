// Gradients of layers that move and mix pixels: each is the transpose of what the layer does.
#include "gradient_laws.hpp"

#include <primsel/op/as_strided_gradient.hpp>
#include <primsel/op/repeat.hpp>
#include <primsel/op/resize_gradient.hpp>

namespace {

namespace ps = primsel;
using laws::Image;
using laws::Images;

/// The layer's own result, as its op computes it.
template <class Params>
Images by_op(Params const& params, Images const& x) {
    return laws::run_step<ps::chw>(params, {{x}, static_cast<int>(x.size())});
}

/// dx of a linear layer: the products of dy with its result for each image that has a single pixel of 1.
template <class Params>
Images transposed(Params const& params, ps::Shape input, Images const& dy) {
    Images result;
    for (Image const& gradient : dy) {
        Image of(input);
        for (std::size_t at = 0; at < of.data.size(); ++at) {
            Image one(input);
            one.data[at] = 1;
            const Image y = by_op(params, {one})[0];
            for (std::size_t i = 0; i < y.data.size(); ++i) of.data[at] += y.data[i] * gradient.data[i];
        }
        result.push_back(std::move(of));
    }
    return result;
}

template <class Params>
void check_transposed(Params const& params, ps::Shape input, auto const& gradient) {
    laws::Random random(3);
    CAPTURE(ps::to_string(input));
    const std::vector<ps::Shape> inputs{input};
    REQUIRE(params.check(inputs) == ps::Fault::none);
    const Images dy = laws::random_images(random, params.output(inputs), 3);
    laws::check_images(laws::run_step<ps::chw>(gradient, {{dy}, 3}), transposed(params, input, dy), 2e-6);
}

TEST_CASE("the gradient of resizing is its transpose") {
    using enum ps::ResizeCoordinates;
    using enum ps::ResizeRounding;
    for (const ps::ResizeMode mode : {ps::ResizeMode::nearest, ps::ResizeMode::linear}) {
        for (const ps::ResizeCoordinates coordinates : {half_pixel, pytorch_half_pixel, align_corners, asymmetric}) {
            for (const ps::ResizeRounding rounding : {round_prefer_floor, round_prefer_ceil, floor, ceil}) {
                for (const ps::Extent size :
                     {ps::Extent{7, 5}, ps::Extent{2, 9}, ps::Extent{1, 1}, ps::Extent{3, 270}}) {
                    ps::ResizeParams params{size, mode, coordinates, rounding};
                    check_transposed(params, {2, 4, 5}, ps::ResizeGradientParams{params, {2, 4, 5}});
                    params.scale_h = 0.55F, params.scale_w = 0.3F;
                    check_transposed(params, {1, 1, 6}, ps::ResizeGradientParams{params, {1, 1, 6}});
                }
            }
        }
    }
}

TEST_CASE("the gradient of elements in another order is its transpose") {
    const ps::Shape in{3, 4, 5};
    for (ps::AsStridedParams const& params :
         {ps::AsStridedParams{{60}, {1}, 0, {3, 4, 5}}, ps::AsStridedParams{{60}, {-1}, 59, {4, 15, 1}},
          ps::AsStridedParams{{3, 2, 2}, {20, 10, 3}, 1, {3, 2, 2}}, ps::AsStridedParams{{2, 7}, {0, 0}, 8, {14, 1, 1}},
          ps::AsStridedParams{{3, 3, 2, 5}, {20, 5, 5, 1}, 0, {9, 2, 5}}, ps::AsStridedParams{{}, {}, 17, {1, 1, 1}}}) {
        check_transposed(params, in, ps::AsStridedGradientParams{params, in});
    }
}

TEST_CASE("a parameter is repeated for each image, in every layout") {
    laws::Random random(5);
    for (const int count : {1, 7, 64, 1000}) {
        const Images values = laws::random_images(random, {count, 1, 1}, 1);
        laws::check_step(ps::RepeatParams{}, {{values}, 3}, {values[0], values[0], values[0]}, 0);
    }
}

}  // namespace
