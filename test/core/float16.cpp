#include <primsel/core/float16.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace ps = primsel;

namespace float16_tests {

/// The value by integers: a number of units of 2^-24.
double value_of(std::uint32_t bits) {
    const std::int64_t exponent = bits >> 10U & 31U, fraction = bits & 1023U;
    const std::int64_t units = exponent == 0 ? fraction : (1024 + fraction) << (exponent - 1);
    return std::ldexp(static_cast<double>((bits & 0x8000U) != 0 ? -units : units), -24);
}

/// The bits of the nearest number by integers.
std::uint32_t nearest_bits(float value) {
    const std::uint32_t sign = std::signbit(value) ? 0x8000U : 0U;
    if (std::isinf(value)) return sign | 0x7c00U;
    if (value == 0) return sign;
    int exponent = 0;
    const float fraction = std::frexp(std::abs(value), &exponent);
    auto whole = static_cast<std::uint64_t>(std::ldexp(fraction, 24));  // value = whole * 2^(exponent - 24)
    // Rounded to a multiple of 2^unit.
    const int unit = std::max(exponent - 11, -24), shift = unit - (exponent - 24);
    if (shift > 40) return sign;  // far below the least number
    const std::uint64_t half = std::uint64_t{1} << (shift - 1), rest = whole & (2 * half - 1);
    whole >>= static_cast<unsigned>(shift);
    if (rest > half || (rest == half && whole % 2 == 1)) ++whole;
    // whole * 2^unit, at most 2^11 of these.
    const std::uint64_t bits = whole + (static_cast<std::uint64_t>(unit + 24) << 10U);
    return sign | static_cast<std::uint32_t>(std::min<std::uint64_t>(bits, 0x7c00U));
}

TEST_CASE("every float16 has the value of its bits") {
    constexpr std::size_t count = 0x10000;
    std::vector<ps::float16> all(count);
    for (std::size_t i = 0; i < count; ++i) all[i].bits = static_cast<std::uint16_t>(i);
    std::vector<float> floats(count);
    ps::widen(all.data(), count, floats.data());
    std::size_t wrong = 0;
    for (std::uint32_t i = 0; i < count; ++i) {
        for (const float value : {to_float(all[i]), floats[i]}) {
            const std::uint32_t size = i & 0x7fffU;
            const bool right = size > 0x7c00U    ? std::isnan(value)
                               : size == 0x7c00U ? std::isinf(value)
                                                 : static_cast<double>(value) == value_of(i);
            wrong += right && (size > 0x7c00U || std::signbit(value) == (i >= 0x8000U)) ? 0U : 1U;
        }
    }
    CHECK(wrong == 0);
}

TEST_CASE("floats at, between and beside all float16 numbers round to the nearest, halfway to the even one") {
    std::vector<float> values{0.0F, -0.0F, 0x1p-149F, 0x1p-25F, 0x1.000002p-25F, 65519.99F, 65520.0F, -65520.0F, 1e30F};
    for (std::uint32_t i = 0; i < 0x7c00U; ++i) {
        const auto low = static_cast<float>(value_of(i)),
                   high = i == 0x7bffU ? 65536.0F : static_cast<float>(value_of(i + 1)), middle = (low + high) / 2;
        for (const float value : {low, middle, std::nextafter(middle, 0.0F), std::nextafter(middle, HUGE_VALF),
                                  low + (high - low) / 4, std::nextafter(low, HUGE_VALF)}) {
            values.push_back(value), values.push_back(-value);
        }
    }
    values.push_back(std::numeric_limits<float>::max()), values.push_back(-HUGE_VALF);
    std::vector<ps::float16> narrowed(values.size());
    ps::narrow(values.data(), values.size(), narrowed.data());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        const std::uint32_t expected = nearest_bits(values[i]);
        wrong += narrowed[i].bits == expected ? 0U : 1U;
        wrong += ps::float16::nearest(values[i]).bits == expected ? 0U : 1U;
    }
    CHECK(wrong == 0);
    std::vector<float> nan(40, std::numeric_limits<float>::quiet_NaN());
    narrowed.resize(nan.size());
    ps::narrow(nan.data(), nan.size(), narrowed.data());
    CHECK(std::ranges::all_of(narrowed, [](ps::float16 value) { return std::isnan(to_float(value)); }));
}

}  // namespace float16_tests
