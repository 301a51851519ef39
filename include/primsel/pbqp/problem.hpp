#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The cost of each pair of alternatives of two nodes, row-major. An infinite cost forbids the pair.
struct PbqpMatrix {
    std::size_t rows = 0, columns = 0;
    std::vector<double> values;

    [[nodiscard]] double operator()(std::size_t row, std::size_t column) const {
        return values[row * columns + column];
    }
    friend bool operator==(PbqpMatrix const&, PbqpMatrix const&) = default;
};

/// A problem of partitioned Boolean quadratic programming (Hames and Scholz 2006). Every node takes one of its
/// alternatives at a cost. Every edge adds the entry of its matrix for the alternatives that its two nodes take. Costs
/// are non-negative or infinite.
class PbqpProblem {
public:
    struct Edge {
        std::size_t u, v;
        std::size_t matrix;  ///< its rows are the alternatives of u, its columns those of v
    };

    /// Adds a node and returns its number. Throws error if there is no alternative or a cost is negative or NaN.
    std::size_t add_node(std::vector<double> costs) {
        if (costs.empty()) fail("pbqp: node ", nodes_.size(), " has no alternatives");
        check(costs, "node ", nodes_.size());
        nodes_.push_back(std::move(costs));
        return nodes_.size() - 1;
    }
    /// Adds a matrix and returns its number. Equal matrices are stored once.
    std::size_t add_matrix(PbqpMatrix matrix) {
        if (matrix.values.size() != matrix.rows * matrix.columns) {
            fail("pbqp: ", matrix.values.size(), " values for a matrix of ", matrix.rows, "x", matrix.columns);
        }
        check(matrix.values, "matrix ", matrices_.size());
        const std::uint64_t key = hash(matrix);
        const auto [first, last] = pool_.equal_range(key);
        for (auto it = first; it != last; ++it) {
            if (matrices_[it->second] == matrix) return it->second;
        }
        pool_.emplace(key, matrices_.size());
        matrices_.push_back(std::move(matrix));
        return matrices_.size() - 1;
    }
    /// Adds an edge; several edges between the same nodes add up. Throws error when the matrix does not fit the nodes.
    void add_edge(std::size_t u, std::size_t v, std::size_t matrix) {
        if (u >= nodes_.size() || v >= nodes_.size() || matrix >= matrices_.size()) {
            fail("pbqp: edge ", u, "-", v, " with matrix ", matrix, " names what is not there");
        }
        if (u == v) fail("pbqp: node ", u, " has an edge to itself");
        PbqpMatrix const& m = matrices_[matrix];
        if (m.rows != nodes_[u].size() || m.columns != nodes_[v].size()) {
            fail("pbqp: edge ", u, "-", v, " needs a matrix of ", nodes_[u].size(), "x", nodes_[v].size(), ", not ",
                 m.rows, "x", m.columns);
        }
        edges_.push_back({u, v, matrix});
    }
    void add_edge(std::size_t u, std::size_t v, PbqpMatrix matrix) { add_edge(u, v, add_matrix(std::move(matrix))); }

    [[nodiscard]] std::size_t node_count() const { return nodes_.size(); }
    [[nodiscard]] std::vector<double> const& costs(std::size_t node) const { return nodes_[node]; }
    [[nodiscard]] std::vector<Edge> const& edges() const { return edges_; }
    [[nodiscard]] PbqpMatrix const& matrix(std::size_t number) const { return matrices_[number]; }
    [[nodiscard]] std::size_t matrix_count() const { return matrices_.size(); }

    /// Returns the cost of an assignment. `choice` holds one alternative for each node.
    [[nodiscard]] double cost(std::span<const std::size_t> choice) const {
        double sum = 0;
        for (std::size_t node = 0; node < nodes_.size(); ++node) sum += nodes_[node][choice[node]];
        for (Edge const& edge : edges_) sum += matrices_[edge.matrix](choice[edge.u], choice[edge.v]);
        return sum;
    }

private:
    static void check(std::vector<double> const& costs, std::string_view what, std::size_t number) {
        for (double const& cost : costs) {
            if (is_nan(cost) || !(cost >= 0)) fail("pbqp: ", what, number, " has the impossible cost ", cost);
        }
    }
    [[nodiscard]] static std::uint64_t hash(PbqpMatrix const& matrix) {
        std::uint64_t hash = matrix.rows * 31 + matrix.columns;
        for (const double value : matrix.values) {
            hash = (hash ^ std::bit_cast<std::uint64_t>(value + 0.0)) * 0x9e3779b97f4a7c15ULL;
            hash ^= hash >> 29;
        }
        return hash;
    }

    std::vector<std::vector<double>> nodes_;
    std::vector<Edge> edges_;
    std::vector<PbqpMatrix> matrices_;
    std::unordered_multimap<std::uint64_t, std::size_t> pool_;
};

}  // namespace primsel::inline PRIMSEL_ABI
