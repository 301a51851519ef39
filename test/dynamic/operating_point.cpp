#include "points.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

namespace governing {

namespace ps = primsel;

TEST_CASE("A budget is exceeded by the largest of its parts, and by what is unknown") {
    ps::dynamic::OperatingPoint point{.seconds = 2, .watts = 3, .accuracy = 0.5};
    CHECK(ps::dynamic::excess(point, {}) == 0);
    CHECK(ps::dynamic::excess(point, {.seconds = 4}) == 0.5);
    CHECK(ps::dynamic::excess(point, {.seconds = 4, .watts = 1, .accuracy = 0.6}) == 3);
    CHECK(ps::dynamic::excess(point, {.accuracy = 0.75}) == doctest::Approx(1.5));
    CHECK_FALSE(ps::dynamic::keeps(point, {.joules = 1e9}));
    point.accuracy = ps::dynamic::OperatingPoint::unknown;
    CHECK_FALSE(ps::dynamic::keeps(point, {.accuracy = 1e-9}));
}

TEST_CASE("Of a Pareto front none dominates another; each point beside it is dominated by one of it") {
    std::mt19937 bits(1);
    for (int round = 0; round < 50; ++round) {
        const std::vector<ps::dynamic::OperatingPoint> points = any_points(bits, 1 + bits() % 40);
        const std::vector<ps::dynamic::OperatingPoint> front = ps::dynamic::pareto_front(points);
        REQUIRE(!front.empty());
        std::size_t beside = 0;
        for (ps::dynamic::OperatingPoint const& point : points) {
            const bool dominated =
                std::ranges::any_of(front, [&](auto const& other) { return ps::dynamic::dominates(other, point); });
            beside += dominated ? 1 : 0;
        }
        CHECK(front.size() + beside == points.size());
        for (auto const& a : front) {
            CHECK_FALSE(ps::dynamic::dominates(a, a));
            for (auto const& b : front) CHECK_FALSE(ps::dynamic::dominates(a, b));
        }
    }
}

TEST_CASE("dominates: better in one, worse in none; what one alone does not know compares with nothing") {
    const ps::dynamic::OperatingPoint point{.seconds = 2, .watts = 3, .accuracy = 0.5, .confidence = 0.4};
    const auto with = [&](double ps::dynamic::OperatingPoint::*member, double value) {
        ps::dynamic::OperatingPoint other = point;
        other.*member = value;
        return other;
    };
    CHECK(ps::dynamic::dominates(with(&ps::dynamic::OperatingPoint::seconds, 1), point));
    CHECK(ps::dynamic::dominates(with(&ps::dynamic::OperatingPoint::watts, 1), point));
    CHECK(ps::dynamic::dominates(with(&ps::dynamic::OperatingPoint::accuracy, 0.6), point));
    CHECK(ps::dynamic::dominates(with(&ps::dynamic::OperatingPoint::confidence, 0.6), point));
    ps::dynamic::OperatingPoint traded = with(&ps::dynamic::OperatingPoint::seconds, 1);
    traded.accuracy = 0.4;
    CHECK_FALSE(ps::dynamic::dominates(traded, point));
    CHECK_FALSE(ps::dynamic::dominates(point, traded));
    ps::dynamic::OperatingPoint more = with(&ps::dynamic::OperatingPoint::seconds, 1);
    more.joules = 1;
    CHECK_FALSE(ps::dynamic::dominates(more, point));
    CHECK_FALSE(ps::dynamic::dominates(point, more));
}

}  // namespace governing
