#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/pbqp/solver.hpp>

#include <algorithm>

namespace primsel::inline PRIMSEL_ABI {

/// A baseline: every node takes its own cheapest alternative and ignores the edges.
struct GreedyPbqp {
    static constexpr std::string_view name = "greedy";

    [[nodiscard]] PbqpSolution solve(PbqpProblem const& problem) const {
        PbqpSolution solution;
        for (std::size_t node = 0; node < problem.node_count(); ++node) {
            auto const& costs = problem.costs(node);
            solution.choice.push_back(static_cast<std::size_t>(std::ranges::min_element(costs) - costs.begin()));
        }
        solution.cost = problem.cost(solution.choice);
        solution.optimal = problem.edges().empty();
        solution.bound = solution.optimal ? solution.cost : 0;
        return solution;
    }
};

/// A baseline: every node takes the alternative of one fixed number. A node that lacks it, or may not take it, takes
/// its own cheapest.
struct UniformPbqp {
    static constexpr std::string_view name = "uniform";
    std::size_t alternative = 0;

    [[nodiscard]] PbqpSolution solve(PbqpProblem const& problem) const {
        PbqpSolution solution = GreedyPbqp{}.solve(problem);
        for (std::size_t node = 0; node < problem.node_count(); ++node) {
            auto const& costs = problem.costs(node);
            if (alternative < costs.size() && is_finite(costs[alternative])) solution.choice[node] = alternative;
        }
        solution.cost = problem.cost(solution.choice);
        solution.optimal = false, solution.bound = 0;
        return solution;
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
