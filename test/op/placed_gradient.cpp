#include "gradient_laws.hpp"

#include <primsel/op/placed_gradient.hpp>

#include <cmath>

namespace placed_gradients {
namespace {

namespace ps = primsel;
using laws::Image;
using laws::Images;

/// Row numbers of which some are equal, negative or outside.
Images row_numbers(laws::Random& random, ps::Shape shape, int rows) {
    Images result = laws::random_images(random, shape, 3, 1.25F * static_cast<float>(rows));
    result[1].data[0] = std::nan("");
    return result;
}

/// The sum, for each element of the image, of dy over the places that were taken from it.
Images expected(ps::GatherParams const& params, ps::Shape shape, Images const& numbers, Images const& dy) {
    Images result;
    for (std::size_t n = 0; n < dy.size(); ++n) {
        Image image(shape);
        for (int c = 0; c < shape.c; ++c) {
            for (int i = 0; i < dy[n].shape.h; ++i) {
                for (int w = 0; w < shape.w; ++w) {
                    double row = std::trunc(params.elements ? numbers[n](c, i, w)
                                                            : numbers[n].data[static_cast<std::size_t>(i)]);
                    if (params.from_end && row < 0) row += shape.h;
                    if (row >= 0 && row < shape.h) image(c, static_cast<int>(row), w) += dy[n](c, i, w);
                }
            }
        }
        result.push_back(std::move(image));
    }
    return result;
}

}  // namespace

TEST_CASE("the gradient of gathered rows is the sum over the places that read them") {
    laws::Random random(4);
    for (ps::Shape const& shape : laws::odd_shapes()) {
        for (const bool elements : {false, true}) {
            for (const bool from_end : {false, true}) {
                const ps::GatherParams params{from_end, elements};
                const ps::Shape at = elements ? ps::Shape{shape.c, 4, shape.w} : ps::Shape{3, 1, 5};
                const ps::Shape read[] = {shape, at};
                const Images numbers = row_numbers(random, at, shape.h),
                             dy = laws::random_images(random, params.output(read), 3);
                CAPTURE(ps::to_string(shape));
                laws::check_images(
                    laws::run_step<ps::chw>(ps::PlacedGradientParams{{params}, shape}, {{numbers, dy}, 3}),
                    expected(params, shape, numbers, dy), 2e-6);
            }
        }
    }
}

/// Checks the gradient of an input against the slopes of the reference.
template <class Layer>
void check_gradient(Layer const& layer, std::vector<Images> const& inputs, std::size_t of) {
    CAPTURE(layer.name());
    CAPTURE(of);
    CAPTURE(ps::to_string(inputs[0][0].shape));
    std::vector<ps::Shape> shapes;
    for (Images const& input : inputs) shapes.push_back(input[0].shape);
    REQUIRE(layer.check(shapes) == ps::Fault::none);
    laws::Random random(5);
    const auto batch = static_cast<int>(inputs[0].size());
    const Images dy = laws::random_images(random, layer.output(shapes), batch, 1.0F);
    const Images slopes = laws::differences(
        inputs[of], dy,
        [&](Images const& changed) {
            Images results;
            for (std::size_t n = 0; n < dy.size(); ++n) {
                Images one;
                for (std::size_t i = 0; i < inputs.size(); ++i) one.push_back((i == of ? changed : inputs[i])[n]);
                results.push_back(reference::run(layer, one, ps::OpWeights{}, dy[0].shape));
            }
            return results;
        },
        1e-6);
    const ps::PlacedGradientParams gradient{{layer}, shapes[0], static_cast<int>(of)};
    std::vector<Images> read = inputs;
    if (!gradient.reads_image()) read.erase(read.begin());
    read.push_back(dy);
    laws::check_images(laws::run_step<ps::chw>(gradient, {read, batch}), slopes, 1e-5);
}

TEST_CASE("the gradients of scattered channels are the slopes of the reference") {
    laws::Random random(6);
    for (const ps::Shape shape : {ps::Shape{3, 2, 3}, ps::Shape{1, 1, 1}, ps::Shape{5, 1, 4}, ps::Shape{1, 30, 19}}) {
        if (quick() && shape.h > 2) continue;
        for (const ps::ScatterKind kind : {ps::ScatterKind::replace, ps::ScatterKind::add, ps::ScatterKind::multiply,
                                           ps::ScatterKind::maximum, ps::ScatterKind::minimum}) {
            const int count = shape.h > 2 ? 1 : 7, images = shape.h > 2 ? 1 : 2;
            Images at = laws::random_images(random, {1, count, 1}, images, 1.25F * static_cast<float>(shape.c));
            if (count > 1) at[0].data[1] = std::nan("");
            const std::vector<Images> inputs{laws::random_images(random, shape, images), at,
                                             laws::random_images(random, {count, shape.h, shape.w}, images)};
            check_gradient(ps::ScatterParams{kind}, inputs, 0);
            check_gradient(ps::ScatterParams{kind}, inputs, 2);
        }
    }
}

TEST_CASE("the gradients of a product with zeros, and of changes that are replaced") {
    const auto gradient = [](ps::ScatterKind kind, int of, std::vector<double> const& changes) {
        Image data({2, 1, 1}), at({1, 3, 1}), by({3, 1, 1}), dy({2, 1, 1});
        data.data = {2, 5}, at.data = {1, 1, 1}, by.data = changes, dy.data = {10, 100};
        const ps::PlacedGradientParams params{{ps::ScatterParams{kind}}, data.shape, of};
        std::vector<Images> read{{data}, {at}, {by}, {dy}};
        if (!params.reads_image()) read.erase(read.begin());
        return laws::run_step<ps::chw>(params, {read, 1})[0].data;
    };
    using Values = std::vector<double>;
    CHECK(gradient(ps::ScatterKind::multiply, 2, {3, 0, 4}) == Values{0, 6000, 0});
    CHECK(gradient(ps::ScatterKind::multiply, 0, {3, 0, 4}) == Values{10, 0});
    CHECK(gradient(ps::ScatterKind::multiply, 2, {0, 0, 4}) == Values{0, 0, 0});
    CHECK(gradient(ps::ScatterKind::replace, 2, {3, 0, 4}) == Values{0, 0, 100});
    CHECK(gradient(ps::ScatterKind::replace, 0, {3, 0, 4}) == Values{10, 0});
    // The first of equal ones gets it.
    CHECK(gradient(ps::ScatterKind::maximum, 2, {7, 7, 4}) == Values{100, 0, 0});
    CHECK(gradient(ps::ScatterKind::maximum, 0, {5, 4, 5}) == Values{10, 100});
}

TEST_CASE("the gradients of sampled images and of places are the slopes of the reference") {
    laws::Random random(7);
    for (const ps::ResizeMode mode : {ps::ResizeMode::nearest, ps::ResizeMode::linear, ps::ResizeMode::cubic}) {
        for (const ps::SamplePadding padding :
             {ps::SamplePadding::zeros, ps::SamplePadding::border, ps::SamplePadding::reflection}) {
            for (const bool corners : {false, true}) {
                for (const int depth : {0, 2}) {
                    if (depth > 0 && mode == ps::ResizeMode::cubic) continue;
                    const ps::GridSampleParams params{
                        .mode = mode, .padding = padding, .align_corners = corners, .depth = depth, .groups = 2};
                    // Some places are far outside.
                    const std::vector<Images> inputs{laws::random_images(random, {2, depth > 0 ? 4 : 5, 3}, 2),
                                                     laws::random_images(random, {4, 5, depth > 0 ? 3 : 2}, 2, 1.7F)};
                    check_gradient(params, inputs, 0);
                    check_gradient(params, inputs, 1);
                }
            }
        }
    }
    const std::vector<Images> inputs{laws::random_images(random, {3, 1, 6}, 3),
                                     laws::random_images(random, {3, 5, 2}, 3, 6.0F)};
    check_gradient(ps::GridSampleParams{.pixels = true}, inputs, 0);
    check_gradient(ps::GridSampleParams{.pixels = true}, inputs, 1);
}

TEST_CASE("the gradients of pooled boxes are the slopes of the reference") {
    laws::Random random(8);
    for (const ps::PoolKind kind : {ps::PoolKind::average, ps::PoolKind::max}) {
        for (const int samples : {0, 1, 3}) {
            for (const bool half : {false, true}) {
                const ps::RoiAlignParams params{
                    .size = {2, 3}, .kind = kind, .images = 2, .samples = samples, .scale = 0.75F, .half_pixel = half};
                const bool is_wide = samples == 1 && !half;
                const int images = is_wide ? 1 : 2;
                const Images boxes = laws::random_images(random, {1, 4, 4}, images, 6.0F);
                const Images of = laws::random_images(random, {4, 1, 1}, images, 2.0F);
                check_gradient(params, {laws::random_images(random, {is_wide ? 34 : 4, 3, 5}, images), boxes, of}, 0);
            }
        }
    }
}

}  // namespace placed_gradients
