#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/learn/small_process.hpp>
#include <primsel/search/space.hpp>
#include <primsel/search/sweep.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::search {

/// How much longer networks take than predicted, learned from the trials that were measured: the cheap fidelity is the
/// prediction, which every point has, the dear one the measurement. log(measured / predicted) is its mean and a
/// Gaussian process over the space (as Kennedy and O'Hagan 2000 with a factor of 1 between the logarithms).
class MeasuredBias {
public:
    /// Fewer measurements say nothing of where the bias is larger.
    static constexpr std::size_t least_measured = 4;

    /// A sweep without measured metrics has no bias.
    explicit MeasuredBias(Sweep const& sweep, std::span<const Trial> trials = {}) : features_(sweep.space) {
        std::vector<double> points, logarithms;
        for (Trial const& trial : trials) {
            const double predicted = predicted_of(sweep, trial);
            if (!was_measured(trial) || !(predicted > 0)) continue;
            const std::vector<double> features = features_.of(trial.point);
            points.insert(points.end(), features.begin(), features.end());
            logarithms.push_back(std::log(trial.measured->milliseconds / predicted));
        }
        if (logarithms.empty()) return;
        for (const double logarithm : logarithms) mean_ += logarithm / static_cast<double>(logarithms.size());
        for (double& logarithm : logarithms) logarithm -= mean_;
        if (logarithms.size() < least_measured || features_.count() == 0) return;
        constexpr std::size_t most = 200;  // the latest, since learning takes the cube
        if (const std::size_t old = logarithms.size() - std::min(most, logarithms.size()); old > 0) {
            logarithms.erase(logarithms.begin(), logarithms.begin() + static_cast<std::ptrdiff_t>(old));
            points.erase(points.begin(), points.begin() + static_cast<std::ptrdiff_t>(old * features_.count()));
        }
        learn(points, logarithms);
    }

    /// The expected measurement of a point over its prediction.
    [[nodiscard]] double factor(SearchPoint const& point) const {
        return std::exp(mean_ + (process_ ? process_->mean(features_.of(point)) : 0));
    }
    /// The standard deviation of the factor's logarithm; 0 with fewer than least_measured measurements.
    [[nodiscard]] double log_deviation(SearchPoint const& point) const {
        return process_ ? process_->predict(features_.of(point)).deviation : 0;
    }
    /// The same over the space as a whole.
    [[nodiscard]] double mean_factor() const { return std::exp(mean_); }

    /// The trial's metrics as they are to be judged: measured, or else predicted and corrected, so many standard
    /// deviations from what is expected.
    [[nodiscard]] std::map<std::string, double> metrics_of(Sweep const& sweep, Trial const& trial,
                                                           double deviations = 0) const {
        std::map<std::string, double> metrics = trial.metrics;
        const double predicted = predicted_of(sweep, trial);
        if (!(predicted > 0)) return metrics;
        double factor = 0;
        if (was_measured(trial)) {
            factor = trial.measured->milliseconds / predicted;
        } else {
            factor = this->factor(trial.point);
            if (deviations != 0) factor *= std::exp(deviations * log_deviation(trial.point));
        }
        for (MeasuredMetric const& each : sweep.measured) {
            const auto found = metrics.find(each.metric);
            if (found == metrics.end() || (each.is_share && found->second > 1)) continue;
            found->second *= each.is_share ? factor / mean_factor() : factor;
        }
        return metrics;
    }
    /// The trial's outcome by metrics_of; one that failed has no metrics.
    [[nodiscard]] Outcome outcome_of(Sweep const& sweep, Trial const& trial, double deviations = 0) const {
        if (!trial.failure.empty()) return search::outcome_of(sweep, {});
        return search::outcome_of(sweep, metrics_of(sweep, trial, deviations));
    }
    /// The standard deviations of that outcome's values.
    [[nodiscard]] Outcome deviations_of(Sweep const& sweep, Trial const& trial) const {
        Outcome apart = outcome_of(sweep, trial, 1);
        const Outcome expected = outcome_of(sweep, trial);
        for (std::size_t i = 0; i < apart.objectives.size(); ++i) {
            apart.objectives[i] = std::abs(apart.objectives[i] - expected.objectives[i]);
        }
        for (std::size_t i = 0; i < apart.constraints.size(); ++i) {
            apart.constraints[i] = std::abs(apart.constraints[i] - expected.constraints[i]);
        }
        return apart;
    }

    [[nodiscard]] static bool was_measured(Trial const& trial) {
        return trial.measured && trial.measured->failure.empty() && trial.measured->milliseconds > 0;
    }

private:
    [[nodiscard]] static double predicted_of(Sweep const& sweep, Trial const& trial) {
        if (sweep.measured.empty()) return 0;
        const auto found = trial.metrics.find(sweep.measured[0].metric);
        return found == trial.metrics.end() || !is_finite(found->second) ? 0 : found->second;
    }
    /// Takes the deviation, length and noise under which the biases are most likely.
    void learn(std::vector<double> const& points, std::vector<double> const& logarithms) {
        double most = -std::numeric_limits<double>::infinity();
        for (const double deviation : {0.01, 0.03, 0.1, 0.3, 1.0}) {
            for (const double length : {0.3, 1.0}) {
                for (const double noise : {0.01, 0.03, 0.1, 0.3}) {
                    learn::SmallProcess process = learn::SmallProcess::fit(
                        points, logarithms, {{deviation, std::vector<double>(features_.count(), length)}}, noise);
                    if (const double likely = process.log_likelihood(); likely > most) {
                        most = likely;
                        process_ = std::make_shared<const learn::SmallProcess>(std::move(process));
                    }
                }
            }
        }
    }

    PointFeatures features_;
    double mean_ = 0;
    std::shared_ptr<const learn::SmallProcess> process_;
};

/// The indices of the best trials that keep the bounds: for one goal the best, for two the Pareto front, ordered by the
/// first goal. If the sweep has measured metrics and a trial was measured, the measured ones are compared, with
/// `candidate` among them, whose corrected prediction is taken a standard deviation below.
[[nodiscard]] inline std::vector<std::size_t> best_of(Sweep const& sweep, std::span<const Trial> trials,
                                                      std::size_t candidate = std::numeric_limits<std::size_t>::max()) {
    const MeasuredBias bias(sweep, trials);
    const bool by_measurement = !sweep.measured.empty() && std::ranges::any_of(trials, MeasuredBias::was_measured);
    std::vector<std::size_t> order, best;
    std::vector<Outcome> outcomes;
    for (std::size_t i = 0; i < trials.size(); ++i) {
        outcomes.push_back(bias.outcome_of(sweep, trials[i], i == candidate ? -1 : 0));
        const bool counts = !by_measurement || i == candidate || MeasuredBias::was_measured(trials[i]);
        if (counts && outcomes[i].feasible()) order.push_back(i);
    }
    std::ranges::stable_sort(order, {}, [&](std::size_t i) -> auto const& { return outcomes[i].objectives; });
    for (const std::size_t i : order) {
        const bool ahead =
            best.empty() || (sweep.goals.size() > 1 && outcomes[i].objectives[1] < outcomes[best.back()].objectives[1]);
        if (ahead) best.push_back(i);
    }
    return best;
}

}  // namespace primsel::inline PRIMSEL_ABI::search
