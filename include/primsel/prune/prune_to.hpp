#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/cost/cost_model.hpp>
#include <primsel/kernels/kernels.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/multiply_adds.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/pbqp/solver.hpp>
#include <primsel/plan/make_plan.hpp>
#include <primsel/prune/choose.hpp>
#include <primsel/prune/coupled_layers.hpp>
#include <primsel/prune/coupling.hpp>
#include <primsel/prune/detail/greedy_pruning.hpp>
#include <primsel/prune/loss.hpp>
#include <primsel/prune/ranking.hpp>
#include <primsel/prune/surgery.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::prune {

/// The quantity to reduce: predicted seconds of a run, multiply-adds, or filters.
enum class Measure { seconds, operations, filters };
[[nodiscard]] constexpr std::string_view to_string_view(Measure measure) {
    switch (measure) {
        case Measure::seconds:
            return "predicted seconds";
        case Measure::operations:
            return "multiply-adds";
        default:
            return "filters";
    }
}

/// The target of prune_to, and its limits.
struct PruneTarget {
    Measure measure = Measure::seconds;
    /// The largest share, above 0 and at most 1, of the whole network's quantity that may be left.
    double share = 0.5;
    /// The number of channels that stay is a multiple of this.
    std::size_t multiple = 1;
    /// The largest share of a ranking's channels that may be removed.
    double most = 0.9;
    /// The options of the plans of the pruned network.
    PlanOptions plan = {};
};

/// The result of prune_to.
struct PrunedTo {
    RemovedGroups choice;
    /// The quantity (seconds, multiply-adds or filters) of the whole network and of the pruned one.
    double before = 0, after = 0;
    /// The loss of all rankings.
    double loss = 0;
};

/// The number of filters of a network's dense layers, convolutions and transposed convolutions; depthwise ones do not
/// count.
[[nodiscard]] inline double filters(Graph const& graph) {
    double sum = 0;
    for (std::size_t i = 0; i < graph.size(); ++i) sum += detail::makes_channels(graph, i) ? graph[i].shape.c : 0;
    return sum;
}

/// The predicted seconds of a run: the total of the network's plan. Throws error as make_plan does.
template <CostModel Model, Solver S>
[[nodiscard]] double predicted_seconds(Graph const& graph, Kernels const& kernels, Model& model, S const& solver,
                                       PlanOptions options = {}) {
    options.keep_candidates = false;
    return make_plan(simplify(graph), kernels, model, solver, options).total_seconds;
}

/// Chooses groups of channels to remove until the target is reached. Each step removes the groups with the least loss
/// for what they save. At the end, groups are put back if removing others instead loses less. The saving of a layer is
/// the difference of its cheapest primitive's predicted cost; where the cost depends on multiples of channels, several
/// filters are removed at once. The plan of the pruned network decides whether the target is reached. Nothing is
/// executed: a call takes milliseconds, for the deepest networks seconds. Throws error for an impossible target, and,
/// naming what holds filters back, if the target cannot be reached.
template <CostModel Model, Solver S, PruningLoss L = LogarithmicLoss>
[[nodiscard]] PrunedTo prune_to(Graph const& graph, RankedChannels const& channels, Kernels const& kernels,
                                Model& model, S const& solver, PruneTarget const& target = {}, L const& loss = {}) {
    Coupling const& coupling = channels.coupling;
    if (is_nan(target.share) || !(target.share > 0 && target.share <= 1))
        fail("prune: impossible share ", target.share);
    detail::check_share(target.most, target.multiple);
    detail::LayerPrices<Model> prices(graph, kernels, model);
    const auto price = [&](std::size_t i, std::span<const int> counts) -> double {
        if (target.measure == Measure::seconds) return prices(i, counts);
        if (target.measure == Measure::operations) {
            const detail::ThinLayer thin = detail::thin_layer(graph, i, counts);
            return multiply_adds(thin.layer, thin.inputs, thin.output);
        }
        return detail::makes_channels(graph, i) ? counts[i] : 0;
    };
    detail::GreedyPruning greedy(graph, channels, {.multiple = target.multiple, .most = target.most},
                                 detail::layers_that_run(graph), price, loss);
    const bool planned = target.measure == Measure::seconds;
    PrunedTo result;
    result.before = result.after =
        planned ? predicted_seconds(graph, kernels, model, solver, target.plan) : greedy.total();
    // The plan's total also has layout transforms. It is taken as proportional to the sum over layers.
    double of_sum = greedy.total() > 0 ? result.before / greedy.total() : 1;
    const double wanted = target.share * result.before;
    double within = wanted / of_sum;
    for (;;) {
        while (greedy.total() > within) {
            if (greedy.step()) continue;
            const std::string held = held_back_text(held_back(graph, coupling));
            fail("prune: ", 100 * target.share, " % of the ", to_string_view(target.measure),
                 " cannot be reached: with all that may go gone, ", 100 * of_sum * greedy.total() / result.before,
                 " % are left", held.empty() ? "" : "; what holds filters back: ", held);
        }
        greedy.improve(within);
        result.choice = sparing(graph, coupling, greedy.choice());
        result.loss = greedy.loss();
        result.after = planned ? predicted_seconds(remove_channels(graph, coupling, result.choice), kernels, model,
                                                   solver, target.plan)
                               : greedy.total();
        if (result.after <= wanted) return result;
        of_sum = result.after / greedy.total();
        within = std::min(wanted / of_sum, 0.999 * greedy.total());
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::prune
