#include <primsel/pbqp/exact.hpp>

#include "../quick.hpp"
#include "random_problems.hpp"

#include <doctest/doctest.h>
#include <primsel/pbqp/brute_force.hpp>

#include <algorithm>

namespace ps = primsel;
using namespace random_problems;

namespace {

/// All pairs joined; `hidden` costs nothing where it is given, and everything else at least 1.
ps::PbqpProblem dense(Random& random, std::size_t nodes, std::size_t alternatives,
                      std::vector<std::size_t> const& hidden = {}) {
    const auto raised = [&](std::size_t count, std::size_t free) {
        std::vector<double> costs = random.costs(count, 0);
        if (hidden.empty()) return costs;
        for (double& cost : costs) ++cost;
        costs[free] = 0;
        return costs;
    };
    ps::PbqpProblem problem;
    for (std::size_t i = 0; i < nodes; ++i) problem.add_node(raised(alternatives, hidden.empty() ? 0 : hidden[i]));
    for (std::size_t i = 0; i < nodes; ++i) {
        for (std::size_t j = i + 1; j < nodes; ++j) {
            const std::size_t free = hidden.empty() ? 0 : hidden[i] * alternatives + hidden[j];
            problem.add_edge(i, j, {alternatives, alternatives, raised(alternatives * alternatives, free)});
        }
    }
    return problem;
}

/// The least cost by trying every assignment, leaving off where the sum already is too large.
double exhaustive(ps::PbqpProblem const& problem) {
    const std::size_t nodes = problem.node_count();
    std::vector<std::size_t> matrices(nodes * nodes);
    for (ps::PbqpProblem::Edge const& edge : problem.edges()) matrices[edge.u * nodes + edge.v] = edge.matrix;
    std::vector<std::size_t> choice(nodes);
    double best = forbidden;
    const auto place = [&](auto const& self, std::size_t node, double sum) -> void {
        if (sum >= best) return;
        if (node == nodes) {
            best = sum;
            return;
        }
        for (std::size_t i = 0; i < problem.costs(node).size(); ++i) {
            double more = problem.costs(node)[i];
            for (std::size_t before = 0; before < node; ++before) {
                more += problem.matrix(matrices[before * nodes + node])(choice[before], i);
            }
            choice[node] = i;
            self(self, node + 1, sum + more);
        }
    };
    place(place, 0, 0);
    return best;
}

}  // namespace

TEST_CASE("exact: dense cores against brute force, by tables and by searching") {
    for (std::uint32_t seed = 0; seed < 40; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        const ps::PbqpProblem problem = dense(random, 7, 3);
        const double optimum = ps::BruteForcePbqp{}.solve(problem).cost;
        for (const std::size_t entries : {0U, 2'000'000U}) {
            const ps::PbqpSolution solution = ps::ExactPbqp{.max_entries = entries}.solve(problem);
            CHECK(solution.optimal);
            CHECK(solution.bound == solution.cost);
            CHECK(solution.cost == optimum);
            if (entries > 0) CHECK(solution.branches == 0);
        }
    }
}

TEST_CASE("exact: a dense core of 12 nodes with 4 alternatives") {
    for (std::uint32_t seed = 0; seed < (quick() ? 1U : 3U); ++seed) {
        CAPTURE(seed);
        Random random(seed);
        const ps::PbqpProblem problem = dense(random, 12, 4);
        const ps::PbqpSolution solution = ps::ExactPbqp{.work_per_node = 100'000'000, .max_entries = 0}.solve(problem);
        CHECK(solution.optimal);
        CHECK(solution.cost == problem.cost(solution.choice));
        CHECK(solution.cost == exhaustive(problem));
        // The bound prunes: all assignments but the last few nodes' would be 4^9.
        CHECK(solution.branches < 300);
    }
}

TEST_CASE("exact: finds the one assignment that costs nothing") {
    for (std::uint32_t seed = 0; seed < 10; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        std::vector<std::size_t> hidden(14);
        for (std::size_t& choice : hidden) choice = random.below(5);
        const ps::PbqpSolution solution = ps::ExactPbqp{}.solve(dense(random, 14, 5, hidden));
        CHECK(solution.optimal);
        CHECK(solution.cost == 0);
        CHECK(solution.choice == hidden);
    }
}

