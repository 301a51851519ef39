#include "gradient_laws.hpp"

#include <primsel/op/activation_gradient.hpp>

namespace {

namespace ps = primsel;
using laws::Image;
using laws::Images;

using ps::ActivationKind;
using ps::ActivationParams;

TEST_CASE("the gradient of each function is the slope of the loss") {
    laws::Random random(5);
    for (int kind = 0; kind < ps::activation_kinds; ++kind) {
        for (const float alpha : {0.25F, -0.5F, 2.0F, 3.0F}) {
            const ActivationParams params{static_cast<ActivationKind>(kind), alpha, alpha + 0.75F};
            CAPTURE(params.name());
            CAPTURE(alpha);
            const ps::ActivationGradientParams gradient{params};
            const ps::Shape any[] = {{3, 5, 7}, {3, 5, 7}};
            CHECK((gradient.check(any) == ps::Fault::none) ==
                  ps::ActivationGradientParams::differentiable(params.kind));
            if (!ps::ActivationGradientParams::differentiable(params.kind)) continue;
            for (ps::Shape const& shape : {ps::Shape{3, 5, 7}, ps::Shape{1, 1, 1}, ps::Shape{33, 2, 3}}) {
                Images x = laws::random_images(random, shape, 2, 1.0F);
                for (Image& image : x) {
                    for (double& value : image.data) {
                        // Where the function is defined, and away from its kinks.
                        if (params.kind == ActivationKind::sqrt || params.kind == ActivationKind::log ||
                            params.kind == ActivationKind::power) {
                            value = std::abs(value) + 0.125;
                        }
                        if (params.kind == ActivationKind::acosh) value = std::abs(value) + 1.25;
                        if (params.kind == ActivationKind::asin || params.kind == ActivationKind::acos ||
                            params.kind == ActivationKind::atanh) {
                            value *= 0.875;
                        }
                        if (params.kind == ActivationKind::relu6 || params.kind == ActivationKind::hard_swish ||
                            params.kind == ActivationKind::shrink || params.kind == ActivationKind::thresholded_relu)
                            value *= 8;
                        value = static_cast<double>(static_cast<float>(value));
                    }
                }
                const Images y = laws::forward(params, x), dy = laws::random_images(random, shape, 2);
                const auto function = [&](Images const& at) { return laws::forward(params, at); };
                const bool of_result = ps::ActivationGradientParams::from_result(params);
                laws::check_step(gradient, {{of_result ? y : x, dy}, 2},
                                 laws::differences_of_elements(x, dy, function, 1e-6), 2e-5);
            }
        }
    }
}

TEST_CASE("gradients at kinks are PyTorch's") {
    const auto at = [](ActivationParams const& params, double value) {
        Image v({1, 1, 1}), dy({1, 1, 1});
        v(0, 0, 0) = value, dy(0, 0, 0) = 3;
        return laws::run_step<ps::chw>(ps::ActivationGradientParams{params}, {{{v}, {dy}}, 1})[0](0, 0, 0);
    };
    CHECK(at({ActivationKind::relu}, 0) == 0);
    CHECK(at({ActivationKind::relu6}, 0) == 0);
    CHECK(at({ActivationKind::relu6}, 6) == 0);
    CHECK(at({ActivationKind::relu6}, 5) == 3);
    CHECK(at({ActivationKind::clip, -1, 2}, -1) == 0);
    CHECK(at({ActivationKind::clip, -1, 2}, 2) == 0);
    CHECK(at({ActivationKind::clip, -1, 2}, 0) == 3);
    CHECK(at({ActivationKind::leaky_relu, 0.5F}, 0) == 1.5);
    CHECK(at({ActivationKind::elu, 0.5F}, 0) == 1.5);
    CHECK(at({ActivationKind::hard_sigmoid, 0.5F, 0.5F}, 0) == 0);
    CHECK(at({ActivationKind::hard_sigmoid, 0.5F, 0.5F}, 1) == 0);
    CHECK(at({ActivationKind::hard_swish}, -3) == 0);
    CHECK(at({ActivationKind::hard_swish}, 3) == 3);
    CHECK(at({ActivationKind::abs}, 0) == 0);
    CHECK(at({ActivationKind::power, 0}, 0) == 0);
}

}  // namespace
