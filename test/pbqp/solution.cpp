#include <primsel/pbqp/solution.hpp>

#include <doctest/doctest.h>

#include <limits>

namespace ps = primsel;

TEST_CASE("solution: how far above the optimum it may be") {
    constexpr double infinity = std::numeric_limits<double>::infinity();
    CHECK_FALSE(ps::PbqpSolution{}.feasible());
    CHECK(ps::PbqpSolution{.choice = {}, .cost = 0}.feasible());
    CHECK_FALSE(ps::PbqpSolution{.choice = {}, .cost = infinity}.feasible());
    CHECK(ps::PbqpSolution{.choice = {}, .cost = 3, .bound = 2}.gap() == 0.5);
    CHECK(ps::PbqpSolution{.choice = {}, .cost = 3}.gap() == infinity);
    CHECK(ps::PbqpSolution{.choice = {}, .cost = 0, .optimal = true}.gap() == 0);
    CHECK(ps::PbqpSolution{.choice = {}, .cost = 3, .optimal = true, .bound = 2}.gap() == 0);
}
