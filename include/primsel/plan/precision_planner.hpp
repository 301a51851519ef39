// Plans that choose the precision of each layer by what it costs in accuracy.
#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/plan/layer_errors.hpp>
#include <primsel/plan/make_plan.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// A plan, the precision of each of its layers, and the squared error (LayerError) that these add up to.
struct PrecisionPlan {
    Plan plan;
    std::vector<Precision> precisions;
    double squared_error = 0;

    /// Relative to the RMS of the result.
    [[nodiscard]] double error() const { return std::sqrt(squared_error); }
};

/// Plans of one graph in any precisions of its layers, priced once. Where layers have errors, a plan minimises
/// `seconds + weight * squared error`, and the weight follows from the budget: Lagrangian relaxation. As the errors of
/// layers add up, the problem for a weight is that of an ordinary plan. The plans of all weights are the corners of the
/// convex hull of (error, seconds); an assignment above the hull may be faster than the best corner within a budget,
/// and Plan::bound_seconds says by how much at most.
///
/// Graph, kernels and model must outlive it. Options: `precision` is the least precise type, with the ranges that int8
/// needs; `max_arena` is ignored.
template <CostModel Model, Solver S>
class PrecisionPlanner {
public:
    /// Throws error as make_plan does.
    PrecisionPlanner(Graph const& graph, Kernels const& kernels, Model& model, S solver, PlanOptions options = {})
        : graph_(graph),
          kernels_(kernels),
          solver_(std::move(solver)),
          options_(std::move(options)),
          prices_(Questions(graph, kernels, options_.workers), model, options_,
                  plan::KeptAlternatives::of_each_precision),
          all_(prices_.all()) {
        predict_seconds_ = timer_.seconds();
    }

    /// Whether a layer can run in exactly this precision.
    [[nodiscard]] bool runs_in(std::size_t layer, Precision precision) const {
        return std::ranges::find(all_[layer], precision, &plan::Alternative::precision) != all_[layer].end();
    }
    /// The fastest plan with exactly these precisions of the layers. Throws error where one cannot run so.
    [[nodiscard]] Plan exactly(std::span<const Precision> precisions) const {
        plan::Alternatives ways = all_;
        for (std::size_t i = 0; i < ways.size(); ++i) {
            std::erase_if(ways[i], [&](plan::Alternative const& way) { return way.precision != precisions[i]; });
            if (ways[i].empty())
                fail("plan: layer ", graph_[i].name, " does not run in ", to_string_view(precisions[i]));
        }
        return solve(ways).plan;
    }

    /// The fastest corner of the hull whose errors add up to no more than the budget, a bound on the squared error. Its
    /// bound_seconds holds for every assignment within the budget. A layer without an error in a type stays out of it.
    /// The weights are those of chords between two corners, one within the budget and one beyond it, until no corner is
    /// below the chord: as Handler and Zang (Networks 10, 1980) bound shortest paths. Throws error for a negative
    /// budget or NaN.
    [[nodiscard]] PrecisionPlan within(LayerErrors const& errors, double squared_budget) const {
        if (is_nan(squared_budget) || !(squared_budget >= 0)) {
            fail("plan: the error budget is ", squared_budget, "; it must be a number that is not negative");
        }
        Corner low = most_precise(errors), high = fastest(errors);
        if (high.point.squared_error <= squared_budget) return std::move(high.point);
        double bound = high.bound;
        while (const std::optional<Corner> next = below(errors, low.point, high.point)) {
            bound = std::max(bound, next->bound - next->weight * squared_budget);
            if (!is_corner(*next, low.point)) break;
            (next->point.squared_error <= squared_budget ? low : high) = *next;
        }
        Plan& plan = low.point.plan;
        plan.bound_seconds = std::min(std::max(bound, 0.0), plan.total_seconds);
        plan.optimal = plan.bound_seconds >= plan.total_seconds * (1 - tolerance);
        return std::move(low.point);
    }

    /// All corners of the hull, the most precise and slowest first: the curve of time against error.
    [[nodiscard]] std::vector<PrecisionPlan> curve(LayerErrors const& errors) const {
        Corner low = most_precise(errors), high = fastest(errors);
        std::vector<PrecisionPlan> corners{std::move(low.point)};
        extend(errors, corners, std::move(high.point));
        return corners;
    }

private:
    static constexpr double tolerance = 1e-9;

    /// A plan that minimises seconds and weighted error, and a lower bound on that minimum.
    struct Corner {
        PrecisionPlan point;
        double weight = 0, bound = 0;
    };

