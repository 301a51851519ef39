// primsel train NET: trains a network on images, and writes its weights.
#include "commands.hpp"
#include "labelled_images.hpp"
#include "model.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "session.hpp"
#include "text.hpp"

#include <primsel/core/thread_pool.hpp>
#include <primsel/io/checkpoint.hpp>
#include <primsel/io/plan.hpp>
#include <primsel/io/safetensors.hpp>
#include <primsel/plan/print.hpp>
#include <primsel/train.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cli {
namespace {

enum class Rule { sgd, adam, adamw };
enum class Rate { constant, cosine, step, exponential };

/// The optimiser that the options name.
struct AnyOptimizer {
    Rule rule = Rule::sgd;
    ps::Sgd sgd{};

    [[nodiscard]] std::size_t state_per_weight() const noexcept {
        return rule == Rule::sgd ? sgd.state_per_weight() : ps::Adam{}.state_per_weight();
    }
    void step(std::span<float> weights, std::span<const float> gradient, std::span<float> state, double learning_rate,
              std::int64_t number, double weight_decay) const noexcept {
        if (rule == Rule::sgd) return sgd.step(weights, gradient, state, learning_rate, number, weight_decay);
        if (rule == Rule::adam) {
            return ps::Adam{}.step(weights, gradient, state, learning_rate, number, weight_decay);
        }
        ps::AdamW{}.step(weights, gradient, state, learning_rate, number, weight_decay);
    }
};
/// The schedule that the options name.
struct AnyRate {
    Rate rate = Rate::cosine;
    ps::StepDecay decay{};
    ps::Exponential exponential{};

