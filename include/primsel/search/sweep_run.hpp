#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/statistics.hpp>
#include <primsel/search/halving.hpp>
#include <primsel/search/influence.hpp>
#include <primsel/search/measured_bias.hpp>
#include <primsel/search/searcher.hpp>
#include <primsel/search/sweep.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::search {

/// How far a sweep has come.
struct SweepProgress {
    std::size_t done = 0, failed = 0, under_way = 0;
    /// Trials that are not begun; nothing if only the seconds are bounded.
    std::optional<std::size_t> left{};
    /// Seconds of all trials so far.
    double seconds = 0;
    /// Estimated seconds until the sweep ends, with as many trials at once as are under way now; NaN before the first
    /// is done.
    double seconds_left = std::numeric_limits<double>::quiet_NaN();
};

/// The state of a sweep: which trial is next, and which results are known. It runs nothing itself: the caller takes
/// trials, has them done in any order, and adds their results.
///
/// The trials that it hands out depend only on the sweep, the searcher and the added trials, in their order. So a
/// killed sweep continues from the trials that were kept. If one trial is done after the other, it ends as if it had
/// not been killed.
template <Searcher S>
class SweepRun {
public:
    /// `done`: the trials of an earlier run, in their order. Throws error if trials are to be stopped early with two
    /// goals, if the searcher has another space, or if two trials have the same number.
    SweepRun(Sweep sweep, S searcher, std::span<const Trial> done = {})
        : sweep_(std::move(sweep)), searcher_(std::move(searcher)), bias_(sweep_) {
        if (!(searcher_.space() == sweep_.space)) fail("sweep: the searcher has another space");
        if (sweep_.early_terminate) {
            if (sweep_.goals.size() != 1) fail("sweep: early_terminate needs one metric, not ", sweep_.goals.size());
            halving_.emplace(*sweep_.early_terminate);
        }
        for (Trial const& trial : done) {
            if (!add(trial)) fail("sweep: a second trial ", trial.number);
        }
    }

    [[nodiscard]] Sweep const& sweep() const { return sweep_; }
    /// The finished trials, in the order in which they were added.
    [[nodiscard]] std::vector<Trial> const& trials() const { return trials_; }
    /// The trials that are handed out and not finished, by their numbers.
    [[nodiscard]] std::map<std::uint64_t, TrialTask> const& under_way() const { return under_way_; }

    /// The next trial; nothing if the budget is used up or every point has been proposed.
    [[nodiscard]] std::optional<TrialTask> next() {
        if (trials_.size() + under_way_.size() >= sweep_.trials || seconds_ >= sweep_.seconds) return std::nullopt;
        if (reached_) return std::nullopt;
        std::optional<SearchPoint> point;
        if (again_.empty()) {
            point = searcher_.ask();
        } else {
            point = std::move(again_.back());
            again_.pop_back();
        }
        if (!point) return std::nullopt;
        while (numbers_.contains(free_)) ++free_;
        TrialTask task{.number = free_, .point = std::move(*point), .seed = seed_of(free_), .limits = {}};
        if (halving_) task.limits = halving_->limits();
        numbers_.insert(task.number);
        return under_way_.emplace(task.number, task).first->second;
    }

    /// Adds a finished trial, which may be of an earlier run. Returns false and changes nothing if a trial of its
    /// number is finished already. Throws error if its point is not in the space.
    bool add(Trial trial) {
        sweep_.space.check(trial.point);
        const auto task = under_way_.find(trial.number);
        if (task == under_way_.end()) {
            if (!numbers_.insert(trial.number).second) return false;
        } else {
            // The number was used for another point by an earlier run; the point handed out now is tried later.
            if (task->second.point != trial.point) again_.push_back(task->second.point);
            under_way_.erase(task);
        }
        searcher_.tell(trial.point, bias_.outcome_of(sweep_, trial));
        for (auto const& [steps, loss] : trial.rungs) {
            if (halving_) (void)halving_->goes_on(trial.number, steps, loss);
        }
        seconds_ += std::max(trial.seconds, 0.0);
        trials_.push_back(std::move(trial));
        if (trials_.back().measured) learn_bias();
        see_target();
        return true;
    }
    /// Adds the measurement of the last trial that was added. All outcomes that the searcher was told are corrected by
    /// it, if the sweep has measured metrics. One that was taken on another machine than those before it becomes a
    /// failure, for its times are not comparable.
    void measure_last(TrialMeasurement measured) {
        for (Trial const& trial : trials_) {
            if (!trial.measured || !trial.measured->failure.empty() || !measured.failure.empty()) continue;
            if (trial.measured->machine == measured.machine) continue;
            measured = {.machine = measured.machine,
                        .failure = join("was measured on ", measured.machine, ", the trials before it on ",
                                        trial.measured->machine)};
        }
        if (!(measured.predicted > 0) && !sweep_.measured.empty()) {
            const auto found = trials_.back().metrics.find(sweep_.measured[0].metric);
            if (found != trials_.back().metrics.end()) measured.predicted = found->second;
        }
        trials_.back().measured = std::move(measured);
        learn_bias();
        see_target();
    }
    /// How measurements differ from predictions so far.
    [[nodiscard]] MeasuredBias const& bias() const { return bias_; }

