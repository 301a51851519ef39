// The laws of solvers: every model against brute force, on every kind of graph.
#include <primsel/pbqp/solver.hpp>

#include "random_problems.hpp"

#include <doctest/doctest.h>
#include <primsel/pbqp/brute_force.hpp>
#include <primsel/pbqp/exact.hpp>
#include <primsel/pbqp/greedy.hpp>
#include <primsel/pbqp/reduce.hpp>

#include <string>

namespace ps = primsel;
using namespace random_problems;

namespace {

/// The minimal model of the documentation.
struct First {
    static constexpr std::string_view name = "first";
    ps::PbqpSolution solve(ps::PbqpProblem const& problem) const {
        std::vector<std::size_t> choice(problem.node_count(), 0);
        return {.choice = choice, .cost = problem.cost(choice)};
    }
};
/// Gives up in the middle of the search.
struct Impatient {
    static constexpr std::string_view name = "impatient";
    ps::PbqpSolution solve(ps::PbqpProblem const& problem) const {
        return ps::ExactPbqp{.work_per_node = 60, .max_entries = 0}.solve(problem);
    }
};
/// Only searches.
struct Searching {
    static constexpr std::string_view name = "searching";
    ps::PbqpSolution solve(ps::PbqpProblem const& problem) const {
        return ps::ExactPbqp{.max_entries = 0}.solve(problem);
    }
};
struct Second {
    static constexpr std::string_view name = "second";
    ps::PbqpSolution solve(ps::PbqpProblem const& problem) const {
        return ps::UniformPbqp{.alternative = 1}.solve(problem);
    }
};

static_assert(ps::Solver<ps::ExactPbqp>);
static_assert(ps::Solver<ps::ReductionPbqp>);
static_assert(ps::Solver<ps::BruteForcePbqp>);
static_assert(ps::Solver<ps::GreedyPbqp>);
static_assert(ps::Solver<ps::UniformPbqp>);
static_assert(ps::Solver<First>);

struct Nameless {
    ps::PbqpSolution solve(ps::PbqpProblem const& problem) const;
};
struct NumberedName {
    static constexpr int name = 1;
    ps::PbqpSolution solve(ps::PbqpProblem const& problem) const;
};
struct Unsolving {
    static constexpr std::string_view name = "unsolving";
};
struct Changing {
    static constexpr std::string_view name = "changing";
    ps::PbqpSolution solve(ps::PbqpProblem const& problem);  // not const
};
struct ChangesProblem {
    static constexpr std::string_view name = "changes_problem";
    ps::PbqpSolution solve(ps::PbqpProblem& problem) const;
};
struct ChoiceOnly {
    static constexpr std::string_view name = "choice_only";
    std::vector<std::size_t> solve(ps::PbqpProblem const& problem) const;
};
static_assert(!ps::Solver<int>);
static_assert(!ps::Solver<ps::PbqpProblem>);
static_assert(!ps::Solver<Nameless>);
static_assert(!ps::Solver<NumberedName>);
static_assert(!ps::Solver<Unsolving>);
static_assert(!ps::Solver<Changing>);
static_assert(!ps::Solver<ChangesProblem>);
static_assert(!ps::Solver<ChoiceOnly>);

/// How often a solver found and missed the optimum, and how often it said which.
struct Tally {
    std::size_t problems = 0, infeasible = 0, best = 0, proven = 0;
};

template <ps::Solver S>
void check_laws(S const& solver, ps::PbqpProblem const& problem, double optimum, Tally& tally) {
    const ps::PbqpSolution solution = solver.solve(problem);
    REQUIRE(solution.choice.size() == problem.node_count());
    for (std::size_t node = 0; node < problem.node_count(); ++node) {
        REQUIRE(solution.choice[node] < problem.costs(node).size());
    }
    CHECK(solution.cost == problem.cost(solution.choice));
    CHECK(solution.cost >= optimum);
    CHECK(solution.feasible() == (solution.cost < forbidden));
    CHECK(solution.bound <= optimum);
    CHECK((solution.gap() == 0) == solution.optimal);
    if (solution.optimal) CHECK(solution.cost == optimum);
    CHECK(solver.solve(problem).choice == solution.choice);
    ++tally.problems;
    tally.infeasible += optimum == forbidden ? 1 : 0;
    tally.best += solution.cost == optimum ? 1 : 0;
    tally.proven += solution.optimal ? 1 : 0;
}

template <ps::Solver S>
Tally check_laws(S const& solver) {
    Tally tally;
    for (Kind const& kind : kinds) {
        CAPTURE(kind.name);
        for (const std::size_t percent_forbidden : {0U, 5U, 15U, 35U}) {
            CAPTURE(percent_forbidden);
            for (std::uint32_t seed = 0; seed < 60; ++seed) {
                CAPTURE(seed);
                Random random(seed);
                const ps::PbqpProblem problem = random_problems::problem(random, kind.edges(random), percent_forbidden);
                check_laws(solver, problem, ps::BruteForcePbqp{}.solve(problem).cost, tally);
            }
        }
    }
    // Else the laws would say little.
    CHECK(tally.problems == kinds.size() * 4 * 60);
    CHECK(tally.infeasible > tally.problems / 10);
    CHECK(tally.infeasible < tally.problems / 2);
    return tally;
}

}  // namespace

