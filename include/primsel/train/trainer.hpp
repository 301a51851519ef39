#pragma once

#include <primsel/core/timer.hpp>
#include <primsel/engine/predict.hpp>
#include <primsel/network/network.hpp>
#include <primsel/train/batches.hpp>
#include <primsel/train/clip.hpp>
#include <primsel/train/metrics.hpp>
#include <primsel/train/training_options.hpp>
#include <primsel/train/training_step.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {
/// Which weights are trained: those of a group that is not frozen.
struct TrainsGroups {
    std::vector<WeightGroup> const& groups;
    [[nodiscard]] bool operator()(std::string_view weight) const { return group_of(groups, weight).rate > 0; }
};
}  // namespace detail

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

    /// What the policies' types are to be, where their defaults are not wanted.
    struct Parts {
        Updates optimizer{};
        Losses loss{};
        Rates learning_rate{};
    };

    Trainer(Weights const& weights, TrainingOptions options, Parts parts = {}, executor run_on = {})
        requires NetworkType<Net>
        : Trainer(Net::graph(options.images_at_once()), weights, std::move(options), std::move(parts),
                  std::move(run_on)) {}
    /// The graph's batch is the images at once. Throws error when the options are impossible, the weights do not fit,
    /// or a layer cannot be trained.
    Trainer(Graph graph, Weights const& weights, TrainingOptions options, Parts parts = {}, executor run_on = {})
        : graph_(std::move(graph)),
          options_(checked(std::move(options), graph_.batch())),
          parts_(std::move(parts)),
          parameters_(std::make_unique<Parameters>(graph_, weights)),
          step_(differentiate(graph_, detail::TrainsGroups{options_.groups}), *parameters_, Predict<>(),
                std::move(run_on)) {
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
    /// report(EpochReport const&), which returns whether to go on. validation is another DataSource to judge by, or
    /// NoValidation.
    template <DataSource Source, Augmentation Augments = NoAugment, class Validation = NoValidation,
              class Report = IgnoreReports>
    void fit(Source const& source, Normalise const& normalise = {}, Augments augment = {},
             Validation const& validation = {}, Report&& report = {}) {
        if (source.shape() != graph_[graph_.input()].shape) {
            fail("train: the images are ", to_string(source.shape()), ", the network takes ",
                 to_string(graph_[graph_.input()].shape));
        }
        if (const auto classes = static_cast<std::size_t>(source.classes()); classes > results_of_an_image()) {
            fail("train: the labels are of ", classes, " classes, the network's result has ", results_of_an_image(),
                 " values");
        }
        Batches<Source, Augments> batches(
            source, {.batch = options_.batch, .seed = options_.seed, .first = next_batch_, .epochs = options_.epochs},
            normalise, augment);
        const std::int64_t per_epoch = batches.batches_per_epoch(), total = per_epoch * options_.epochs;
        EpochReport epoch;
        Timer timer;
        for (Batch batch = batches.next(); batch.count > 0; batch = batches.next()) {
            epoch.learning_rate = parts_.learning_rate(options_.learning_rate, next_batch_, total, per_epoch);
            epoch.loss += step(batch.images, batch.labels, epoch.learning_rate);
            ++epoch.batches;
            if (next_batch_ % per_epoch != 0) continue;
            epoch.epoch = next_batch_ / per_epoch;
            epoch.loss /= static_cast<double>(epoch.batches);
            epoch.seconds = timer.seconds();
            epoch.images_per_second = static_cast<double>(epoch.batches * options_.batch) / epoch.seconds;
            if constexpr (!std::same_as<Validation, NoValidation>) epoch.validation = evaluate(validation, normalise);
            const bool enough = keep_best(epoch);
            if (!report(std::as_const(epoch)) || enough) break;
            epoch = {};
            timer.restart();
        }
    }

    /// How good the network is on a source, as it runs when it is trained: with running statistics, and no dropout.
    template <DataSource Source>
    [[nodiscard]] Metrics evaluate(Source const& source, Normalise const& normalise = {}) {
        const Graph simple = simplify(graph_);
        executor& run_on = step_.executor();
        const Kernels kernels = policy_kernels<Policies>();
        const Plan plan = Predict<>().template plan<Policies>(simple, kernels, run_on.concurrency());
        Program program(simple, kernels, plan, weights(), run_on.concurrency());
        std::vector<float> results(program.out_floats(0)), unused(results.size());
        Metrics metrics(source.classes());
        Batches<Source> batches(source, evaluation_batches(graph_.batch()), normalise);
        for (Batch batch = batches.next(); batch.count > 0; batch = batches.next()) {
            program.run(batch.images.data(), results.data(), run_on);
            metrics.add(results, batch.labels, parts_.loss(results, batch.labels, unused, graph_.batch()));
        }
        return metrics;
    }

    /// As they are now, running statistics included.
    [[nodiscard]] Weights weights() const { return parameters_->copy(graph_); }
    /// Those of the epoch with the best accuracy of validation; as they are now where there was none.
    [[nodiscard]] Weights best_weights() const { return best_ ? *best_ : weights(); }
    [[nodiscard]] std::int64_t updates() const { return next_batch_; }
    [[nodiscard]] Plan const& plan() const { return step_.plan(); }
    /// The step as it runs.
    [[nodiscard]] Graph const& step_graph() const { return step_.graph(); }
    [[nodiscard]] Graph const& graph() const { return graph_; }

private:
    [[nodiscard]] static TrainingOptions checked(TrainingOptions options, int images) {
        check_training_options(options);
        if (options.images_at_once() != images) {
            fail("train: the graph has a batch of ", images, ", the options ask for ", options.images_at_once(),
                 " images at once");
        }
        return options;
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
            parts_.optimizer.step(weight.values, by, state_[i], learning_rate * group.rate, next_batch_,
                                  group.weight_decay.value_or(options_.weight_decay));
        }
    }
    /// Whether to stop early.
    [[nodiscard]] bool keep_best(EpochReport& epoch) {
        if (!epoch.validation) return false;
        const double accuracy = epoch.validation->accuracy();
        epoch.best = !best_ || accuracy > best_accuracy_;
        if (epoch.best) {
            best_ = weights();
            best_accuracy_ = accuracy;
            epochs_since_best_ = 0;
        } else {
            ++epochs_since_best_;
        }
        return options_.patience > 0 && epochs_since_best_ >= options_.patience;
    }

    Graph graph_;
    TrainingOptions options_;
    Parts parts_;
    std::unique_ptr<Parameters> parameters_;
    Step step_;
    std::vector<std::vector<float>> state_, sums_;
    std::vector<float> clipped_;
    std::int64_t next_batch_ = 0;
    std::optional<Weights> best_;
    double best_accuracy_ = 0;
    int epochs_since_best_ = 0;
};

}  // namespace primsel::inline PRIMSEL_ABI
