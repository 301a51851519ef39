#include <primsel/network/boost_graph.hpp>

int main() { return boost::num_vertices(primsel::to_boost_graph(primsel::Graph{})) == 0 ? 0 : 1; }
