// Reductions that remove nodes one by one, and their reversal.
#pragma once

#include <primsel/pbqp/problem.hpp>
#include <primsel/pbqp/solution.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::pbqp::detail {

inline constexpr std::size_t no_edge = std::numeric_limits<std::size_t>::max();

/// Returns the position of the smallest value, the lowest of several.
[[nodiscard]] inline std::size_t cheapest(std::span<const double> costs) {
    return static_cast<std::size_t>(std::ranges::min_element(costs) - costs.begin());
}

class Reducer {
public:
    explicit Reducer(PbqpProblem const& problem)
        : adjacent_(problem.node_count()), queued_(problem.node_count(), false) {
        costs_.reserve(problem.node_count());
        for (std::size_t node = 0; node < problem.node_count(); ++node) costs_.push_back(problem.costs(node));
        alive_.assign(problem.node_count(), true);
        left_ = problem.node_count();
        for (PbqpProblem::Edge const& edge : problem.edges()) {
            // The reducer refers to the problem's matrices, so the problem must outlive it.
            connect(edge.u, edge.v, Matrix(Matrix(), &problem.matrix(edge.matrix)));
        }
        for (std::size_t node = costs_.size(); node-- > 0;) queue(node);
    }

    /// Applies R0, RI and RII as long as possible. The core remains, in which every node has at least three neighbours.
    void reduce() {
        while (!queue_.empty()) {
            const std::size_t node = queue_.back();
            queue_.pop_back();
            queued_[node] = false;
            if (!alive_[node] || adjacent_[node].size() > 2) continue;
            if (adjacent_[node].size() == 2)
                reduce_two(node);
            else if (adjacent_[node].size() == 1)
                reduce_one(node);
            else
                reduce_none(node);
        }
    }

    /// Applies RN: the node with the most neighbours takes its locally cheapest alternative.
    void reduce_many() {
        std::size_t most = no_edge;
        for (std::size_t node = 0; node < costs_.size(); ++node) {
            if (alive_[node] && (most == no_edge || adjacent_[node].size() > adjacent_[most].size())) most = node;
        }
        ++counts.rn;
        fix(most, cheapest(local_costs(most)));
    }

    /// Fixes the node's alternative and adds its edges' costs to the neighbours.
    void fix(std::size_t node, std::size_t alternative) {
        spent_ += costs_[node][alternative];
        steps_.push_back({node, {no_edge, no_edge}, {}, {}, alternative});
        while (!adjacent_[node].empty()) {
            const std::size_t edge = adjacent_[node].back();
            const std::size_t other = opposite(edge, node);
            for (std::size_t j = 0; j < costs_[other].size(); ++j) costs_[other][j] += at(edge, node, alternative, j);
            disconnect(edge);
        }
        remove(node);
    }

    [[nodiscard]] bool done() const { return left_ == 0; }
    /// Returns the costs that no remaining choice can change: those of nodes removed without a neighbour to charge.
    [[nodiscard]] double spent() const { return spent_; }

    /// Returns, for each alternative of a node, its cost plus the least that each neighbour adds.
    [[nodiscard]] std::vector<double> local_costs(std::size_t node) const {
        std::vector<double> costs = costs_[node];
        for (const std::size_t edge : adjacent_[node]) {
            const std::size_t other = opposite(edge, node);
            for (std::size_t i = 0; i < costs.size(); ++i) {
                double least = std::numeric_limits<double>::infinity();
                for (std::size_t j = 0; j < costs_[other].size(); ++j) {
                    least = std::min(least, at(edge, node, i, j) + costs_[other][j]);
                }
                costs[i] += least;
            }
        }
        return costs;
    }

