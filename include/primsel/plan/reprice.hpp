#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/cost/cost_model.hpp>
#include <primsel/plan/detail/run_size.hpp>
#include <primsel/plan/make_plan.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {
[[nodiscard]] inline std::string describe(Kernels const& kernels, ConvQuery const& query) {
    return join("primitive ", kernels.primitives[query.primitive].id, " on ", to_string(query.shape, query.batch));
}
[[nodiscard]] inline std::string describe(Kernels const& kernels, OpQuery const& query) {
    return join("a layer (", kind(*query.layer), " -> ", query.output, ") in layout ",
                kernels.layouts[query.layout].name);
}
[[nodiscard]] inline std::string describe(Kernels const& kernels, TransformQuery const& query) {
    return join("changing ", query.shape, " from layout ", kernels.layouts[query.from].name, " to ",
                kernels.layouts[query.to].name);
}
/// What a model says that computing some layers together adds to what they take by themselves, usually less than
/// nothing; 0 where it has no price for strips.
template <CostModel Model>
[[nodiscard]] double added_by_strips(PlannedStrips const& strips, Plan const& plan, Graph const& graph,
                                     Kernels const& kernels, Model& model, std::span<const double> conv_seconds) {
    std::vector<StripLayer> layers;
    double apart = 0;
    for (std::size_t i = 0, conv = 0; i < graph.size(); ++i) {
        if (!conv_task(graph, i)) continue;
        const double own = conv_seconds[conv++];
        if (std::ranges::find(strips.layers, graph[i].name) == strips.layers.end()) continue;
        auto layer = strip_layer(graph, kernels, plan.layers[i], i);
        if (!layer) fail("plan: layer ", graph[i].name, " cannot be computed in strips");
        layer->seconds = own;
        apart += own;
        layers.push_back(*layer);
    }
    if (layers.size() < 2 || layers.size() != strips.layers.size()) fail("plan: strips of layers that are not there");
    const double together = strip_seconds(kernels, model, std::span<const StripLayer>(layers), strips.rows,
                                          graph.batch(), RunSize(graph, kernels));
    return is_finite(together) ? together - apart : 0;
}
}  // namespace detail

/// What another cost model says that a plan takes, in seconds: judges a plan made from predictions by measurements.
/// Throws error unless the plan was made for this graph and from these kernels, and the answers are costs.
template <CostModel Model>
[[nodiscard]] double reprice(Plan const& plan, Graph const& graph, Kernels const& kernels, Model& model) {
    if (plan.layers.size() != graph.size()) {
        fail("plan: it has ", plan.layers.size(), " layers, the network ", graph.size());
    }
    std::vector<ConvQuery> convs;
    std::vector<OpQuery> ops;
    std::vector<TransformQuery> transforms;
    std::vector<std::vector<Shape>> inputs(graph.size());
    const auto known = [](std::optional<std::size_t> position, std::string_view wanted, std::string_view layer) {
        if (!position) fail("plan: layer ", layer, " uses ", wanted, ", which is not among the kernels");
        return *position;
    };
    const auto layout = [&](std::string_view name, std::string_view layer) {
        return known(kernels.find_layout_if_any(name), name, layer);
    };
    for (std::size_t i = 0; i < graph.size(); ++i) {
        Node const& node = graph[i];
        PlannedLayer const& layer = plan.layers[i];
        if (layer.name != node.name) fail("plan: its layer ", layer.name, " is ", node.name, " in the network");
        inputs[i] = graph.input_shapes(i);
        if (const auto task = conv_task(graph, i)) {
            const std::size_t p = known(kernels.find_if_any(layer.primitive), layer.primitive, layer.name);
            convs.push_back({shape_for(kernels.primitives[p], *task), p, graph.batch()});
            if (!detail::needs_pass(kernels.primitives[p], node)) continue;
        } else if (std::holds_alternative<InputParams>(node.layer) ||
                   std::holds_alternative<ConstantParams>(node.layer) ||
                   std::holds_alternative<ParameterParams>(node.layer)) {
            continue;
        }
        ops.push_back({&node.layer, inputs[i], node.shape, graph.batch(), layout(layer.out_layout, layer.name)});
    }
    for (PlannedTransform const& transform : plan.transforms) {
        for (Node const& node : graph.nodes()) {
            if (node.name != transform.writer) continue;
            transforms.push_back(
                {node.shape, graph.batch(), layout(transform.from, node.name), layout(transform.to, node.name)});
        }
    }
    double total = 0;
    const auto add = [&]<class Query>(std::vector<Query> const& queries) {
        std::vector<double> seconds(queries.size());
        model.predict(kernels, std::span<const Query>(queries), std::span(seconds));
        for (std::size_t i = 0; i < seconds.size(); ++i) {
            if (is_nan(seconds[i]) || !(seconds[i] >= 0)) {
                fail("plan: cost model ", Model::name, " predicts ", seconds[i], " seconds for ",
                     detail::describe(kernels, queries[i]));
            }
            total += seconds[i];
        }
        return seconds;
    };
    const std::vector<double> conv_seconds = add(convs);
    add(ops);
    add(transforms);
    for (PlannedStrips const& strips : plan.strips) {
        total += detail::added_by_strips(strips, plan, graph, kernels, model, conv_seconds);
    }
    return total;
}

}  // namespace primsel::inline PRIMSEL_ABI
