#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/plan/detail/joint_problem.hpp>
#include <primsel/plan/detail/run_size.hpp>
#include <primsel/plan/make_plan.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A graph that is planned together with others.
struct PlannedGraph {
    Graph const& graph;
    /// How often it runs relative to the others; positive.
    double use = 1;
    /// A name for each layer: layers of several graphs under the same name run alike, so that their weights are packed
    /// once. Empty names agree with nobody. Layers of a name must be the same layer of the same shapes.
    std::vector<std::string> agrees = {};
};

/// The plans of several graphs that were planned together.
struct JointPlans {
    std::vector<Plan> plans;
    /// Predicted for a run, on average over the graphs as often as each is used: together, and if each graph had the
    /// plan that is best for it alone.
    double seconds = 0, separate_seconds = 0;
    bool optimal = false;

    /// The relative cost of sharing choices: 0.01 means that a run takes one per cent longer.
    [[nodiscard]] double price() const { return separate_seconds > 0 ? seconds / separate_seconds - 1 : 0; }
};

/// Plans of several (simplified) graphs that are cheapest together, each counted as often as it is used, where layers
/// that agree take the same primitive and layouts: one problem of all graphs, in which such layers are one node. Throws
/// error as make_plan does, for a use that is not positive, and, naming the layer, where layers are to agree that the
/// model has not the same prices for.
template <CostModel Model, Solver S>
[[nodiscard]] JointPlans make_plans(std::span<const PlannedGraph> graphs, Kernels const& kernels, Model& model,
                                    S const& solver, PlanOptions const& options = {}) {
    Timer timer;
    std::vector<std::unique_ptr<plan::detail::PricedGraph<Model>>> priced;
    double uses = 0;
    plan::detail::RunSize run;
    for (PlannedGraph const& each : graphs) {
        if (plan::detail::RunSize its(each.graph, kernels); its.stored() > run.stored()) run = std::move(its);
        if (is_nan(each.use) || !(each.use > 0))
            fail("plan: a graph that is used ", each.use, " times; it must be a positive number");
        uses += each.use;
    }
    plan::detail::JointProblem joint;
    for (PlannedGraph const& each : graphs) {
        priced.push_back(std::make_unique<plan::detail::PricedGraph<Model>>(
            Questions(each.graph, kernels, run, options.workers), model, options));
        joint.add(each.graph, priced.back()->formulation.problem, priced.back()->prices.alternatives, each.agrees,
                  each.use / uses);
    }
    const double predict_seconds = timer.seconds();
    timer.restart();
    const PbqpSolution solution = solver.solve(joint.problem());
    const double solve_seconds = timer.seconds();
    JointPlans result;
    result.optimal = solution.optimal;
    for (std::size_t g = 0; g < graphs.size(); ++g) {
        plan::detail::PricedGraph<Model> const& own = *priced[g];
        Plan plan;
        plan.key = make_key(graphs[g].graph, kernels);
        plan.cost_model = Model::name;
        plan.solver = S::name;
        plan.predict_seconds = predict_seconds, plan.solve_seconds = solve_seconds;
        const std::vector<std::size_t> agreed = joint.choice_of(g, solution.choice);
        own.formulation.check({.choice = agreed}, S::name);
        // Layers agree on primitive and layouts; each graph has its own strips.
        const plan::Alternatives ways = own.prices.like(agreed), all = own.prices.all();
        const plan::Formulation chains(graphs[g].graph, own.prices, ways), free(graphs[g].graph, own.prices, all);
        const PbqpSolution in_chains = solver.solve(chains.problem), alone = solver.solve(free.problem);
        chains.check(in_chains, S::name);
        free.check(alone, S::name);
        Plan separate = plan;
        plan::detail::write_choice(plan, graphs[g].graph, kernels, own.prices, ways, in_chains.choice,
                                   options.keep_candidates);
        plan.optimal = solution.optimal && plan.strips.empty();
        plan.bound_seconds = alone.bound;
        result.optimal = result.optimal && plan.optimal;
        result.seconds += (graphs[g].use / uses) * plan.total_seconds;
        plan::detail::write_choice(separate, graphs[g].graph, kernels, own.prices, all, alone.choice, false);
        result.separate_seconds += (graphs[g].use / uses) * separate.total_seconds;
        result.plans.push_back(std::move(plan));
    }
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI
