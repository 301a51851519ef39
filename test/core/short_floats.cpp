#include <primsel/core/bfloat16.hpp>
#include <primsel/core/float16.hpp>

#include <doctest/doctest.h>

#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <vector>

namespace ps = primsel;

namespace short_floats_tests {

static_assert(ps::ShortFloat<ps::bfloat16> && ps::ShortFloat<ps::float16> && !ps::ShortFloat<float>);

TEST_CASE_TEMPLATE("vectors and rows convert as single numbers do", Short, ps::bfloat16, ps::float16) {
    constexpr std::size_t width = ps::lanes<ps::default_arch>, count = 3 * width + 1;
    std::mt19937 bits(5);
    std::normal_distribution<float> normal(0.0F, 1e3F);
    std::vector<float> values(count);
    for (float& value : values) value = normal(bits);
    values[1] = std::numeric_limits<float>::quiet_NaN(), values[2] = std::numeric_limits<float>::infinity();
    std::vector<Short> narrowed(count), by_vectors(width + 1, Short{7});
    ps::narrow(values.data(), count, narrowed.data());
    for (std::size_t i = 0; i < count; ++i) CHECK(narrowed[i] == Short::nearest(values[i]));
    ps::store_narrow<ps::default_arch>(by_vectors.data(), ps::load<ps::default_arch>(values.data()));
    for (std::size_t i = 0; i < width; ++i) CHECK(by_vectors[i] == narrowed[i]);
    CHECK(by_vectors[width].bits == 7);

    std::vector<float> widened(count);
    ps::widen(narrowed.data(), count, widened.data());
    float vector[width];
    ps::store<ps::default_arch>(vector, ps::load_wide<ps::default_arch>(narrowed.data()));
    CHECK(std::memcmp(vector, widened.data(), sizeof(vector)) == 0);
    for (std::size_t i = 0; i < count; ++i) {
        const float one = to_float(narrowed[i]);
        CHECK(std::memcmp(&widened[i], &one, sizeof(float)) == 0);
    }
}

TEST_CASE_TEMPLATE("rows of all numbers become floats and return to the same bits", Short, ps::bfloat16, ps::float16) {
    constexpr std::size_t count = 0x10000;
    std::vector<Short> all(count), again(count);
    for (std::size_t i = 0; i < count; ++i) all[i].bits = static_cast<std::uint16_t>(i);
    std::vector<float> floats(count);
    ps::widen(all.data(), count, floats.data());
    ps::narrow(floats.data(), count, again.data());
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < count; ++i) {
        const float one = to_float(all[i]);
        // The smallest numbers of bfloat16 are subnormal floats, which an instruction may take for zero.
        const bool subnormal = one != 0 && std::abs(one) < std::numeric_limits<float>::min();
        if (std::isnan(one)) {
            wrong += std::isnan(floats[i]) && std::isnan(to_float(again[i])) ? 0U : 1U;
        } else {
            wrong += std::bit_cast<std::uint32_t>(floats[i]) == std::bit_cast<std::uint32_t>(one) ? 0U : 1U;
            wrong += again[i] == all[i] || subnormal ? 0U : 1U;
        }
    }
    CHECK(wrong == 0);
}

}  // namespace short_floats_tests
