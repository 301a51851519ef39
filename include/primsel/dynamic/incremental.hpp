#pragma once

#include <primsel/core/error.hpp>
#include <primsel/dynamic/configuration_weights.hpp>
#include <primsel/dynamic/detail/configuration_accuracy.hpp>
#include <primsel/dynamic/detail/increment_state.hpp>
#include <primsel/dynamic/detail/step_options.hpp>
#include <primsel/dynamic/incremental_options.hpp>
#include <primsel/train/trainer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::dynamic {

/// Makes an executor by its default constructor. Replace it by a type with such a call operator for an executor that is
/// constructed otherwise.
template <class Executor>
struct MakeExecutor {
    [[nodiscard]] Executor operator()() const { return Executor{}; }
};

/// Ignores the report of an epoch and goes on.
struct IgnoreIncrements {
    [[nodiscard]] bool operator()(IncrementalEpoch const&) const { return true; }
};

/// Trains a dynamic network one sub-network after another (Xun et al. 2019, section III-B). Step g trains the weights
/// that sub-network g has and sub-network g - 1 has not; the earlier weights take part but are frozen, and the later
/// ones are absent. The layers behind the groups belong to all sub-networks, and learn slower with each step. The first
/// step ends with the model of the best validation accuracy. A later step is repeated from other random weights until
/// it meets its target, at most `attempts` times. Training resumed from a checkpoint gives the same bits. So do the
/// same weights, data and options with any number of threads.
template <class Policies = DefaultTraining, class Makes = MakeExecutor<typename Policies::executor>>
class IncrementalTrainer {
    using StepTrainer = Trainer<Graph, Policies>;

public:
    using Parts = typename StepTrainer::Parts;

    /// Takes a network in groups, as grouped() makes it. The graph's batch is the number of images that pass it at
    /// once. Throws error if an option is impossible, the weights do not fit the graph, or a weight group matches no
    /// weight.
    IncrementalTrainer(Graph const& graph, Weights const& weights, IncrementalOptions options, Parts parts = {},
                       Makes make_executor = {})
        : IncrementalTrainer(graph, primsel::dynamic::configurations(graph), weights, std::move(options),
                             std::move(parts), std::move(make_executor)) {}
    /// Takes any network with these sub-networks of it, the smallest first, such as nested() makes. Only weights that
    /// the last sub-network has are trained. Throws error too if there is no sub-network.
    IncrementalTrainer(Graph graph, std::vector<Configuration> configurations, Weights const& weights,
                       IncrementalOptions options, Parts parts = {}, Makes make_executor = {})
        : graph_(std::move(graph)),
          configurations_(std::move(configurations)),
          options_(std::move(options)),
          parts_(std::move(parts)),
          make_executor_(std::move(make_executor)) {
        check_incremental_options(options_);
        if (configurations_.empty()) fail("incremental: no configurations");
        check_weights(graph_, weights);
        check_groups_fit(options_.training.groups, graph_);
        state_.base = weights;
    }

    /// Trains all remaining steps. Calls report(IncrementalEpoch const&) after each epoch and updated(updates()) after
    /// each update, when a checkpoint can be taken; training pauses if either returns false. Models are judged by their
    /// accuracy on `validation`, which must not be empty. Throws error as Trainer does.
    template <DataSource Source, DataSource Validation, Augmentation Augments = NoAugment,
              class Report = IgnoreIncrements, class Updated = IgnoreUpdates>
    void fit(Source const& source, Validation const& validation, Normalise const& normalise = {}, Augments augment = {},
             Report&& report = {}, Updated&& updated = {}) {
        detail::ConfigurationAccuracy<Policies> judge(configurations_, make_executor_());
        while (!done()) {
            if (!train_step(source, validation, normalise, augment, judge, report, updated)) return;
            finish_attempt();
        }
    }

    /// Whether all steps are done.
    [[nodiscard]] bool done() const { return state_.step > static_cast<int>(configurations_.size()); }
    /// The finished steps, in order.
    [[nodiscard]] std::vector<Increment> const& increments() const { return state_.increments; }
    /// Weights of the whole network: those that finished steps have trained; all others as they were given.
    [[nodiscard]] Weights const& weights() const { return state_.base; }
    /// The number of the present or next step, and of its attempt; both count from 1.
    [[nodiscard]] int step() const { return state_.step; }
    [[nodiscard]] int attempt() const { return state_.attempt; }
    /// The number of updates that the present attempt has made.
    [[nodiscard]] std::int64_t updates() const { return trainer_ ? trainer_->updates() : 0; }
    [[nodiscard]] Graph const& graph() const { return graph_; }
    [[nodiscard]] std::vector<Configuration> const& configurations() const { return configurations_; }

