#include "gradient_laws.hpp"

#include <primsel/op/resize_gradient.hpp>

namespace {

namespace ps = primsel;
using laws::Image;
using laws::Images;

TEST_CASE("the gradient of resizing is its transpose") {
    using enum ps::ResizeCoordinates;
    using enum ps::ResizeRounding;
    for (const ps::ResizeMode mode : {ps::ResizeMode::nearest, ps::ResizeMode::linear, ps::ResizeMode::cubic}) {
        for (const ps::ResizeCoordinates coordinates : {half_pixel, pytorch_half_pixel, align_corners, asymmetric}) {
            for (const ps::ResizeRounding rounding : {round_prefer_floor, round_prefer_ceil, floor, ceil}) {
                // Only the nearest pixel depends on it.
                if (mode != ps::ResizeMode::nearest && rounding != round_prefer_floor) continue;
                for (const ps::Extent size :
                     {ps::Extent{7, 5}, ps::Extent{2, 9}, ps::Extent{1, 1}, ps::Extent{3, 270}}) {
                    ps::ResizeParams params{size, mode, coordinates, rounding};
                    laws::check_transposed(params, {2, 4, 5}, ps::ResizeGradientParams{params, {2, 4, 5}});
                    if (mode == ps::ResizeMode::cubic) {
                        params.exclude_outside = true;
                        laws::check_transposed(params, {2, 4, 5}, ps::ResizeGradientParams{params, {2, 4, 5}});
                        params.exclude_outside = false;
                    }
                    if (mode != ps::ResizeMode::nearest) {
                        params.antialias = true;
                        laws::check_transposed(params, {2, 4, 5}, ps::ResizeGradientParams{params, {2, 4, 5}});
                        params.antialias = false;
                    }
                    params.scale_h = 0.55F, params.scale_w = 0.3F;
                    laws::check_transposed(params, {1, 1, 6}, ps::ResizeGradientParams{params, {1, 1, 6}});
                }
            }
        }
    }
}

}  // namespace
