#include <primsel/core/bfloat16.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>
#include <random>

namespace ps = primsel;

namespace bfloat16_tests {

/// By arithmetic on doubles, which hold every float and the middle between two bfloat16 numbers.
float nearest(float value) {
    int exponent = 0;
    std::frexp(value, &exponent);
    const double unit = std::ldexp(1.0, std::max(exponent, -125) - 8);
    return static_cast<float>(std::nearbyint(static_cast<double>(value) / unit) * unit);
}

TEST_CASE("every bfloat16 becomes a float and returns to the same bits") {
    for (std::uint32_t bits = 0; bits < 0x10000U; ++bits) {
        const ps::bfloat16 value{static_cast<std::uint16_t>(bits)};
        const float wide = to_float(value);
        CHECK(std::bit_cast<std::uint32_t>(wide) == bits << 16U);
        if (std::isnan(wide)) {
            CHECK(std::isnan(to_float(ps::to_bfloat16(wide))));
        } else {
            CHECK(ps::to_bfloat16(wide) == value);
        }
    }
}

TEST_CASE("floats round to the nearest bfloat16, halfway to the even one") {
    std::mt19937 bits(3);
    for (int i = 0; i < 20'000; ++i) {
        const float value = std::bit_cast<float>(static_cast<std::uint32_t>(bits()));
        if (!std::isfinite(value) || std::abs(value) > 3.3e38F) continue;
        CHECK(to_float(ps::to_bfloat16(value)) == nearest(value));
    }
    CHECK(to_float(ps::to_bfloat16(0x1.01p0F)) == 1.0F);       // halfway between 1 and 1 + 2^-7
    CHECK(to_float(ps::to_bfloat16(0x1.03p0F)) == 0x1.04p0F);  // halfway to an odd one
    CHECK(to_float(ps::to_bfloat16(0x1.010002p0F)) == 0x1.02p0F);
    CHECK(std::isinf(to_float(ps::to_bfloat16(std::numeric_limits<float>::max()))));
    CHECK(std::isinf(to_float(ps::to_bfloat16(std::numeric_limits<float>::infinity()))));
    CHECK(std::isnan(to_float(ps::to_bfloat16(std::bit_cast<float>(0x7f80'0001U)))));
    CHECK(ps::to_bfloat16(-0.0F).bits == 0x8000U);
}

}  // namespace bfloat16_tests
