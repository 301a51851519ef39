#pragma once

#include <primsel/pbqp/detail/dual.hpp>
#include <primsel/pbqp/detail/elimination.hpp>
#include <primsel/pbqp/reduce.hpp>

#include <algorithm>
#include <numeric>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// Finds a proven optimum. If that takes too much work, returns the best assignment found and a lower bound on the
/// cost.
///
/// The exact reductions come first. If the tables of the remaining core are small, dynamic programming solves it.
/// Otherwise a lower bound (pbqp::detail::Dual) strikes out alternatives that no better assignment uses, which permits
/// more reductions. Branch and bound solves what remains.
struct ExactPbqp {
    static constexpr std::string_view name = "exact";
    /// The limit on costs examined after the reductions, per node of the problem; each takes about a nanosecond. The
    /// limit is no time, so that equal problems have equal solutions.
    std::size_t work_per_node = 50'000;
    /// The limit on entries of all tables of dynamic programming; an entry takes 12 bytes.
    std::size_t max_entries = 2'000'000;

    [[nodiscard]] PbqpSolution solve(PbqpProblem const& problem) const {
        pbqp::detail::Reducer reducer(problem);
        reducer.reduce();
        if (reducer.done()) return pbqp::detail::finish(problem, reducer, {}, true);

        std::vector<std::size_t> nodes;
        const PbqpProblem core = reducer.core(nodes);
        const double work = static_cast<double>(work_per_node) * static_cast<double>(problem.node_count());
        Search search{core, work, static_cast<double>(max_entries), ReductionPbqp{}.solve(core)};
        const double bound = std::min(search.branch(core, 0), search.best.cost);
        std::vector<std::size_t> choice(problem.node_count(), 0);
        for (std::size_t i = 0; i < nodes.size(); ++i) choice[nodes[i]] = search.best.choice[i];
        PbqpSolution solution = pbqp::detail::finish(problem, reducer, std::move(choice), bound >= search.limit());
        if (!solution.optimal) solution.bound = std::min(reducer.spent() + bound, solution.cost);
        solution.branches = search.branches;
        return solution;
    }

private:
    /// Depth-first branch and bound over the core.
    struct Search {
        /// A subproblem: some alternatives of each node of the problem above, reduced. Its core's nodes are listed in
        /// ascending order.
        struct Level {
            std::vector<std::vector<std::size_t>> kept;
            pbqp::detail::Reducer reducer;
            std::vector<std::size_t> nodes;
        };

        PbqpProblem const& root;
        double work, max_entries;
        PbqpSolution best;
        std::size_t branches = 0;
        std::vector<Level const*> path{};
        std::vector<std::vector<PbqpProblem::Edge const*>> edges_of{};

        /// Returns the cost from which an assignment is no improvement; the margin absorbs rounding errors.
        [[nodiscard]] double limit() const { return best.cost - 1e-12 * (best.cost < infinite ? best.cost : 0.0); }

        /// Searches a subproblem for a better assignment. `spent` is the cost already fixed by earlier choices and not
        /// contained in the problem. Returns a lower bound on the cost of all its assignments that are better than the
        /// best known one.
        double branch(PbqpProblem const& problem, double spent) {
            const pbqp::detail::EliminationOrder order = pbqp::detail::elimination_order(problem, work);
            work -= static_cast<double>(problem.node_count() * problem.node_count());
            if (order.work <= work && order.entries <= max_entries) {
                work -= order.work;
                const std::vector<std::size_t> choice = pbqp::detail::Elimination(problem, order.nodes).solve();
                offer(choice);
                return spent + problem.cost(choice);
            }
            pbqp::detail::Dual dual(problem);
            const std::size_t whole = dual.left();
            sweep(dual, whole, spent);
            const double bound = spent + dual.bound();
            if (bound >= limit() || work <= 0) return bound;
            if (dual.left() < whole) return std::max(bound, branch_restricted(problem, dual, spent));

            const std::size_t node = busiest(problem);
            dual.collect(node);
            std::vector<std::size_t> alternatives(problem.costs(node).size());
            std::iota(alternatives.begin(), alternatives.end(), std::size_t{0});
            std::ranges::sort(alternatives, {}, [&](std::size_t a) { return std::pair(dual.bound(node, a), a); });
            double least = infinite;
            for (const std::size_t alternative : alternatives) {
                const double at_least = spent + dual.bound(node, alternative);
                if (at_least >= limit()) break;
                if (work <= 0) return std::min(least, at_least);
                ++branches;
                work -= static_cast<double>(dual.sweep_work());
                Level level{{}, pbqp::detail::Reducer(problem), {}};
                level.reducer.fix(node, alternative);
                least = std::min(least, std::max(at_least, descend(level, spent)));
            }
            return least;
        }

