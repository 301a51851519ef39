#pragma once

#include <primsel/core/timer.hpp>
#include <primsel/cost/cost_model.hpp>
#include <primsel/pbqp/solver.hpp>
#include <primsel/plan/conv_shape_of.hpp>
#include <primsel/plan/detail/write_choice.hpp>
#include <primsel/plan/fingerprint.hpp>
#include <primsel/plan/formulation.hpp>
#include <primsel/plan/plan.hpp>
#include <primsel/plan/plan_options.hpp>
#include <primsel/plan/pricing.hpp>
#include <primsel/plan/questions.hpp>

#include <string>

namespace primsel::inline PRIMSEL_ABI {

[[nodiscard]] inline PlanKey make_key(Graph const& graph, Kernels const& kernels) {
    return {fingerprint(graph), fingerprint(kernels), PRIMSEL_VERSION, std::string(kernels.arch), cpu_name()};
}

/// Prices every way to run every layer of a (simplified) graph and solves for the cheapest whole, changes of layout
/// and chains of convolutions in strips of rows included. Images come and results go in the kernels' first layout.
/// Throws error when no primitive can compute a layer, with each one's reason; when the options name an unknown layer
/// or primitive, or bound the error by a negative number or NaN; when the model's answer is not a cost; and when the
/// solver's answer is not an allowed choice.
template <CostModel Model, Solver S>
[[nodiscard]] Plan make_plan(Graph const& graph, Kernels const& kernels, Model& model, S const& solver,
                             PlanOptions const& options = {}) {
    Plan plan;
    plan.key = make_key(graph, kernels);
    plan.cost_model = Model::name;
    plan.solver = S::name;
    Timer timer;
    const plan::Pricing<Model> prices(Questions(graph, kernels, options.workers, options.apart), model, options);
    const plan::Alternatives alternatives = prices.all();
    plan.predict_seconds = timer.seconds();
    timer.restart();
    const plan::Formulation formulation(graph, prices, alternatives);
    const PbqpSolution solution = solver.solve(formulation.problem);
    formulation.check(solution, S::name);
    plan.solve_seconds = timer.seconds();
    plan.optimal = solution.optimal;
    plan.bound_seconds = solution.bound;
    plan::detail::write_choice(plan, graph, kernels, prices, alternatives, solution.choice, options.keep_candidates);
    return plan;
}

}  // namespace primsel::inline PRIMSEL_ABI
