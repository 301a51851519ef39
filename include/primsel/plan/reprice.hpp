#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/cost/cost_model.hpp>
#include <primsel/plan/detail/strip_seconds.hpp>
#include <primsel/plan/make_plan.hpp>
#include <primsel/plan/parts_of_batch.hpp>
#include <primsel/plan/questions.hpp>
#include <primsel/plan/strips.hpp>

#include <algorithm>
#include <cstddef>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace plan::detail {
[[nodiscard]] inline std::string describe(Kernels const& kernels, ConvQuery const& query) {
    return join("primitive ", kernels.primitives[query.primitive].id, " on ", to_string(query.shape, query.run.batch));
}
[[nodiscard]] inline std::string describe(Kernels const& kernels, OpQuery const& query) {
    return join("a layer (", layer_kind(*query.layer), " -> ", query.output, ") in layout ",
                kernels.layouts[query.layout].name);
}
[[nodiscard]] inline std::string describe(Kernels const& kernels, TransformQuery const& query) {
    return join("changing ", query.shape, " from layout ", kernels.layouts[query.from].name, " to ",
                kernels.layouts[query.to].name);
}
/// The chain of layers that a plan computes in strips. Throws error if these layers are not a chain.
[[nodiscard]] inline StripChain chain_of(PlannedStrips const& strips, Plan const& plan, Graph const& graph,
                                         Kernels const& kernels) {
    if (strips.layers.empty()) fail("plan: strips of no layers");
    if (strips.rows < 1) fail("plan: strips of ", strips.rows, " rows, from layer ", strips.layers.front(), " on");
    StripChain chain{.first = graph.find(strips.layers.front()), .shapes = {}, .rows = strips.rows};
    for (std::string const& name : strips.layers) {
        const std::size_t node = chain.first + chain.shapes.size();
        if (node >= graph.size() || graph[node].name != name) fail("plan: strips of layers that are not there: ", name);
        if (!joins_strips(graph, kernels, plan.layers[node], node)) {
            fail("plan: layer ", name, " cannot be computed in strips");
        }
        chain.shapes.push_back(conv_shape_of(graph, node));
    }
    return chain;
}
/// The seconds of a plan on so many threads, while `apart` such runs take place.
template <CostModel Model>
[[nodiscard]] double reprice(Plan const& plan, Graph const& graph, Kernels const& kernels, Model& model,
                             std::size_t workers, std::size_t apart) {
    if (plan.layers.size() != graph.size()) {
        fail("plan: it has ", plan.layers.size(), " layers, the network ", graph.size());
    }
    std::vector<ConvQuery> convs;
    std::vector<OpQuery> ops;
    std::vector<TransformQuery> transforms;
    const Questions ask(graph, kernels, workers, apart);
    std::vector<std::size_t> conv_of(graph.size());
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
        if (conv_task(graph, i)) {
            const std::size_t p = known(kernels.find_if_any(layer.primitive), layer.primitive, layer.name);
            conv_of[i] = convs.size();
            convs.push_back(ask.conv(i, p));
            if (!plan::needs_pass(kernels.primitives[p], node)) continue;
        } else if (std::holds_alternative<InputParams>(node.layer) ||
                   std::holds_alternative<ConstantParams>(node.layer) ||
                   std::holds_alternative<ParameterParams>(node.layer)) {
            continue;
        } else {
            const auto of_op = kernels.find_op(node.layer, layer.primitive, layout(layer.out_layout, layer.name));
            ops.push_back(ask.op(i, known(of_op, join("op ", layer.primitive), layer.name)));
            continue;
        }
        ops.push_back(ask.op(i, layout(layer.out_layout, layer.name)));
    }
    for (PlannedTransform const& transform : plan.transforms) {
        transforms.push_back(ask.transform(graph.find(transform.writer), layout(transform.from, transform.writer),
                                           layout(transform.to, transform.writer)));
    }
    double total = 0;
    const auto add = [&]<class Query>(std::vector<Query> const& queries) {
        std::vector<double> seconds(queries.size());
        model.predict(kernels, std::span<const Query>(queries), std::span(seconds));
        for (std::size_t i = 0; i < seconds.size(); ++i) {
            if (is_nan(seconds[i]) || !(seconds[i] >= 0)) {
                fail("plan: cost model ", Model::name, " predicts ", seconds[i], " seconds for ",
                     describe(kernels, queries[i]));
            }
            total += seconds[i];
        }
        return seconds;
    };
    const std::vector<double> conv_seconds = add(convs);
    add(ops);
    add(transforms);
    for (PlannedStrips const& strips : plan.strips) {
        const StripChain chain = chain_of(strips, plan, graph, kernels);
        double in_strips = 0, by_itself = 0;
        for (std::size_t place = 0; place < chain.shapes.size(); ++place) {
            const std::size_t conv = conv_of[chain.first + place];
            const PricedPrimitive own{convs[conv].primitive, conv_seconds[conv]};
            in_strips += strip_seconds(ask, model, chain, place, workers, std::span(&own, 1))[0];
            by_itself += own.seconds;
        }
        if (is_finite(in_strips)) total += in_strips - by_itself;
    }
    return total;
}
}  // namespace plan::detail

/// The seconds that a cost model predicts for a plan on `workers` threads: for example, measured costs for a plan made
/// from predictions. Asks the same questions as make_plan, so the model that made the plan returns its total_seconds.
/// Throws error unless the plan was made for this graph and from these kernels, and the answers are costs.
template <CostModel Model>
[[nodiscard]] double reprice(Plan const& plan, Graph const& graph, Kernels const& kernels, Model& model,
                             std::size_t workers = 1) {
    const std::size_t parts = plan.images_apart ? parts_of_batch(graph, workers) : 1;
    if (parts == 1) return plan::detail::reprice(plan, graph, kernels, model, workers, 1);
    return plan::detail::reprice(plan, part_of_batch(graph, parts), kernels, model, 1, parts);
}

}  // namespace primsel::inline PRIMSEL_ABI