    /// Reserves a number that a queue knows already, so that no trial gets it.
    void skip(std::uint64_t number) { numbers_.insert(number); }

    /// Whether the last trial is worth a measurement: it was not stopped, and is among the best by its prediction, or
    /// may be within a standard deviation, or too few were measured to know.
    [[nodiscard]] bool is_last_promising() const {
        if (trials_.back().stopped) return false;
        const auto measured = std::ranges::count_if(trials_, MeasuredBias::was_measured);
        const bool few = static_cast<std::size_t>(measured) < MeasuredBias::least_measured;
        if (!sweep_.measured.empty() && few && bias_.outcome_of(sweep_, trials_.back()).feasible()) return true;
        const std::vector<std::size_t> best = best_of(sweep_, trials_, trials_.size() - 1);
        return std::ranges::find(best, trials_.size() - 1) != best.end();
    }
    /// Indices in trials(), as best_of.
    [[nodiscard]] std::vector<std::size_t> best() const { return best_of(sweep_, trials_); }

    [[nodiscard]] SweepProgress progress() const {
        SweepProgress progress{.done = trials_.size(), .under_way = under_way_.size(), .seconds = seconds_};
        std::vector<double> seconds;
        for (Trial const& trial : trials_) {
            seconds.push_back(trial.seconds);
            progress.failed += outcome_of_trial(sweep_, trial).failed() ? 1 : 0;
        }
        std::size_t most = sweep_.trials;
        if (const std::size_t points = sweep_.space.count(); points != 0) most = std::min(most, points);
        const std::size_t begun = trials_.size() + under_way_.size();
        if (most < std::numeric_limits<std::size_t>::max()) progress.left = most - std::min(most, begun);
        if (seconds.empty()) return progress;
        double left = std::max(sweep_.seconds - seconds_, 0.0);
        if (progress.left) {
            left = std::min(left, median(seconds) * static_cast<double>(*progress.left + under_way_.size()));
        }
        progress.seconds_left = left / static_cast<double>(std::max<std::size_t>(under_way_.size(), 1));
        return progress;
    }

    /// The influence of each parameter on a metric, by the trials so far.
    [[nodiscard]] std::vector<Influence> influences(std::string const& metric) const {
        return trial_influences(sweep_.space, trials_, metric, sweep_.seed);
    }

private:
    void see_target() {
        if (sweep_.goals.size() != 1 || !sweep_.goals[0].target) return;
        reached_ = std::ranges::any_of(
            trials_, [&](Trial const& each) { return reaches_target(sweep_, bias_.outcome_of(sweep_, each)); });
    }
    void learn_bias() {
        if (sweep_.measured.empty()) return;
        bias_ = MeasuredBias(sweep_, trials_);
        for (Trial const& trial : trials_) {
            const Outcome outcome = bias_.outcome_of(sweep_, trial);
            if constexpr (requires { searcher_.correct(trial.point, outcome); }) {
                searcher_.correct(trial.point, outcome);
            }
        }
    }
    [[nodiscard]] std::uint64_t seed_of(std::uint64_t number) const {
        return (sweep_.seed + number) & std::uint64_t{std::numeric_limits<std::int64_t>::max()};
    }

    Sweep sweep_;
    S searcher_;
    MeasuredBias bias_;
    std::optional<SuccessiveHalving> halving_;
    std::vector<Trial> trials_;
    std::map<std::uint64_t, TrialTask> under_way_;
    std::set<std::uint64_t> numbers_;  // of both
    std::vector<SearchPoint> again_;
    std::uint64_t free_ = 0;
    double seconds_ = 0;
    bool reached_ = false;  // the target
};

}  // namespace primsel::inline PRIMSEL_ABI::search
