#include <primsel/plan/layer_errors.hpp>

#include <doctest/doctest.h>

#include <vector>

namespace ps = primsel;

namespace layer_errors_tests {

TEST_CASE("layer errors: bounds name the layers that could be less precise, and their errors") {
    ps::Graph graph;
    graph.add("image", ps::InputParams{{3, 8, 8}}, {});
    graph.add("a", ps::ConvParams{.k = 4}, {0});
    graph.add("b", ps::ConvParams{.k = 4}, {1});
    graph.add("c", ps::ConvParams{.k = 4}, {2});
    graph.add("d", ps::ConvParams{.k = 4}, {3});
    const ps::LayerErrors errors{{"a", {.bf16 = 1e-6, .int8 = 4e-4}},
                                 {"b", {.bf16 = 1e-6, .int8 = 4e-4}},
                                 {"c", {.bf16 = 1e-6, .int8 = 4e-4}},
                                 {"d", {.bf16 = 1e-6}}};
    using enum ps::Precision;
    const std::vector<ps::Precision> precisions{float32, float32, bf16, int8, bf16};
    const std::vector<ps::LayerPrecision> expected{
        {"a", float32,
         "within the error budget the layer stays in float32; its error alone: 0.1 % in bf16, 2 % in int8"},
        {"b", bf16, "within the error budget the layer stays in bf16; its error alone: 2 % in int8"}};
    CHECK(ps::layer_precisions(graph, precisions, errors) == expected);
    CHECK(errors.at("d").in(float32) == 0.0);
    CHECK(!errors.at("d").in(int8));
}

}  // namespace layer_errors_tests
