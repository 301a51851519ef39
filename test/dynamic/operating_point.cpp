#include "points.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

namespace governing {

namespace ps = primsel;

TEST_CASE("A budget is exceeded by the largest of its parts, and by what is unknown") {
    ps::OperatingPoint point{.seconds = 2, .watts = 3, .accuracy = 0.5};
    CHECK(ps::excess(point, {}) == 0);
    CHECK(ps::excess(point, {.seconds = 4}) == 0.5);
    CHECK(ps::excess(point, {.seconds = 4, .watts = 1, .accuracy = 0.6}) == 3);
    CHECK(ps::excess(point, {.accuracy = 0.75}) == doctest::Approx(1.5));
    CHECK_FALSE(ps::keeps(point, {.joules = 1e9}));
    point.accuracy = ps::OperatingPoint::unknown;
    CHECK_FALSE(ps::keeps(point, {.accuracy = 1e-9}));
}

TEST_CASE("Of a Pareto front none dominates another; each point beside it is dominated by one of it") {
    std::mt19937 bits(1);
    for (int round = 0; round < 50; ++round) {
        const std::vector<ps::OperatingPoint> points = any_points(bits, 1 + bits() % 40);
        const std::vector<ps::OperatingPoint> front = ps::pareto_front(points);
        REQUIRE(!front.empty());
        std::size_t beside = 0;
        for (ps::OperatingPoint const& point : points) {
            const bool dominated =
                std::ranges::any_of(front, [&](auto const& other) { return ps::dominates(other, point); });
            beside += dominated ? 1 : 0;
        }
        CHECK(front.size() + beside == points.size());
        for (auto const& a : front) {
            CHECK_FALSE(ps::dominates(a, a));
            for (auto const& b : front) CHECK_FALSE(ps::dominates(a, b));
        }
    }
}

TEST_CASE("dominates: better in one, worse in none; what one alone does not know compares with nothing") {
    const ps::OperatingPoint point{.seconds = 2, .watts = 3, .accuracy = 0.5, .confidence = 0.4};
    const auto with = [&](double ps::OperatingPoint::*member, double value) {
        ps::OperatingPoint other = point;
        other.*member = value;
        return other;
    };
    CHECK(ps::dominates(with(&ps::OperatingPoint::seconds, 1), point));
    CHECK(ps::dominates(with(&ps::OperatingPoint::watts, 1), point));
    CHECK(ps::dominates(with(&ps::OperatingPoint::accuracy, 0.6), point));
    CHECK(ps::dominates(with(&ps::OperatingPoint::confidence, 0.6), point));
    ps::OperatingPoint traded = with(&ps::OperatingPoint::seconds, 1);
    traded.accuracy = 0.4;
    CHECK_FALSE(ps::dominates(traded, point));
    CHECK_FALSE(ps::dominates(point, traded));
    ps::OperatingPoint more = with(&ps::OperatingPoint::seconds, 1);
    more.joules = 1;
    CHECK_FALSE(ps::dominates(more, point));
    CHECK_FALSE(ps::dominates(point, more));
}

}  // namespace governing
