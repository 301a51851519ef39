#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/measure/corrected.hpp>
#include <primsel/plan/make_plan.hpp>
#include <primsel/plan/reprice.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <limits>
#include <span>
#include <utility>
#include <variant>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::measure {

/// The seconds of a convolution, and the seconds spent measuring it.
struct Measurement {
    double seconds = 0, spent = 0;
};

struct RefineOptions {
    /// The seconds to spend on measurements and on choosing them.
    double seconds = 1;
    /// The largest number of measurements.
    std::size_t most = std::numeric_limits<std::size_t>::max();
    /// Stops when all that is left to measure promises less than this share of the plan's time.
    double worthwhile = 5e-3;
    /// Measurements between two plans.
    std::size_t at_once = 8;
};

/// One round of a refinement: the measurements and seconds spent so far, and the seconds that the plan is then
/// predicted to take.
struct RefineStep {
    std::size_t measurements = 0;
    double spent = 0, plan_seconds = 0;
};

struct Refinement {
    Plan plan;
    std::vector<RefineStep> steps;
    /// Whether it stopped because no further measurement seemed to pay.
    bool settled = false;
};

namespace detail {

/// A primitive that might serve some layers better than what they have, or that they have and that might be worse than
/// believed: what to expect of knowing its time, in seconds of the whole plan.
struct Candidature {
    ConvQuery query;
    double seconds = 0, gain = 0;
    /// The plan takes it for a good part of its time: measured before anything is settled.
    bool heavy = false;

    /// By what a measurement takes: some runs and what is around them.
    [[nodiscard]] double urgency() const { return gain / (seconds + 1e-4); }
};

/// The expected saving of choosing the cheaper of two over taking the first: both are log-normal, with those means, and
/// their logarithms differ with that standard deviation (Margrabe 1978), or by far more where the belief is an outlier.
[[nodiscard]] inline double expected_saving(double first, double second, double deviation) {
    if (!(deviation > 0)) return std::max(0.0, first - second);
    const auto saving = [&](double spread) {
        const auto normal = [](double z) { return 0.5 * std::erfc(-z / std::sqrt(2.0)); };
        const double z = std::log(first / second) / spread;
        return first * normal(z + 0.5 * spread) - second * normal(z - 0.5 * spread);
    };
    return (1 - BeliefTails::outliers) * saving(deviation) +
           BeliefTails::outliers * saving(BeliefTails::outlying * deviation);
}

/// The cost of the cheapest assignment in which a node takes that alternative.
template <Solver S>
[[nodiscard]] double cost_with(PbqpProblem problem, S const& solver, std::size_t node, std::size_t alternative) {
    const std::size_t count = problem.costs(node).size(), witness = problem.add_node({0.0});
    PbqpMatrix only{1, count, std::vector<double>(count, std::numeric_limits<double>::infinity())};
    only.values[alternative] = 0;
    problem.add_edge(witness, node, std::move(only));
    return solver.solve(problem).cost;
}

/// All unmeasured primitives that may pay, the most promising first.
template <CostModel Model, Solver S>
[[nodiscard]] std::vector<Candidature> candidatures(Graph const& graph, Kernels const& kernels, Corrected<Model>& model,
                                                    S const& solver, PlanOptions const& options) {
    PlanOptions by_itself = options;
    by_itself.strips = false;  // what is measured is layers by themselves
    const Questions ask(graph, kernels);
    const plan::Pricing<Corrected<Model>> prices(ask, model, by_itself);
    const plan::Formulation formulation(graph, prices, prices.alternatives);
    PbqpProblem const& problem = formulation.problem;
    const PbqpSolution solution = solver.solve(problem);
    formulation.check(solution, S::name);
    std::vector<Candidature> result;
    constexpr double heavy_share = 0.01;
    const auto add = [&](ConvQuery const& query, double seconds, double gain, bool heavy = false) {
        const auto known = std::ranges::find_if(result, [&](Candidature const& other) {
            return other.query.primitive == query.primitive && other.query.shape == query.shape;
        });
        if (known != result.end())
            known->gain += gain, known->heavy = known->heavy || heavy;
        else
            result.push_back({query, seconds, gain, heavy});
    };
    for (std::size_t i = 0; i < graph.size(); ++i) {
        if (!std::holds_alternative<ConvParams>(graph[i].layer)) continue;
        const ConvShape shape = conv_shape_of(graph, i);
        plan::Alternative const& chosen = prices.alternatives[i][solution.choice[i]];
        const auto one_image = [&](std::size_t primitive) {
            ConvQuery query = ask.conv(i, primitive);
            query.run.batch = 1;
            return query;
        };
        const double chosen_doubt = model.deviation(kernels, {shape, chosen.primitive});
        // For each pair of layouts, what the plan costs more with it, without the layer itself.
        std::vector<double> around(prices.alternatives[i].size(), -1);
        double saving = 0;
        for (Candidate const& candidate : prices.candidates(i)) {
            if (!candidate.refusal.empty()) break;
            const std::size_t p = kernels.find(candidate.primitive);
            if (p == chosen.primitive) continue;
            const double doubt = std::hypot(model.deviation(kernels, {shape, p}), chosen_doubt);
            if (candidate.seconds > chosen.seconds * std::exp(2 * BeliefTails::outlying * doubt)) continue;
            std::size_t pair = 0;
            while (prices.alternatives[i][pair].in_layout != kernels.primitives[p].in_layout ||
                   prices.alternatives[i][pair].out_layout != kernels.primitives[p].out_layout) {
                ++pair;
            }
            if (around[pair] < 0) {
                around[pair] = pair == solution.choice[i]
                                   ? 0
                                   : std::max(0.0, cost_with(problem, solver, i, pair) - solution.cost -
                                                       (prices.alternatives[i][pair].seconds - chosen.seconds));
            }
            const double gain = expected_saving(chosen.seconds, candidate.seconds + around[pair], doubt);
            if (!model.measured(kernels, {shape, p})) add(one_image(p), candidate.seconds, gain);
            saving = std::max(saving, gain);
        }
        if (!model.measured(kernels, {shape, chosen.primitive})) {
            add(one_image(chosen.primitive), chosen.seconds, saving, chosen.seconds > heavy_share * solution.cost);
        }
    }
    std::ranges::stable_sort(result, [](auto const& a, auto const& b) { return a.urgency() > b.urgency(); });
    return result;
}

}  // namespace detail

