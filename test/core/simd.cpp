#include <primsel/core/simd.hpp>

#include <doctest/doctest.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
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

/// The values that functions of floats must not mix up: both zeros, both infinities, NaN, halves, the ends of the
/// range.
const float special[] = {0.0F, -0.0F, 1.0F,          -1.0F,    0.5F,      -0.5F,      1.5F,
                         2.5F, -2.5F, 0.49999997F,   1e-40F,   -1e-40F,   8388609.0F, -8388607.5F,
                         4e9F, -4e9F, 3.4028235e38F, infinity, -infinity, nan};

bool same_bits(float a, float b) {
    return std::isnan(a) ? std::isnan(b) : std::bit_cast<std::uint32_t>(a) == std::bit_cast<std::uint32_t>(b);
}

bool same_value(float a, float b) { return a == b || (std::isnan(a) && std::isnan(b)); }

// Not !=, which nothing uses: xsimd 8.1 takes NaN for equal to everything with AVX-512.
TEST_CASE("max, min, clamp and comparisons choose as scalars do, with NaN and zeros of either sign") {
    for (const float a : special) {
        for (const float b : special) {
            CAPTURE(a);
            CAPTURE(b);
            CHECK(same_bits(value_of(ps::max<Arch>(V(a), V(b))), a > b ? a : b));
            CHECK(same_bits(value_of(ps::min<Arch>(V(a), V(b))), a < b ? a : b));
            const auto chosen = [](auto const& mask) { return value_of(xsimd::select(mask, V(1.0F), V(0.0F))) != 0; };
            CHECK(chosen(V(a) < V(b)) == (a < b));
            CHECK(chosen(V(a) <= V(b)) == (a <= b));
            CHECK(chosen(V(a) > V(b)) == (a > b));
            CHECK(chosen(V(a) >= V(b)) == (a >= b));
            CHECK(chosen(V(a) == V(b)) == (a == b));
            if (a <= b) {
                for (const float x : special) {
                    CHECK(same_bits(value_of(ps::clamp<Arch>(V(x), V(a), V(b))), ps::clamp(x, a, b)));
                }
            }
        }
    }
}

// Without SSE4.1 xsimd rounds in several steps, which lose the sign of zero; with AVX-512 it subtracts from 0 to
// negate.
TEST_CASE("roots, absolute values and roundings are the library's for every kind of float") {
    for (const float x : special) {
        CAPTURE(x);
        CHECK(same_bits(value_of(xsimd::abs(V(x))), std::abs(x)));
        CHECK(same_value(value_of(-V(x)), -x));
        CHECK(same_value(value_of(xsimd::floor(V(x))), std::floor(x)));
        CHECK(same_value(value_of(xsimd::ceil(V(x))), std::ceil(x)));
        CHECK(same_value(value_of(xsimd::trunc(V(x))), std::trunc(x)));
        CHECK(same_value(value_of(xsimd::nearbyint(V(x))), std::nearbyint(x)));
        CHECK(same_bits(value_of(ps::square_root<Arch>(V(x))), std::sqrt(x)));
    }
}

/// Every `step`th float of either sign, the infinities and NaN among them.
template <class F>
void for_floats(std::uint32_t step, F const& f) {
    for (std::uint64_t bits = 0; bits <= 0xffffffffU; bits += step)
        f(std::bit_cast<float>(static_cast<std::uint32_t>(bits)));
    for (const float x : special) f(x);
    for (const float border : {-104.0F, -87.33654F, 88.3763F, 88.7228394F}) {
        for (int i = -20; i <= 20; ++i) {
            f(std::bit_cast<float>(std::bit_cast<std::uint32_t>(border) + static_cast<std::uint32_t>(i)));
        }
    }
}

TEST_CASE("exp is within a few roundings over all floats") {
    float worst = 0;
    for_floats(4001, [&worst](float x) {
        const double want = std::exp(static_cast<double>(x));
        const float got = value_of(ps::exp<Arch>(V(x))), nearest = static_cast<float>(want);
        if (std::isnan(x) || std::isinf(nearest) || std::isinf(got) || want == 0) {
            if (!same_bits(got, nearest)) FAIL_CHECK(x, ": ", got, " instead of ", nearest);
            return;
        }
        if (got == 0 && want < 0x1p-126) return;
        const double ulp = std::ldexp(1.0, std::max(std::ilogb(want) - 23, -149));
        worst = std::max(worst, static_cast<float>(std::abs(got - want) / ulp));
    });
    CHECK(worst <= 1.5F);
    for_floats(4001, [](float x) {
        if (x > 88.0F) return;
        const float got = value_of(ps::exp<Arch, false>(V(x))), same = value_of(ps::exp<Arch>(V(x)));
        if (!same_bits(got, same)) FAIL_CHECK(x, ": ", got, " instead of ", same);
    });
    for (const float x : {88.3763F, 88.7F, 88.7228F, 88.72283F}) CHECK(value_of(ps::exp<Arch>(V(x))) < infinity);
    CHECK(value_of(ps::exp<Arch>(V(88.7229F))) == infinity);
    CHECK(value_of(ps::exp<Arch>(V(-87.3365F))) == doctest::Approx(std::exp(-87.3365F)).epsilon(1e-6));
}

TEST_CASE("exp_minus_one is within a few roundings for all floats up to 88") {
    double worst = 0;
    for_floats(4001, [&worst](float x) {
        if (x > 88.0F) return;
        const double want = std::expm1(static_cast<double>(x));
        const float got = value_of(ps::exp_minus_one<Arch>(V(x)));
        if (std::isnan(x)) {
            CHECK(std::isnan(got));
            return;
        }
        const double ulp = std::ldexp(1.0, std::max(want == 0 ? -149 : std::ilogb(want) - 23, -149));
        worst = std::max(worst, std::abs(got - want) / ulp);
    });
    CHECK(worst <= 2);
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
