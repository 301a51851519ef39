#include "thinned.hpp"

#include <doctest/doctest.h>
#include <primsel/layer/compose.hpp>
#include <primsel/prune/coupled_layers.hpp>

#include <string>
#include <vector>

namespace coupled_layers {
namespace {

namespace ps = primsel;
using namespace ps::layer;  // NOLINT(google-build-using-namespace): layers, as networks are written
using namespace thinned;    // NOLINT(google-build-using-namespace)

TEST_CASE("the table of what is coupled to what") {
    const ps::Graph graph = graph_of<Input<3, 8, 8>, Named<"a", Conv<8, 3>>, Named<"n", BatchNorm>,
                                     Named<"r", Residual<Named<"b", Conv<8, 3>>>>, Named<"d", Conv<8, 3, Groups<8>>>,
                                     Named<"c", Conv<4, 3>>>();
    const ps::prune::Coupling coupling(graph);
    const std::vector<ps::prune::CoupledLayers> table = ps::prune::coupled_layers(graph, coupling);
    using Names = std::vector<std::string>;
    REQUIRE(table.size() == 2);
    CHECK(table[0].made_by == Names{"a", "r.b"});
    CHECK(table[0].passed_by == Names{"n", graph[4].name, "d"});
    CHECK(table[0].read_by == Names{"r.b", "c"});
    CHECK(table[0].groups.size() == 8);
    CHECK(table[0].may_go == 8);
    CHECK(table[1].made_by == Names{"c"});
    CHECK(table[1].may_go == 0);
    CHECK(ps::prune::to_text(table) ==
          "filters of  channels  may go  read by  the others stay because\n"
          "a, r.b      8         8       r.b, c   \n"
          "c           4         0                they are the network's result\n");
}

}  // namespace
}  // namespace coupled_layers
