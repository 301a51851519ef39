#include <primsel/show/dot.hpp>

#include "../plan/fakes.hpp"
#include "../plan/random_graphs.hpp"
#include "count.hpp"

#include <doctest/doctest.h>
#include <primsel/network/simplify.hpp>
#include <primsel/network/zoo/resnet.hpp>
#include <primsel/pbqp/exact.hpp>

#include <string>
#include <string_view>
#include <vector>

namespace ps = primsel;

namespace {

ps::Plan plan_of(ps::Graph const& graph, unsigned seed = 1) {
    fakes::HashedCosts costs(seed);
    const ps::Kernels kernels = ps::make_kernels<ps::AllPrimitives, ps::default_arch, ps::AllLayouts>();
    return ps::make_plan(graph, kernels, costs, ps::ExactPbqp{});
}

std::size_t edges_of(ps::Graph const& graph) {
    std::size_t edges = 0;
    for (ps::Node const& node : graph.nodes()) edges += node.inputs.size();
    return edges;
}

/// Whether every line within the braces is a statement, and every string in it ends.
bool well_formed(std::string_view text) {
    if (!text.starts_with("digraph plan {\n") || !text.ends_with("}\n")) return false;
    text.remove_prefix(text.find('\n') + 1);
    text.remove_suffix(2);
    bool in_string = false;
    for (std::size_t i = 0; i < text.size(); ++i) {
        if (in_string && text[i] == '\\')
            ++i;
        else if (text[i] == '"')
            in_string = !in_string;
        else if (text[i] == '\n' && (in_string || text[i - 1] != ';'))
            return false;
    }
    return !in_string;
}

}  // namespace

TEST_CASE("a node a layer, an edge an input, and the changes of layout that the plan makes") {
    for (unsigned seed = 0; seed < 30; ++seed) {
        CAPTURE(seed);
        random_graphs::Maker maker(seed);
        const ps::Graph graph = maker.make(20);
        const ps::Plan plan = plan_of(graph, seed);
        const std::string dot = ps::show::to_dot(plan, graph);
        CHECK(well_formed(dot));
        CHECK(texts::count(dot, "fillcolor=") == graph.size());
        // Those of the results, and "node".
        CHECK(texts::count(dot, "  n") - texts::count(dot, "fillcolor=") ==
              edges_of(graph) + graph.outputs().size() + 1);
        for (ps::PlannedTransform const& transform : plan.transforms) {
            const std::string label =
                "\"" + transform.from + " -> " + transform.to + "\\n" + ps::milliseconds(transform.seconds) + " ms\"";
            CHECK(dot.find(label) != std::string::npos);
        }
        if (plan.transforms.empty()) CHECK(dot.find("w -> ") == std::string::npos);
    }
}

TEST_CASE("resnet18 names each layer with its primitive and time") {
    const ps::Graph graph = ps::simplify(ps::zoo::ResNet18::graph());
    const ps::Plan plan = plan_of(graph);
    const std::string dot = ps::show::to_dot(plan, graph);
    for (ps::PlannedLayer const& layer : plan.layers) {
        if (layer.primitive.empty()) continue;
        CHECK(dot.find(layer.name + "\\n" + layer.shape + "\\n" + layer.primitive) != std::string::npos);
    }
    CHECK(dot.find("label=\"result\"") != std::string::npos);
}

TEST_CASE("names are quoted, several results are numbered, another graph is an error") {
    ps::Graph graph;
    graph.add("a \"b\" \\c\n", ps::InputParams{{1, 2, 2}}, {});
    graph.add("d", ps::ActivationParams{}, {0});
    graph.set_outputs({0, 1});
    const ps::Plan plan = plan_of(graph);
    const std::string dot = ps::show::to_dot(plan, graph);
    CHECK(well_formed(dot));
    CHECK(dot.find("[label=\"a \\\"b\\\" \\\\c\\n\\n1x2x2") != std::string::npos);
    CHECK(dot.find("n0 -> result0") != std::string::npos);
    CHECK(dot.find("n1 -> result1") != std::string::npos);
    CHECK_THROWS_AS((void)ps::show::to_dot(plan, ps::Graph()), ps::error);
    CHECK_THROWS_AS((void)ps::show::to_dot(plan, ps::simplify(ps::zoo::ResNet18::graph())), ps::error);
}