        /// Raises the bound until enough alternatives are struck out for a new reduction to pay, or until little
        /// changes.
        void sweep(pbqp::detail::Dual& dual, std::size_t whole, double spent) {
            double last = 0;
            for (int sweeps = 0; work > 0; ++sweeps) {
                work -= static_cast<double>(dual.sweep_work());
                offer(dual.sweep(limit() - spent));
                const double gap = limit() - spent - dual.bound();
                if (gap <= 0 || dual.left() * 4 < whole * 3) return;
                if (sweeps % 8 == 7) {
                    if (dual.bound() - last < 0.05 * gap) return;
                    last = dual.bound();
                }
            }
        }

        /// Branches over the problem restricted to the alternatives that are not struck out.
        double branch_restricted(PbqpProblem const& problem, pbqp::detail::Dual const& dual, double spent) {
            std::vector<std::vector<std::size_t>> kept(problem.node_count());
            PbqpProblem part;
            for (std::size_t node = 0; node < problem.node_count(); ++node) {
                std::vector<double> costs;
                for (std::size_t a = 0; a < problem.costs(node).size(); ++a) {
                    if (!(dual.bound(node, a) < infinite)) continue;
                    kept[node].push_back(a);
                    costs.push_back(problem.costs(node)[a]);
                }
                part.add_node(std::move(costs));
            }
            for (PbqpProblem::Edge const& edge : problem.edges()) {
                PbqpMatrix matrix{kept[edge.u].size(), kept[edge.v].size(), {}};
                for (const std::size_t i : kept[edge.u]) {
                    for (const std::size_t j : kept[edge.v]) {
                        matrix.values.push_back(problem.matrix(edge.matrix)(i, j));
                    }
                }
                part.add_edge(edge.u, edge.v, std::move(matrix));
            }
            Level level{std::move(kept), pbqp::detail::Reducer(part), {}};
            return descend(level, spent);
        }

        /// Reduces the subproblem and branches over its core.
        double descend(Level& level, double spent) {
            level.reducer.reduce();
            path.push_back(&level);
            double least = spent + level.reducer.spent();
            if (level.reducer.done())
                offer({});
            else
                least = branch(level.reducer.core(level.nodes), least);
            path.pop_back();
            return least;
        }

        /// Records an assignment of the innermost problem: extends it to the whole core and improves it by changes of
        /// single nodes.
        void offer(std::vector<std::size_t> choice) {
            for (std::size_t i = path.size(); i-- > 0;) {
                Level const& level = *path[i];
                std::vector<std::size_t> outer(level.nodes.empty() ? 0 : level.nodes.back() + 1, 0);
                for (std::size_t n = 0; n < level.nodes.size(); ++n) outer[level.nodes[n]] = choice[n];
                level.reducer.propagate(outer);
                for (std::size_t n = 0; n < level.kept.size(); ++n) outer[n] = level.kept[n][outer[n]];
                choice = std::move(outer);
            }
            improve(choice);
            const double cost = root.cost(choice);
            if (cost < best.cost) best.cost = cost, best.choice = std::move(choice);
        }
        /// Lets each node in turn take the alternative that is cheapest beside its neighbours' current ones.
        void improve(std::vector<std::size_t>& choice) {
            if (edges_of.empty()) {
                edges_of.resize(root.node_count());
                for (PbqpProblem::Edge const& edge : root.edges()) {
                    edges_of[edge.u].push_back(&edge), edges_of[edge.v].push_back(&edge);
                }
            }
            std::vector<double> costs;
            for (bool changed = true; changed && work > 0;) {
                changed = false;
                for (std::size_t node = 0; node < choice.size(); ++node) {
                    costs = root.costs(node);
                    for (PbqpProblem::Edge const* edge : edges_of[node]) {
                        PbqpMatrix const& matrix = root.matrix(edge->matrix);
                        const bool of_rows = edge->u == node;
                        const std::size_t other = choice[of_rows ? edge->v : edge->u];
                        for (std::size_t a = 0; a < costs.size(); ++a) {
                            costs[a] += of_rows ? matrix(a, other) : matrix(other, a);
                        }
                    }
                    const std::size_t cheapest = pbqp::detail::cheapest(costs);
                    work -= static_cast<double>(costs.size() * (edges_of[node].size() + 1));
                    if (!(costs[cheapest] < costs[choice[node]])) continue;
                    choice[node] = cheapest;
                    changed = true;
                }
            }
        }

        [[nodiscard]] static std::size_t busiest(PbqpProblem const& problem) {
            std::vector<std::size_t> degree(problem.node_count(), 0);
            for (PbqpProblem::Edge const& edge : problem.edges()) ++degree[edge.u], ++degree[edge.v];
            return static_cast<std::size_t>(std::ranges::max_element(degree) - degree.begin());
        }

        static constexpr double infinite = std::numeric_limits<double>::infinity();
    };
};

}  // namespace primsel::inline PRIMSEL_ABI
