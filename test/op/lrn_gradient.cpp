#include "gradient_laws.hpp"

#include <primsel/op/lrn_gradient.hpp>

namespace {

namespace ps = primsel;
using laws::Image;
using laws::Images;

/// From the formula: dx = dy / s^beta - 2 * alpha * beta / size * x * sum of dy * y / s.
Image lrn_gradient(ps::LrnParams const& p, Image const& x, Image const& dy) {
    const double alpha = static_cast<double>(p.alpha) / p.size, beta = static_cast<double>(p.beta);
    const int back = p.size / 2, ahead = (p.size - 1) / 2, channels = x.shape.c;
    const Image base = reference::build(x.shape, [&](int c, int h, int w) {
        double sum = 0;
        for (int i = std::max(c - back, 0); i <= std::min(c + ahead, channels - 1); ++i) sum += x(i, h, w) * x(i, h, w);
        return static_cast<double>(p.k) + alpha * sum;
    });
    const Image term = reference::build(
        x.shape, [&](int c, int h, int w) { return dy(c, h, w) * x(c, h, w) * std::pow(base(c, h, w), -beta - 1); });
    return reference::build(x.shape, [&](int c, int h, int w) {
        double sum = 0;
        for (int i = std::max(c - ahead, 0); i <= std::min(c + back, channels - 1); ++i) sum += term(i, h, w);
        return dy(c, h, w) * std::pow(base(c, h, w), -beta) - 2 * alpha * beta * x(c, h, w) * sum;
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
    std::size_t turn = 0;
    for (ps::LrnParams const& params : lrns()) {
        CAPTURE(params.size);
        for (ps::Shape const& shape : shapes) {
            if (turn++ % 3 != 0 && quick()) continue;
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

}  // namespace
