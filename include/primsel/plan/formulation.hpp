#pragma once

#include <primsel/kernels/kernels.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/pbqp/problem.hpp>
#include <primsel/pbqp/solution.hpp>
#include <primsel/plan/pricing.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace plan {

/// The layout in which a node reads its input at `position`: a convolution's residual is laid out as its result.
[[nodiscard]] inline std::size_t read_layout(Node const& node, std::size_t position, std::size_t in_layout,
                                             std::size_t out_layout) {
    return node.epilogue.residual && position + 1 == node.inputs.size() ? out_layout : in_layout;
}

/// A node's input that another node's result fills.
struct Reading {
    std::size_t reader, position;
};

/// The PBQP of a plan. A node is a layer. Its alternatives are pairs of layouts, alone or in a chain. An edge costs the
/// change of layout between two layers, and forbids that one runs in a chain without the other. The network's results
/// are in the first layout. Readers that want the same layout share one copy: a result with several readers has one
/// more node, which chooses the layouts in which it is copied.
template <class Prices>
class Formulation {
public:
    /// alternatives: those of `pricing`, or some of them. All arguments must outlive this.
    Formulation(Graph const& graph, Prices const& prices, Alternatives const& alternatives)
        : graph_(graph), prices_(prices), alternatives_(alternatives) {
        std::vector<std::vector<Reading>> readings(graph.size());
        const std::vector<std::size_t> outputs = graph.outputs();
        for (std::size_t i = 0; i < graph.size(); ++i) {
            std::vector<double> costs;
            for (Alternative const& way : alternatives[i]) {
                const auto results = static_cast<double>(std::ranges::count(outputs, i));
                costs.push_back(way.seconds + way.penalty +
                                (results > 0 ? results * prices.transform_seconds(i, way.out_layout, 0) : 0));
            }
            problem.add_node(std::move(costs));
            for (std::size_t position = 0; position < graph[i].inputs.size(); ++position) {
                readings[graph[i].inputs[position]].push_back({i, position});
            }
        }
        for (std::size_t writer = 0; writer < graph.size(); ++writer) {
            if (readings[writer].size() == 1) add_edge(writer, readings[writer][0]);
            if (readings[writer].size() > 1) add_copies(writer, readings[writer]);
        }
    }

    /// The first nodes are the graph's, in its order.
    PbqpProblem problem;

    /// Throws error, naming solver and layer, unless the solution takes one of the alternatives of each node. Whether
    /// the copies that it takes serve their readers does not matter: a plan makes those that its layers need.
    void check(PbqpSolution const& solution, std::string_view solver) const {
        const std::vector<std::size_t>& choice = solution.choice;
        if (choice.size() != problem.node_count()) {
            fail("plan: solver ", solver, " chose ", choice.size(), " alternatives for a problem of ",
                 problem.node_count(), " nodes, one for each layer and each set of copies");
        }
        for (std::size_t node = 0; node < choice.size(); ++node) {
            const std::size_t count = problem.costs(node).size();
            if (choice[node] >= count) {
                fail("plan: solver ", solver, " chose alternative ", choice[node], " for ", name_of(node),
                     ", which has ", count, ", from 0 on");
            }
        }
    }

private:
    static constexpr double infinite = std::numeric_limits<double>::infinity();

    [[nodiscard]] std::string name_of(std::size_t node) const {
        if (node < graph_.size()) return join("layer ", graph_[node].name);
        return join("the copies of the result of layer ", graph_[copied_[node - graph_.size()]].name);
    }
    [[nodiscard]] std::size_t layout_of(Reading const& reading, Alternative const& way) const {
        return read_layout(graph_[reading.reader], reading.position, way.in_layout, way.out_layout);
    }
    /// Whether one of two neighbours in a chain runs in its strips and the other does not.
    [[nodiscard]] bool divides_chain(std::size_t writer, Alternative const& write, Reading const& reading,
                                     Alternative const& read) const {
        if (write.chain == read.chain || reading.position > 0) return false;
        const auto holds_both = [&](std::size_t chain) {
            return chain != Alternative::no_chain && prices_.chains[chain].contains(writer) &&
                   prices_.chains[chain].contains(reading.reader);
        };
        return holds_both(write.chain) || holds_both(read.chain);
    }
    void add_edge(std::size_t writer, Reading const& reading) {
        auto const &from = alternatives_[writer], &to = alternatives_[reading.reader];
        std::vector<double> costs;
        for (Alternative const& write : from) {
            for (Alternative const& read : to) {
                costs.push_back(divides_chain(writer, write, reading, read)
                                    ? infinite
                                    : prices_.transform_seconds(writer, write.out_layout, layout_of(reading, read)));
            }
        }
        problem.add_edge(writer, reading.reader, PbqpMatrix{from.size(), to.size(), std::move(costs)});
    }
    void add_copies(std::size_t writer, std::vector<Reading> const& readings) {
        std::vector<std::size_t> layouts;
        for (Reading const& reading : readings) {
            for (Alternative const& way : alternatives_[reading.reader]) {
                layouts.push_back(layout_of(reading, way));
            }
        }
        std::ranges::sort(layouts);
        layouts.erase(std::unique(layouts.begin(), layouts.end()), layouts.end());
        // An alternative is a set of layouts: bit i of its number plus one stands for layouts[i].
        const std::size_t sets = (std::size_t{1} << layouts.size()) - 1;
        const auto contains = [](std::size_t set, std::size_t i) { return (((set + 1) >> i) & 1U) != 0; };
        const std::size_t copies = problem.add_node(std::vector<double>(sets, 0.0));
        copied_.push_back(writer);

        std::vector<double> costs;
        for (Alternative const& write : alternatives_[writer]) {
            for (std::size_t set = 0; set < sets; ++set) {
                double seconds = 0;
                for (std::size_t i = 0; i < layouts.size(); ++i) {
                    if (contains(set, i)) seconds += prices_.transform_seconds(writer, write.out_layout, layouts[i]);
                }
                costs.push_back(seconds);
            }
        }
        problem.add_edge(writer, copies, PbqpMatrix{alternatives_[writer].size(), sets, std::move(costs)});
        for (Reading const& reading : readings) {
            auto const& to = alternatives_[reading.reader];
            std::vector<double> allowed;
            for (std::size_t set = 0; set < sets; ++set) {
                for (Alternative const& read : to) {
                    const auto i = std::ranges::find(layouts, layout_of(reading, read)) - layouts.begin();
                    allowed.push_back(contains(set, static_cast<std::size_t>(i)) ? 0.0 : infinite);
                }
            }
            problem.add_edge(copies, reading.reader, PbqpMatrix{sets, to.size(), std::move(allowed)});
        }
    }

    Graph const& graph_;
    Prices const& prices_;
    Alternatives const& alternatives_;
    std::vector<std::size_t> copied_;  // the layer whose copies each node after the graph's chooses
};

}  // namespace plan

}  // namespace primsel::inline PRIMSEL_ABI
