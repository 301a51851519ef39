#include <primsel/tensor/range.hpp>

#include <doctest/doctest.h>

#include <limits>
#include <utility>

namespace ps = primsel;

TEST_CASE("a range has a byte for zero, and its bytes reach both bounds within half a step") {
    CHECK(!ps::TensorRange{}.known());
    CHECK(ps::range_of(0, 0) == ps::TensorRange{.scale = 1, .zero_point = 0});
    CHECK(ps::range_of(0, 255) == ps::TensorRange{.scale = 1, .zero_point = 0});
    CHECK(ps::range_of(-255, -100) == ps::TensorRange{.scale = 1, .zero_point = 255});
    CHECK(ps::range_of(3, 510).scale == 2);
    constexpr float largest = std::numeric_limits<float>::max(), least = std::numeric_limits<float>::denorm_min();
    const std::pair<float, float> bounds[]{{-1.0F, 2.0F},       {-0.001F, 1e6F}, {-1e6F, 0.001F},
                                           {-largest, largest}, {0.0F, least},   {-least, 0.0F}};
    for (auto const& each : bounds) {
        const float low = each.first, high = each.second;
        CAPTURE(low);
        CAPTURE(high);
        const ps::TensorRange range = ps::range_of(low, high);
        CHECK(range.known());
        CHECK(range.zero_point >= 0);
        CHECK(range.zero_point <= 255);
        const double scale = static_cast<double>(range.scale), slack = 0.5001 * scale;
        CHECK(scale * (0 - range.zero_point) <= static_cast<double>(low) + slack);
        CHECK(scale * (255 - range.zero_point) >= static_cast<double>(high) - slack);
    }
}