    /// Returns the core as a problem of its own. `nodes` receives the number in this problem of each of its nodes.
    [[nodiscard]] PbqpProblem core(std::vector<std::size_t>& nodes) const {
        PbqpProblem core;
        std::vector<std::size_t> number(costs_.size(), 0);
        for (std::size_t node = 0; node < costs_.size(); ++node) {
            if (!alive_[node]) continue;
            number[node] = core.add_node(costs_[node]);
            nodes.push_back(node);
        }
        for (std::size_t edge = 0; edge < edges_.size(); ++edge) {
            if (edges_[edge].matrix == nullptr) continue;
            core.add_edge(number[edges_[edge].u], number[edges_[edge].v], *edges_[edge].matrix);
        }
        return core;
    }

    /// Chooses the alternatives of all removed nodes in reverse order. `choice` holds those of the core, if there is
    /// one.
    void propagate(std::vector<std::size_t>& choice) const {
        choice.resize(costs_.size(), 0);
        for (std::size_t i = steps_.size(); i-- > 0;) {
            Step const& step = steps_[i];
            if (step.alternative != no_edge) {
                choice[step.node] = step.alternative;
                continue;
            }
            std::vector<double> costs = costs_[step.node];
            for (std::size_t n = 0; n < 2 && step.neighbours[n] != no_edge; ++n) {
                for (std::size_t a = 0; a < costs.size(); ++a) {
                    const std::size_t b = choice[step.neighbours[n]];
                    costs[a] += step.transposed[n] ? (*step.matrices[n])(b, a) : (*step.matrices[n])(a, b);
                }
            }
            choice[step.node] = cheapest(costs);
        }
    }

    PbqpSolution counts;  ///< only the counters of reductions are used

private:
    using Matrix = std::shared_ptr<const PbqpMatrix>;
    struct Edge {
        std::size_t u, v;
        Matrix matrix;           ///< null once the edge is removed
        std::size_t at_u, at_v;  ///< positions in the adjacency lists of u and v
    };
    /// A removed node, with its fixed alternative or with the edges it needs to choose one after its neighbours.
    struct Step {
        std::size_t node;
        std::array<std::size_t, 2> neighbours;
        std::array<Matrix, 2> matrices;
        std::array<bool, 2> transposed;
        std::size_t alternative = no_edge;
    };

    [[nodiscard]] std::size_t opposite(std::size_t edge, std::size_t node) const {
        return edges_[edge].u == node ? edges_[edge].v : edges_[edge].u;
    }
    /// Returns the cost of alternative i of `node` with alternative j of its neighbour.
    [[nodiscard]] double at(std::size_t edge, std::size_t node, std::size_t i, std::size_t j) const {
        return edges_[edge].u == node ? (*edges_[edge].matrix)(i, j) : (*edges_[edge].matrix)(j, i);
    }

    void queue(std::size_t node) {
        if (queued_[node] || adjacent_[node].size() > 2) return;
        queued_[node] = true;
        queue_.push_back(node);
    }
    void remove(std::size_t node) {
        alive_[node] = false;
        --left_;
    }

    void connect(std::size_t u, std::size_t v, Matrix matrix) {
        auto const& shorter = adjacent_[u].size() < adjacent_[v].size() ? adjacent_[u] : adjacent_[v];
        for (const std::size_t edge : shorter) {
            if (edges_[edge].u == u && edges_[edge].v == v) return merge(edge, *matrix, false);
            if (edges_[edge].u == v && edges_[edge].v == u) return merge(edge, *matrix, true);
        }
        edges_.push_back({u, v, std::move(matrix), adjacent_[u].size(), adjacent_[v].size()});
        adjacent_[u].push_back(edges_.size() - 1);
        adjacent_[v].push_back(edges_.size() - 1);
    }
    void merge(std::size_t edge, PbqpMatrix const& matrix, bool transposed) {
        auto sum = std::make_shared<PbqpMatrix>(*edges_[edge].matrix);
        for (std::size_t i = 0; i < sum->rows; ++i) {
            for (std::size_t j = 0; j < sum->columns; ++j) {
                sum->values[i * sum->columns + j] += transposed ? matrix(j, i) : matrix(i, j);
            }
        }
        edges_[edge].matrix = std::move(sum);
    }
    void disconnect(std::size_t edge) {
        drop(edges_[edge].u, edges_[edge].at_u);
        drop(edges_[edge].v, edges_[edge].at_v);
        edges_[edge].matrix = nullptr;
        queue(edges_[edge].u);
        queue(edges_[edge].v);
    }
    void drop(std::size_t node, std::size_t position) {
        auto& list = adjacent_[node];
        list[position] = list.back();
        list.pop_back();
        if (position == list.size()) return;
        Edge& moved = edges_[list[position]];
        (moved.u == node ? moved.at_u : moved.at_v) = position;
    }
    [[nodiscard]] Step step_for(std::size_t node) const {
        Step step{node, {no_edge, no_edge}, {}, {}, no_edge};
        for (std::size_t n = 0; n < adjacent_[node].size(); ++n) {
            Edge const& edge = edges_[adjacent_[node][n]];
            step.neighbours[n] = opposite(adjacent_[node][n], node);
            step.matrices[n] = edge.matrix;
            step.transposed[n] = edge.v == node;
        }
        return step;
    }