TEST_CASE("exact: with little work the best found, and a bound of how good it is") {
    std::size_t worse = 0, proven = 0;
    for (std::uint32_t seed = 0; seed < 20; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        const ps::PbqpProblem problem = dense(random, 8, 3);
        const double optimum = ps::BruteForcePbqp{}.solve(problem).cost;
        const double heuristic = ps::ReductionPbqp{}.solve(problem).cost;
        for (const std::size_t work : {0U, 200U, 1'000U, 5'000U}) {
            CAPTURE(work);
            const ps::PbqpSolution solution = ps::ExactPbqp{.work_per_node = work, .max_entries = 0}.solve(problem);
            CHECK(solution.cost == problem.cost(solution.choice));
            CHECK(solution.cost <= heuristic);
            CHECK(solution.cost >= optimum);
            CHECK(solution.bound <= optimum);
            if (work == 0) CHECK(solution.cost == heuristic);
            proven += solution.optimal ? 1 : 0;
            worse += solution.cost > optimum ? 1 : 0;
        }
    }
    CHECK(worse > 0);
    CHECK(proven < 80);
}

TEST_CASE("exact: a core too large to be proven ends within its work, better than reduction") {
    Random random(3);
    const ps::PbqpProblem problem = dense(random, 60, 9);
    const ps::PbqpSolution solution = ps::ExactPbqp{}.solve(problem);
    CHECK_FALSE(solution.optimal);
    CHECK(solution.bound > 0);
    CHECK(solution.bound < solution.cost);
    CHECK(solution.cost < ps::ReductionPbqp{}.solve(problem).cost);
    CHECK(ps::ExactPbqp{}.solve(problem).choice == solution.choice);
}

TEST_CASE("exact: a mesh is solved by tables, however long") {
    // Rows of five, each joined to its neighbours: what feature pyramids look like.
    Random random(4);
    constexpr std::size_t width = 5, length = 200;
    Edges edges{width * length, {}};
    for (std::size_t i = 0; i < edges.nodes; ++i) {
        if (i % width + 1 < width) edges.pairs.emplace_back(i, i + 1);
        if (i + width < edges.nodes) edges.pairs.emplace_back(i, i + width);
    }
    const ps::PbqpProblem problem = random_problems::problem(random, edges, 0, 3);
    const ps::PbqpSolution solution = ps::ExactPbqp{}.solve(problem);
    CHECK(solution.optimal);
    CHECK(solution.branches == 0);
    CHECK(solution.cost == problem.cost(solution.choice));
    CHECK(solution.cost <= ps::ReductionPbqp{}.solve(problem).cost);
}

TEST_CASE("exact: what the reductions solve needs no branches, however few are allowed") {
    for (Kind const& kind : kinds) {
        if (!kind.reducible) continue;
        CAPTURE(kind.name);
        Random random(5);
        const ps::PbqpSolution solution =
            ps::ExactPbqp{.work_per_node = 0}.solve(random_problems::problem(random, kind.edges(random), 5));
        CHECK(solution.optimal);
        CHECK(solution.branches == 0);
        CHECK(solution.rn == 0);
    }
}

TEST_CASE("exact: reductions that make a core of a core") {
    // Wheels: fixing the hub leaves a cycle, which reduces away; two hubs need two levels of branches.
    for (std::uint32_t seed = 0; seed < 100; ++seed) {
        CAPTURE(seed);
        Random random(seed);
        Edges edges{9, {}};
        for (std::size_t i = 2; i < 9; ++i) {
            edges.pairs.emplace_back(0, i);
            edges.pairs.emplace_back(1, i);
            edges.pairs.emplace_back(i, i == 8 ? 2 : i + 1);
        }
        const ps::PbqpProblem problem = random_problems::problem(random, edges, 15, 2);
        const ps::PbqpSolution solution = ps::ExactPbqp{}.solve(problem);
        CHECK(solution.optimal);
        CHECK(solution.cost == ps::BruteForcePbqp{}.solve(problem).cost);
    }
}
