#include <primsel/pbqp/greedy.hpp>

#include "random_problems.hpp"

#include <doctest/doctest.h>

namespace ps = primsel;
using random_problems::forbidden;

namespace {

ps::PbqpProblem three() {
    ps::PbqpProblem problem;
    problem.add_node({5, 1, 1});
    problem.add_node({2, 7});
    problem.add_node({4, forbidden, 6});
    problem.add_edge(0, 1, ps::PbqpMatrix{3, 2, {10, 20, 30, 40, 50, 60}});
    problem.add_edge(2, 1, ps::PbqpMatrix{3, 2, {100, 200, 300, 400, 500, 600}});
    return problem;
}

}  // namespace

TEST_CASE("greedy: each node's own cheapest, whatever the edges cost") {
    const ps::PbqpSolution solution = ps::GreedyPbqp{}.solve(three());
    CHECK(solution.choice == std::vector<std::size_t>{1, 0, 0});
    CHECK(solution.cost == 1 + 2 + 4 + 30 + 100);
    CHECK_FALSE(solution.optimal);
}

TEST_CASE("greedy: optimal where there are no edges") {
    ps::PbqpProblem problem;
    problem.add_node({3, 2});
    problem.add_node({4, 5});
    const ps::PbqpSolution solution = ps::GreedyPbqp{}.solve(problem);
    CHECK(solution.optimal);
    CHECK(solution.cost == 6);
}

TEST_CASE("uniform: the same alternative, or the cheapest where that is none or forbidden") {
    const auto solve = [](std::size_t alternative) { return ps::UniformPbqp{alternative}.solve(three()); };
    CHECK(solve(0).choice == std::vector<std::size_t>{0, 0, 0});
    CHECK(solve(0).cost == 5 + 2 + 4 + 10 + 100);
    CHECK(solve(1).choice == std::vector<std::size_t>{1, 1, 0});
    CHECK(solve(1).cost == 1 + 7 + 4 + 40 + 200);
    CHECK(solve(2).choice == std::vector<std::size_t>{2, 0, 2});
    CHECK(solve(2).cost == 1 + 2 + 6 + 50 + 500);
    CHECK(solve(3).choice == ps::GreedyPbqp{}.solve(three()).choice);
    CHECK_FALSE(solve(0).optimal);
}
