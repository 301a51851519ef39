#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/cost/analytical.hpp>
#include <primsel/engine/predict.hpp>
#include <primsel/machine/machine.hpp>
#include <primsel/network/fingerprint.hpp>
#include <primsel/network/network.hpp>
#include <primsel/network/with_batch.hpp>
#include <primsel/train/batches.hpp>
#include <primsel/train/checkpoint.hpp>
#include <primsel/train/clip.hpp>
#include <primsel/train/metrics.hpp>
#include <primsel/train/training_options.hpp>
#include <primsel/train/training_step.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace train {
/// Which weights are trained: those of a group that is not frozen.
struct TrainsGroups {
    std::vector<WeightGroup> const& groups;
    [[nodiscard]] bool operator()(std::string_view weight) const { return group_of(groups, weight).rate > 0; }
};
}  // namespace train

/// Trains a network on this machine. Net is a Network type, or Graph for a network that comes from elsewhere; Policies
/// are those of DefaultTraining. Constructing it makes the plan of a step and books its memory, and may throw error.
/// Everything that is drawn comes from the seed: the same weights, data and options give the same bits, for any number
/// of threads.
template <class Net, class Policies = DefaultTraining>
class Trainer {
    using Step = TrainingStep<Policies>;

public:
    using executor = typename Policies::executor;
    using Rates = typename Policies::learning_rate;
    using Updates = typename Policies::optimizer;
    using Losses = typename Policies::loss;

    /// Values of the policies' types, where defaults are not wanted.
    struct Parts {
        Updates optimizer{};
        Losses loss{};
        Rates learning_rate{};
        /// The plan of a step, where it is known from a checkpoint. Ignored where it was made for something else.
        std::optional<Plan> plan{};
    };

    Trainer(Weights const& weights, TrainingOptions options, Parts parts = {}, executor run_on = {})
        requires NetworkType<Net>
        : Trainer(Net::graph(options.images_at_once()), weights, std::move(options), std::move(parts),
                  std::move(run_on)) {}
    /// A step takes options.images_at_once() images, whatever the graph's batch. Throws error when the options are
    /// impossible, the weights do not fit, a group's pattern fits no weight, or a layer cannot be trained.
    Trainer(Graph graph, Weights const& weights, TrainingOptions options, Parts parts = {}, executor run_on = {})
        : graph_(in_batches(std::move(graph), options)),
          options_(std::move(options)),
          parts_(std::move(parts)),
          parameters_(std::make_unique<Parameters>(graph_, weights)),
          step_(differentiate(graph_, train::TrainsGroups{options_.groups}), *parameters_,
                train::KnownOrPredicted{parts_.plan}, std::move(run_on), options_.max_arena) {
        check_groups_fit(options_.groups, graph_);
        check_fixed(options_.fixed, graph_);
        fixed_ = options_.fixed;
        const std::size_t per_weight = parts_.optimizer.state_per_weight();
        for (TrainedWeight const& weight : step_.trained()) {
            state_.emplace_back(weight.values.size() * per_weight);
            if (options_.parts() > 1) sums_.emplace_back(weight.values.size());
        }
    }

    /// One update by a whole batch: options.batch images in chw, one after the other, and a target for each. Returns
    /// the mean loss before the update.
    double step(std::span<const float> images, std::span<const float> targets, double learning_rate) {
        const auto parts = static_cast<std::size_t>(options_.parts());
        const std::size_t images_floats = images.size() / parts, target_floats = targets.size() / parts;
        double loss = 0;
        for (std::size_t part = 0; part < parts; ++part) {
            seed_dropout(part);
            loss += step_.run(images.subspan(part * images_floats, images_floats),
                              targets.subspan(part * target_floats, target_floats), parts_.loss);
            step_.update_statistics(options_.statistics_momentum);
            if (parts > 1) add_gradients(part);
        }
        update(learning_rate);
        return loss / static_cast<double>(parts);
    }

