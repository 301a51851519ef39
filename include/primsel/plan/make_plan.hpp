#pragma once

#include <primsel/core/timer.hpp>
#include <primsel/cost/cost_model.hpp>
#include <primsel/pbqp/solver.hpp>
#include <primsel/plan/conv_shape_of.hpp>
#include <primsel/plan/detail/formulation.hpp>
#include <primsel/plan/detail/pricing.hpp>
#include <primsel/plan/fingerprint.hpp>
#include <primsel/plan/plan.hpp>
#include <primsel/plan/plan_options.hpp>

#include <cstddef>
#include <limits>
#include <map>
#include <string>
#include <utility>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

[[nodiscard]] inline PlanKey make_key(Graph const& graph, Kernels const& kernels) {
    return {fingerprint(graph), fingerprint(kernels), PRIMSEL_VERSION, std::string(kernels.arch), cpu_name()};
}

/// Prices every way to run every layer of a (simplified) graph and solves for the cheapest whole, changes of layout
/// included. Images come and results go in the kernels' first layout. Throws error when a layer cannot be computed at
/// all, with each primitive's reason; when the options name a layer or primitive that is not there or bound the error
/// by what is no bound; when the model's answer is no cost; and when the solver's is no choice, or a forbidden one.
template <CostModel Model, Solver S>
[[nodiscard]] Plan make_plan(Graph const& graph, Kernels const& kernels, Model& model, S const& solver,
                             PlanOptions const& options = {}) {
    Plan plan;
    plan.key = make_key(graph, kernels);
    plan.cost_model = Model::name;
    plan.solver = S::name;
    Timer timer;
    const detail::Pricing<Model> prices(graph, kernels, model, options);
    plan.predict_seconds = timer.seconds();
    timer.restart();
    const detail::Formulation formulation(graph, prices);
    const PbqpSolution solution = solver.solve(formulation.problem);
    formulation.check(solution, S::name);
    plan.solve_seconds = timer.seconds();
    plan.optimal = solution.optimal;
    plan.bound_seconds = solution.bound;

    std::map<std::pair<std::size_t, std::size_t>, bool> moved;
    const auto move = [&](std::size_t writer, std::size_t from, std::size_t to, std::string const& reader) {
        if (kernels.same_placement(graph[writer].shape, from, to)) return;
        // Readers that want the same layout share one copy; a result is one of its own.
        if (!reader.empty() && !moved.emplace(std::pair{writer, to}, true).second) return;
        const double seconds = prices.transform_seconds(writer, from, to);
        if (seconds == std::numeric_limits<double>::infinity()) {
            fail("plan: solver ", S::name, " found no plan that is allowed: cost model ", Model::name,
                 " has no price for changing ", graph[writer].shape, ", the result of layer ", graph[writer].name,
                 ", from layout ", kernels.layouts[from].name, " to ", kernels.layouts[to].name);
        }
        plan.transforms.push_back({graph[writer].name, reader, to_string(graph[writer].shape),
                                   std::string(kernels.layouts[from].name), std::string(kernels.layouts[to].name),
                                   seconds});
        plan.total_seconds += seconds;
    };
    const auto chosen = [&](std::size_t i) { return prices.alternatives[i][solution.choice[i]]; };
    for (std::size_t i = 0; i < graph.size(); ++i) {
        Node const& node = graph[i];
        const detail::Alternative way = chosen(i);
        for (std::size_t position = 0; position < node.inputs.size(); ++position) {
            const std::size_t writer = node.inputs[position];
            move(writer, chosen(writer).out_layout, detail::read_layout(node, position, way.in_layout, way.out_layout),
                 node.name);
        }
        PlannedLayer layer{.name = node.name,
                           .kind = std::string(kind(node.layer)),
                           .shape = to_string(node.shape),
                           .primitive = {},
                           .in_layout = std::string(kernels.layouts[way.in_layout].name),
                           .out_layout = std::string(kernels.layouts[way.out_layout].name),
                           .seconds = way.seconds,
                           .candidates = prices.candidates[i]};
        if (const auto task = conv_task(graph, i)) {
            layer.primitive = kernels.primitives[way.primitive].id;
            layer.shape = to_string(task->shape, graph.batch());
        }
        plan.layers.push_back(std::move(layer));
        plan.total_seconds += way.seconds;
    }
    for (const std::size_t output : graph.outputs()) move(output, chosen(output).out_layout, 0, "");
    return plan;
}

}  // namespace primsel::inline PRIMSEL_ABI
