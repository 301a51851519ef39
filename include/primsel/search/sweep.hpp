#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/search/halving.hpp>
#include <primsel/search/searcher.hpp>
#include <primsel/search/space.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::search {

enum class SweepMethod { grid, random, bayes };

/// A goal of a sweep: the least of a metric, or the most.
struct SweepGoal {
    std::string metric;
    bool maximize = false;
    friend bool operator==(SweepGoal const&, SweepGoal const&) = default;
};
/// A bound that a metric must keep for a point to be chosen.
struct MetricBound {
    std::string metric;
    double at_least = -std::numeric_limits<double>::infinity(), at_most = std::numeric_limits<double>::infinity();
    friend bool operator==(MetricBound const&, MetricBound const&) = default;
};

/// The description of a sweep: what to try, how, and how long.
struct Sweep {
    SweepMethod method = SweepMethod::bayes;
    std::vector<SweepGoal> goals{};
    std::vector<MetricBound> bounds{};
    Space space;
    /// None beyond so many trials or seconds is begun.
    std::size_t trials = 100;
    double seconds = std::numeric_limits<double>::infinity();
    std::optional<HalvingOptions> early_terminate{};
    std::uint64_t seed = 1;
    /// The script of a file that another program wrote; nothing is done with it.
    std::string program{};
    /// Options of the file for the program that runs the sweep, by name; the library does nothing with them.
    std::vector<std::pair<std::string, std::vector<std::string>>> options{};
};

/// One trial that is to be done.
struct TrialTask {
    std::uint64_t number = 0;
    SearchPoint point{};
    std::uint64_t seed = 0;
    /// After so many steps (epochs): a trial whose loss is greater is not worth its next ones.
    std::map<std::size_t, double> limits{};
};

/// Times of a network that was measured alone on a machine.
struct TrialMeasurement {
    /// From the image to the result, and what was predicted for that.
    double milliseconds = 0, predicted = 0;
    /// Images a second of several together.
    double images_per_second = 0;
    /// Milliseconds of each layer, in the order in which they run.
    std::vector<std::pair<std::string, double>> layers{};
    /// Why it could not be measured; empty where it was.
    std::string failure{};
    friend bool operator==(TrialMeasurement const&, TrialMeasurement const&) = default;
};

/// One trial, as it is logged.
struct Trial {
    std::uint64_t number = 0;
    SearchPoint point{};
    std::uint64_t seed = 0;
    /// By name; NaN for one that could not be had.
    std::map<std::string, double> metrics{};
    /// The key of the plan that latency is of, and the version of the library.
    std::string plan{}, version{};
    double seconds = 0;
    /// Its loss after so many steps, where trials are judged, and whether it was stopped there.
    std::map<std::size_t, double> rungs{};
    bool stopped = false;
    /// The measurement of a trial that was kept, where somebody measures.
    std::optional<TrialMeasurement> measured{};
    /// Why it failed; empty where it did not.
    std::string failure{};
};

/// The outcome that the searcher is told for a trial's metrics: goals to be minimised, bounds to be at most 0. A metric
/// that is missing is NaN, and the trial one that failed.
[[nodiscard]] inline Outcome outcome_of(Sweep const& sweep, std::map<std::string, double> const& metrics) {
    const auto value = [&](std::string const& name) {
        const auto found = metrics.find(name);
        return found == metrics.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
    };
    Outcome outcome;
    for (SweepGoal const& goal : sweep.goals) {
        outcome.objectives.push_back(goal.maximize ? -value(goal.metric) : value(goal.metric));
    }
    for (MetricBound const& bound : sweep.bounds) {
        if (is_finite(bound.at_least)) outcome.constraints.push_back(bound.at_least - value(bound.metric));
        if (is_finite(bound.at_most)) outcome.constraints.push_back(value(bound.metric) - bound.at_most);
    }
    return outcome;
}
[[nodiscard]] inline std::size_t constraints_of(Sweep const& sweep) { return outcome_of(sweep, {}).constraints.size(); }
/// The same for a trial; one that failed has no metrics.
[[nodiscard]] inline Outcome outcome_of_trial(Sweep const& sweep, Trial const& trial) {
    return trial.failure.empty() ? outcome_of(sweep, trial.metrics) : outcome_of(sweep, {});
}

/// The loss by which halving compares trials of a sweep of one goal: the goal where the bounds are kept, and above all
/// such values the excess where they are not; NaN where a metric is missing.
[[nodiscard]] inline double halving_loss(Sweep const& sweep, std::map<std::string, double> const& metrics) {
    const Outcome outcome = outcome_of(sweep, metrics);
    if (outcome.failed() || outcome.objectives.empty()) return std::numeric_limits<double>::quiet_NaN();
    double beyond = 0;
    for (const double constraint : outcome.constraints) beyond += std::max(constraint, 0.0);
    const double value = outcome.objectives[0];
    return beyond > 0 ? 1 + beyond / (1 + beyond) : value / (1 + std::abs(value));
}

/// Places of the trials that nobody surpasses and that keep the bounds: of one goal the best, of two the front, by the
/// first of them.
[[nodiscard]] inline std::vector<std::size_t> best_of(Sweep const& sweep, std::span<const Trial> trials) {
    std::vector<std::size_t> order, best;
    std::vector<Outcome> outcomes;
    for (std::size_t i = 0; i < trials.size(); ++i) {
        outcomes.push_back(outcome_of_trial(sweep, trials[i]));
        if (outcomes[i].feasible()) order.push_back(i);
    }
    std::ranges::stable_sort(order, {}, [&](std::size_t i) -> auto const& { return outcomes[i].objectives; });
    for (const std::size_t i : order) {
        const bool ahead =
            best.empty() || (sweep.goals.size() > 1 && outcomes[i].objectives[1] < outcomes[best.back()].objectives[1]);
        if (ahead) best.push_back(i);
    }
    return best;
}

/// Latency while accuracy is at least the threshold, and beyond any such latency where it is not, the more the farther
/// below: to be minimised. `whole_latency`: of the network that was not pruned.
[[nodiscard]] inline double hybrid_metric(double latency, double accuracy, double threshold, double whole_latency) {
    return accuracy >= threshold ? latency / whole_latency : 1 + threshold - accuracy;
}

}  // namespace primsel::inline PRIMSEL_ABI::search
