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

/// A goal of a sweep: to minimise or maximise a metric.
struct SweepGoal {
    std::string metric;
    bool maximize = false;
    /// No trial begins after one that keeps the bounds is at least as good as this.
    std::optional<double> target{};
    friend bool operator==(SweepGoal const&, SweepGoal const&) = default;
};
/// A bound that a metric must keep for a point to be chosen.
struct MetricBound {
    std::string metric;
    double at_least = -std::numeric_limits<double>::infinity(), at_most = std::numeric_limits<double>::infinity();
    friend bool operator==(MetricBound const&, MetricBound const&) = default;
};

/// A metric that is predicted and that a measurement replaces.
struct MeasuredMetric {
    std::string metric;
    /// Whether it is the share of a whole network's time, which is measured as it is predicted but for the mean bias. A
    /// share above 1 stays as it is.
    bool is_share = false;
    friend bool operator==(MeasuredMetric const&, MeasuredMetric const&) = default;
};

/// The description of a sweep: what to try, how, and how long.
struct Sweep {
    SweepMethod method = SweepMethod::bayes;
    std::vector<SweepGoal> goals{};
    std::vector<MetricBound> bounds{};
    Space space;
    /// No trial begins after this number of trials, or after trials have taken this many seconds in sum.
    std::size_t trials = 100;
    double seconds = std::numeric_limits<double>::infinity();
    std::optional<HalvingOptions> early_terminate{};
    std::uint64_t seed = 1;
    /// The metrics that measurements replace; the first is in milliseconds. Empty: measurements are only logged.
    std::vector<MeasuredMetric> measured{};
    /// The program that does a trial, and the words of the command that runs it; the library does nothing with them.
    std::string program{};
    std::vector<std::string> command{};
    /// Options of the file for the program that runs the sweep, by name; the library does nothing with them.
    std::vector<std::pair<std::string, std::vector<std::string>>> options{};
};

/// One trial that is to be done.
struct TrialTask {
    std::uint64_t number = 0;
    SearchPoint point{};
    std::uint64_t seed = 0;
    /// By steps (epochs): a trial with a greater loss after them is stopped.
    std::map<std::size_t, double> limits{};
};

/// The measured times of a trial's network, which ran alone on a machine.
struct TrialMeasurement {
    /// Milliseconds from the image to the result, measured and predicted.
    double milliseconds = 0, predicted = 0;
    /// Images per second of a batch.
    double images_per_second = 0;
    /// Milliseconds of each layer, in the order in which they run.
    std::vector<std::pair<std::string, double>> layers{};
    /// The machine or device that was measured.
    std::string machine{};
    /// The reason why it could not be measured; else empty.
    std::string failure{};
    friend bool operator==(TrialMeasurement const&, TrialMeasurement const&) = default;
};

/// One trial, as it is logged.
struct Trial {
    std::uint64_t number = 0;
    SearchPoint point{};
    std::uint64_t seed = 0;
    /// By name; NaN for a metric that could not be computed.
    std::map<std::string, double> metrics{};
    /// The key of the plan whose latency was taken, and the version of the library.
    std::string plan{}, version{};
    /// The machine for which the metrics were predicted.
    std::string machine{};
    double seconds = 0;
    /// The loss after each rung's steps, and whether the trial was stopped there.
    std::map<std::size_t, double> rungs{};
    bool stopped = false;
    /// The measurement of the network, if one was taken.
    std::optional<TrialMeasurement> measured{};
    /// The reason why the trial failed; else empty.
    std::string failure{};
};

/// The outcome that the searcher is told: goals become objectives to be minimised, bounds become constraints to be at
/// most 0. A missing metric is NaN, and its trial failed.
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

/// Whether a trial's outcome keeps the bounds and is at least as good as the target of the only goal.
[[nodiscard]] inline bool reaches_target(Sweep const& sweep, Outcome const& outcome) {
    if (sweep.goals.size() != 1 || !sweep.goals[0].target || !outcome.feasible()) return false;
    const double target = *sweep.goals[0].target;
    return outcome.objectives[0] <= (sweep.goals[0].maximize ? -target : target);
}

/// The loss by which halving compares the trials of a sweep with one goal. If the bounds are kept, it is v / (1 + |v|),
/// which orders trials as the value v to be minimised and is below 1. Else it is 1 + e / (1 + e) with the excess e. NaN
/// if a metric is missing.
[[nodiscard]] inline double halving_loss(Sweep const& sweep, std::map<std::string, double> const& metrics) {
    const Outcome outcome = outcome_of(sweep, metrics);
    if (outcome.failed() || outcome.objectives.empty()) return std::numeric_limits<double>::quiet_NaN();
    double beyond = 0;
    for (const double constraint : outcome.constraints) beyond += std::max(constraint, 0.0);
    const double value = outcome.objectives[0];
    return beyond > 0 ? 1 + beyond / (1 + beyond) : value / (1 + std::abs(value));
}

/// A metric to be minimised: latency / whole_latency if the accuracy is at least the threshold, else 1 + threshold -
/// accuracy, which is above that of any network no slower than the whole one. `whole_latency` is the latency of the
/// network before pruning.
[[nodiscard]] inline double hybrid_metric(double latency, double accuracy, double threshold, double whole_latency) {
    return accuracy >= threshold ? latency / whole_latency : 1 + threshold - accuracy;
}

}  // namespace primsel::inline PRIMSEL_ABI::search
