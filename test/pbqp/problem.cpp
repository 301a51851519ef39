#include <primsel/pbqp/problem.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <string>

namespace ps = primsel;

namespace {
constexpr double infinity = std::numeric_limits<double>::infinity();
}

TEST_CASE("problem: what it holds and what an assignment costs") {
    ps::PbqpProblem problem;
    CHECK(problem.node_count() == 0);
    CHECK(problem.cost({}) == 0);
    CHECK(problem.add_node({1, 2}) == 0);
    CHECK(problem.add_node({10, 20, 30}) == 1);
    CHECK(problem.node_count() == 2);
    CHECK(problem.costs(1) == std::vector<double>{10, 20, 30});
    CHECK(problem.edges().empty());

    // Rows belong to the first node named, columns to the second.
    problem.add_edge(0, 1, ps::PbqpMatrix{2, 3, {100, 200, 300, 400, 500, infinity}});
    problem.add_edge(1, 0, ps::PbqpMatrix{3, 2, {1000, 2000, 3000, 4000, 5000, 6000}});
    REQUIRE(problem.edges().size() == 2);
    CHECK(problem.matrix(problem.edges()[0].matrix)(1, 0) == 400);
    const std::vector<std::size_t> first{0, 1}, second{1, 0}, third{1, 2};
    CHECK(problem.cost(first) == 1 + 20 + 200 + 3000);
    CHECK(problem.cost(second) == 2 + 10 + 400 + 2000);
    CHECK(problem.cost(third) == infinity);
}

TEST_CASE("problem: equal matrices are stored once") {
    ps::PbqpProblem problem;
    for (int i = 0; i < 100; ++i) problem.add_node({0, 0});
    const ps::PbqpMatrix matrix{2, 2, {0, 1, 2, 3}};
    for (std::size_t i = 1; i < 100; ++i) problem.add_edge(i - 1, i, matrix);
    CHECK(problem.edges().size() == 99);
    CHECK(problem.matrix_count() == 1);
    CHECK(problem.add_matrix(matrix) == 0);

    CHECK(problem.add_matrix({2, 2, {0, 1, 2, 4}}) == 1);
    CHECK(problem.add_matrix({4, 1, {0, 1, 2, 3}}) == 2);  // as many values, another shape
    CHECK(problem.add_matrix({1, 4, {0, 1, 2, 3}}) == 3);
    CHECK(problem.add_matrix({2, 2, {0, 2, 1, 3}}) == 4);  // transposed
    CHECK(problem.add_matrix({2, 2, {-0.0, 1, 2, 3}}) == 0);
    CHECK(problem.add_matrix({2, 2, {0, infinity, 2, 3}}) == 5);
    CHECK(problem.add_matrix({2, 2, {0, infinity, 2, 3}}) == 5);
    CHECK(problem.matrix_count() == 6);
}

TEST_CASE("problem: every error names what is wrong") {
    ps::PbqpProblem problem;
    problem.add_node({1, 2});
    problem.add_node({1, 2, 3});
    problem.add_edge(0, 1, ps::PbqpMatrix{2, 3, std::vector<double>(6, 0)});
    const auto nan = std::nan("");

    CHECK_THROWS_WITH_AS(problem.add_node({}), "pbqp: node 2 has no alternatives", ps::error);
    CHECK_THROWS_WITH_AS(problem.add_node({1, -2}), "pbqp: node 2 has the impossible cost -2", ps::error);
    CHECK_THROWS_WITH_AS(problem.add_node({-infinity}), "pbqp: node 2 has the impossible cost -inf", ps::error);
    CHECK_THROWS_WITH_AS(problem.add_node({0, nan}), "pbqp: node 2 has the impossible cost nan", ps::error);
    CHECK_THROWS_WITH_AS(problem.add_matrix({2, 2, {1, 2, 3}}), "pbqp: 3 values for a matrix of 2x2", ps::error);
    CHECK_THROWS_WITH_AS(problem.add_matrix({2, 1, {1, -1}}), "pbqp: matrix 1 has the impossible cost -1", ps::error);
    CHECK_THROWS_WITH_AS(problem.add_matrix({1, 1, {nan}}), "pbqp: matrix 1 has the impossible cost nan", ps::error);
    CHECK_THROWS_WITH_AS(problem.add_edge(0, 2, std::size_t{0}), "pbqp: edge 0-2 with matrix 0 names what is not there",
                         ps::error);
    CHECK_THROWS_WITH_AS(problem.add_edge(7, 1, std::size_t{0}), "pbqp: edge 7-1 with matrix 0 names what is not there",
                         ps::error);
    CHECK_THROWS_WITH_AS(problem.add_edge(0, 1, std::size_t{1}), "pbqp: edge 0-1 with matrix 1 names what is not there",
                         ps::error);
    CHECK_THROWS_WITH_AS(problem.add_edge(1, 1, std::size_t{0}), "pbqp: node 1 has an edge to itself", ps::error);
    CHECK_THROWS_WITH_AS(problem.add_edge(1, 0, std::size_t{0}), "pbqp: edge 1-0 needs a matrix of 3x2, not 2x3",
                         ps::error);

    // Nothing that was refused is there.
    CHECK(problem.node_count() == 2);
    CHECK(problem.matrix_count() == 1);
    CHECK(problem.edges().size() == 1);
}
