#include <primsel/core/clamp.hpp>

#include <doctest/doctest.h>

#include <limits>

namespace ps = primsel;

static_assert(!ps::Clamp{}.bounded());
static_assert(ps::Clamp{.low = 0}.bounded());
static_assert(ps::Clamp{.high = 0}.bounded());

TEST_CASE("Clamp: the bounds of ReLU and ReLU6") {
    constexpr float infinity = std::numeric_limits<float>::infinity();
    CHECK(ps::relu_clamp == ps::Clamp{.low = 0, .high = infinity});
    CHECK(ps::relu6_clamp == ps::Clamp{.low = 0, .high = 6});
    CHECK(ps::Clamp{}.low == -infinity);
    CHECK(ps::Clamp{}.high == infinity);
}
