#include "points.hpp"

#include <primsel/dynamic/objective.hpp>

#include <doctest/doctest.h>

#include <random>
#include <vector>

namespace governing {

namespace ps = primsel;

struct MayThrow {
    bool operator()(ps::OperatingPoint const&, ps::OperatingPoint const&) const { return false; }
};
static_assert(!ps::Objective<MayThrow> && !ps::Objective<int>);

TEST_CASE("objectives: their first wish decides, then the second, then the third") {
    const ps::OperatingPoint base{.seconds = 2, .joules = 2, .accuracy = 0.5};
    ps::OperatingPoint accurate = base, cheap = base, fast = base;
    accurate.accuracy = 0.6, accurate.joules = 3, accurate.seconds = 3;
    cheap.joules = 1, cheap.accuracy = 0.4, cheap.seconds = 3;
    fast.seconds = 1, fast.accuracy = 0.4, fast.joules = 3;
    CHECK(ps::MostAccurate{}(accurate, base));
    CHECK(ps::LeastEnergy{}(cheap, base));
    CHECK(ps::LeastTime{}(fast, base));
    ps::OperatingPoint less_energy = base, more_accurate = base, faster = base;
    less_energy.joules = 1, less_energy.seconds = 3;
    more_accurate.accuracy = 0.6;
    faster.seconds = 1;
    CHECK(ps::MostAccurate{}(less_energy, base));
    CHECK(ps::MostAccurate{}(faster, base));
    CHECK(ps::LeastEnergy{}(more_accurate, base));
    CHECK(ps::LeastEnergy{}(faster, base));
    CHECK(ps::LeastTime{}(more_accurate, base));
    ps::OperatingPoint unknown = base;
    unknown.joules = ps::OperatingPoint::unknown;
    CHECK(ps::LeastEnergy{}(base, unknown));
    CHECK_FALSE(ps::LeastEnergy{}(unknown, base));
}

TEST_CASE_TEMPLATE("objectives: a strict weak order in which a point that dominates is never the worse", O,
                   ps::MostAccurate, ps::LeastEnergy, ps::LeastTime) {
    std::mt19937 bits(3);
    const std::vector<ps::OperatingPoint> points = any_points(bits, 40);
    const O prefers;
    std::size_t dominated = 0;
    for (auto const& a : points) {
        CHECK_FALSE(prefers(a, a));
        for (auto const& b : points) {
            CHECK_FALSE((prefers(a, b) && prefers(b, a)));
            if (ps::dominates(a, b)) {
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
