#include <primsel/core/simd.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>

namespace {

namespace ps = primsel;
using Arch = ps::default_arch;
using V = ps::Floats<Arch>;

constexpr float infinity = std::numeric_limits<float>::infinity();
const float nan = std::nanf("");

/// All lanes must be equal, NaN too.
float value_of(V const& value) {
    float lane[ps::lanes<Arch>];
    ps::store<Arch>(lane, value);
    for (const float x : lane) CHECK((x == lane[0] || (std::isnan(x) && std::isnan(lane[0]))));
    return lane[0];
}

TEST_CASE("clamp holds values between the bounds and keeps NaN, in vectors and alone") {
    for (const float x : {-infinity, -3.0F, -0.5F, 0.0F, 1.0F, 5.5F, 7.0F, infinity}) {
        for (const auto& [low, high] :
             {std::pair{0.0F, 6.0F}, {-infinity, infinity}, {0.0F, infinity}, {-1.0F, 1.0F}}) {
            const float expected = x < low ? low : x > high ? high : x;
            CHECK(ps::clamp(x, low, high) == expected);
            CHECK(value_of(ps::clamp<Arch>(V(x), V(low), V(high))) == expected);
        }
    }
    CHECK(std::isnan(ps::clamp(nan, 0.0F, 6.0F)));
    CHECK(std::isnan(value_of(ps::clamp<Arch>(V(nan), V(0.0F), V(6.0F)))));
    CHECK(std::isnan(value_of(ps::clamp<Arch>(V(nan), V(-infinity), V(infinity)))));
}

TEST_CASE("max and min are NaN where their second operand is") {
    CHECK(value_of(ps::max<Arch>(V(1.0F), V(2.0F))) == 2.0F);
    CHECK(value_of(ps::min<Arch>(V(1.0F), V(2.0F))) == 1.0F);
    CHECK(std::isnan(value_of(ps::max<Arch>(V(1.0F), V(nan)))));
    CHECK(std::isnan(value_of(ps::min<Arch>(V(1.0F), V(nan)))));
}

TEST_CASE("fma multiplies and adds, with one rounding where there is an instruction for it") {
    CHECK(value_of(ps::fma<Arch>(V(3.0F), V(4.0F), V(-5.0F))) == 7.0F);
    constexpr float e = std::numeric_limits<float>::epsilon();
    // (1 + e)(1 - e) - 1 = -e^2 is 0 if the product is rounded first.
    const float fused = value_of(ps::fma<Arch>(V(1 + e), V(1 - e), V(-1.0F)));
#if defined(__FMA__) || defined(__aarch64__)
    CHECK(fused == -e * e);
#else
    CHECK((fused == -e * e || fused == 0.0F));
#endif
}

TEST_CASE("log is within a few roundings of the library's") {
    for (const float x : {1e-37F, 0.003F, 0.5F, 1.0F, 1.5F, 10.0F, 12345.0F, 3e38F}) {
        CHECK(value_of(ps::log<Arch>(V(x))) == doctest::Approx(std::log(x)).epsilon(1e-6));
    }
    CHECK(std::isnan(value_of(ps::log<Arch>(V(-1.0F)))));
}

TEST_CASE("loads and stores at any address") {
    float src[3 * ps::lanes<Arch>], dst[3 * ps::lanes<Arch>] = {};
    for (int i = 0; i < 3 * ps::lanes<Arch>; ++i) src[i] = static_cast<float>(i);
    for (int at = 0; at <= ps::lanes<Arch>; ++at) {
        ps::store<Arch>(dst + at + 1, ps::load<Arch>(src + at));
        for (int i = 0; i < ps::lanes<Arch>; ++i) CHECK(dst[at + 1 + i] == src[at + i]);
    }
}

TEST_CASE("transpose of four rows") {
    float element[16];
    for (int i = 0; i < 16; ++i) element[i] = static_cast<float>(i);
    ps::FourFloats row[4];
    for (int i = 0; i < 4; ++i) row[i] = ps::FourFloats::load_unaligned(element + 4 * i);
    ps::transpose(row[0], row[1], row[2], row[3]);
    for (int i = 0; i < 4; ++i) {
        float column[4];
        row[i].store_unaligned(column);
        for (int j = 0; j < 4; ++j) CHECK(column[j] == element[4 * j + i]);
    }
}

}  // namespace