    /// Everything that resume() needs. Call it from `updated` of fit, or between two calls of fit.
    [[nodiscard]] Checkpoint checkpoint() const {
        Checkpoint result;
        if (trainer_) result = trainer_->checkpoint();
        state_.write(result);
        for (auto const& [what, here] : facts()) result.facts.insert_or_assign(what, here);
        return result;
    }
    /// Makes the next fit go on from a checkpoint. Throws error, naming the checkpoint, and changes nothing, if it
    /// belongs to another training.
    void resume(Checkpoint const& from) {
        const train::CheckpointReader reader(from);
        for (auto const& [what, here] : facts()) reader.require(what, here);
        detail::IncrementState state = detail::IncrementState::read(from, graph_, configurations_.size());
        std::unique_ptr<StepTrainer> trainer;
        if (state.in_attempt) {
            Parts parts = parts_;
            parts.plan = from.plan;
            trainer = make_trainer(state, std::move(parts));
            trainer->resume(from);
        }
        state_ = std::move(state);
        trainer_ = std::move(trainer);
    }

private:
    [[nodiscard]] Configuration const& configuration(int step) const {
        return configurations_[static_cast<std::size_t>(step) - 1];
    }
    [[nodiscard]] std::map<std::string, std::string, std::less<>> facts() const {
        return {{"increments", core::exact_text(configurations_.size())},
                {"increments' rate of dense layers", core::exact_text(options_.dense_rate)},
                {"increments' target", core::exact_text(options_.target)},
                {"increments' attempts", core::exact_text(options_.attempts)},
                {"increments' loss", core::exact_text(options_.most_loss)}};
    }
    /// The weights that an attempt begins with. The first attempt of a step takes them as they are; later attempts keep
    /// the trained ones and draw all others anew.
    [[nodiscard]] Weights initial(detail::IncrementState const& state) const {
        if (state.attempt == 1) return state.base;
        const auto seed = static_cast<std::uint32_t>(Random(options_.training.seed, state.step, state.attempt, 1)());
        const Weights fresh = random_weights(graph_, seed);
        if (state.step == 1) return fresh;
        Configuration const& trained = configuration(state.step - 1);
        return with_configuration(graph_, fresh, trained, configuration_weights(graph_, state.base, trained));
    }
    [[nodiscard]] std::unique_ptr<StepTrainer> make_trainer(detail::IncrementState const& state, Parts parts) const {
        Configuration const& now = configuration(state.step);
        const detail::StepOptions options(graph_, configurations_, options_);
        return std::make_unique<StepTrainer>(now.graph, configuration_weights(graph_, initial(state), now),
                                             options.of(state.step, state.attempt), std::move(parts), make_executor_());
    }

    /// Trains the present attempt to its end. Returns false if the caller wants to pause.
    template <class Source, class Validation, class Augments, class Judge, class Report, class Updated>
    bool train_step(Source const& source, Validation const& validation, Normalise const& normalise, Augments augment,
                    Judge& judge, Report& report, Updated& updated) {
        if (!trainer_) trainer_ = make_trainer(state_, parts_);
        state_.in_attempt = true;
        bool on = true;
        trainer_->fit(
            source, normalise, augment, validation,
            [&](EpochReport const& epoch) {
                on = judge_epoch(epoch, judge, validation, normalise, report);
                return on;
            },
            [&](std::int64_t number) {
                if (!updated(number)) on = false;
                return on;
            });
        return on;
    }
    template <class Judge, class Validation, class Report>
    bool judge_epoch(EpochReport const& epoch, Judge& judge, Validation const& validation, Normalise const& normalise,
                     Report& report) {
        IncrementalEpoch now{state_.step, state_.attempt, epoch};
        // Weights that only later steps train are reported as they were given, whatever this attempt began with.
        const Weights whole = with_configuration(graph_, state_.base, configuration(state_.step), trainer_->weights());
        detail::IncrementState::Candidate candidate{whole, {}, true, 0};
        for (int earlier = 1; earlier < state_.step; ++earlier) {
            const Weights part = configuration_weights(graph_, whole, configuration(earlier));
            const double accuracy = judge.accuracy(earlier, part, validation, normalise);
            const double before = state_.increments[static_cast<std::size_t>(earlier) - 1].accuracies.back();
            candidate.worst_loss = std::max(candidate.worst_loss, before - accuracy);
            candidate.accuracies.push_back(accuracy);
        }
        now.earlier_accuracies = candidate.accuracies;
        candidate.accuracies.push_back(epoch.validation->accuracy());
        candidate.limit_kept = candidate.worst_loss <= options_.most_loss;
        now.seed = !state_.candidate || candidate.better_than(*state_.candidate);
        if (now.seed) state_.candidate = std::move(candidate);
        return report(std::as_const(now));
    }
    [[nodiscard]] bool target_met() const {
        if (state_.step == 1) return true;
        const double before = state_.increments.back().accuracies.back();
        return state_.candidate->limit_kept && state_.candidate->accuracies.back() >= before + options_.target;
    }
    void finish_attempt() {
        trainer_.reset();
        state_.in_attempt = false;
        if (!target_met() && state_.attempt < options_.attempts) {
            ++state_.attempt;
            return;
        }
        state_.increments.push_back(
            {state_.step, state_.attempt, state_.candidate->accuracies, target_met(), state_.candidate->limit_kept});
        state_.base = std::move(state_.candidate->weights);
        state_.candidate.reset();
        ++state_.step;
        state_.attempt = 1;
    }

    Graph graph_;
    std::vector<Configuration> configurations_;
    IncrementalOptions options_;
    Parts parts_;
    Makes make_executor_;
    detail::IncrementState state_;
    std::unique_ptr<StepTrainer> trainer_;
};

}  // namespace primsel::inline PRIMSEL_ABI::dynamic
