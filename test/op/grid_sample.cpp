#include "laws.hpp"

#include <primsel/op/grid_sample.hpp>

#include <cmath>

namespace grid_sample_tests {

namespace ps = primsel;
using ps::GridSampleParams;
using ps::ResizeMode;
using ps::SamplePadding;

const SamplePadding paddings[] = {SamplePadding::zeros, SamplePadding::border, SamplePadding::reflection};

TEST_CASE("grid sampling agrees with the reference") {
    for (ps::Shape const& shape : {ps::Shape{1, 1, 1}, {3, 7, 5}, {2, 1, 9}, {33, 4, 1}}) {
        for (const ResizeMode mode : {ResizeMode::nearest, ResizeMode::linear, ResizeMode::cubic}) {
            for (const SamplePadding padding : paddings) {
                for (const bool corners : {false, true}) {
                    CAPTURE(static_cast<int>(mode));
                    CAPTURE(static_cast<int>(padding));
                    CAPTURE(corners);
                    const GridSampleParams params{.mode = mode, .padding = padding, .align_corners = corners};
                    const double tolerance = mode == ResizeMode::nearest ? 0 : 1e-5;
                    // The 300 places are more than are taken at once. Half of them are outside.
                    laws::check(params, {shape, ps::Shape{20, 15, 2}}, tolerance);
                    if (mode == ResizeMode::cubic) continue;
                    GridSampleParams volume = params;
                    volume.depth = 2;
                    laws::check(volume, {ps::Shape{shape.c, 2 * shape.h, shape.w}, ps::Shape{3, 5, 3}}, tolerance);
                }
            }
        }
    }
}

TEST_CASE("groups of channels are sampled at places of their own, counted in pixels") {
    const GridSampleParams params{.pixels = true, .groups = 3};
    laws::check(params, {ps::Shape{6, 7, 5}, ps::Shape{9, 4, 2}}, 1e-5, {}, 8.0F);
    GridSampleParams bordered = params;
    bordered.padding = SamplePadding::border;
    laws::check(bordered, {ps::Shape{3, 2, 8}, ps::Shape{3, 290, 2}}, 1e-5, {}, 12.0F);
}

std::vector<float> sample(GridSampleParams const& params, std::vector<float> const& row,
                          std::vector<float> const& places) {
    laws::Image image({1, 1, static_cast<int>(row.size())}), grid({1, static_cast<int>(places.size()), 2});
    std::ranges::copy(row, image.data.begin());
    for (std::size_t i = 0; i < places.size(); ++i) grid.data[2 * i] = static_cast<double>(places[i]);
    ps::Sequential sequential;
    return laws::run<ps::chw>(params, {{image}, {grid}}, {}, sequential);
}

TEST_CASE("halves are rounded to the even pixel, and mirrors go on") {
    const std::vector<float> row{10, 11, 12, 13};
    GridSampleParams params{.mode = ResizeMode::nearest, .padding = SamplePadding::border, .pixels = true};
    CHECK(sample(params, row, {-0.5F, 0.5F, 1.5F, 2.5F, 3.5F}) == std::vector<float>{10, 10, 12, 12, 13});
    params.padding = SamplePadding::reflection;
    CHECK(sample(params, row, {-1, -2, -4, -5, -8, -9, 4, 8, 803}) ==
          std::vector<float>{10, 11, 13, 13, 10, 10, 13, 10, 13});
    params.align_corners = true;
    CHECK(sample(params, row, {-1, -2, -3, -4, -6, 4, 6, 7}) == std::vector<float>{11, 12, 13, 12, 10, 12, 10, 11});
    CHECK(sample(params, {5}, {-3, 0, 8}) == std::vector<float>{5, 5, 5});
}

TEST_CASE("places that are no number, and pixels that are infinite") {
    const std::vector<float> row{laws::infinity, 1, 2};
    for (const ResizeMode mode : {ResizeMode::nearest, ResizeMode::linear, ResizeMode::cubic}) {
        const GridSampleParams params{.mode = mode};
        CHECK(sample(params, row, {std::nanf(""), laws::infinity, -laws::infinity, 1e30F, -5}) ==
              std::vector<float>(5, 0.0F));
        for (const SamplePadding padding : {SamplePadding::border, SamplePadding::reflection}) {
            const GridSampleParams held{.mode = mode, .padding = padding};
            for (const float y : sample(held, {3, 3, 3}, {std::nanf(""), laws::infinity, -1e30F, 4})) {
                CHECK(y == doctest::Approx(3));
            }
        }
    }
}

}  // namespace grid_sample_tests
