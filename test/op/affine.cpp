#include "laws.hpp"

#include <primsel/op/affine.hpp>

namespace {

namespace ps = primsel;

TEST_CASE("batch norm and scale agree with the reference in every layout") {
    std::vector<ps::Shape> shapes = laws::odd_shapes();
    shapes.push_back({3, 50, 60});  // few channels, many pixels
    shapes.push_back({5, 3, 11});
    for (ps::Shape const& shape : shapes) {
        laws::Random random(5);
        const std::vector<float> factor = random.floats(static_cast<std::size_t>(shape.c));
        const std::vector<float> shift = random.floats(static_cast<std::size_t>(shape.c));
        laws::check(ps::BatchNormParams{}, shape, 1e-6, {.kernel = factor, .bias = shift});
        laws::check(ps::ScaleParams{}, shape, 1e-6, {.kernel = factor, .bias = shift});
        laws::check(ps::ScaleParams{}, shape, 1e-6, {.kernel = factor, .bias = {}});
        const std::vector<float> factors(factor.size(), 1.7F), shifts(factor.size(), -0.3F);
        laws::check(ps::ScaleParams{.known = true, .factor = 1.7F, .shift = -0.3F}, shape, 1e-6,
                    {.kernel = factors, .bias = shifts});
    }
}

}  // namespace