    /// R0: removes a node without edges.
    void reduce_none(std::size_t node) {
        ++counts.r0;
        spent_ += costs_[node][cheapest(costs_[node])];
        steps_.push_back(step_for(node));
        remove(node);
    }

    /// RI: removes a node with one neighbour. The neighbour's alternatives are charged for the node's cheapest answer
    /// to each.
    void reduce_one(std::size_t node) {
        ++counts.ri;
        const std::size_t edge = adjacent_[node][0], other = opposite(edge, node);
        for (std::size_t j = 0; j < costs_[other].size(); ++j) {
            double least = std::numeric_limits<double>::infinity();
            for (std::size_t i = 0; i < costs_[node].size(); ++i) {
                least = std::min(least, costs_[node][i] + at(edge, node, i, j));
            }
            costs_[other][j] += least;
        }
        steps_.push_back(step_for(node));
        disconnect(edge);
        remove(node);
    }

    /// RII: replaces a node with two neighbours by an edge between them.
    void reduce_two(std::size_t node) {
        ++counts.rii;
        const std::size_t e = adjacent_[node][0], f = adjacent_[node][1];
        const std::size_t y = opposite(e, node), z = opposite(f, node);
        auto delta = std::make_shared<PbqpMatrix>(
            PbqpMatrix{costs_[y].size(), costs_[z].size(), std::vector<double>(costs_[y].size() * costs_[z].size())});
        for (std::size_t j = 0; j < delta->rows; ++j) {
            for (std::size_t k = 0; k < delta->columns; ++k) {
                double least = std::numeric_limits<double>::infinity();
                for (std::size_t i = 0; i < costs_[node].size(); ++i) {
                    least = std::min(least, costs_[node][i] + at(e, node, i, j) + at(f, node, i, k));
                }
                delta->values[j * delta->columns + k] = least;
            }
        }
        steps_.push_back(step_for(node));
        disconnect(e);
        disconnect(f);
        remove(node);
        connect(y, z, std::move(delta));
        queue(y);
        queue(z);
    }

    std::vector<std::vector<double>> costs_;
    std::vector<std::vector<std::size_t>> adjacent_;  // the edges of each node
    std::vector<Edge> edges_;
    std::vector<bool> alive_, queued_;
    std::vector<std::size_t> queue_;
    std::vector<Step> steps_;
    std::size_t left_ = 0;
    double spent_ = 0;
};

[[nodiscard]] inline PbqpSolution finish(PbqpProblem const& problem, Reducer const& reducer,
                                         std::vector<std::size_t> choice, bool optimal) {
    PbqpSolution solution = reducer.counts;
    reducer.propagate(choice);
    solution.cost = problem.cost(choice);
    solution.choice = std::move(choice);
    solution.optimal = optimal;
    solution.bound = optimal ? solution.cost : 0;
    return solution;
}

}  // namespace primsel::inline PRIMSEL_ABI::pbqp::detail