    /// Trains for the epochs of the options, from the batch that is next; after each epoch calls
    /// report(EpochReport const&), and after each update, at an epoch's end after the report, updated(updates()); both
    /// return whether to go on. validation is another DataSource to judge by, or NoValidation. Throws error for images
    /// or labels that do not fit the network, and when a loss, or a weight at an epoch's end, is infinite or not a
    /// number.
    template <DataSource Source, Augmentation Augments = NoAugment, class Validation = NoValidation,
              class Report = IgnoreReports, class Updated = IgnoreUpdates>
    void fit(Source const& source, Normalise const& normalise = {}, Augments augment = {},
             Validation const& validation = {}, Report&& report = {}, Updated&& updated = {}) {
        check_source(source);
        if constexpr (!std::same_as<Validation, NoValidation>) check_source(validation);
        if (images_ != 0 && images_ != source.size()) {
            fail("train: there are ", source.size(), " images, the training began with ", images_);
        }
        images_ = source.size();
        if (stops_early()) return;
        Batches<Source, Augments> batches(
            source, {.batch = options_.batch, .seed = options_.seed, .first = next_batch_, .epochs = options_.epochs},
            normalise, augment);
        const std::int64_t per_epoch = batches.batches_per_epoch(), total = per_epoch * options_.epochs;
        Timer timer;
        std::int64_t batches_here = 0;  // a resumed epoch began elsewhere
        for (Batch batch = batches.next(); batch.count > 0; batch = batches.next()) {
            EpochReport epoch{.learning_rate =
                                  parts_.learning_rate(options_.learning_rate, next_batch_, total, per_epoch)};
            const double loss = step(batch.images, batch.labels, epoch.learning_rate);
            if (!is_finite(loss)) diverged(loss, epoch.learning_rate);
            epoch_loss_ += loss;
            ++epoch_batches_, ++batches_here;
            bool on = true;
            if (next_batch_ % per_epoch == 0) {
                epoch.epoch = next_batch_ / per_epoch;
                epoch.batches = std::exchange(epoch_batches_, 0);
                epoch.loss = std::exchange(epoch_loss_, 0) / static_cast<double>(epoch.batches);
                check_finite();
                epoch.seconds = timer.seconds();
                epoch.images_per_second =
                    static_cast<double>(std::exchange(batches_here, 0) * options_.batch) / epoch.seconds;
                if constexpr (!std::same_as<Validation, NoValidation>) {
                    epoch.validation = evaluate(validation, normalise);
                }
                keep_best(epoch);
                on = report(std::as_const(epoch)) && !stops_early();
                timer.restart();
            }
            if (!updated(next_batch_) || !on) return;
        }
    }

    /// From now on these values are zero, and stay so after each update: those of filters that are pruned. The best
    /// weights until now are forgotten where they were others. Between two updates; a checkpoint has the zeros, and
    /// whoever resumes it calls this again. Throws error when a weight is none of the network's, or is not as long.
    void keep_zero(ZeroWeights const& zeros) {
        for (auto const& [name, places] : zeros) {
            const std::size_t size = (*parameters_)[name].size();
            const auto beyond = [&](std::size_t place) { return place >= size; };
            if (std::ranges::any_of(places, beyond)) fail("train: weight ", name, " has ", size, " values");
        }
        fixed_ = options_.fixed;
        bool changed = false;
        for (auto const& [name, places] : zeros) {
            const std::span<float> values = (*parameters_)[name];
            std::vector<std::size_t>& fixed = fixed_[name];
            for (const std::size_t place : places) {
                changed = changed || values[place] != 0.0F;
                values[place] = 0.0F;
                fixed.push_back(place);
            }
        }
        if (changed) best_.reset(), epochs_since_best_ = 0;
    }

