// Weights that layers share: one of them owns the values, the others have the same or the transposed ones.
#include "../error_of.hpp"

#include <primsel/network/graph_editor.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/network/simplify.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <string>
#include <vector>

namespace shared_weights {
namespace {

namespace ps = primsel;
using tests::error_of;

/// Two convolutions with one kernel, a dense layer, and one with its transposed matrix.
ps::Graph tied() {
    ps::Graph graph;
    graph.add("x", ps::InputParams{{4, 5, 3}}, {});
    graph.add("a", ps::ConvParams{.k = 4, .kernel = {3, 3}, .padding = {1, 1, 1, 1}, .bias = true}, {0});
    graph.add("b", ps::ConvParams{.k = 4, .kernel = {3, 3}, .padding = {1, 1, 1, 1}, .bias = true}, {1});
    graph.add("pool", ps::GlobalPoolParams{}, {2});
    graph.add("in", ps::DenseParams{.k = 7}, {3});
    graph.add("out", ps::DenseParams{.k = 4}, {4});
    graph.set_shared({{"a.weight", {"kernel"}},
                      {"b.weight", {"kernel"}},
                      {"in.weight", {"matrix"}},
                      {"out.weight", {"matrix", true}}});
    return graph;
}
std::vector<std::string> names(std::vector<ps::WeightSpec> const& specs) {
    std::vector<std::string> names;
    for (ps::WeightSpec const& spec : specs) names.push_back(spec.name);
    return names;
}

TEST_CASE("the first of a group owns the values, and parameters are counted once") {
    const ps::Graph graph = tied();
    CHECK(names(ps::own_weight_specs(graph)) ==
          std::vector<std::string>{"a.weight", "a.bias", "b.bias", "in.weight", "in.bias", "out.bias"});
    CHECK(ps::weight_owners(graph).at("b.weight").name == "a.weight");
    CHECK(!ps::weight_owners(graph).at("b.weight").transposed);
    CHECK(ps::weight_owners(graph).at("out.weight").transposed);
    CHECK(ps::parameter_count(graph) == 4 * 4 * 9 + 4 + 4 + 7 * 4 + 7 + 4);
}

TEST_CASE("whatever makes another graph keeps what is shared; without its first layer, the next one owns the values") {
    const ps::Graph graph = tied();
    CHECK(ps::simplify(graph).shared() == graph.shared());
    ps::GraphEditor editor(graph);
    editor.remove(1);
    editor.remove(4 - 1);
    const ps::Graph rest = editor.graph();
    CHECK(names(ps::own_weight_specs(rest)).front() == "b.weight");
    ps::Graph apart = graph;
    apart.set_shared({});
    CHECK(apart != graph);
}

TEST_CASE("random weights are shared, missing ones follow from their owner or from those who share with it") {
    const ps::Graph graph = tied();
    const ps::Weights weights = ps::random_weights(graph);
    CHECK(weights.at("a.weight").values.data() == weights.at("b.weight").values.data());
    for (std::size_t row = 0; row < 7; ++row) {
        for (std::size_t column = 0; column < 4; ++column) {
            CHECK(weights.at("in.weight").values[row * 4 + column] ==
                  weights.at("out.weight").values[column * 7 + row]);
        }
    }
    for (const std::string left_out : {"a.weight", "b.weight", "in.weight", "out.weight"}) {
        CAPTURE(left_out);
        ps::Weights some;
        for (auto const& [name, tensor] : weights) {
            if (name != left_out) some.add(name, tensor);
        }
        CHECK(error_of([&] { ps::check_weights(graph, some); }).find("missing: " + left_out) != std::string::npos);
        const ps::Weights all = ps::with_shared(graph, some);
        ps::check_weights(graph, all);
        CHECK(std::vector<float>(all.at(left_out).values.begin(), all.at(left_out).values.end()) ==
              std::vector<float>(weights.at(left_out).values.begin(), weights.at(left_out).values.end()));
    }
}

TEST_CASE("values that differ though they are one weight are refused by both names") {
    const ps::Graph graph = tied();
    for (const std::string changed : {"b.weight", "out.weight"}) {
        ps::Weights weights;
        for (auto const& [name, tensor] : ps::random_weights(graph)) {
            std::vector<float> values(tensor.values.begin(), tensor.values.end());
            if (name == changed) values.back() += 1.0F;
            weights.add(name, tensor.dims, values);
        }
        const std::string error = error_of([&] { ps::check_weights(graph, weights); });
        CHECK(error.find("differ though they are one weight") != std::string::npos);
        CHECK(error.find(" and " + changed) != std::string::npos);
    }
}

}  // namespace
}  // namespace shared_weights
