#pragma once

#include <primsel/core/config.hpp>
#include <primsel/core/error.hpp>
#include <primsel/layer/all.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/tensor/shape.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A classifier that gives, instead of all scores, the k classes of the largest scores as its first result, the best
/// first, and those scores as its second. Of equal scores, the lower class comes first, as in numpy's argmax and stable
/// argsort; NaN comes last. A softmax at the end is left out, since it does not change the order: scores are those
/// before it. Throws error unless the graph has one result, a row of at least k scores.
[[nodiscard]] inline Graph with_top_classes(Graph const& graph, int k = 1) {
    const std::size_t output = graph.output_node();
    const Shape shape = graph[output].shape;
    if (static_cast<std::size_t>(shape.c) != shape.size() && static_cast<std::size_t>(shape.w) != shape.size()) {
        fail("classes: layer ", graph[output].name, " gives ", shape, ", not a row of scores");
    }
    if (k < 1 || static_cast<std::size_t>(k) > shape.size()) {
        fail("classes: the ", k, " best of ", shape.size(), " scores of layer ", graph[output].name);
    }
    const auto* softmax = std::get_if<SoftmaxParams>(&graph[output].layer);
    const bool over_all = softmax != nullptr && static_cast<std::size_t>(extent(shape, softmax->axis)) == shape.size();
    const bool drops = over_all && graph[output].epilogue == Epilogue{} && graph.uses()[output] == 1;

    Graph result(graph.batch());
    std::vector<std::size_t> places;
    for (std::size_t i = 0; i < graph.size(); ++i) {
        Node const& node = graph[i];
        std::vector<std::size_t> inputs;
        for (const std::size_t input : node.inputs) inputs.push_back(places[input]);
        if (drops && i == output) {
            places.push_back(inputs[0]);
        } else {
            places.push_back(result.add(node.name, node.layer, std::move(inputs), node.epilogue));
            result.set_range(places.back(), node.range);
        }
    }
    const auto name = [&result, &of = graph[output].name](std::string_view what) {
        std::string free = of + std::string(what);
        while (std::ranges::find(result.nodes(), free, &Node::name) != result.nodes().end()) free += '_';
        return free;
    };
    const Shape row{.c = 1, .h = 1, .w = static_cast<int>(shape.size())};
    std::size_t scores = places[output];
    if (shape != row) scores = result.add(name("_row"), ReshapeParams{row}, {scores});
    const std::size_t classes = result.add(name("_classes"), TopKParams{.k = k, .positions = true}, {scores}),
                      best = result.add(name("_best"), TopKParams{.k = k}, {scores});
    result.set_outputs({classes, best});
    result.set_trainable(graph.trainable());
    result.set_shared(graph.shared());
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI
