// Graphs to simplify, and what they must be after.
#pragma once

#include "../worse.hpp"
#include "evaluate.hpp"

#include <doctest/doctest.h>

#include <primsel/network/prepare.hpp>
#include <primsel/network/simplify.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace simplified_graph {

namespace ps = primsel;

inline constexpr ps::ActivationParams relu{ps::ActivationKind::relu}, relu6{ps::ActivationKind::relu6},
    sigmoid_layer{ps::ActivationKind::sigmoid};
inline constexpr ps::ConvParams conv{.k = 4, .kernel = 3, .padding = 1};

/// A graph under construction: an image of 4x6x6, then layers by name. Without inputs, a layer other than a constant
/// reads the one before it.
class Builder {
public:
    Builder() { graph_.add("image", ps::InputParams{{4, 6, 6}}, {}); }
    Builder& add(std::string name, ps::AnyLayer layer, std::vector<std::string> const& inputs = {}) {
        std::vector<std::size_t> positions;
        for (std::string const& input : inputs) positions.push_back(graph_.find(input));
        const bool reads = !std::holds_alternative<ps::ConstantParams>(layer);
        if (inputs.empty() && reads) positions.push_back(graph_.size() - 1);
        graph_.add(std::move(name), std::move(layer), std::move(positions));
        return *this;
    }
    [[nodiscard]] ps::Graph const& graph() const { return graph_; }

private:
    ps::Graph graph_;
};

/// "a(image) b[norm](a, image) r": layers with what is folded into them and what they read.
inline std::string text(ps::Graph const& graph) {
    std::string result;
    for (ps::Node const& node : graph.nodes()) {
        if (node.inputs.empty()) continue;
        result += (result.empty() ? "" : " ") + node.name;
        for (ps::Folded const& folded : node.epilogue.folded) result += '[' + folded.name + ']';
        for (std::size_t i = 0; i < node.inputs.size(); ++i) {
            result += (i == 0 ? "(" : ", ") + graph[node.inputs[i]].name;
        }
        result += ')';
    }
    return result;
}

/// Both graphs need the same weights and compute the same.
inline void check_same(ps::Graph const& graph, ps::Graph const& simplified, std::uint32_t seed = 1,
                       double tolerance = 1e-9) {
    const ps::Weights weights = ps::random_weights(graph, seed);
    REQUIRE_NOTHROW(ps::check_weights(simplified, weights));
    std::mt19937 bits(seed);
    evaluate::Image image(graph[graph.input()].shape);
    for (double& value : image.data) value = static_cast<double>(bits() % 4001) / 1000 - 2;
    const evaluate::Image expected = evaluate::graph(graph, image, weights);
    const evaluate::Image actual = evaluate::graph(simplified, image, weights);
    REQUIRE(actual.shape == expected.shape);
    double worst = 0;
    for (std::size_t i = 0; i < expected.data.size(); ++i) {
        const double scale = std::max(1.0, std::abs(expected.data[i]));
        const double error = std::abs(actual.data[i] - expected.data[i]) / scale;
        worst = worse(worst, error);
    }
    CHECK(worst < tolerance);
}

/// Simplifies, and checks what may never change.
inline ps::Graph checked(ps::Graph const& graph) {
    ps::Graph simplified = ps::simplify(graph);
    CHECK(simplified.batch() == graph.batch());
    CHECK(simplified.size() <= graph.size());
    CHECK(simplified[simplified.output_node()].shape == graph[graph.output_node()].shape);
    CHECK(ps::simplify(simplified) == simplified);
    check_same(graph, simplified);
    return simplified;
}
inline std::string simplified(Builder const& builder) { return text(checked(builder.graph())); }

template <class Params>
Params params(ps::Graph const& graph, std::string_view name) {
    return std::get<Params>(graph[graph.find(name)].layer);
}

}  // namespace simplified_graph
