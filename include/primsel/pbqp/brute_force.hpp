#pragma once

#include <primsel/pbqp/solver.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// Tries every assignment. Meant for tests: throws error for more than max_assignments.
struct BruteForcePbqp {
    static constexpr std::string_view name = "brute_force";
    double max_assignments = 1e7;

    [[nodiscard]] PbqpSolution solve(PbqpProblem const& problem) const {
        double assignments = 1;
        for (std::size_t node = 0; node < problem.node_count(); ++node) {
            assignments *= static_cast<double>(problem.costs(node).size());
        }
        if (assignments > max_assignments) fail("pbqp: ", assignments, " assignments are too many for brute force");
        std::vector<std::size_t> choice(problem.node_count(), 0);
        PbqpSolution best{.choice = choice, .cost = problem.cost(choice), .optimal = true};
        const auto next = [&] {
            for (std::size_t node = 0; node < choice.size(); ++node) {
                if (++choice[node] < problem.costs(node).size()) return true;
                choice[node] = 0;
            }
            return false;
        };
        while (next()) {
            const double cost = problem.cost(choice);
            if (cost < best.cost) best.cost = cost, best.choice = choice;
        }
        best.bound = best.cost;
        return best;
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
