#include <primsel/pbqp/brute_force.hpp>

#include <doctest/doctest.h>

namespace ps = primsel;

TEST_CASE("brute force: the cheapest of all assignments, of equals the first") {
    ps::PbqpProblem problem;
    problem.add_node({0, 4, 1});
    problem.add_node({3, 0});
    problem.add_edge(0, 1, ps::PbqpMatrix{3, 2, {9, 9, 9, 9, 2, 4}});
    // 0,0: 12; 1,0: 16; 2,0: 6; 0,1: 9; 1,1: 13; 2,1: 5
    const ps::PbqpSolution solution = ps::BruteForcePbqp{}.solve(problem);
    CHECK(solution.choice == std::vector<std::size_t>{2, 1});
    CHECK(solution.cost == 5);
    CHECK(solution.optimal);

    ps::PbqpProblem even;
    even.add_node({1, 1});
    even.add_node({1, 1, 1});
    CHECK(ps::BruteForcePbqp{}.solve(even).choice == std::vector<std::size_t>{0, 0});
}

TEST_CASE("brute force: refuses what would take too long") {
    ps::PbqpProblem problem;
    for (int i = 0; i < 4; ++i) problem.add_node({1, 2, 3});
    CHECK(ps::BruteForcePbqp{.max_assignments = 81}.solve(problem).cost == 4);
    CHECK_THROWS_WITH_AS((void)ps::BruteForcePbqp{.max_assignments = 80}.solve(problem),
                         "pbqp: 81 assignments are too many for brute force", ps::error);
    // More than an integer holds.
    for (int i = 0; i < 100; ++i) problem.add_node({1, 2, 3});
    CHECK_THROWS_AS((void)ps::BruteForcePbqp{}.solve(problem), ps::error);
}