    [[nodiscard]] std::optional<double> error_of(LayerErrors const& errors, std::size_t i, Precision precision) const {
        if (precision == Precision::float32) return 0.0;
        const auto found = errors.find(graph_[i].name);
        return found == errors.end() ? std::nullopt : found->second.in(precision);
    }
    [[nodiscard]] PrecisionPlan solve(plan::Alternatives const& ways) const {
        PrecisionPlan point;
        Plan& plan = point.plan;
        plan.key = make_key(graph_, kernels_);
        plan.cost_model = Model::name;
        plan.solver = S::name;
        plan.predict_seconds = predict_seconds_;
        const Timer timer;
        const plan::Formulation formulation(graph_, prices_, ways);
        const PbqpSolution solution = solver_.solve(formulation.problem);
        formulation.check(solution, S::name);
        plan.solve_seconds = timer.seconds();
        plan.optimal = solution.optimal;
        plan.bound_seconds = solution.bound;
        plan::detail::write_choice(plan, graph_, kernels_, prices_, ways, solution.choice, options_.keep_candidates);
        for (std::size_t i = 0; i < ways.size(); ++i) {
            point.precisions.push_back(ways[i][solution.choice[i]].precision);
        }
        return point;
    }
    /// The plan with the least seconds + weight * squared error of the alternatives that are allowed.
    template <class Allowed>
    [[nodiscard]] Corner solve(LayerErrors const& errors, double weight, Allowed const& allowed) const {
        plan::Alternatives ways = all_;
        for (std::size_t i = 0; i < ways.size(); ++i) {
            std::erase_if(ways[i], [&](plan::Alternative const& way) {
                const std::optional<double> error = error_of(errors, i, way.precision);
                return !error || !allowed(*error);
            });
            for (plan::Alternative& way : ways[i]) way.penalty = weight * *error_of(errors, i, way.precision);
            if (ways[i].empty()) {
                fail("plan: the error of layer ", graph_[i].name, " is unknown in every type that it runs in");
            }
        }
        Corner corner{solve(ways), weight, 0};
        for (std::size_t i = 0; i < ways.size(); ++i) {
            corner.point.squared_error += *error_of(errors, i, corner.point.precisions[i]);
        }
        // For assignments of no more error than this one.
        corner.bound = corner.point.plan.bound_seconds;
        corner.point.plan.bound_seconds = std::max(0.0, corner.bound - weight * corner.point.squared_error);
        return corner;
    }
    [[nodiscard]] Corner most_precise(LayerErrors const& errors) const {
        return solve(errors, 0, [](double error) { return error == 0; });
    }
    [[nodiscard]] Corner fastest(LayerErrors const& errors) const {
        return solve(errors, 0, [](double) { return true; });
    }
    /// The best plan for the weight at which two corners are equal; nothing where the second is not faster.
    [[nodiscard]] std::optional<Corner> below(LayerErrors const& errors, PrecisionPlan const& low,
                                              PrecisionPlan const& high) const {
        const double saved = low.plan.total_seconds - high.plan.total_seconds,
                     error = high.squared_error - low.squared_error;
        if (!(saved > tolerance * low.plan.total_seconds) || !(error > 0)) return std::nullopt;
        return solve(errors, saved / error, [](double) { return true; });
    }
    /// Whether a plan is better than the corners whose weight it was solved for.
    [[nodiscard]] static bool is_corner(Corner const& next, PrecisionPlan const& low) {
        const auto value = [&](PrecisionPlan const& point) {
            return point.plan.total_seconds + next.weight * point.squared_error;
        };
        return value(next.point) < value(low) * (1 - tolerance);
    }
    /// Adds the corners behind the last up to another one, unless that is no faster.
    void extend(LayerErrors const& errors, std::vector<PrecisionPlan>& corners, PrecisionPlan high) const {
        std::optional<Corner> next = below(errors, corners.back(), high);
        if (!next) return;
        if (!is_corner(*next, corners.back())) return corners.push_back(std::move(high));
        extend(errors, corners, std::move(next->point));
        extend(errors, corners, std::move(high));
    }

    Graph const& graph_;
    Kernels const& kernels_;
    S solver_;
    PlanOptions options_;
    Timer timer_;
    plan::Pricing<Model> prices_;
    plan::Alternatives all_;
    double predict_seconds_ = 0;
};

}  // namespace primsel::inline PRIMSEL_ABI
