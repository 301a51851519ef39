#pragma once

#include <primsel/pbqp/reduce.hpp>

#include <algorithm>
#include <numeric>

namespace primsel::inline PRIMSEL_ABI {

/// The exact reductions, then branch and bound over the core that is left. Proven optimal, unless the core needs more
/// than max_branches; then the best found.
struct ExactPbqp {
    static constexpr std::string_view name = "exact";
    std::size_t max_branches = 1'000'000;

    [[nodiscard]] PbqpSolution solve(PbqpProblem const& problem) const {
        detail::Reducer reducer(problem);
        reducer.reduce();
        if (reducer.done()) return detail::finish(problem, reducer, {}, true);

        std::vector<std::size_t> nodes;
        const PbqpProblem core = reducer.core(nodes);
        Search search{core, max_branches, ReductionPbqp{}.solve(core)};
        search.branch(core, 0);
        std::vector<std::size_t> choice(problem.node_count(), 0);
        for (std::size_t i = 0; i < nodes.size(); ++i) choice[nodes[i]] = search.best.choice[i];
        PbqpSolution solution = detail::finish(problem, reducer, std::move(choice), !search.cut_short);
        solution.branches = search.branches;
        return solution;
    }

private:
    /// Depth first: fix the node with most neighbours, cheapest alternative first, reduce what is left, and leave off
    /// where no completion can beat the best so far.
    struct Search {
        /// A reduced problem on the way down, and the numbers of its core's nodes in it, ascending.
        struct Level {
            detail::Reducer reducer;
            std::vector<std::size_t> nodes;
        };

        PbqpProblem const& root;
        std::size_t budget;
        PbqpSolution best;
        std::size_t branches = 0;
        bool cut_short = false;
        std::vector<Level const*> path{};

        /// `spent`: what the choices made so far cost, apart from what they add to the problem that is left.
        void branch(PbqpProblem const& problem, double spent) {
            if (!(spent + bound(problem) < best.cost)) return;
            const std::size_t node = busiest(problem);
            const detail::Reducer whole(problem);
            const std::vector<double> local = whole.local_costs(node);
            std::vector<std::size_t> order(local.size());
            std::iota(order.begin(), order.end(), std::size_t{0});
            std::ranges::stable_sort(order, {}, [&](std::size_t i) { return local[i]; });
            for (const std::size_t alternative : order) {
                if (!(spent + local[alternative] < best.cost)) return;
                if (branches == budget) {
                    cut_short = true;
                    return;
                }
                ++branches;
                Level level{whole, {}};
                level.reducer.fix(node, alternative);
                level.reducer.reduce();
                path.push_back(&level);
                if (level.reducer.done()) {
                    offer();
                } else {
                    const PbqpProblem core = level.reducer.core(level.nodes);
                    branch(core, spent + level.reducer.spent());
                }
                path.pop_back();
            }
        }

        /// A complete assignment: every level's choices, from the innermost core outwards.
        void offer() {
            std::vector<std::size_t> choice;
            for (std::size_t i = path.size(); i-- > 0;) {
                Level const& level = *path[i];
                std::vector<std::size_t> outer(level.nodes.empty() ? 0 : level.nodes.back() + 1, 0);
                for (std::size_t n = 0; n < level.nodes.size(); ++n) outer[level.nodes[n]] = choice[n];
                level.reducer.propagate(outer);
                choice = std::move(outer);
            }
            const double cost = root.cost(choice);
            if (cost < best.cost) best.cost = cost, best.choice = std::move(choice);
        }

        [[nodiscard]] static std::size_t busiest(PbqpProblem const& problem) {
            std::vector<std::size_t> degree(problem.node_count(), 0);
            for (PbqpProblem::Edge const& edge : problem.edges()) ++degree[edge.u], ++degree[edge.v];
            return static_cast<std::size_t>(std::ranges::max_element(degree) - degree.begin());
        }

        /// No assignment is cheaper: each edge's cost is shared out half and half, as the least of its row and column.
        [[nodiscard]] static double bound(PbqpProblem const& problem) {
            std::vector<std::vector<double>> costs;
            for (std::size_t node = 0; node < problem.node_count(); ++node) costs.push_back(problem.costs(node));
            for (PbqpProblem::Edge const& edge : problem.edges()) {
                PbqpMatrix const& matrix = problem.matrix(edge.matrix);
                std::vector<double> column(matrix.columns, std::numeric_limits<double>::infinity());
                for (std::size_t i = 0; i < matrix.rows; ++i) {
                    double row = std::numeric_limits<double>::infinity();
                    for (std::size_t j = 0; j < matrix.columns; ++j) {
                        row = std::min(row, matrix(i, j));
                        column[j] = std::min(column[j], matrix(i, j));
                    }
                    costs[edge.u][i] += row / 2;
                }
                for (std::size_t j = 0; j < matrix.columns; ++j) costs[edge.v][j] += column[j] / 2;
            }
            double sum = 0;
            for (auto const& node : costs) sum += *std::ranges::min_element(node);
            return sum;
        }
    };
};

}  // namespace primsel::inline PRIMSEL_ABI
