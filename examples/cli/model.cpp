#include "model.hpp"

#include <primsel/core/timer.hpp>
#include <primsel/io/weights.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/network/zoo/by_name.hpp>

#include <optional>
#include <string_view>
#include <utility>
#include <variant>

namespace cli {
namespace {

Port port_of(ps::Graph const& graph, std::size_t node) {
    const ps::Shape shape = graph[node].shape;
    return {graph[node].name, {graph.batch(), shape.c, shape.h, shape.w}};
}

Model from_zoo(ModelOptions const& options) {
    if (!options.dims.empty()) ps::fail("--dim ", options.dims[0].first, ": ", options.net, " names no dimensions");
    ps::Graph graph = ps::zoo::graph(options.net, options.batch == 0 ? 1 : options.batch);
    Model model{.name = options.net,
                .graph = graph,
                .simplified = ps::simplify(graph),
                .weights = options.weights.empty() ? ps::random_weights(graph, options.seed)
                                                   : ps::read_weights(options.weights, graph),
                .inputs = {},
                .outputs = {}};
    for (const std::size_t node : graph.inputs()) model.inputs.push_back(port_of(graph, node));
    for (const std::size_t node : graph.outputs()) model.outputs.push_back(port_of(graph, node));
    return model;
}

}  // namespace

Model load_model(ModelOptions const& options, std::vector<GivenInput> const& given) {
    const ps::Timer timer;
    (void)given;
    Model model = from_zoo(options);
    model.load_seconds = timer.seconds();
    return model;
}

namespace {

/// Multiply-adds of one image, and how many values are learned.
ListedNetwork measure(std::string name, ps::Graph const& graph) {
    ListedNetwork listed{std::move(name), graph[graph.inputs().at(0)].shape, 0, 0};
    for (ps::WeightSpec const& spec : ps::weight_specs(graph)) {
        // A batch norm's statistics are counted, not learned.
        if (spec.name.ends_with(".running_mean") || spec.name.ends_with(".running_var")) continue;
        double values = 1;
        for (const std::int64_t dim : spec.dims) values *= static_cast<double>(dim);
        listed.parameters += values;
    }
    for (ps::Node const& node : graph.nodes()) {
        const auto outputs = static_cast<double>(node.shape.size());
        if (const auto* conv = std::get_if<ps::ConvParams>(&node.layer)) {
            const double depth =
                conv->kernel.h * conv->kernel.w * static_cast<double>(graph[node.inputs[0]].shape.c / conv->groups);
            listed.operations += outputs * depth;
        } else if (std::holds_alternative<ps::DenseParams>(node.layer)) {
            listed.operations += outputs * static_cast<double>(graph[node.inputs[0]].shape.size());
        }
    }
    return listed;
}

}  // namespace

std::vector<ListedNetwork> list_networks() {
    std::vector<ListedNetwork> list;
    for (ps::zoo::Entry const& entry : ps::zoo::entries) {
        list.push_back(measure(std::string(entry.name), entry.graph(1)));
    }
    return list;
}

}  // namespace cli
