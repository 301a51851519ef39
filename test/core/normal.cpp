#include <primsel/core/normal.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <random>

TEST_CASE("Normal: the same numbers on every system") {
    std::mt19937 bits(1);
    primsel::core::Normal normal;
    for (const float expected : {0x1.39c0ccp-2F, 0x1.3f9f54p-3F, -0x1.b29252p-2F, -0x1.22d61ep-1F, -0x1.a2e95cp-3F,
                                 -0x1.9cd1dcp-1F, -0x1.b706fep-2F, -0x1.333618p+0F}) {
        CHECK(normal(bits) == expected);
    }
}

TEST_CASE("Normal: mean 0, variance 1, and a normal share within one deviation") {
    std::mt19937 bits(7);
    primsel::core::Normal normal;
    constexpr int count = 100'000;
    double sum = 0, squares = 0;
    int within = 0;
    for (int i = 0; i < count; ++i) {
        const double value = normal(bits);
        sum += value, squares += value * value;
        if (std::abs(value) < 1) ++within;
    }
    CHECK(std::abs(sum / count) < 0.01);
    CHECK(std::abs(squares / count - 1) < 0.02);
    CHECK(std::abs(within / double(count) - 0.6827) < 0.006);
}
