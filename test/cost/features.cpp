#include <primsel/cost/features.hpp>

#include <doctest/doctest.h>

#include <array>
#include <cmath>
#include <cstddef>

namespace cost_features {

namespace ps = primsel;
using Kind = ps::ConvFeatures::Kind;

TEST_CASE("features: so many of each kind") {
    std::array<int, ps::ConvFeatures::kinds> members{};
    for (std::size_t i = 0; i < ps::ConvFeatures::count; ++i) {
        ++members[static_cast<std::size_t>(ps::ConvFeatures::kind_of(i))];
    }
    CHECK(members == std::array{3, 2, 14, 24, 18});
}

TEST_CASE("features: waste is a factor up to the block, a power of two divides") {
    const auto features = ps::ConvFeatures::of({.c = 24, .k = 17, .h = 13, .w = 13, .fh = 3, .fw = 3});
    for (std::size_t i = 0; i < features.size(); ++i) {
        CAPTURE(i);
        const double value = std::exp(features[i]);
        if (ps::ConvFeatures::kind_of(i) == Kind::waste) CHECK((value > 0.999 && value < 16.001));
        if (ps::ConvFeatures::kind_of(i) == Kind::power_of_two) {
            CHECK(std::abs(std::log2(value) - std::round(std::log2(value))) < 1e-5);
        }
    }
    CHECK(std::exp(features[0]) == doctest::Approx(24));
    CHECK(ps::ConvFeatures::kind_of(0) == Kind::image);
    CHECK(ps::ConvFeatures::kind_of(ps::ConvFeatures::raw - 1) == Kind::kernel);
}

}  // namespace cost_features
