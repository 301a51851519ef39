// Exact elimination of nodes with any number of neighbours, used where its tables stay small.
#pragma once

#include <primsel/pbqp/problem.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <list>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::pbqp::detail {

/// The order in which nodes are eliminated, with its price. `work` is the number of costs added up; `entries` is the
/// number of entries of all tables.
struct EliminationOrder {
    std::vector<std::size_t> nodes;
    double work = 0, entries = 0;
};

/// Returns a greedy order: the node with the smallest table is eliminated next. Returns infinite work beyond max_work.
[[nodiscard]] inline EliminationOrder elimination_order(PbqpProblem const& problem, double max_work) {
    const std::size_t count = problem.node_count();
    std::vector<std::vector<std::size_t>> adjacent(count);
    const auto connect = [&](std::size_t u, std::size_t v) {
        const auto place = std::ranges::lower_bound(adjacent[u], v);
        if (place == adjacent[u].end() || *place != v) adjacent[u].insert(place, v);
    };
    for (PbqpProblem::Edge const& edge : problem.edges()) connect(edge.u, edge.v), connect(edge.v, edge.u);
    const auto table = [&](std::size_t node) {
        double entries = 1;
        for (const std::size_t other : adjacent[node]) entries *= static_cast<double>(problem.costs(other).size());
        return entries;
    };
    std::vector<double> entries(count);
    for (std::size_t node = 0; node < count; ++node) entries[node] = table(node);

    EliminationOrder order;
    std::vector<bool> gone(count, false);
    while (order.nodes.size() < count) {
        std::size_t next = count;
        for (std::size_t node = 0; node < count; ++node) {
            if (!gone[node] && (next == count || entries[node] < entries[next])) next = node;
        }
        gone[next] = true;
        order.nodes.push_back(next);
        const std::vector<std::size_t> neighbours = std::move(adjacent[next]);
        order.entries += entries[next];
        order.work += entries[next] * static_cast<double>(problem.costs(next).size() * (neighbours.size() + 1));
        if (!(order.work <= max_work)) return {{}, std::numeric_limits<double>::infinity(), order.entries};
        for (const std::size_t node : neighbours) {
            std::erase(adjacent[node], next);
            for (const std::size_t other : neighbours) {
                if (other != node) connect(node, other);
            }
        }
        for (const std::size_t node : neighbours) entries[node] = table(node);
    }
    return order;
}

/// Dynamic programming over an elimination order (bucket elimination; Dechter 1999). Each node in turn is replaced by a
/// table of its cheapest alternative for every combination of its neighbours' alternatives.
class Elimination {
public:
    Elimination(PbqpProblem const& problem, std::vector<std::size_t> const& order)
        : problem_(problem), order_(order), position_(problem.node_count()), buckets_(problem.node_count()) {
        for (std::size_t i = 0; i < order.size(); ++i) position_[order[i]] = i;
        for (PbqpProblem::Edge const& edge : problem.edges()) {
            PbqpMatrix const& matrix = problem.matrix(edge.matrix);
            add({{edge.u, edge.v}, {matrix.columns, 1}, &matrix.values});
        }
    }

    /// Returns the cheapest assignment.
    [[nodiscard]] std::vector<std::size_t> solve() {
        std::vector<Answers> answers;
        for (const std::size_t node : order_) answers.push_back(eliminate(node));
        std::vector<std::size_t> choice(problem_.node_count(), 0);
        for (std::size_t i = order_.size(); i-- > 0;) {
            std::size_t place = 0;
            for (const std::size_t other : answers[i].scope) {
                place = place * problem_.costs(other).size() + choice[other];
            }
            choice[order_[i]] = answers[i].best[place];
        }
        return choice;
    }

private:
    /// The costs of all combinations of alternatives of the nodes in `scope`. `strides` holds the distance between
    /// consecutive alternatives of each node.
    struct Table {
        std::vector<std::size_t> scope, strides;
        std::vector<double> const* values;
    };
    /// The best alternative of a node for each choice of the nodes of `scope`.
    struct Answers {
        std::vector<std::size_t> scope;
        std::vector<std::uint32_t> best;
    };

    /// Adds the table to the bucket of the first node of its scope in the elimination order.
    void add(Table table) {
        const std::size_t first = *std::ranges::min_element(
            table.scope, [&](std::size_t a, std::size_t b) { return position_[a] < position_[b]; });
        buckets_[first].push_back(std::move(table));
    }

    [[nodiscard]] Answers eliminate(std::size_t node) {
        std::vector<Table> const tables = std::move(buckets_[node]);
        Answers answers;
        for (Table const& table : tables) {
            for (const std::size_t other : table.scope) {
                if (other != node && std::ranges::find(answers.scope, other) == answers.scope.end()) {
                    answers.scope.push_back(other);
                }
            }
        }
        std::vector<std::size_t> sizes;
        std::size_t entries = 1;
        for (const std::size_t other : answers.scope) {
            sizes.push_back(problem_.costs(other).size());
            entries *= sizes.back();
        }
        // For each table: the strides of the nodes of the combined scope, and the stride of the eliminated node.
        std::vector<std::vector<std::size_t>> steps(tables.size(), std::vector<std::size_t>(sizes.size(), 0));
        std::vector<std::size_t> own(tables.size(), 0), place(tables.size(), 0);
        for (std::size_t t = 0; t < tables.size(); ++t) {
            for (std::size_t n = 0; n < tables[t].scope.size(); ++n) {
                if (tables[t].scope[n] == node) {
                    own[t] = tables[t].strides[n];
                } else {
                    const auto at = std::ranges::find(answers.scope, tables[t].scope[n]) - answers.scope.begin();
                    steps[t][static_cast<std::size_t>(at)] = tables[t].strides[n];
                }
            }
        }
        std::vector<double> result(entries), sums;
        answers.best.resize(entries);
        std::vector<std::size_t> digits(sizes.size(), 0);
        for (std::size_t entry = 0; entry < entries; ++entry) {
            sums = problem_.costs(node);
            for (std::size_t t = 0; t < tables.size(); ++t) {
                double const* const values = tables[t].values->data() + place[t];
                for (std::size_t a = 0; a < sums.size(); ++a) sums[a] += values[a * own[t]];
            }
            const auto least = std::ranges::min_element(sums);
            result[entry] = *least;
            answers.best[entry] = static_cast<std::uint32_t>(least - sums.begin());
            // Advances to the next combination; the last node of the scope varies fastest.
            for (std::size_t d = sizes.size(); d-- > 0;) {
                const bool carry = ++digits[d] == sizes[d];
                const std::size_t back = carry ? sizes[d] - 1 : 0;
                for (std::size_t t = 0; t < tables.size(); ++t) {
                    place[t] = carry ? place[t] - back * steps[t][d] : place[t] + steps[t][d];
                }
                if (!carry) break;
                digits[d] = 0;
            }
        }
        if (!sizes.empty()) {
            std::vector<std::size_t> strides(sizes.size(), 1);
            for (std::size_t d = sizes.size() - 1; d-- > 0;) strides[d] = strides[d + 1] * sizes[d + 1];
            results_.push_back(std::move(result));
            add({answers.scope, std::move(strides), &results_.back()});
        }
        return answers;
    }

    PbqpProblem const& problem_;
    std::vector<std::size_t> const& order_;
    std::vector<std::size_t> position_;  // the place of each node in the elimination order
    std::vector<std::vector<Table>> buckets_;
    std::list<std::vector<double>> results_;
};

}  // namespace primsel::inline PRIMSEL_ABI::pbqp::detail
