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
    ResizeCoordinates::asymmetric, ResizeCoordinates::half_pixel_symmetric};

TEST_CASE("resize agrees with the reference in every layout") {
    std::size_t turn = 0;
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
                if (quick() && turn++ % 3 != 0) continue;
                CAPTURE(size.h);
                CAPTURE(size.w);
                CAPTURE(static_cast<int>(coordinates));
                laws::check(ResizeParams{.size = size, .mode = ResizeMode::linear, .coordinates = coordinates}, shape,
                            2e-6);
                for (const bool exclude_outside : {false, true}) {
                    laws::check(ResizeParams{.size = size,
                                             .mode = ResizeMode::cubic,
                                             .coordinates = coordinates,
                                             .cubic_coefficient = exclude_outside ? -0.5F : -0.75F,
                                             .exclude_outside = exclude_outside},
                                shape, 4e-6);
                }
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

TEST_CASE("antialiased resize agrees with the reference in every layout") {
    std::size_t turn = 0;
    for (ps::Shape const& shape : laws::odd_shapes()) {
        const std::vector<ps::Extent> sizes = {
            {1, 1}, {shape.h, (shape.w + 2) / 3}, {(shape.h + 1) / 2, shape.w + 2}, {(2 * shape.h + 2) / 3, 5}};
        for (ps::Extent const& size : sizes) {
            for (const ResizeCoordinates coordinates : all_coordinates) {
                for (const bool exclude_outside : {false, true}) {
                    if (turn++ % (quick() ? 5 : 2) != 0) continue;
                    ResizeParams params{.size = size,
                                        .mode = ResizeMode::linear,
                                        .coordinates = coordinates,
                                        .cubic_coefficient = -0.5F,
                                        .exclude_outside = exclude_outside,
                                        .antialias = true};
                    CAPTURE(size.h);
                    CAPTURE(size.w);
                    CAPTURE(static_cast<int>(coordinates));
                    laws::check(params, shape, 4e-6);
                    params.mode = ResizeMode::cubic;
                    laws::check(params, shape, 8e-6);
                }
            }
        }
    }
}

TEST_CASE("resize by given factors agrees with the reference") {
    for (const ResizeCoordinates coordinates : all_coordinates) {
        for (const ResizeMode mode : {ResizeMode::linear, ResizeMode::cubic}) {
            for (const bool antialias : {false, true}) {
                const ResizeParams params{.size = {3, 11},
                                          .mode = mode,
                                          .coordinates = coordinates,
                                          .scale_h = 1.75F,
                                          .scale_w = 0.6F,
                                          .antialias = antialias};
                laws::check(params, ps::Shape{2, 6, 7}, 4e-6);
            }
        }
    }
}

TEST_CASE("resize of a part agrees with the reference in every layout") {
    for (ps::Shape const& shape : {ps::Shape{3, 7, 5}, ps::Shape{17, 1, 40}}) {
        for (const ResizeMode mode : {ResizeMode::nearest, ResizeMode::linear, ResizeMode::cubic}) {
            ResizeParams params{.size = {5, 33},
                                .mode = mode,
                                .coordinates = ResizeCoordinates::affine,
                                .scale_h = 0.5F,
                                .scale_w = 0.140625F,
                                .offset_h = -0.75F,
                                .offset_w = 1.234375F};
            laws::check(params, shape, mode == ResizeMode::nearest ? 0 : 4e-6);
            // All pixels outside, none moves, and one pixel for all.
            params.offset_w = 1000, laws::check(params, shape, mode == ResizeMode::nearest ? 0 : 4e-6);
            params.size.w = shape.w, params.scale_w = 1, params.offset_w = 0;
            laws::check(params, shape, mode == ResizeMode::nearest ? 0 : 4e-6);
            params.scale_w = 0, params.offset_w = 0.25F;
            laws::check(params, shape, mode == ResizeMode::nearest ? 0 : 4e-6);
        }
    }
}

TEST_CASE("resize of rows too wide for one piece") {
    for (const int w : {300, 1500, 9000}) {
        laws::check(ResizeParams{.size = {2, w}, .mode = ResizeMode::linear}, ps::Shape{2, 3, 4000}, 2e-6);
        laws::check(ResizeParams{.size = {2, w}, .mode = ResizeMode::cubic}, ps::Shape{2, 3, 4000}, 4e-6);
        laws::check(ResizeParams{.size = {2, w}, .mode = ResizeMode::linear, .antialias = true}, ps::Shape{2, 3, 4000},
                    4e-6);
        laws::check(ResizeParams{.size = {2, w}}, ps::Shape{2, 3, 4000}, 0);
    }
}

TEST_CASE("resize to more rows than are found at once") {
    for (const ResizeMode mode : {ResizeMode::nearest, ResizeMode::linear, ResizeMode::cubic}) {
        laws::check(ResizeParams{.size = {700, 3}, .mode = mode}, ps::Shape{2, 90, 2}, 4e-6);
    }
}

TEST_CASE("linear resize keeps a constant image") {
    const std::vector<float> image(7 * 11, 0.3F);
    const ResizeParams params{.size = {13, 29}, .mode = ResizeMode::linear};
    for (const float y : laws::run_one<ps::hwc>(params, {1, 7, 11}, image)) CHECK(y == 0.3F);
}

TEST_CASE("a cubic resize keeps a straight line, except where pixels outside have a share") {
    std::vector<float> line(20);
    for (std::size_t i = 0; i < line.size(); ++i) line[i] = static_cast<float>(i);
    const ResizeParams params{.size = {1, 40}, .mode = ResizeMode::cubic, .cubic_coefficient = -0.5F};
    const std::vector<float> y = laws::run_one<ps::chw>(params, {1, 1, 20}, line);
    for (std::size_t i = 4; i < 36; ++i) {
        CHECK(y[i] == doctest::Approx((static_cast<float>(i) + 0.5F) / 2 - 0.5F).epsilon(1e-6));
    }
}

/// The input is 1, 2, 3, ...
struct Known {
    ps::Extent in;
    ResizeParams params;
    std::vector<float> expected;
};
void check_known(std::vector<Known> const& table) {
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

// Expected: from onnx.reference of ONNX 1.19, with which ONNX Runtime agrees.
TEST_CASE("cubic resize gives ONNX's numbers") {
    const float factor = 1.0F / 0.8F;
    std::vector<Known> table = {
        {{4, 4},
         {.size = 3, .scale_h = factor, .scale_w = factor},
         {1.471191F, 2.78125F, 4.08252F, 6.711426F, 8.021484F, 9.322754F, 11.9165F, 13.22656F, 14.52783F}},
        {{4, 4},
         {.size = 3, .scale_h = factor, .scale_w = factor, .cubic_coefficient = -0.5F, .exclude_outside = true},
         {1.368127F, 2.669501F, 4.013337F, 6.573626F, 7.875F, 9.218835F, 11.94897F, 13.25034F, 14.59418F}},
        {{4, 4},
         {.size = 3, .coordinates = ResizeCoordinates::align_corners},
         {1, 2.5F, 4, 7, 8.5F, 10, 13, 14.5F, 16}},
        {{2, 3},
         {.size = {4, 5}, .coordinates = ResizeCoordinates::asymmetric},
         {1, 1.504F, 2.272F, 2.848F, 3.108F, 2.5F,     3.004F,   3.772F,   4.348F,   4.608F,
          4, 4.504F, 5.272F, 5.848F, 6.108F, 4.28125F, 4.78525F, 5.55325F, 6.12925F, 6.38925F}},
        {{2, 3},
         {.size = {4, 5}, .coordinates = ResizeCoordinates::pytorch_half_pixel, .exclude_outside = true},
         {0.4744043F, 0.8761072F, 1.590909F, 2.305711F, 2.707414F, 1.571851F, 1.973554F,
          2.688356F,  3.403158F,  3.804861F, 3.195139F, 3.596842F, 4.311644F, 5.026446F,
          5.428149F,  4.292586F,  4.694289F, 5.409091F, 6.123893F, 6.525596F}},
        {{1, 4}, {.size = {1, 7}}, {0.9007837F, 1.279245F, 1.896592F, 2.5F, 3.103407F, 3.720754F, 4.099216F}},
    };
    for (Known& known : table) known.params.mode = ResizeMode::cubic;
    check_known(table);
}

// Expected: from the operator's node tests of ONNX 1.12.
TEST_CASE("resize gives ONNX's numbers") {
    const float factor = 1.0F / 0.6F;
    const std::vector<Known> table = {
        {{2, 4}, {.size = {1, 2}, .scale_h = factor, .scale_w = factor}, {1, 3}},
        {{2, 4},
         {.size = {1, 2}, .mode = ResizeMode::linear, .scale_h = factor, .scale_w = factor},
         {2.6666665F, 4.333333F}},
        // The last pixel is that of the rounded size, as in ONNX Runtime; the node test has 3.142857.
        {{2, 4},
         {.size = {1, 2},
          .mode = ResizeMode::linear,
          .coordinates = ResizeCoordinates::align_corners,
          .scale_h = factor,
          .scale_w = factor},
         {1, 4}},
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
    check_known(table);
}

}  // namespace
