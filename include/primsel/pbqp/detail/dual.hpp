// A lower bound on the cost of all assignments, which also rules out alternatives.
#pragma once

#include <primsel/pbqp/problem.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <span>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::pbqp::detail {

/// Computes a lower bound by moving costs between nodes and edges. Every assignment keeps its cost, while a constant
/// that none can avoid, the bound, grows. A sweep visits the nodes in order; each shares its costs among the edges to
/// later nodes (sequential tree-reweighted message passing; Kolmogorov 2006 and 2015). On a chain one sweep is exact.
class Dual {
public:
    explicit Dual(PbqpProblem const& problem) : problem_(problem), edges_of_(problem.node_count()) {
        for (std::size_t node = 0; node < problem.node_count(); ++node) costs_.push_back(problem.costs(node));
        for (PbqpProblem::Edge const& edge : problem.edges()) {
            edges_of_[edge.u].push_back(edges_.size());
            edges_of_[edge.v].push_back(edges_.size());
            edges_.push_back({edge.u, edge.v, problem.matrix(edge.matrix)});
        }
        for (Edge const& edge : edges_) sweep_work_ += 8 * edge.costs.values.size();
    }

    /// Sweeps forwards and then backwards. Strikes out alternatives whose assignments all cost `limit` or more. Returns
    /// the cheaper of the two assignments that the passes suggest.
    std::vector<std::size_t> sweep(double limit) {
        std::vector<std::size_t> there = pass(true, limit), back = pass(false, limit);
        return problem_.cost(there) < problem_.cost(back) ? there : back;
    }

    /// Returns a lower bound on the cost of all remaining assignments; infinity when none remains.
    [[nodiscard]] double bound() const { return bound_; }
    /// Returns a lower bound on the cost of the assignments that use this alternative; infinity if it is struck out.
    [[nodiscard]] double bound(std::size_t node, std::size_t alternative) const {
        return bound_ + costs_[node][alternative];
    }
    /// Returns the number of alternatives of all nodes that are not struck out.
    [[nodiscard]] std::size_t left() const {
        std::size_t left = 0;
        for (auto const& costs : costs_) left += static_cast<std::size_t>(std::ranges::count_if(costs, possible));
        return left;
    }
    /// Returns the number of costs that one sweep reads.
    [[nodiscard]] std::size_t sweep_work() const { return sweep_work_; }
    /// Moves the minimum that each edge of the node charges per alternative into the node's costs, then the minimum of
    /// those into the bound.
    void collect(std::size_t node) {
        for (const std::size_t e : edges_of_[node]) pull(edges_[e], node);
        const double least = std::ranges::min(costs_[node]);
        bound_ += least;
        if (!possible(least)) return;
        for (double& cost : costs_[node]) cost -= least;
    }

private:
    struct Edge {
        std::size_t u, v;
        PbqpMatrix costs;
    };
    [[nodiscard]] static bool possible(double cost) { return cost < std::numeric_limits<double>::infinity(); }

    /// Subtracts from each alternative of the node the least cost that the edge charges for it, and adds it to `costs`.
    static void pull(Edge& edge, std::size_t node, std::vector<double>& costs) {
        const std::size_t rows = edge.costs.rows, columns = edge.costs.columns;
        const bool of_rows = edge.u == node;
        const std::size_t count = of_rows ? rows : columns, pairs = of_rows ? columns : rows;
        const std::size_t step = of_rows ? columns : 1, across = of_rows ? 1 : columns;
        for (std::size_t i = 0; i < count; ++i) {
            double* const first = edge.costs.values.data() + i * step;
            double least = first[0];
            for (std::size_t j = 1; j < pairs; ++j) least = std::min(least, first[j * across]);
            costs[i] += least;
            if (least == 0 || !possible(least)) continue;
            for (std::size_t j = 0; j < pairs; ++j) first[j * across] -= least;
        }
    }
    void pull(Edge& edge, std::size_t node) { pull(edge, node, costs_[node]); }
    void push(Edge& edge, std::size_t node, double share) {
        const bool of_rows = edge.u == node;
        for (std::size_t i = 0; i < edge.costs.rows; ++i) {
            for (std::size_t j = 0; j < edge.costs.columns; ++j) {
                edge.costs.values[i * edge.costs.columns + j] += share * costs_[node][of_rows ? i : j];
            }
        }
    }

    std::vector<std::size_t> pass(bool forwards, double limit) {
        const std::size_t count = costs_.size();
        std::vector<std::size_t> choice(count, 0);
        std::vector<double> given_earlier;
        for (std::size_t i = 0; i < count && possible(bound_); ++i) {
            const std::size_t node = forwards ? i : count - 1 - i;
            const auto later = [&](std::size_t e) {
                const std::size_t other = edges_[e].u == node ? edges_[e].v : edges_[e].u;
                return forwards ? other > node : other < node;
            };
            // The cost of each alternative given the choices made so far, plus the least that edges to later nodes add.
            given_earlier = costs_[node];
            std::size_t to_come = 0;
            for (const std::size_t e : edges_of_[node]) {
                Edge& edge = edges_[e];
                if (later(e)) {
                    ++to_come;
                    std::vector<double> least(given_earlier.size(), 0.0);
                    pull(edge, node, least);
                    for (std::size_t a = 0; a < least.size(); ++a) {
                        given_earlier[a] += least[a];
                        costs_[node][a] += least[a];
                    }
                } else {
                    for (std::size_t a = 0; a < given_earlier.size(); ++a) {
                        given_earlier[a] +=
                            edge.u == node ? edge.costs(a, choice[edge.v]) : edge.costs(choice[edge.u], a);
                    }
                }
            }
            choice[node] = static_cast<std::size_t>(std::ranges::min_element(given_earlier) - given_earlier.begin());
            collect(node);
            if (!possible(bound_)) break;
            for (double& cost : costs_[node]) {
                if (bound_ + cost >= limit) cost = std::numeric_limits<double>::infinity();
            }
            if (!possible(std::ranges::min(costs_[node]))) {
                bound_ = std::numeric_limits<double>::infinity();
                break;
            }
            const std::size_t before = edges_of_[node].size() - to_come;
            const double share = 1.0 / static_cast<double>(std::max<std::size_t>({before, to_come, 1}));
            for (const std::size_t e : edges_of_[node]) {
                if (later(e)) push(edges_[e], node, share);
            }
            const double kept = to_come >= before && to_come > 0 ? 0.0 : 1.0 - share * static_cast<double>(to_come);
            for (double& cost : costs_[node]) {
                if (possible(cost)) cost *= kept;
            }
        }
        return choice;
    }

    PbqpProblem const& problem_;
    std::vector<std::vector<double>> costs_;
    std::vector<Edge> edges_;
    std::vector<std::vector<std::size_t>> edges_of_;
    double bound_ = 0;
    std::size_t sweep_work_ = 0;
};

}  // namespace primsel::inline PRIMSEL_ABI::pbqp::detail
