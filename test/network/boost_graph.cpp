#if __has_include(<boost/graph/adjacency_list.hpp>)
#include <primsel/network/boost_graph.hpp>

#include <doctest/doctest.h>
#include <boost/graph/topological_sort.hpp>
#include <primsel/network/zoo.hpp>

#include <algorithm>
#include <iterator>
#include <sstream>
#include <string>
#include <vector>

namespace ps = primsel;

namespace {

std::size_t count(std::string const& text, std::string const& part) {
    std::size_t found = 0;
    for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
    return found;
}

}  // namespace

TEST_CASE("boost_graph: vertices are positions, edges lead to readers") {
    for (ps::zoo::Entry const& entry : ps::zoo::entries) {
        CAPTURE(entry.name);
        const ps::Graph graph = entry.graph(1);
        const ps::BoostGraph boosted = ps::to_boost_graph(graph);
        REQUIRE(boost::num_vertices(boosted) == graph.size());
        std::size_t edges = 0;
        for (std::size_t i = 0; i < graph.size(); ++i) {
            edges += graph[i].inputs.size();
            CHECK(boost::in_degree(i, boosted) == graph[i].inputs.size());
            for (const std::size_t input : graph[i].inputs) CHECK(boost::edge(input, i, boosted).second);
        }
        CHECK(boost::num_edges(boosted) == edges);
    }
}

TEST_CASE("boost_graph: its topological order agrees with the graph's") {
    for (ps::zoo::Entry const& entry : ps::zoo::entries) {
        CAPTURE(entry.name);
        const ps::Graph graph = entry.graph(1);
        std::vector<std::size_t> order;
        const ps::BoostGraph boosted = ps::to_boost_graph(graph);
        boost::topological_sort(boosted, std::back_inserter(order));  // the result first
        REQUIRE(order.size() == graph.size());
        std::ranges::reverse(order);
        CHECK(order.front() == graph.input());
        CHECK(order.back() == graph.output_node());
        std::vector<std::size_t> place(order.size());
        for (std::size_t i = 0; i < order.size(); ++i) place[order[i]] = i;
        for (std::size_t i = 0; i < graph.size(); ++i) {
            for (const std::size_t input : graph[i].inputs) {
                CHECK(place[input] < place[i]);
                CHECK(input < i);
            }
        }
    }
}

TEST_CASE("boost_graph: dot shows each layer's name and shape, and each edge") {
    const ps::Graph graph = ps::zoo::ResNet18::graph();
    std::ostringstream out;
    ps::write_dot(out, graph);
    const std::string dot = out.str();
    CHECK(dot.starts_with("digraph"));
    std::size_t edges = 0;
    for (ps::Node const& node : graph.nodes()) {
        CHECK(count(dot, '"' + node.name + '\n' + ps::to_string(node.shape) + '"') == 1);
        edges += node.inputs.size();
    }
    CHECK(count(dot, "->") == edges);

    ps::Graph odd;
    odd.add("a \"quoted\" name", ps::InputParams{{1, 2, 3}}, {});
    std::ostringstream quoted;
    ps::write_dot(quoted, odd);
    CHECK(quoted.str().find("a \\\"quoted\\\" name") != std::string::npos);
}
#endif
