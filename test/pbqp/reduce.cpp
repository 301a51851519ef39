#include <primsel/pbqp/reduce.hpp>

#include "random_problems.hpp"

#include <doctest/doctest.h>
#include <primsel/pbqp/brute_force.hpp>
#include <primsel/pbqp/exact.hpp>

#include <algorithm>

namespace ps = primsel;
using namespace random_problems;

namespace {

/// The least cost of a chain, by dynamic programming from its end.
double cheapest_path(ps::PbqpProblem const& chain) {
    std::vector<double> rest = chain.costs(chain.node_count() - 1);
    for (std::size_t node = chain.node_count() - 1; node-- > 0;) {
        ps::PbqpMatrix const& matrix = chain.matrix(chain.edges()[node].matrix);
        std::vector<double> next = chain.costs(node);
        for (std::size_t i = 0; i < next.size(); ++i) {
            double least = forbidden;
            for (std::size_t j = 0; j < rest.size(); ++j) least = std::min(least, matrix(i, j) + rest[j]);
            next[i] += least;
        }
        rest = std::move(next);
    }
    return *std::ranges::min_element(rest);
}

ps::PbqpProblem long_chain(std::size_t nodes, std::size_t alternatives) {
    Random random(static_cast<std::uint32_t>(nodes));
    ps::PbqpProblem problem;
    std::vector<std::size_t> matrices;
    for (int i = 0; i < 20; ++i) {
        matrices.push_back(
            problem.add_matrix({alternatives, alternatives, random.costs(alternatives * alternatives, 5)}));
    }
    for (std::size_t i = 0; i < nodes; ++i) problem.add_node(random.costs(alternatives, 0));
    for (std::size_t i = 1; i < nodes; ++i) problem.add_edge(i - 1, i, matrices[random.below(matrices.size())]);
    return problem;
}

}  // namespace

TEST_CASE("reduce: the rules that apply to each kind of graph") {
    for (Kind const& kind : kinds) {
        CAPTURE(kind.name);
        for (std::uint32_t seed = 0; seed < 100; ++seed) {
            CAPTURE(seed);
            Random random(seed);
            const Edges edges = kind.edges(random);
            const ps::PbqpProblem problem = random_problems::problem(random, edges, 10);
            const ps::PbqpSolution solution = ps::ReductionPbqp{}.solve(problem);
            // Each node goes by one rule, and the last of a component by R0.
            CHECK(solution.r0 + solution.ri + solution.rii + solution.rn == problem.node_count());
            CHECK(solution.r0 >= 1);
            CHECK(solution.branches == 0);
            CHECK(solution.optimal == (solution.rn == 0));
            if (kind.reducible) CHECK(solution.rn == 0);
            // A node between two others may go by RII before it is a leaf; in a chain there is always a leaf at hand.
            if (kind.name == "tree" || kind.name == "star") CHECK(solution.r0 == 1);
            if (kind.name == "chain") CHECK(solution.ri == problem.node_count() - 1);
            if (kind.name == "cycle") CHECK(solution.rii == problem.node_count() - 2);
            // A complete graph loses its nodes one by one until a triangle is left.
            if (kind.name == "complete on 5") CHECK(solution.rn == 2);
            if (kind.name == "complete on 6") CHECK(solution.rn == 3);
            if (kind.name == "disconnected") {
                CHECK(solution.rn == 1);
                CHECK(solution.r0 == 4);
            }
        }
    }
}

TEST_CASE("reduce: RN may miss the optimum, and then does not call it optimal") {
    std::size_t missed = 0;
    for (std::uint32_t seed = 0; seed < 300; ++seed) {
        Random random(seed);
        const ps::PbqpProblem problem = random_problems::problem(random, complete<6>(random), 0, 3);
        const ps::PbqpSolution solution = ps::ReductionPbqp{}.solve(problem);
        CHECK_FALSE(solution.optimal);
        if (solution.cost > ps::BruteForcePbqp{}.solve(problem).cost) ++missed;
    }
    CHECK(missed > 10);
    CHECK(missed < 290);
}

TEST_CASE_TEMPLATE("reduce: a chain of 100,000 nodes with 9 alternatives", S, ps::ReductionPbqp, ps::ExactPbqp) {
    const ps::PbqpProblem problem = long_chain(100'000, 9);
    CHECK(problem.matrix_count() == 20);
    const ps::PbqpSolution solution = S{}.solve(problem);
    CHECK(solution.optimal);
    CHECK(solution.ri == 99'999);
    CHECK(solution.feasible());
    CHECK(solution.cost == problem.cost(solution.choice));
    CHECK(solution.cost == cheapest_path(problem));
}

TEST_CASE_TEMPLATE("reduce: a star of 50,000 leaves", S, ps::ReductionPbqp, ps::ExactPbqp) {
    constexpr std::size_t leaves = 50'000, alternatives = 4;
    Random random(1);
    ps::PbqpProblem problem;
    const std::size_t hub = problem.add_node(random.costs(alternatives, 0));
    std::vector<double> sums = problem.costs(hub);
    for (std::size_t i = 0; i < leaves; ++i) {
        const std::size_t leaf = problem.add_node(random.costs(alternatives, 0));
        const ps::PbqpMatrix matrix{alternatives, alternatives, random.costs(alternatives * alternatives, 0)};
        const bool to_hub = random.below(2) == 0;
        problem.add_edge(to_hub ? leaf : hub, to_hub ? hub : leaf, matrix);
        for (std::size_t h = 0; h < alternatives; ++h) {
            double least = forbidden;
            for (std::size_t l = 0; l < alternatives; ++l) {
                least = std::min(least, problem.costs(leaf)[l] + (to_hub ? matrix(l, h) : matrix(h, l)));
            }
            sums[h] += least;
        }
    }
    const ps::PbqpSolution solution = S{}.solve(problem);
    CHECK(solution.optimal);
    CHECK(solution.cost == *std::ranges::min_element(sums));
    CHECK(solution.cost == problem.cost(solution.choice));
}

TEST_CASE("reduce: a ladder of residual blocks, 30,000 nodes, needs no RN") {
    // Each block: a -> b -> c, and a -> c, in either orientation.
    Random random(2);
    ps::PbqpProblem problem;
    constexpr std::size_t alternatives = 3, blocks = 15'000;
    const auto connect = [&](std::size_t u, std::size_t v) {
        if (random.below(2) == 0) std::swap(u, v);
        problem.add_edge(u, v,
                         ps::PbqpMatrix{alternatives, alternatives, random.costs(alternatives * alternatives, 3)});
    };
    std::size_t last = problem.add_node(random.costs(alternatives, 0));
    for (std::size_t block = 0; block < blocks; ++block) {
        const std::size_t middle = problem.add_node(random.costs(alternatives, 0));
        const std::size_t next = problem.add_node(random.costs(alternatives, 0));
        connect(last, middle);
        connect(middle, next);
        connect(last, next);
        last = next;
    }
    const ps::PbqpSolution solution = ps::ReductionPbqp{}.solve(problem);
    CHECK(solution.optimal);
    CHECK(solution.rn == 0);
    CHECK(solution.feasible());
    CHECK(solution.cost == problem.cost(solution.choice));
    CHECK(solution.r0 + solution.ri + solution.rii == problem.node_count());
}