    /// Returns the state from which resume() continues. Call it between two updates. Throws error if a weight is
    /// infinite or not a number.
    [[nodiscard]] Checkpoint checkpoint() const {
        check_finite();
        Checkpoint result{parameters_->copy_own(graph_), facts(), plan()};
        for (PlannedLayer& layer : result.plan->layers) layer.candidates.clear();
        result.tensors.set_source("checkpoint");
        const auto add = [&](std::string const& name, std::span<const float> values) {
            result.tensors.add(name, {static_cast<std::int64_t>(values.size())}, {values.begin(), values.end()});
        };
        for (std::size_t i = 0; i < state_.size(); ++i) add("optimizer/" + step_.trained()[i].name, state_[i]);
        if (best_) {
            for (auto const& [name, tensor] : *best_) result.tensors.add("best/" + name, tensor);
        }
        result.facts.insert({{"updates", core::exact_text(next_batch_)},
                             {"loss of the epoch", core::exact_text(epoch_loss_)},
                             {"batches of the epoch", core::exact_text(epoch_batches_)},
                             {"images", core::exact_text(images_)},
                             {"best", best_ ? "yes" : "no"},
                             {"best accuracy", core::exact_text(best_accuracy_)},
                             {"epochs since the best", core::exact_text(epochs_since_best_)}});
        return result;
    }
    /// Goes on from there: with the same data, and on a machine of the same kind with its plan (see Parts), the same
    /// bits follow as if the training had never ended. Throws error, naming the checkpoint, and changes nothing, where
    /// it belongs to another network or was made with other options.
    void resume(Checkpoint const& from) {
        const train::CheckpointReader reader(from);
        for (auto const& [what, here] : facts()) reader.require(what, here);
        if (from.plan && from.plan->key == plan().key && !train::same_choices(*from.plan, plan())) {
            fail(from.tensors.source(), ": its plan is another, which Parts::plan would take");
        }
        const std::vector<WeightSpec> specs = own_weight_specs(graph_);
        for (WeightSpec const& spec : specs) {
            (void)reader.values(spec.name, (*parameters_)[spec.name].size());
        }
        std::vector<std::vector<float>> state;
        for (std::size_t i = 0; i < state_.size(); ++i) {
            const auto values = reader.values("optimizer/" + step_.trained()[i].name, state_[i].size());
            state.emplace_back(values.begin(), values.end());
        }
        std::optional<Weights> best;
        if (from.facts.contains("best") && from.facts.at("best") == "yes") {
            best.emplace();
            for (auto const& [name, tensor] : parameters_->copy_own(graph_)) {
                const auto values = reader.values("best/" + name, tensor.values.size());
                best->add(name, tensor.dims, {values.begin(), values.end()});
            }
        }
        const auto updates = reader.number<std::int64_t>("updates"),
                   batches = reader.number<std::int64_t>("batches of the epoch");
        const auto images = reader.number<std::size_t>("images");
        const auto since = reader.number<int>("epochs since the best");
        const auto loss = reader.number<double>("loss of the epoch"), accuracy = reader.number<double>("best accuracy");
        if (updates < 0 || batches < 0 || since < 0) fail(from.tensors.source(), ": it counts below nothing");

        for (WeightSpec const& spec : specs) {
            std::ranges::copy(from.tensors.at(spec.name).values, (*parameters_)[spec.name].begin());
        }
        parameters_->join_running();
        parameters_->join_transposed();
        state_ = std::move(state), best_ = std::move(best);
        next_batch_ = updates, epoch_batches_ = batches, epochs_since_best_ = since;
        epoch_loss_ = loss, best_accuracy_ = accuracy, images_ = images;
    }