    double operator()(double base, std::int64_t step, std::int64_t total, std::int64_t per_epoch) const {
        switch (rate) {
            case Rate::constant:
                return base;
            case Rate::cosine:
                return ps::Cosine{}(base, step, total, per_epoch);
            case Rate::step:
                return decay(base, step, total, per_epoch);
            case Rate::exponential:
                return exponential(base, step, total, per_epoch);
        }
        return base;
    }
};
struct CommandRecipe : ps::DefaultTraining {
    using optimizer = AnyOptimizer;
    using learning_rate = ps::Warmup<AnyRate>;
    using executor = ps::ThreadPool;
};

struct TrainCommand {
    ModelOptions model;
    ImageFiles data, validation;
    double held_back = 0;
    ps::TrainingOptions training;
    AnyOptimizer optimizer;
    AnyRate rate;
    double warmup = 0, label_smoothing = 0;
    ps::Augment augment;
    std::vector<std::string> frozen;
    std::size_t threads = 1;
    std::string out, checkpoint, plan;
    std::int64_t checkpoint_every = 0;
    bool normalise = true, json = false;
};

/// What the options make of the bits, beside those that a trainer knows.
std::string text_of_recipe(TrainCommand const& options, ps::Normalise const& normalise) {
    ps::Json::Array mean, scale;
    for (const float value : normalise.mean) mean.emplace_back(value);
    for (const float value : normalise.deviation) scale.emplace_back(value);
    return ps::to_string(ps::Json(ps::Json::Object{{"optimizer", static_cast<int>(options.optimizer.rule)},
                                                   {"momentum", options.optimizer.sgd.momentum},
                                                   {"nesterov", options.optimizer.sgd.nesterov},
                                                   {"schedule", static_cast<int>(options.rate.rate)},
                                                   {"warm-up", options.warmup},
                                                   {"label-smoothing", options.label_smoothing},
                                                   {"flip", options.augment.flip},
                                                   {"crop", options.augment.crop},
                                                   {"mean", std::move(mean)},
                                                   {"deviation", std::move(scale)}}));
}

ps::Json json_of_epoch(ps::EpochReport const& epoch) {
    ps::Json::Object line{{"epoch", epoch.epoch},
                          {"loss", epoch.loss},
                          {"learning_rate", epoch.learning_rate},
                          {"seconds", epoch.seconds},
                          {"images_per_second", epoch.images_per_second}};
    if (epoch.validation) {
        line.emplace_back("validation_loss", epoch.validation->loss());
        line.emplace_back("accuracy", epoch.validation->accuracy());
        line.emplace_back("best", epoch.best);
    }
    return line;
}
std::string text_of_epoch(ps::EpochReport const& epoch, std::int64_t epochs) {
    char text[160];
    std::snprintf(text, sizeof(text), "epoch %lld of %lld: loss %.4f, %.0f images a second",
                  static_cast<long long>(epoch.epoch), static_cast<long long>(epochs), epoch.loss,
                  epoch.images_per_second);
    std::string line = text;
    if (epoch.validation) {
        std::snprintf(text, sizeof(text), "; accuracy %.2f %%%s", 100 * epoch.validation->accuracy(),
                      epoch.best ? ", the best until now" : "");
        line += text;
    }
    return line + '\n';
}

std::string text_of_step(ps::Plan const& plan, std::size_t arena) {
    const auto again = std::ranges::count_if(
        plan.layers, [](ps::PlannedLayer const& layer) { return layer.name.ends_with(ps::again_suffix); });
    std::string text = ps::join("a step: predicted ", ps::milliseconds(plan.total_seconds), " ms on one thread, arena ",
                                megabytes(arena));
    if (again > 0) {
        text += ps::join("; ", again, " layers are computed again, in ",
                         ps::milliseconds(ps::recomputing_seconds(plan)), " ms");
    }
    return text + '\n';
}

template <class Source, class Validation>
void train_on(TrainCommand const& options, Model const& model, Source const& source, Validation const& validation,
              ps::Normalise const& normalise) {
    std::optional<ps::Plan> plan;
    if (!options.plan.empty()) plan = ps::read_plan(options.plan);
    std::optional<ps::Checkpoint> from;
    if (!options.checkpoint.empty() && std::filesystem::exists(options.checkpoint)) {
        from = ps::read_checkpoint(options.checkpoint);
        plan = from->plan;
    }
    ps::Trainer<ps::Graph, CommandRecipe> trainer(model.graph, model.weights, options.training,
                                                  {options.optimizer,
                                                   {static_cast<float>(options.label_smoothing)},
                                                   {.schedule = options.rate, .epochs = options.warmup},
                                                   plan},
                                                  ps::ThreadPool(options.threads));
    if (!from && plan && plan->key != trainer.plan().key) {
        ps::fail(options.plan, ": is no plan for such a step of ", options.model.net, " here");
    }
    const std::string recipe = text_of_recipe(options, normalise);
    if (from) {
        if (const auto its = from->facts.find("recipe"); its != from->facts.end() && its->second != recipe) {
            ps::fail(options.checkpoint, ": made with ", its->second, ", here ", recipe);
        }
        trainer.resume(*from);
        if (!options.json) print(ps::join(options.checkpoint, ": goes on after ", trainer.updates(), " updates\n"));
    }
    bool epoch_ended = false, described = options.json;
    const auto describe = [&] {
        if (!std::exchange(described, true)) print(text_of_step(trainer.plan(), trainer.arena_bytes()));
    };
    const auto save = [&](std::int64_t updates) {
        describe();
        const bool due = options.checkpoint_every > 0 && updates % options.checkpoint_every == 0;
        if (options.checkpoint.empty() || !(std::exchange(epoch_ended, false) || due)) return true;
        ps::Checkpoint checkpoint = trainer.checkpoint();
        checkpoint.facts.emplace("recipe", recipe);
        ps::write_checkpoint(options.checkpoint, checkpoint);
        return true;
    };
    const auto report = [&](ps::EpochReport const& epoch) {
        epoch_ended = true;
        describe();
        if (options.json) {
            print(ps::to_string(json_of_epoch(epoch)) + "\n");
        } else {
            print(text_of_epoch(epoch, options.training.epochs));
        }
        if (!options.out.empty()) ps::write_safetensors(options.out, trainer.best_weights(), metadata_of(normalise));
        return true;
    };
    trainer.fit(source, normalise, options.augment, validation, report, save);
}

void train(TrainCommand& options) {
    options.model.batch = options.training.images_at_once();
    for (std::string const& pattern : options.frozen) options.training.groups.push_back({pattern, 0});
    const Model model = load_model(options.model);
    const ps::Shape shape = model.graph[model.graph.input()].shape;
    const AnyImages images = read_images(options.data, shape);
    const ps::Normalise normalise = options.normalise ? ps::normalisation(images) : ps::Normalise{};
    if (options.validation.given()) {
        train_on(options, model, images, read_images(options.validation, shape), normalise);
    } else if (options.held_back > 0) {
        const auto parts = ps::split(images, options.held_back, options.training.seed);
        train_on(options, model, parts.train, parts.validation, normalise);
    } else {
        train_on(options, model, images, ps::NoValidation{}, normalise);
    }
}

}  // namespace

ps::Kernels training_kernels() { return ps::policy_kernels<CommandRecipe, ps::CompileTraining>(); }

