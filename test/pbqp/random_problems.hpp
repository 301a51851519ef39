// Random problems of every kind of graph. Costs are small whole numbers, so that sums are exact and equal means equal.
#pragma once

#include <primsel/pbqp/problem.hpp>

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string_view>
#include <utility>
#include <vector>

namespace random_problems {

namespace ps = primsel;

inline constexpr double forbidden = std::numeric_limits<double>::infinity();

class Random {
public:
    explicit Random(std::uint32_t seed) : bits_(seed) {}
    /// In [0, bound).
    std::size_t below(std::size_t bound) { return bits_() % bound; }
    /// In [first, last].
    std::size_t between(std::size_t first, std::size_t last) { return first + below(last - first + 1); }
    /// 0 to 9; or forbidden, so often in a hundred.
    double cost(std::size_t percent_forbidden) {
        return below(100) < percent_forbidden ? forbidden : static_cast<double>(below(10));
    }
    std::vector<double> costs(std::size_t count, std::size_t percent_forbidden) {
        std::vector<double> result(count);
        for (double& value : result) value = cost(percent_forbidden);
        return result;
    }

private:
    std::mt19937 bits_;
};

struct Edges {
    std::size_t nodes = 0;
    std::vector<std::pair<std::size_t, std::size_t>> pairs;
};

inline Edges chain(Random& random) {
    Edges edges{random.between(1, 8), {}};
    for (std::size_t i = 1; i < edges.nodes; ++i) edges.pairs.emplace_back(i - 1, i);
    return edges;
}
inline Edges tree(Random& random) {
    Edges edges{random.between(2, 8), {}};
    for (std::size_t i = 1; i < edges.nodes; ++i) edges.pairs.emplace_back(random.below(i), i);
    return edges;
}
inline Edges cycle(Random& random) {
    Edges edges{random.between(3, 8), {}};
    for (std::size_t i = 0; i < edges.nodes; ++i) edges.pairs.emplace_back(i, (i + 1) % edges.nodes);
    return edges;
}
inline Edges star(Random& random) {
    Edges edges{random.between(4, 8), {}};
    for (std::size_t i = 1; i < edges.nodes; ++i) edges.pairs.emplace_back(0, i);
    return edges;
}
/// From one edge: an edge is doubled, or a node is put on it. Residual networks and inception modules are such.
inline Edges series_parallel(Random& random) {
    Edges edges{2, {{0, 1}}};
    for (std::size_t steps = random.between(3, 12); steps-- > 0;) {
        const std::size_t at = random.below(edges.pairs.size());
        const auto [u, v] = edges.pairs[at];
        if (edges.nodes == 8 || random.below(2) == 0) {
            edges.pairs.emplace_back(u, v);
        } else {
            edges.pairs[at] = {u, edges.nodes};
            edges.pairs.emplace_back(edges.nodes++, v);
        }
    }
    return edges;
}
template <std::size_t nodes>
Edges complete(Random&) {
    Edges edges{nodes, {}};
    for (std::size_t i = 0; i < nodes; ++i) {
        for (std::size_t j = i + 1; j < nodes; ++j) edges.pairs.emplace_back(i, j);
    }
    return edges;
}
/// A triangle, a K4, a chain and a node alone.
inline Edges disconnected(Random&) {
    return {10, {{0, 1}, {1, 2}, {2, 0}, {3, 4}, {3, 5}, {3, 6}, {4, 5}, {4, 6}, {5, 6}, {7, 8}}};
}
/// Few nodes, many edges: the same two nodes are joined again and again.
inline Edges parallel(Random& random) {
    Edges edges{random.between(2, 5), {}};
    for (std::size_t count = 4 * edges.nodes; count-- > 0;) {
        const std::size_t u = random.below(edges.nodes);
        edges.pairs.emplace_back(u, (u + 1 + random.below(edges.nodes - 1)) % edges.nodes);
    }
    return edges;
}
/// K5 on a string: a core between a chain and leaves.
inline Edges core_with_tails(Random& random) {
    Edges edges = complete<5>(random);
    edges.nodes = 9;
    for (std::size_t i = 5; i < edges.nodes; ++i) edges.pairs.emplace_back(random.below(i), i);
    return edges;
}

struct Kind {
    std::string_view name;
    Edges (*edges)(Random&);
    /// Whether R0, RI and RII solve it whatever the costs.
    bool reducible;
};
inline constexpr std::array kinds{
    Kind{"chain", &chain, true},
    Kind{"tree", &tree, true},
    Kind{"cycle", &cycle, true},
    Kind{"star", &star, true},
    Kind{"series-parallel", &series_parallel, true},
    Kind{"complete on 5", &complete<5>, false},
    Kind{"complete on 6", &complete<6>, false},
    Kind{"disconnected", &disconnected, false},
    Kind{"parallel edges", &parallel, false},
    Kind{"core with tails", &core_with_tails, false},
};

/// Random costs on the edges, each of which points either way. One to three alternatives a node.
inline ps::PbqpProblem problem(Random& random, Edges const& edges, std::size_t percent_forbidden,
                               std::size_t min_alternatives = 1) {
    ps::PbqpProblem result;
    for (std::size_t node = 0; node < edges.nodes; ++node) {
        result.add_node(random.costs(random.between(min_alternatives, 3), percent_forbidden));
    }
    for (auto [u, v] : edges.pairs) {
        if (random.below(2) == 0) std::swap(u, v);
        const std::size_t rows = result.costs(u).size(), columns = result.costs(v).size();
        result.add_edge(u, v, ps::PbqpMatrix{rows, columns, random.costs(rows * columns, percent_forbidden)});
    }
    return result;
}

}  // namespace random_problems
