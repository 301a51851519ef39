// Gradients along an axis, and dropout.
#include "gradient_laws.hpp"

#include <primsel/op/lrn_gradient.hpp>
#include <primsel/op/random_dropout.hpp>
#include <primsel/op/softmax_gradient.hpp>

namespace {

namespace ps = primsel;
using laws::Image;
using laws::Images;

/// From the formula: dx = dy / s^beta - 2 * alpha * beta / size * x * sum of dy * y / s.
Image lrn_gradient(ps::LrnParams const& p, Image const& x, Image const& dy) {
    const double alpha = static_cast<double>(p.alpha) / p.size, beta = static_cast<double>(p.beta);
    const int back = p.size / 2, ahead = (p.size - 1) / 2, channels = x.shape.c;
    return reference::build(x.shape, [&](int c, int h, int w) {
        const auto base = [&](int at) {
            double sum = 0;
            for (int i = std::max(at - back, 0); i <= std::min(at + ahead, channels - 1); ++i) {
                sum += x(i, h, w) * x(i, h, w);
            }
            return static_cast<double>(p.k) + alpha * sum;
        };
        double sum = 0;
        for (int i = std::max(c - ahead, 0); i <= std::min(c + back, channels - 1); ++i) {
            sum += dy(i, h, w) * x(i, h, w) * std::pow(base(i), -beta - 1);
        }
        return dy(c, h, w) * std::pow(base(c), -beta) - 2 * alpha * beta * x(c, h, w) * sum;
    });
}

std::vector<ps::LrnParams> lrns() {
    return {ps::LrnParams{},
            ps::LrnParams{.size = 1, .alpha = 0.5F},
            ps::LrnParams{.size = 4, .alpha = 0.7F, .beta = 0.75F, .k = 2.0F},
            ps::LrnParams{.size = 3, .alpha = 0.3F, .beta = 0.6F, .k = 0.5F},
            ps::LrnParams{.size = 9, .alpha = 2.0F, .beta = 1.0F, .k = 0.3F},
            ps::LrnParams{.size = 64, .alpha = 1.0F},
            ps::LrnParams{.size = 70, .alpha = 1.0F}};
}

TEST_CASE("the gradient of LRN agrees with its formula") {
    laws::Random random(1);
    std::vector<ps::Shape> shapes = laws::odd_shapes();
    shapes.insert(shapes.end(), {{600, 1, 2}, {16, 9, 7}});
    for (ps::LrnParams const& params : lrns()) {
        CAPTURE(params.size);
        for (ps::Shape const& shape : shapes) {
            const Images x = laws::random_images(random, shape, 2), dy = laws::random_images(random, shape, 2);
            laws::check_step(ps::LrnGradientParams{params}, {{x, laws::forward(params, x), dy}, 2},
                             {lrn_gradient(params, x[0], dy[0]), lrn_gradient(params, x[1], dy[1])}, 5e-6);
        }
    }
}

TEST_CASE("the gradient of LRN is the slope of the loss") {
    laws::Random random(2);
    for (ps::LrnParams const& params : lrns()) {
        const Images x = laws::random_images(random, {7, 2, 3}, 2), dy = laws::random_images(random, {7, 2, 3}, 2);
        const auto function = [&](Images const& at) { return laws::forward(params, at); };
        laws::check_step(ps::LrnGradientParams{params}, {{x, laws::forward(params, x), dy}, 2},
                         laws::differences(x, dy, function), 1e-5);
    }
}

TEST_CASE("the gradient of softmax is the slope of the loss") {
    laws::Random random(3);
    for (const ps::Axis axis : {ps::Axis::c, ps::Axis::h, ps::Axis::w}) {
        const ps::SoftmaxParams params{axis};
        for (ps::Shape const& shape : laws::odd_shapes()) {
            const Images x = laws::random_images(random, shape, 2), dy = laws::random_images(random, shape, 2);
            const Images y = laws::forward(params, x);
            Images expected = y;
            for (std::size_t n = 0; n < 2; ++n) {
                expected[n] = reference::build(shape, [&](int c, int h, int w) {
                    double sum = 0;
                    for (int i = 0; i < extent(shape, axis); ++i) {
                        const int at[] = {axis == ps::Axis::c ? i : c, axis == ps::Axis::h ? i : h,
                                          axis == ps::Axis::w ? i : w};
                        sum += y[n](at[0], at[1], at[2]) * dy[n](at[0], at[1], at[2]);
                    }
                    return y[n](c, h, w) * (dy[n](c, h, w) - sum);
                });
            }
            const ps::SoftmaxGradientParams gradient{params};
            laws::check_step(gradient, {{y, dy}, 2}, expected, 1e-6);
            if (shape.size() > 200) continue;
            const auto function = [&](Images const& at) { return laws::forward(params, at); };
            laws::check_step(gradient, {{y, dy}, 2}, laws::differences(x, dy, function), 1e-5);
        }
    }
}

Image seed_of(double first, double second) {
    Image seed({2, 1, 1});
    seed(0, 0, 0) = first, seed(1, 0, 0) = second;
    return seed;
}
Images dropped(ps::RandomDropoutParams const& params, Images const& x, Image const& seed, std::size_t first = 0) {
    const laws::Step step{{x, {seed}}, static_cast<int>(x.size())};
    const Images y = laws::run_step<ps::chw>(params, step, false, {}, first);
    for_each_order([&]<class L>(L) {
        for (const bool in_place : {false, true}) {
            const Images other = laws::run_step<L>(params, step, in_place, {}, first);
            for (std::size_t n = 0; n < y.size(); ++n) CHECK(other[n].data == y[n].data);
        }
    });
    return y;
}
Images ones(ps::Shape shape, std::size_t count) {
    Images x(count, Image(shape));
    for (Image& image : x) std::ranges::fill(image.data, 1.0);
    return x;
}

TEST_CASE("dropout drops the same elements in every layout, and scales the others") {
    laws::Random random(5);
    for (ps::Shape const& shape : laws::odd_shapes()) {
        const ps::RandomDropoutParams params{.rate = 0.25F, .stream = 7};
        const Image seed = seed_of(123, 456);
        const Images x = laws::random_images(random, shape, 3), y = dropped(params, x, seed),
                     keep = dropped(params, ones(shape, 3), seed);
        for (std::size_t n = 0; n < 3; ++n) {
            for (std::size_t i = 0; i < x[n].data.size(); ++i) {
                const double factor = keep[n].data[i];
                CHECK((factor == 0 || factor == static_cast<double>(1 / 0.75F)));
                CHECK(y[n].data[i] == doctest::Approx(factor * x[n].data[i]).epsilon(1e-6));
            }
        }
        // One by one as all at once.
        for (std::size_t n = 0; n < 3; ++n) CHECK(dropped(params, {x[n]}, seed, n)[0].data == y[n].data);
    }
}

TEST_CASE("dropout: shares, and independence of seeds, streams, images and neighbours") {
    const ps::Shape shape{40, 25, 20};
    const auto kept = [](Images const& y) {
        std::vector<double> result;
        for (Image const& image : y) {
            for (const double value : image.data) result.push_back(value == 0 ? 0 : 1);
        }
        return result;
    };
    const auto mean = [](std::vector<double> const& values) {
        double sum = 0;
        for (const double value : values) sum += value;
        return sum / static_cast<double>(values.size());
    };
    // There are 20000 elements; five deviations are 0.018.
    for (const float rate : {0.1F, 0.5F, 0.9F}) {
        const auto first = kept(dropped({rate, 0}, ones(shape, 1), seed_of(1, 2)));
        const double share = 1 - static_cast<double>(rate), both = share * share;
        CHECK(std::abs(mean(first) - share) < 0.018);
        for (auto const& other : {kept(dropped({rate, 1}, ones(shape, 1), seed_of(1, 2))),
                                  kept(dropped({rate, 0}, ones(shape, 1), seed_of(2, 2))),
                                  kept(dropped({rate, 0}, ones(shape, 1), seed_of(1, 3))),
                                  kept(dropped({rate, 0}, ones(shape, 1), seed_of(1, 2), 1))}) {
            std::vector<double> products;
            for (std::size_t i = 0; i < first.size(); ++i) products.push_back(first[i] * other[i]);
            CHECK(std::abs(mean(products) - both) < 0.018);
        }
        for (const std::size_t apart : {1U, 2U, 16U, 20U, 500U}) {
            std::vector<double> products;
            for (std::size_t i = 0; i + apart < first.size(); ++i) products.push_back(first[i] * first[i + apart]);
            CHECK(std::abs(mean(products) - both) < 0.018);
        }
    }
    CHECK(mean(kept(dropped({0.0F, 0}, ones(shape, 1), seed_of(0, 0)))) == 1);
    CHECK(mean(kept(dropped({1.0F, 0}, ones(shape, 1), seed_of(0, 0)))) == 0);
}

}  // namespace
