#include "experiment.hpp"

#include <primsel/io/safetensors.hpp>
#include <primsel/train/checkpoint_file.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <optional>
#include <utility>

namespace reproduce {
namespace {

constexpr int batch = 64;
constexpr double held_back = 0.1;

ps::TrainingOptions training_of(Options const& options) {
    return {.batch = batch,
            .epochs = options.epochs,
            .learning_rate = options.learning_rate,
            .weight_decay = 1e-4,
            .seed = options.seed};
}
std::string file_of(Subject const& subject, Options const& options, const char* kind) {
    const std::string size = options.pixels == 32 ? "" : ps::join(options.pixels, "px-");
    const std::string width = options.width == 64 ? "" : ps::join(options.width, "ch-");
    return ps::join(options.out, '/', options.cifar.empty() ? "" : "cifar-", size, width, subject.name, '-',
                    options.seed, kind);
}
/// The training set, in two parts, which refer to it.
struct TrainingSet {
    explicit TrainingSet(Options const& options)
        : images(options.data, options.cifar, Images::Part::train, options.images, options.pixels),
          parts(ps::split(images, held_back, options.seed)),
          normalise(ps::normalisation(parts.train)) {}
    Images images;
    ps::TrainValidation<Images> parts;
    ps::Normalise normalise;
};
/// The graph of a batch of them, with the same configurations.
Subject in_batches(Subject const& subject) {
    const auto batched = [](ps::Graph const& graph) {
        ps::Graph many(batch);
        for (ps::Node const& node : graph.nodes()) (void)many.add(node.name, node.layer, node.inputs);
        many.set_outputs(graph.outputs());
        return many;
    };
    Subject many{subject.name, batched(subject.graph), {}, subject.weights};
    for (ps::dynamic::Configuration const& each : subject.configurations) {
        many.configurations.push_back(ps::dynamic::configuration_of(many.graph, batched(each.graph)));
    }
    return many;
}

}  // namespace

void train_incrementally(Subject& subject, Options const& options) {
    const std::string done = file_of(subject, options, ".safetensors");
    if (std::filesystem::exists(done)) {
        subject.weights = ps::read_safetensors(done);
        return;
    }
    const TrainingSet set(options);
    Subject many = in_batches(subject);
    ps::dynamic::IncrementalTrainer<TrainingRecipe> trainer(many.graph, many.configurations, many.weights,
                                                            {.training = training_of(options),
                                                             .dense_rate = options.dense_rate,
                                                             .target = options.target,
                                                             .attempts = options.attempts},
                                                            {.optimizer = {.momentum = 0.9}});
    const std::string checkpoint = file_of(subject, options, ".checkpoint");
    if (std::filesystem::exists(checkpoint)) trainer.resume(ps::read_checkpoint(checkpoint));
    bool ended = false;
    trainer.fit(
        set.parts.train, set.parts.validation, set.normalise, ps::Augment{.flip = true},
        [&](ps::dynamic::IncrementalEpoch const& now) {
            std::printf("%s: configuration %d, attempt %d, epoch %lld: loss %.4f, accuracy %.2f %%, %.0f images/s\n",
                        subject.name.c_str(), now.configuration, now.attempt, static_cast<long long>(now.epoch.epoch),
                        now.epoch.loss, 100 * now.epoch.validation->accuracy(), now.epoch.images_per_second);
            std::fflush(stdout);
            return ended = true;
        },
        [&](std::int64_t updates) {
            if (std::exchange(ended, false) || updates % 100 == 0) {
                ps::write_checkpoint(checkpoint, trainer.checkpoint());
            }
            return true;
        });
    subject.weights = trainer.weights();
    ps::write_safetensors(done, subject.weights);
}

void train_at_once(Subject& subject, Options const& options) {
    const std::string done = file_of(subject, options, ".safetensors");
    if (std::filesystem::exists(done)) {
        subject.weights = ps::read_safetensors(done);
        return;
    }
    const TrainingSet set(options);
    const Subject many = in_batches(subject);
    ps::TrainingOptions training = training_of(options);
    training.epochs = options.epochs_at_once > 0
                          ? options.epochs_at_once
                          : options.epochs * static_cast<std::int64_t>(subject.configurations.size());
    const std::string file = file_of(subject, options, ".checkpoint");
    std::optional<ps::Checkpoint> from;
    if (std::filesystem::exists(file)) from = ps::read_checkpoint(file);
    ps::Trainer<ps::Graph, TrainingRecipe> trainer(
        many.graph, many.weights, training, {.optimizer = {.momentum = 0.9}, .plan = from ? from->plan : std::nullopt});
    if (from) trainer.resume(*from);
    trainer.fit(
        set.parts.train, set.normalise, ps::Augment{.flip = true}, set.parts.validation,
        [&](ps::EpochReport const& epoch) {
            std::printf("%s: epoch %lld: loss %.4f, accuracy %.2f %%, %.0f images/s\n", subject.name.c_str(),
                        static_cast<long long>(epoch.epoch), epoch.loss, 100 * epoch.validation->accuracy(),
                        epoch.images_per_second);
            std::fflush(stdout);
            return true;
        },
        [&](std::int64_t updates) {
            if (updates % 100 == 0) ps::write_checkpoint(file, trainer.checkpoint());
            return true;
        });
    subject.weights = trainer.best_weights();
    ps::write_safetensors(done, subject.weights);
}

std::vector<Judged> judge(Subject const& subject, Options const& options) {
    const TrainingSet set(options);
    const Images test(options.data, options.cifar, Images::Part::test, options.test_images, options.pixels);
    const Subject many = in_batches(subject);
    ps::dynamic::DynamicEngine<> engine(many.graph, subject.weights, many.configurations);
    std::vector<Judged> results;
    std::vector<float> scores(engine.out_shape().size() * batch);
    for (int c = 1; c <= engine.count(); ++c) {
        engine.use(c);
        ps::Metrics metrics(test.classes());
        Judged judged;
        ps::Batches<Images> batches(test, ps::evaluation_batches(batch), set.normalise);
        for (ps::Batch next = batches.next(); next.count > 0; next = batches.next()) {
            engine.run(next.images, scores);
            metrics.add(scores, next.labels);
            // The network's softmax makes scores that sum to one.
            for (std::size_t i = 0; i < static_cast<std::size_t>(next.count); ++i) {
                judged.confidence += static_cast<double>(scores[i * 10 + static_cast<std::size_t>(next.labels[i])]);
            }
        }
        judged.accuracy = metrics.accuracy();
        judged.least = 1;
        double squares = 0;
        for (int k = 0; k < test.classes(); ++k) {
            const double each = metrics.class_accuracy(k);
            judged.least = std::min(judged.least, each), judged.most = std::max(judged.most, each);
            squares += (each - judged.accuracy) * (each - judged.accuracy);
        }
        judged.spread = std::sqrt(squares / test.classes());
        results.push_back(judged);
    }
    return results;
}

}  // namespace reproduce
