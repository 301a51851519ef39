#include "../prune/thinned.hpp"

#include <doctest/doctest.h>
#include <primsel/layer/compose.hpp>
#include <primsel/show/coupling_dot.hpp>

#include <string>

namespace coupling_dot {
namespace {

namespace ps = primsel;
using namespace ps::layer;  // NOLINT(google-build-using-namespace): layers, as networks are written
using namespace thinned;    // NOLINT(google-build-using-namespace)

TEST_CASE("layers whose channels are coupled have one colour, those that may go a thick line") {
    const ps::Graph graph = graph_of<Input<3, 8, 8>, Named<"a", Conv<8, 3>>, Named<"n", BatchNorm>,
                                     Named<"r", Residual<Named<"b", Conv<8, 3>>>>, Named<"d", Conv<8, 3, Groups<8>>>,
                                     Named<"c", Conv<4, 3>>>();
    const ps::prune::Coupling coupling(graph);
    const std::string dot = ps::show::to_dot(graph, coupling);
    CHECK(dot.starts_with("digraph coupling {\n"));
    CHECK(dot.find("n1 [label=\"a\\nconv, 8 channels\", fillcolor=\"0.000 0.4 0.95\", penwidth=3];") !=
          std::string::npos);
    CHECK(dot.find("n4 [label=\"" + graph[4].name + "\\nadd, 8 channels\", fillcolor=\"0.000 0.4 0.95\"];") !=
          std::string::npos);
    CHECK(dot.find("c\\nconv, 4 channels\", fillcolor=\"#e4e7ea\"];") != std::string::npos);
    CHECK(dot.find("n3 -> n4;\n") != std::string::npos);
}

}  // namespace
}  // namespace coupling_dot
