#include "gradient_laws.hpp"

#include <primsel/op/softmax_gradient.hpp>

namespace {

namespace ps = primsel;
using laws::Image;
using laws::Images;

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

}  // namespace
