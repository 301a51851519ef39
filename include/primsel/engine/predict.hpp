#pragma once

#include <primsel/engine/fit.hpp>
#include <primsel/engine/policies.hpp>

#include <concepts>
#include <cstddef>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// In the place of a value that the policies' type makes by its default constructor.
struct OfPolicies {};

namespace engine {
/// A copy of the model, or a new one of the policies'.
template <class Policies, class Model>
[[nodiscard]] auto model_of(Model const& model) {
    if constexpr (std::same_as<Model, OfPolicies>) {
        static_assert(CheckOwnModel<Policies>::value);
        return typename Policies::cost_model{};
    } else {
        return model;
    }
}
template <class Policies, class S>
[[nodiscard]] auto solver_of(S const& solver) {
    if constexpr (std::same_as<S, OfPolicies>) {
        static_assert(CheckOwnSolver<Policies>::value);
        return typename Policies::solver{};
    } else {
        return solver;
    }
}
}  // namespace engine

/// The planner that predicts and solves: `Engine<Net> engine(weights, Predict{model, solver, options})`. Model and
/// solver that are left out are those of the policies. The model is copied for each plan, as models may change while
/// they predict.
template <class Model = OfPolicies, class S = OfPolicies>
class Predict {
    static_assert(std::same_as<Model, OfPolicies> || (CostModel<Model> && std::copy_constructible<Model>),
                  "primsel: Predict takes a CostModel that can be copied; see docs/cost/cost_model.md");
    static_assert(std::same_as<S, OfPolicies> || Solver<S>, "primsel: Predict takes a Solver; see docs/pbqp/solver.md");

public:
    explicit Predict(Model model = {}, S solver = {}, PlanOptions options = {})
        : model_(std::move(model)), solver_(std::move(solver)), options_(std::move(options)) {}

    template <class Policies>
    [[nodiscard]] Plan plan(Graph const& graph, Kernels const& kernels, std::size_t workers) const {
        auto model = engine::model_of<Policies>(model_);
        return make_fitting_plan(graph, kernels, model, engine::solver_of<Policies>(solver_), options_, workers);
    }

private:
    [[no_unique_address]] Model model_;
    [[no_unique_address]] S solver_;
    PlanOptions options_;
};

}  // namespace primsel::inline PRIMSEL_ABI
