#pragma once

#include <primsel/core/error.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/pbqp/problem.hpp>
#include <primsel/plan/formulation.hpp>
#include <primsel/plan/pricing.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::plan::detail {

/// A graph with its prices, and its problem where every layer runs by itself.
template <CostModel Model>
struct PricedGraph {
    Pricing<Model> prices;
    Formulation<Pricing<Model>> formulation;

    PricedGraph(Questions questions, Model& model, PlanOptions const& options)
        : prices(std::move(questions), model, options), formulation(prices.graph(), prices, prices.alternatives) {}
};

/// The problems of several graphs as one. Nodes that must choose alike become one node. An edge between them that
/// forbids unequal alternatives would say the same in a much larger problem.
class JointProblem {
public:
    /// agrees: a name for each node of the graph, or none. Nodes of one name, in any of the graphs, choose alike; a
    /// node of the empty name agrees with no other.
    void add(Graph const& graph, PbqpProblem const& problem, Alternatives const& alternatives,
             std::vector<std::string> const& agrees, double share) {
        std::vector<std::size_t>& at = nodes_of_.emplace_back();
        for (std::size_t node = 0; node < problem.node_count(); ++node) {
            const bool named = node < agrees.size() && !agrees[node].empty();
            std::size_t here = costs_.size();
            if (named) {
                const auto [known, fresh] = named_.try_emplace(agrees[node], Named{here, alternatives[node]});
                here = known->second.node;
                if (!fresh) check_same(graph[node], known->second.alternatives, alternatives[node]);
            }
            if (here == costs_.size()) costs_.emplace_back(problem.costs(node).size(), 0.0);
            for (std::size_t a = 0; a < costs_[here].size(); ++a) {
                costs_[here][a] += times(problem.costs(node)[a], share);
            }
            at.push_back(here);
        }
        for (PbqpProblem::Edge const& edge : problem.edges()) {
            PbqpMatrix matrix = problem.matrix(edge.matrix);
            for (double& cost : matrix.values) cost = times(cost, share);
            edges_.push_back({at[edge.u], at[edge.v], std::move(matrix)});
        }
    }
    [[nodiscard]] PbqpProblem problem() const {
        PbqpProblem problem;
        for (std::vector<double> const& costs : costs_) (void)problem.add_node(costs);
        for (Edge const& edge : edges_) problem.add_edge(edge.u, edge.v, edge.matrix);
        return problem;
    }
    /// The part of a choice that belongs to the graph added as number `graph`. A choice of too few nodes is returned as
    /// it is.
    [[nodiscard]] std::vector<std::size_t> choice_of(std::size_t graph, std::vector<std::size_t> const& choice) const {
        if (choice.size() != costs_.size()) return choice;
        std::vector<std::size_t> own;
        for (const std::size_t node : nodes_of_[graph]) own.push_back(choice[node]);
        return own;
    }

private:
    struct Named {
        std::size_t node;
        std::vector<Alternative> alternatives;
    };
    struct Edge {
        std::size_t u, v;
        PbqpMatrix matrix;
    };

    [[nodiscard]] static double times(double cost, double share) {
        return cost == std::numeric_limits<double>::infinity() ? cost : cost * share;
    }
    static void check_same(Node const& node, std::vector<Alternative> const& a, std::vector<Alternative> const& b) {
        const auto same = [](Alternative const& left, Alternative const& right) {
            return left.primitive == right.primitive && left.op_layout == right.op_layout &&
                   left.in_layout == right.in_layout && left.out_layout == right.out_layout;
        };
        if (!std::ranges::equal(a, b, same)) {
            fail("plan: layer ", node.name, " of two graphs that are to agree has not the same choice in both");
        }
    }

    std::vector<std::vector<double>> costs_;
    std::vector<Edge> edges_;
    std::vector<std::vector<std::size_t>> nodes_of_;
    std::map<std::string, Named> named_;
};

}  // namespace primsel::inline PRIMSEL_ABI::plan::detail