/// A plan from predictions and from those measurements that could change it, the most valuable first: each round
/// measures what promises the largest saving for its time (by how uncertain the corrected model still is),
/// corrects the predictions of everything else by it and solves again; until the time is used up or nothing left to
/// measure is worth it. `measure` takes a ConvQuery, of one image, and returns a Measurement. The model keeps what was
/// measured, for the next network.
template <CostModel Model, Solver S, class Measure>
    requires std::same_as<std::invoke_result_t<Measure&, ConvQuery const&>, Measurement>
[[nodiscard]] Refinement refine(Graph const& graph, Kernels const& kernels, Corrected<Model>& model, S const& solver,
                                Measure&& measure, RefineOptions const& options = {},
                                PlanOptions const& plan_options = {}) {
    if (is_nan(options.seconds) || is_nan(options.worthwhile)) {
        fail("refine: for ", options.seconds, " seconds, worthwhile from ", options.worthwhile, " on: not a number");
    }
    Refinement result;
    const Timer timer;
    double measuring = 0, counted = 0;  // the time that measurements took, and of it what this clock has seen
    const auto spent = [&] { return timer.seconds() - counted + measuring; };
    std::size_t measurements = 0;
    const auto plan = [&] {
        result.plan = make_plan(graph, kernels, model, solver, plan_options);
        result.steps.push_back({measurements, spent(), result.plan.total_seconds});
    };
    plan();
    while (!result.settled && spent() < options.seconds && measurements < options.most) {
        const auto promising = detail::candidatures(graph, kernels, model, solver, plan_options);
        double left = 0;
        for (detail::Candidature const& next : promising) left += next.gain;
        const bool worthwhile = left > options.worthwhile * result.plan.total_seconds;
        std::size_t done = 0;
        result.settled = true;
        for (detail::Candidature const& next : promising) {
            if (!next.heavy && !(worthwhile && next.gain > 0)) continue;
            result.settled = false;
            if (done == options.at_once || spent() >= options.seconds || measurements == options.most) break;
            ConvQuery const& one = next.query;
            const double before = timer.seconds();
            const Measurement found = measure(one);
            counted += timer.seconds() - before;
            measuring += found.spent;
            model.learn(kernels, one, found.seconds);
            ++measurements, ++done;
        }
        if (done > 0) {
            model.update();
            plan();
        }
    }
    return result;
}

}  // namespace primsel::inline PRIMSEL_ABI::measure
