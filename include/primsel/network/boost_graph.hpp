// Opt-in: needs Boost.Graph (the CMake target primsel::boost_graph), which takes three seconds to compile.
#pragma once

#include <primsel/network/graph.hpp>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/graphviz.hpp>
#include <ostream>

namespace primsel::inline PRIMSEL_ABI {

using BoostGraph = boost::adjacency_list<boost::vecS, boost::vecS, boost::bidirectionalS>;

/// The graph for Boost's algorithms: vertices are positions, edges lead from a layer to its readers.
[[nodiscard]] inline BoostGraph to_boost_graph(Graph const& graph) {
    BoostGraph result(graph.size());
    for (std::size_t i = 0; i < graph.size(); ++i) {
        for (const std::size_t input : graph[i].inputs) boost::add_edge(input, i, result);
    }
    return result;
}

/// Graphviz's dot.
inline void write_dot(std::ostream& out, Graph const& graph) {
    boost::write_graphviz(out, to_boost_graph(graph), [&graph](std::ostream& label, std::size_t i) {
        label << "[label=" << boost::escape_dot_string(graph[i].name + "\n" + to_string(graph[i].shape)) << ']';
    });
}

}  // namespace primsel::inline PRIMSEL_ABI
