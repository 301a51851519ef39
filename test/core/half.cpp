#include <primsel/core/half.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstdint>
#include <initializer_list>

namespace {

using primsel::core::float_to_half;
using primsel::core::half_to_float;

TEST_CASE("every half comes back as the same bits") {
    std::uint32_t changed = 0;
    for (std::uint32_t half = 0; half < 0x10000; ++half) {
        const auto bits = static_cast<std::uint16_t>(half);
        changed += float_to_half(half_to_float(bits)) != bits ? 1U : 0U;
    }
    CHECK(changed == 0);
}

TEST_CASE("a float becomes the nearest half, of two the even one") {
    std::uint32_t wrong = 0;
    for (std::uint32_t half = 0; half < 0x7bff; ++half) {
        const auto low = static_cast<std::uint16_t>(half), high = static_cast<std::uint16_t>(half + 1);
        const float middle = (half_to_float(low) + half_to_float(high)) / 2;  // exact
        const std::uint16_t even = half % 2 == 0 ? low : high;
        wrong += float_to_half(middle) != even ? 1U : 0U;
        wrong += float_to_half(-middle) != (even | 0x8000U) ? 1U : 0U;
        wrong += float_to_half(std::nextafter(middle, 0.0F)) != low ? 1U : 0U;
        wrong += float_to_half(std::nextafter(middle, HUGE_VALF)) != high ? 1U : 0U;
    }
    CHECK(wrong == 0);
}

TEST_CASE("beyond the halves lies infinity, and NaN stays NaN") {
    CHECK(half_to_float(float_to_half(std::nextafter(65520.0F, 0.0F))) == 65504.0F);
    for (const float large : {65520.0F, 1e38F, HUGE_VALF}) {
        CHECK(half_to_float(float_to_half(large)) == HUGE_VALF);
        CHECK(half_to_float(float_to_half(-large)) == -HUGE_VALF);
    }
    for (const std::uint32_t bits : {0x7fc0'0000U, 0x7f80'0001U, 0xffff'ffffU}) {
        CHECK(std::isnan(half_to_float(float_to_half(std::bit_cast<float>(bits)))));
    }
    for (const float tiny : {0.0F, 0x1p-149F, 0x1p-127F, 0x1p-25F}) CHECK(float_to_half(tiny) == 0);
    CHECK(float_to_half(-0.0F) == 0x8000U);
}

}  // namespace