TEST_CASE("solver: exact is always optimal, and says so") {
    const Tally tally = check_laws(ps::ExactPbqp{});
    CHECK(tally.best == tally.problems);
    CHECK(tally.proven == tally.problems);
}

TEST_CASE("solver: branch and bound without tables is always optimal too") {
    const Tally tally = check_laws(Searching{});
    CHECK(tally.best == tally.problems);
    CHECK(tally.proven == tally.problems);
}

TEST_CASE("solver: brute force obeys the laws of all") {
    const Tally tally = check_laws(ps::BruteForcePbqp{});
    CHECK(tally.best == tally.problems);
    CHECK(tally.proven == tally.problems);
}

TEST_CASE("solver: reduction is often optimal, and knows when") {
    const Tally tally = check_laws(ps::ReductionPbqp{});
    CHECK(tally.best < tally.problems);
    CHECK(tally.proven <= tally.best);
    CHECK(tally.proven > tally.problems / 2);
}

TEST_CASE("solver: branch and bound that gives up does not call its best optimal") {
    const Tally tally = check_laws(Impatient{});
    CHECK(tally.best < tally.problems);
    CHECK(tally.proven < tally.problems);
    CHECK(tally.proven > tally.problems / 2);
}

TEST_CASE("solver: the baselines cost what they cost") {
    for (const Tally& tally :
         {check_laws(ps::GreedyPbqp{}), check_laws(ps::UniformPbqp{}), check_laws(Second{}), check_laws(First{})}) {
        CHECK(tally.best < tally.problems / 2 + tally.infeasible);
        CHECK(tally.proven < tally.problems / 10);
    }
}

TEST_CASE_TEMPLATE("solver: no nodes, one node, one edge", S, ps::ExactPbqp, ps::ReductionPbqp, ps::BruteForcePbqp) {
    ps::PbqpProblem problem;
    ps::PbqpSolution solution = S{}.solve(problem);
    CHECK(solution.choice.empty());
    CHECK(solution.cost == 0);
    CHECK(solution.optimal);

    problem.add_node({3, 1, 2, 1});
    solution = S{}.solve(problem);
    CHECK(solution.choice == std::vector<std::size_t>{1});  // of equals the lower number
    CHECK(solution.cost == 1);
    CHECK(solution.optimal);

    problem.add_node({5, 0});
    problem.add_edge(1, 0, ps::PbqpMatrix{2, 4, {9, 9, 9, 0, 9, 9, 8, 9}});
    solution = S{}.solve(problem);
    CHECK(solution.choice == std::vector<std::size_t>{3, 0});
    CHECK(solution.cost == 6);
    CHECK(solution.optimal);
}

TEST_CASE_TEMPLATE("solver: what cannot be solved is said to be so", S, ps::ExactPbqp, ps::ReductionPbqp,
                   ps::BruteForcePbqp, ps::GreedyPbqp, ps::UniformPbqp) {
    // Two nodes that allow no pair.
    ps::PbqpProblem problem;
    problem.add_node({1, 2});
    problem.add_node({1, 2});
    problem.add_edge(0, 1, ps::PbqpMatrix{2, 2, std::vector<double>(4, forbidden)});
    ps::PbqpSolution solution = S{}.solve(problem);
    CHECK_FALSE(solution.feasible());
    CHECK(solution.cost == forbidden);
    CHECK(solution.choice.size() == 2);

    // A node that allows nothing, far from a core.
    problem = {};
    for (int i = 0; i < 5; ++i) problem.add_node({1, 2});
    problem.add_node({forbidden});
    for (std::size_t i = 0; i < 5; ++i) {
        for (std::size_t j = i + 1; j < 5; ++j) problem.add_edge(i, j, ps::PbqpMatrix{2, 2, {1, 2, 3, 4}});
    }
    solution = S{}.solve(problem);
    CHECK_FALSE(solution.feasible());
    CHECK(solution.choice.size() == 6);
}
