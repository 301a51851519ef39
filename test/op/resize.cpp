#include "laws.hpp"

#include <primsel/op/resize.hpp>

namespace {

namespace ps = primsel;
using ps::ResizeCoordinates;
using ps::ResizeMode;
using ps::ResizeParams;
using ps::ResizeRounding;

const std::vector<ResizeCoordinates> all_coordinates = {
    ResizeCoordinates::half_pixel, ResizeCoordinates::pytorch_half_pixel, ResizeCoordinates::align_corners,
    ResizeCoordinates::asymmetric};

TEST_CASE("resize agrees with the reference in every layout") {
    for (ps::Shape const& shape : laws::odd_shapes()) {
        const std::vector<ps::Extent> sizes = {{1, 1},
                                               {shape.h, shape.w},
                                               {2 * shape.h, 2 * shape.w},
                                               {3 * shape.h, (shape.w + 1) / 2},
                                               {(shape.h + 2) / 3, 7},
                                               {5, 37}};
        for (ps::Extent const& size : sizes) {
            if (quick() && size.w > shape.w && size.w != 37) continue;
            for (const ResizeCoordinates coordinates : all_coordinates) {
                CAPTURE(size.h);
                CAPTURE(size.w);
                CAPTURE(static_cast<int>(coordinates));
                laws::check(ResizeParams{.size = size, .mode = ResizeMode::linear, .coordinates = coordinates}, shape,
                            2e-6);
                for (const ResizeRounding rounding :
                     {ResizeRounding::round_prefer_floor, ResizeRounding::round_prefer_ceil, ResizeRounding::floor,
                      ResizeRounding::ceil}) {
                    CAPTURE(static_cast<int>(rounding));
                    laws::check(ResizeParams{.size = size, .coordinates = coordinates, .rounding = rounding}, shape, 0);
                }
            }
        }
    }
}

TEST_CASE("resize of rows too wide for one piece") {
    for (const int w : {300, 1500, 9000}) {
        laws::check(ResizeParams{.size = {2, w}, .mode = ResizeMode::linear}, ps::Shape{2, 3, 4000}, 2e-6);
        laws::check(ResizeParams{.size = {2, w}}, ps::Shape{2, 3, 4000}, 0);
    }
}

TEST_CASE("linear resize keeps a constant image") {
    const std::vector<float> image(7 * 11, 0.3F);
    const ResizeParams params{.size = {13, 29}, .mode = ResizeMode::linear};
    for (const float y : laws::run_one<ps::hwc>(params, {1, 7, 11}, image)) CHECK(y == 0.3F);
}

// Expected: from the operator's node tests of ONNX 1.12; the input is 1, 2, 3, ...
TEST_CASE("resize gives ONNX's numbers") {
    struct Known {
        ps::Extent in;
        ResizeParams params;
        std::vector<float> expected;
    };
    const float factor = 1.0F / 0.6F;
    const std::vector<Known> table = {
        {{2, 4}, {.size = {1, 2}, .scale_h = factor, .scale_w = factor}, {1, 3}},
        {{2, 4},
         {.size = {1, 2}, .mode = ResizeMode::linear, .scale_h = factor, .scale_w = factor},
         {2.6666665F, 4.333333F}},
        {{2, 4},
         {.size = {1, 2},
          .mode = ResizeMode::linear,
          .coordinates = ResizeCoordinates::align_corners,
          .scale_h = factor,
          .scale_w = factor},
         {1, 3.142857F}},
        {{4, 4},
         {.size = {3, 1}, .mode = ResizeMode::linear, .coordinates = ResizeCoordinates::pytorch_half_pixel},
         {1.6666666F, 7, 12.333333F}},
        {{2, 4}, {.size = {1, 3}}, {1, 2, 4}},
        {{2, 2},
         {.size = 4, .mode = ResizeMode::linear},
         {1, 1.25F, 1.75F, 2, 1.5F, 1.75F, 2.25F, 2.5F, 2.5F, 2.75F, 3.25F, 3.5F, 3, 3.25F, 3.75F, 4}},
        {{2, 2},
         {.size = 4, .mode = ResizeMode::linear, .coordinates = ResizeCoordinates::align_corners},
         {1, 1.3333334F, 1.6666666F, 2, 1.6666666F, 2, 2.3333333F, 2.6666667F, 2.3333333F, 2.6666667F, 3, 3.3333333F, 3,
          3.3333333F, 3.6666667F, 4}},
        {{2, 2}, {.size = {4, 6}, .scale_h = 0.5F, .scale_w = 1.0F / 3}, {1, 1, 1, 2, 2, 2, 1, 1, 1, 2, 2, 2,
                                                                          3, 3, 3, 4, 4, 4, 3, 3, 3, 4, 4, 4}},
        {{2, 2}, {.size = {7, 8}}, {1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 1, 1, 2, 2, 2, 2, 1, 1, 1,
                                    1, 2, 2, 2, 2, 1, 1, 1, 1, 2, 2, 2, 2, 3, 3, 3, 3, 4, 4,
                                    4, 4, 3, 3, 3, 3, 4, 4, 4, 4, 3, 3, 3, 3, 4, 4, 4, 4}},
        {{4, 4},
         {.size = 8, .rounding = ResizeRounding::ceil},
         {1,  2,  2,  3,  3,  4,  4,  4,  5,  6,  6,  7,  7,  8,  8,  8,  5,  6,  6,  7,  7,  8,
          8,  8,  9,  10, 10, 11, 11, 12, 12, 12, 9,  10, 10, 11, 11, 12, 12, 12, 13, 14, 14, 15,
          15, 16, 16, 16, 13, 14, 14, 15, 15, 16, 16, 16, 13, 14, 14, 15, 15, 16, 16, 16}},
        {{4, 4},
         {.size = 8, .coordinates = ResizeCoordinates::align_corners, .rounding = ResizeRounding::floor},
         {1,  1,  1,  2,  2, 3, 3, 4,  1,  1,  1,  2,  2,  3,  3,  4,  1,  1,  1,  2, 2, 3,
          3,  4,  5,  5,  5, 6, 6, 7,  7,  8,  5,  5,  5,  6,  6,  7,  7,  8,  9,  9, 9, 10,
          10, 11, 11, 12, 9, 9, 9, 10, 10, 11, 11, 12, 13, 13, 13, 14, 14, 15, 15, 16}},
        {{4, 4},
         {.size = 8, .coordinates = ResizeCoordinates::asymmetric, .rounding = ResizeRounding::round_prefer_ceil},
         {1,  2,  2,  3,  3,  4,  4,  4,  5,  6,  6,  7,  7,  8,  8,  8,  5,  6,  6,  7,  7,  8,
          8,  8,  9,  10, 10, 11, 11, 12, 12, 12, 9,  10, 10, 11, 11, 12, 12, 12, 13, 14, 14, 15,
          15, 16, 16, 16, 13, 14, 14, 15, 15, 16, 16, 16, 13, 14, 14, 15, 15, 16, 16, 16}},
    };
    for (std::size_t i = 0; i < table.size(); ++i) {
        CAPTURE(i);
        Known const& known = table[i];
        const ps::Shape shape{1, known.in.h, known.in.w};
        std::vector<float> image;
        for (std::size_t at = 0; at < shape.size(); ++at) image.push_back(static_cast<float>(at + 1));
        const std::vector<float> y = laws::run_one<ps::chw>(known.params, shape, image);
        REQUIRE(y.size() == known.expected.size());
        for (std::size_t at = 0; at < y.size(); ++at) CHECK(y[at] == doctest::Approx(known.expected[at]).epsilon(1e-6));
    }
}

}  // namespace