void add_train(CLI::App& app) {
    const auto options = std::make_shared<TrainCommand>();
    CLI::App& command = *app.add_subcommand("train", "Train a network on labelled images, and write its weights");
    ps::TrainingOptions& training = options->training;
    command.add_option("net", options->model.net, "A network's name, or an .onnx file")->required()->type_name("NET");
    command
        .add_option_function<std::string>(
            "--size", [options](std::string const& text) { options->model.size = parse_size(text); },
            "Of the images, where it is not the network's own")
        ->type_name("HxW");
    command.add_option("--weights", options->model.weights, "Begin with these (default: random ones)")
        ->type_name("F.safetensors");
    add_images(command, "", options->data, "Images to train with");
    add_images(command, "validation-", options->validation, "Images to judge by after each epoch");
    command.add_option("--hold-back", options->held_back, "Judge by this share of the images instead (default 0)")
        ->check(CLI::Range(0.0, 0.9))
        ->type_name("X");
    command.add_option("--epochs", training.epochs, "Times through the images (default 1)")
        ->check(CLI::Range(0, 1'000'000))
        ->type_name("N");
    command.add_option("--batch", training.batch, "Images an update is made by (default 64)")
        ->check(CLI::Range(1, 1 << 20))
        ->type_name("N");
    command.add_option("--part", training.part, "Images at once, where a whole batch needs too much memory")
        ->check(CLI::Range(1, 1 << 20))
        ->type_name("N");
    const std::vector<std::pair<std::string, Rule>> rules{
        {"sgd", Rule::sgd}, {"adam", Rule::adam}, {"adamw", Rule::adamw}};
    command
        .add_option_function<std::string>(
            "--max-arena", [&training](std::string const& text) { training.max_arena = parse_bytes(text); },
            "The most memory for the results of layers: where they take more, some are computed twice")
        ->type_name("BYTES");
    command
        .add_option("--plan", options->plan,
                    "A plan that `primsel plan --training --save` wrote: with the same plan come the same bits")
        ->type_name("P.json")
        ->excludes(command.get_option("--max-arena"));
    command.add_option("--optimizer", options->optimizer.rule, "sgd, adam or adamw (default sgd)")
        ->transform(CLI::CheckedTransformer(rules))
        ->type_name("NAME");
    command.add_option("--learning-rate", training.learning_rate, "At the beginning (default 0.1)")
        ->check(CLI::NonNegativeNumber)
        ->type_name("X");
    const std::vector<std::pair<std::string, Rate>> rates{{"constant", Rate::constant},
                                                          {"cosine", Rate::cosine},
                                                          {"step", Rate::step},
                                                          {"exponential", Rate::exponential}};
    command.add_option("--schedule", options->rate.rate, "constant, cosine, step or exponential (default cosine)")
        ->transform(CLI::CheckedTransformer(rates))
        ->type_name("NAME");
    command.add_option("--warm-up", options->warmup, "Epochs in which the learning rate grows to that (default 0)")
        ->check(CLI::NonNegativeNumber)
        ->type_name("N");
    command.add_option("--momentum", options->optimizer.sgd.momentum, "Of sgd (default 0)")
        ->check(CLI::Range(0.0, 1.0))
        ->type_name("X");
    command.add_flag("--nesterov", options->optimizer.sgd.nesterov, "Nesterov's momentum");
    command.add_option("--weight-decay", training.weight_decay, "(default 0)")
        ->check(CLI::NonNegativeNumber)
        ->type_name("X");
    command.add_option("--label-smoothing", options->label_smoothing, "(default 0)")
        ->check(CLI::Range(0.0, 1.0))
        ->type_name("X");
    command.add_option("--clip", training.clip_norm, "The greatest length of the gradients (default: any)")
        ->check(CLI::NonNegativeNumber)
        ->type_name("X");
    command.add_option("--freeze", options->frozen, "Leave weights as they are whose names fit this, as 'layer1.*'")
        ->type_name("PATTERN")
        ->allow_extra_args(false);
    command.add_flag("--flip", options->augment.flip, "Mirror every other image, left to right");
    command.add_option("--crop", options->augment.crop, "Move images by up to so many pixels (default 0)")
        ->check(CLI::Range(0, 4096))
        ->type_name("N");
    command.add_option("--patience", training.patience, "Stop after so many epochs without a better accuracy")
        ->check(CLI::Range(1, 1'000'000))
        ->type_name("N");
    command.add_option("--seed", training.seed, "Draws the order, the augmentation, the dropout (default 1)")
        ->type_name("S");
    command.add_option("--threads", options->threads, "Threads to train on (default 1)")
        ->check(CLI::Range(1, 1024))
        ->type_name("N");
    command.add_option("--out", options->out, "The weights of the best epoch, or the last where none is judged")
        ->type_name("F.safetensors");
    command.add_option("--checkpoint", options->checkpoint, "Where the training goes on from, and is kept each epoch")
        ->type_name("F.safetensors");
    command.add_option("--checkpoint-every", options->checkpoint_every, "Keep it after so many updates, too")
        ->check(CLI::Range(1, 1'000'000'000))
        ->type_name("N");
    command.add_flag("--json", options->json, "Print one JSON object an epoch");
    command.callback([options] {
        if (!options->data.given()) throw CLI::RequiredError("--images and --labels, --cifar or --folder");
        train(*options);
    });
}

}  // namespace cli
