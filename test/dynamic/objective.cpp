#include "points.hpp"

#include <primsel/dynamic/objective.hpp>

#include <doctest/doctest.h>

#include <random>
#include <vector>

namespace governing {

namespace ps = primsel;

struct MayThrow {
    bool operator()(ps::dynamic::OperatingPoint const&, ps::dynamic::OperatingPoint const&) const { return false; }
};
static_assert(!ps::dynamic::Objective<MayThrow> && !ps::dynamic::Objective<int>);

TEST_CASE("objectives: their first wish decides, then the second, then the third") {
    const ps::dynamic::OperatingPoint base{.seconds = 2, .joules = 2, .accuracy = 0.5};
    ps::dynamic::OperatingPoint accurate = base, cheap = base, fast = base;
    accurate.accuracy = 0.6, accurate.joules = 3, accurate.seconds = 3;
    cheap.joules = 1, cheap.accuracy = 0.4, cheap.seconds = 3;
    fast.seconds = 1, fast.accuracy = 0.4, fast.joules = 3;
    CHECK(ps::dynamic::MostAccurate{}(accurate, base));
    CHECK(ps::dynamic::LeastEnergy{}(cheap, base));
    CHECK(ps::dynamic::LeastTime{}(fast, base));
    ps::dynamic::OperatingPoint less_energy = base, more_accurate = base, faster = base;
    less_energy.joules = 1, less_energy.seconds = 3;
    more_accurate.accuracy = 0.6;
    faster.seconds = 1;
    CHECK(ps::dynamic::MostAccurate{}(less_energy, base));
    CHECK(ps::dynamic::MostAccurate{}(faster, base));
    CHECK(ps::dynamic::LeastEnergy{}(more_accurate, base));
    CHECK(ps::dynamic::LeastEnergy{}(faster, base));
    CHECK(ps::dynamic::LeastTime{}(more_accurate, base));
    ps::dynamic::OperatingPoint unknown = base;
    unknown.joules = ps::dynamic::OperatingPoint::unknown;
    CHECK(ps::dynamic::LeastEnergy{}(base, unknown));
    CHECK_FALSE(ps::dynamic::LeastEnergy{}(unknown, base));
}

TEST_CASE_TEMPLATE("objectives: a strict weak order in which a point that dominates is never the worse", O,
                   ps::dynamic::MostAccurate, ps::dynamic::LeastEnergy, ps::dynamic::LeastTime) {
    std::mt19937 bits(3);
    const std::vector<ps::dynamic::OperatingPoint> points = any_points(bits, 40);
    const O prefers;
    std::size_t dominated = 0;
    for (auto const& a : points) {
        CHECK_FALSE(prefers(a, a));
        for (auto const& b : points) {
            CHECK_FALSE((prefers(a, b) && prefers(b, a)));
            if (ps::dynamic::dominates(a, b)) {
                ++dominated;
                CHECK_FALSE(prefers(b, a));
            }
            for (auto const& c : points) {
                if (prefers(a, b) && prefers(b, c)) CHECK_UNARY(prefers(a, c));
            }
        }
    }
    CHECK(dominated > 10);
}

}  // namespace governing
