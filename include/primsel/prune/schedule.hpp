#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/nearest.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/network/weights.hpp>
#include <primsel/prune/choose.hpp>
#include <primsel/prune/criterion.hpp>
#include <primsel/prune/ranking.hpp>
#include <primsel/train/learning_rate.hpp>
#include <primsel/train/training_options.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <string>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::prune {

/// The criterion by which a schedule ranks filters.
enum class RankedBy { l1, l2, geometric_median, batch_norm, random };

/// The weights that a schedule prunes, and how.
struct SchedulePruner {
    std::string name = {};
    RankedBy criterion = RankedBy::l1;
    GroupType type = GroupType::filters;
    /// The share of channels to remove, from 0 to 1; and the share that a gradual pruner begins with.
    double sparsity = 0, initial_sparsity = 0;
    bool gradual = false;
    /// Whether the share is that of all layers' channels together, not of each layer's.
    bool together = false;
    /// Patterns of weights' names, in which * stands for any characters; and for each the name of its place in errors.
    std::vector<std::string> weights = {}, places = {};
};

/// A rule by which a learning rate changes, as PyTorch's schedulers of these names.
struct ScheduleRate {
    enum class Rule { exponential, step, multi_step, cosine };
    std::string name = {};
    Rule rule = Rule::exponential;
    double gamma = 0.1;
    /// In epochs. Step: the interval between two changes. Cosine: half the period, from the highest rate to the lowest.
    std::int64_t every = 1;
    /// The lowest rate of a cosine; an absolute rate, not a factor.
    double lowest = 0;
    std::vector<std::int64_t> milestones = {};

    /// The rate after `epochs` epochs of this rule, from the initial rate `base`.
    [[nodiscard]] double rate(double base, std::int64_t epochs) const {
        const double least = rule == Rule::cosine ? lowest : 0;
        return least + (base - least) * factor(epochs);
    }

private:
    [[nodiscard]] double factor(std::int64_t epochs) const {
        switch (rule) {
            case Rule::exponential:
                return std::pow(gamma, static_cast<double>(epochs));
            case Rule::step:
                return std::pow(gamma, static_cast<double>(epochs / every));
            case Rule::multi_step:
                return std::pow(gamma, static_cast<double>(std::ranges::count_if(
                                           milestones, [&](std::int64_t one) { return one <= epochs; })));
            default: {
                const double share = static_cast<double>(epochs % (2 * every)) / static_cast<double>(every);
                return (1 + std::cos(std::numbers::pi * share)) / 2;
            }
        }
    }
};

/// The epochs, counted from 0, at whose beginning a pruner or a learning rate acts.
struct SchedulePolicy {
    /// Whether `instance` is an index of the schedule's pruners, or of its rates.
    bool prunes = true;
    std::size_t instance = 0;
    /// Epochs, ascending.
    std::vector<std::int64_t> epochs = {};
};

/// A schedule of pruning during training, as a Distiller schedule (Fay-Hunt 2021, figure 14).
/// prune/schedule_file.hpp reads it.
struct PruningSchedule {
    std::vector<SchedulePruner> pruners;
    std::vector<ScheduleRate> rates;
    std::vector<SchedulePolicy> policies;
    /// The names of its thinning policies. They change nothing: filters are removed when the training ends.
    std::vector<std::string> thinners = {};
};

/// A learning rate to which the rates of a schedule are applied in turn, each for the number of its epochs that are
/// over.
struct ScheduledRate {
    PruningSchedule schedule = {};

    double operator()(double base, std::int64_t step, std::int64_t, std::int64_t steps_per_epoch) const {
        const std::int64_t epoch = step / steps_per_epoch;
        for (SchedulePolicy const& policy : schedule.policies) {
            if (policy.prunes) continue;
            base = schedule.rates[policy.instance].rate(
                base, std::ranges::count_if(policy.epochs, [&](std::int64_t one) { return one < epoch; }));
        }
        return base;
    }
};
static_assert(LearningRate<ScheduledRate>);

namespace detail {

/// Whether a pattern of a schedule matches a weight of one of the ranking's layers. The prefix "module." is ignored:
/// PyTorch's data-parallel training adds it.
[[nodiscard]] inline bool names_weight(std::string_view pattern, Ranking const& ranking) {
    if (pattern.starts_with("module.")) pattern.remove_prefix(7);
    return std::ranges::any_of(ranking.layers,
                               [&](std::string const& layer) { return matches_pattern(pattern, layer + ".weight"); });
}

/// The share to be removed at the beginning of `epoch`, one of the policy's epochs. A gradual pruner's share rises fast
/// at first (Zhu and Gupta, To prune, or not to prune, 2017, equation 1).
[[nodiscard]] inline double sparsity_at(SchedulePruner const& pruner, SchedulePolicy const& policy,
                                        std::int64_t epoch) {
    if (!pruner.gradual) return pruner.sparsity;
    const std::int64_t first = policy.epochs.front(), last = policy.epochs.back();
    const double way = last > first ? static_cast<double>(epoch - first) / static_cast<double>(last - first) : 1;
    return pruner.sparsity + (pruner.initial_sparsity - pruner.sparsity) * std::pow(1 - way, 3);
}

[[nodiscard]] inline std::vector<Ranking> ranked_by(RankedBy criterion, Graph const& graph, Weights const& weights,
                                                    Coupling const& coupling, GroupType type) {
    switch (criterion) {
        case RankedBy::l2:
            return rank_filters(graph, weights, coupling, L2Norm{}, type);
        case RankedBy::geometric_median:
            return rank_filters(graph, weights, coupling, GeometricMedian{}, type);
        case RankedBy::batch_norm:
            return rank_filters(graph, weights, coupling, BatchNormScale{}, type);
        case RankedBy::random:
            return rank_filters(graph, weights, coupling, RandomScore{}, type);
        default:
            return rank_filters(graph, weights, coupling, L1Norm{}, type);
    }
}

}  // namespace detail

/// The share that a pruner has removed at the end of a training of so many epochs.
[[nodiscard]] inline double reached_sparsity(PruningSchedule const& schedule, std::size_t pruner, std::int64_t epochs) {
    double most = 0;
    for (SchedulePolicy const& policy : schedule.policies) {
        if (!policy.prunes || policy.instance != pruner) continue;
        for (const std::int64_t epoch : policy.epochs) {
            if (epoch < epochs) most = std::max(most, detail::sparsity_at(schedule.pruners[pruner], policy, epoch));
        }
    }
    return most;
}

/// Throws error, naming the place, if a pattern of the schedule matches no weight that can be pruned.
inline void check_schedule(PruningSchedule const& schedule, Graph const& graph, Coupling const& coupling) {
    for (SchedulePruner const& pruner : schedule.pruners) {
        std::vector<std::string> names;
        std::vector<Ranking> rankings;
        const auto weights = random_weights(graph);
        for (Ranking& ranking : detail::ranked_by(RankedBy::random, graph, weights, coupling, pruner.type)) {
            for (std::string const& layer : ranking.layers) names.push_back(layer + ".weight");
            rankings.push_back(std::move(ranking));
        }
        for (std::size_t i = 0; i < pruner.weights.size(); ++i) {
            std::string const& pattern = pruner.weights[i];
            const auto fits_it = [&](Ranking const& ranking) { return detail::names_weight(pattern, ranking); };
            if (std::ranges::any_of(rankings, fits_it)) continue;
            fail(pruner.places[i], ": no weight that can be pruned is named ", pattern,
                 nearest_of(pattern.starts_with("module.") ? std::string_view(pattern).substr(7) : pattern, names));
        }
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::prune
