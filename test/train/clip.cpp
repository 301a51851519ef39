#include <primsel/train/clip.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <span>
#include <vector>

#include "values.hpp"

namespace ps = primsel;

TEST_CASE("gradients are clipped by their length together") {
    const std::vector<float> a = values::drawn(1003, 1, 1), b = values::drawn(5, 2, 1);
    double squares = 0;
    for (const float value : a) squares += static_cast<double>(value) * value;
    for (const float value : b) squares += static_cast<double>(value) * value;
    const std::span<const float> both[] = {a, b};
    const double norm = ps::global_norm(both);
    CHECK(norm == doctest::Approx(std::sqrt(squares)).epsilon(1e-12));
    CHECK(ps::clip_factor(norm, 2 * norm) == 1);
    CHECK(ps::clip_factor(norm, norm / 4) == doctest::Approx(0.25));
    CHECK(ps::clip_factor(HUGE_VAL, 1) == 1);
    std::vector<float> clipped = a;
    ps::scale_gradient(clipped, 0.5);
    for (std::size_t i = 0; i < a.size(); ++i) CHECK(clipped[i] == a[i] / 2);
    CHECK(ps::global_norm({}) == 0);
    const std::vector<float> huge(3, 1e30F);  // their squares are no floats
    const std::span<const float> one[] = {huge};
    CHECK(ps::global_norm(one) == doctest::Approx(std::sqrt(3.0) * 1e30));
}