    /// Returns the Metrics of the network on a source, run as for inference: with running statistics and without
    /// dropout.
    template <DataSource Source>
    [[nodiscard]] Metrics evaluate(Source const& source, Normalise const& normalise = {}) {
        check_source(source);
        const Graph simple = simplify(graph_);
        executor& run_on = step_.executor();
        const Kernels kernels = policy_kernels<Policies>();
        // By no machine's speeds and for one thread: those measured here are not the same twice, and the results would
        // round otherwise.
        const Plan plan = Predict(Analytical(Machine{})).template plan<Policies>(simple, kernels, 1);
        Program program(simple, kernels, plan, weights(), run_on.concurrency());
        std::vector<float> results(program.out_floats(0)), unused(results.size());
        Metrics metrics(static_cast<int>(results_of_an_image()));
        Batches<Source> batches(source, evaluation_batches(graph_.batch()), normalise);
        for (Batch batch = batches.next(); batch.count > 0; batch = batches.next()) {
            program.run(batch.images.data(), results.data(), run_on);
            metrics.add(results, batch.labels, parts_.loss(results, batch.labels, unused, graph_.batch()));
        }
        return metrics;
    }

    /// Returns a copy of the current weights, with running statistics.
    [[nodiscard]] Weights weights() const { return parameters_->copy(graph_); }
    /// Returns the weights of the epoch with the best validation accuracy, or the current ones if there was no
    /// validation.
    [[nodiscard]] Weights best_weights() const { return best_ ? with_shared(graph_, *best_) : weights(); }
    [[nodiscard]] std::int64_t updates() const { return next_batch_; }
    [[nodiscard]] TrainingOptions const& options() const { return options_; }
    [[nodiscard]] Plan const& plan() const { return step_.plan(); }
    /// Bytes that a step needs beside weights, gradients and the optimiser's state: known before the first step.
    [[nodiscard]] std::size_t arena_bytes() const { return step_.program().arena_bytes(); }
    /// Bytes of packed weights that do not change.
    [[nodiscard]] std::size_t weight_bytes() const { return step_.program().weight_bytes(); }
    /// Bytes that the training holds in all, known before the first step: the arena, weights, gradients and the
    /// optimiser's state. The images come on top, and a copy of the weights where the best are kept.
    [[nodiscard]] std::size_t memory_bytes() const {
        std::size_t floats = parameters_->floats();
        for (auto const& state : state_) floats += state.size();
        for (auto const& sum : sums_) floats += sum.size();
        return step_.memory_bytes() + floats * sizeof(float);
    }
    /// The step as it runs.
    [[nodiscard]] Graph const& step_graph() const { return step_.graph(); }
    [[nodiscard]] Graph const& graph() const { return graph_; }

private:
    [[nodiscard]] static Graph in_batches(Graph graph, TrainingOptions const& options) {
        check_training_options(options);
        const int images = options.images_at_once();
        return graph.batch() == images ? std::move(graph) : with_batch(graph, images);
    }
    template <DataSource Source>
    void check_source(Source const& source) const {
        check_fits("train", source, graph_[graph_.input()].shape, results_of_an_image());
    }
    /// The loss says what the last update has brought only where another one follows.
    void check_finite() const {
        for (auto const& [name, tensor] : parameters_->view()) {
            const auto fault =
                std::ranges::find_if_not(tensor.values, [](float const& value) { return is_finite(value); });
            if (fault == tensor.values.end()) continue;
            fail("train: after update ", next_batch_, " a value of ", name, " is ", *fault,
                 ": with a learning rate of ", options_.learning_rate, " the training diverges");
        }
    }
    [[noreturn]] void diverged(double loss, double learning_rate) const {
        fail("train: update ", next_batch_, " has a loss of ", loss, ": with a learning rate of ", learning_rate,
             " the training diverges");
    }
    [[nodiscard]] std::size_t results_of_an_image() const {
        return step_.result().size() / static_cast<std::size_t>(graph_.batch());
    }
    void seed_dropout(std::size_t part) {
        Random random(options_.seed, next_batch_, static_cast<std::int64_t>(part));
        const auto number = [&random] { return static_cast<float>(random.below(std::uint64_t{1} << 24U)); };
        const float first = number();
        step_.seed(first, number());
    }
    void add_gradients(std::size_t part) {
        const auto share = 1.0F / static_cast<float>(options_.parts());
        for (std::size_t i = 0; i < sums_.size(); ++i) {
            const std::span<const float> gradient = step_.trained()[i].gradient;
            float* sum = sums_[i].data();
            for (std::size_t j = 0; j < gradient.size(); ++j) {
                sum[j] = (part == 0 ? 0.0F : sum[j]) + share * gradient[j];
            }
        }
    }
    [[nodiscard]] std::span<const float> gradient(std::size_t i) const {
        return sums_.empty() ? step_.trained()[i].gradient : std::span<const float>(sums_[i]);
    }
    void update(double learning_rate) {
        ++next_batch_;
        double factor = 1;
        if (options_.clip_norm > 0) {
            std::vector<std::span<const float>> gradients;
            for (std::size_t i = 0; i < state_.size(); ++i) gradients.push_back(gradient(i));
            factor = clip_factor(global_norm(gradients), options_.clip_norm);
        }
        for (std::size_t i = 0; i < state_.size(); ++i) {
            TrainedWeight const& weight = step_.trained()[i];
            WeightGroup const& group = group_of(options_.groups, weight.name);
            std::span<const float> by = gradient(i);
            if (factor < 1) {
                clipped_.assign(by.begin(), by.end());
                scale_gradient(clipped_, factor);
                by = clipped_;
            }
            const auto fixed = fixed_.find(weight.name);
            kept_.clear();
            if (fixed != fixed_.end()) {
                for (const std::size_t at : fixed->second) kept_.push_back(weight.values[at]);
            }
            parts_.optimizer.step(weight.values, by, state_[i], learning_rate * group.rate, next_batch_,
                                  group.weight_decay.value_or(options_.weight_decay));
            for (std::size_t n = 0; n < kept_.size(); ++n) weight.values[fixed->second[n]] = kept_[n];
        }
        parameters_->join_transposed();
    }
    [[nodiscard]] std::map<std::string, std::string, std::less<>> facts() const {
        auto facts = train::facts_of(options_);
        facts.emplace("network", structure(graph_));
        std::string shared;
        for (auto const& [name, owner] : weight_owners(graph_)) {
            shared += join(shared.empty() ? "" : ", ", name, " is ", owner.name);
        }
        if (!shared.empty()) facts.emplace("sharing of weights", shared);
        facts.emplace("optimiser's numbers a weight", core::exact_text(parts_.optimizer.state_per_weight()));
        return facts;
    }
    [[nodiscard]] bool stops_early() const { return options_.patience > 0 && epochs_since_best_ >= options_.patience; }
    void keep_best(EpochReport& epoch) {
        if (!epoch.validation) return;
        const double accuracy = epoch.validation->accuracy();
        epoch.best = !best_ || accuracy > best_accuracy_;
        if (epoch.best) {
            best_ = parameters_->copy_own(graph_);
            best_accuracy_ = accuracy;
            epochs_since_best_ = 0;
        } else {
            ++epochs_since_best_;
        }
    }

    Graph graph_;
    TrainingOptions options_;
    Parts parts_;
    std::unique_ptr<Parameters> parameters_;
    Step step_;
    std::vector<std::vector<float>> state_, sums_;
    std::vector<float> clipped_, kept_;
    /// The places of values that updates leave as they are: those of the options, and zeros.
    std::map<std::string, std::vector<std::size_t>> fixed_;
    std::int64_t next_batch_ = 0, epoch_batches_ = 0;
    std::size_t images_ = 0;  // of an epoch; 0 until it is known
    double epoch_loss_ = 0;   // summed up
    std::optional<Weights> best_;
    double best_accuracy_ = 0;
    int epochs_since_best_ = 0;
};

}  // namespace primsel::inline PRIMSEL_ABI
