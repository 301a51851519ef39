#include <primsel/plan/detail/reuse_distance.hpp>

#include "random_graphs.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <variant>
#include <vector>

namespace ps = primsel;

namespace {

/// The layers that are computed in place here.
bool is_sum(ps::AnyLayer const& layer) { return std::holds_alternative<ps::AddParams>(layer); }

double bytes(ps::Graph const& graph, std::size_t tensor) {
    if (std::holds_alternative<ps::ConstantParams>(graph[tensor].layer)) return 0;
    return 4.0 * graph.batch() * static_cast<double>(graph[tensor].shape.size());
}
/// The bytes that a layer reads and writes.
double traffic(ps::Graph const& graph, std::size_t layer) {
    double sum = bytes(graph, layer);
    for (const std::size_t from : graph[layer].inputs) sum += bytes(graph, from);
    return sum;
}
/// Looks back from each use for the one before: all that layer's bytes went by, or only the tensor where it is the
/// layer's result, and those of all layers between.
double by_looking_back(ps::Graph const& graph, std::size_t layer) {
    double run = 0;
    for (std::size_t i = 0; i < graph.size(); ++i) run += traffic(graph, i);
    double logarithms = is_sum(graph[layer].layer) ? 0 : bytes(graph, layer) * std::log(run);
    std::vector<std::size_t> tensors = graph[layer].inputs;
    if (is_sum(graph[layer].layer)) tensors.push_back(tensors[0]);
    for (const std::size_t tensor : tensors) {
        if (bytes(graph, tensor) == 0) continue;
        double passed = 0;
        for (std::size_t before = layer; before-- > 0;) {
            if (before == tensor || std::ranges::count(graph[before].inputs, tensor) > 0) {
                passed += before == tensor ? bytes(graph, tensor) : traffic(graph, before);
                break;
            }
            passed += traffic(graph, before);
        }
        logarithms += bytes(graph, tensor) * std::log(passed);
    }
    return std::exp(logarithms / traffic(graph, layer));
}

}  // namespace

TEST_CASE("bytes apart are those that go by between two uses of a tensor") {
    for (unsigned seed = 0; seed < 50; ++seed) {
        CAPTURE(seed);
        const ps::Graph graph = random_graphs::Maker(seed).make(10, 1 + static_cast<int>(seed % 3));
        const std::vector<double> apart = ps::plan::detail::data_reuse_bytes(graph, is_sum);
        for (std::size_t i = 0; i < graph.size(); ++i) {
            if (bytes(graph, i) > 0) CHECK(apart[i] == doctest::Approx(by_looking_back(graph, i)));
        }
    }
}

TEST_CASE("a chain's input is as far as its own bytes, its result as far as a run") {
    ps::Graph graph(2);
    const std::size_t input = graph.add("x", ps::InputParams{{4, 8, 8}}, {});
    const ps::AnyLayer layer = ps::ActivationParams{};
    const std::size_t first = graph.add("a", layer, {input}), second = graph.add("b", layer, {first});
    const double tensor = 4.0 * 2 * 256, run = 5 * tensor;
    const std::vector<double> apart = ps::plan::detail::data_reuse_bytes(graph, is_sum);
    CHECK(apart[first] == doctest::Approx(std::sqrt(tensor * run)));
    CHECK(apart[second] == doctest::Approx(std::sqrt(tensor * run)));
}

TEST_CASE("image by image, only the caller's tensors are as far as a whole batch of them") {
    ps::Graph graph(8);
    const std::size_t input = graph.add("x", ps::InputParams{{4, 8, 8}}, {});
    const ps::AnyLayer layer = ps::ActivationParams{};
    const std::size_t first = graph.add("a", layer, {input}), second = graph.add("b", layer, {first}),
                      third = graph.add("c", layer, {second});
    const std::vector<bool> callers = ps::plan::detail::callers_tensors(graph);
    CHECK(callers == std::vector<bool>{true, false, false, true});
    const double tensor = 4.0 * 256, batch = 2 * 8 * tensor;
    const std::vector<double> apart = ps::plan::detail::callers_reuse_bytes(graph, callers);
    CHECK(apart[first] == doctest::Approx(std::sqrt(2 * tensor * batch)));
    CHECK(apart[second] == 0);
    CHECK(apart[third] == doctest::Approx(std::sqrt(2 * tensor * batch)));
}

TEST_CASE("one image of the caller's that a layer reads and writes is no farther than itself") {
    ps::Graph graph(1);
    const std::size_t input = graph.add("x", ps::InputParams{{4, 8, 8}}, {});
    const std::size_t only = graph.add("a", ps::ActivationParams{}, {input});
    CHECK(ps::plan::detail::callers_reuse_bytes(graph, ps::plan::detail::callers_tensors(graph))[only] == 0);
}
