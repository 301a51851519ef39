// primsel train NET: trains a network on images, and writes its weights.
#include "commands.hpp"
#include "labelled_images.hpp"
#include "model.hpp"
#include "options.hpp"
#include "pruning.hpp"
#include "recipe.hpp"
#include "retraining.hpp"
#include "session.hpp"
#include "settings_file.hpp"
#include "text.hpp"
#include "training_log.hpp"

#include <primsel/core/thread_pool.hpp>
#include <primsel/dynamic.hpp>
#include <primsel/io/json.hpp>
#include <primsel/io/safetensors.hpp>
#include <primsel/measure/machine_file.hpp>
#include <primsel/onnx/export.hpp>
#include <primsel/plan/plan_file.hpp>
#include <primsel/plan/print.hpp>
#include <primsel/prune/pruning_run.hpp>
#include <primsel/prune/schedule_file.hpp>
#include <primsel/train.hpp>
#include <primsel/train/checkpoint_file.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cli {
namespace {

struct CommandRecipe : ps::DefaultTraining {
    using optimizer = AnyOptimizer;
    using learning_rate = ps::Warmup<AnyRate>;
    using machine = ps::measure::KeptMachine;
    using executor = ps::ThreadPool;
};

struct TrainCommand {
    ModelOptions model;
    ImageFiles data, validation;
    double held_back = 0;
    Recipe recipe;
    std::size_t threads = 1;
    std::string out, checkpoint, plan, curves, pruning, thin_out;
    std::int64_t checkpoint_every = 0;
    bool normalise = true, json = false;
    /// 0: the network as it is, all at once.
    int groups = 0;
    /// Options of training in groups, beside the recipe.
    ps::dynamic::IncrementalOptions incremental;
};

/// A line for each weight that several layers share.
std::string text_of_shared(ps::Graph const& graph) {
    std::map<std::string, std::string> names;  // by owner
    for (auto const& [name, owner] : ps::weight_owners(graph)) {
        names[owner.name] += ps::join(", ", name, owner.transposed ? " (transposed)" : "");
    }
    std::string text;
    for (auto const& [owner, others] : names) text += ps::join("one weight: ", owner, others, '\n');
    return text;
}
std::string text_of_step(ps::Plan const& plan, std::size_t arena) {
    const auto again = std::ranges::count_if(
        plan.layers, [](ps::PlannedLayer const& layer) { return layer.name.ends_with(ps::again_suffix); });
    std::string text =
        ps::join("a step: predicted ", ps::milliseconds(plan.total_seconds), " ms, arena ", megabytes(arena));
    if (again > 0) {
        text += ps::join("; ", again, " layers are computed again, in ",
                         ps::milliseconds(ps::recomputing_seconds(plan)), " ms");
    }
    return text + '\n';
}

/// Updates that go once through the images.
template <class Source>
std::int64_t updates_per_epoch(Source const& source, int batch) {
    return std::max<std::int64_t>(1, static_cast<std::int64_t>(source.size()) / batch);
}

/// As an ONNX file or as safetensors, as the name says.
void write_trained(TrainCommand const& options, Model const& model, ps::Weights const& weights,
                   ps::Normalise const& normalise) {
    if (options.out.empty()) return;
    if (options.out.ends_with(".onnx")) {
        ps::write_file(options.out, onnx_of(model, options.model, weights, metadata_of(normalise)));
    } else {
        ps::write_safetensors(options.out, weights, metadata_of(normalise));
    }
}

template <class Source, class Validation>
void train_on(TrainCommand const& options, Model const& model, Source const& source, Validation const& validation,
              ps::Normalise const& normalise) {
    Recipe const& recipe = options.recipe;
    std::optional<ps::Plan> plan;
    if (!options.plan.empty()) plan = ps::read_plan(options.plan);
    std::optional<ps::Checkpoint> from;
    if (!options.checkpoint.empty() && std::filesystem::exists(options.checkpoint)) {
        from = ps::read_checkpoint(options.checkpoint);
        if (!plan) plan = from->plan;
    }
    ps::Trainer<ps::Graph, CommandRecipe> trainer(model.graph, model.weights, recipe.training,
                                                  {recipe.optimizer,
                                                   {static_cast<float>(recipe.label_smoothing)},
                                                   {.schedule = recipe.schedule, .epochs = recipe.warmup},
                                                   plan},
                                                  ps::ThreadPool(options.threads));
    if (!options.plan.empty() && plan->key != trainer.plan().key) {
        ps::fail(options.plan, ": is no plan for such a step of ", options.model.net, " here");
    }
    if (from && trainer.arena_bytes() > recipe.training.max_arena) {
        ps::fail(options.checkpoint, ": goes on by its plan, whose arena has ", trainer.arena_bytes(),
                 " bytes: more than --max-arena");
    }
    std::optional<ps::prune::PruningRun> pruning;
    if (!options.pruning.empty()) pruning.emplace(recipe.schedule.scheduled.schedule, model.graph);
    TrainingLog log({options.json, options.curves}, recipe.training.epochs,
                    updates_per_epoch(source, recipe.training.batch));
    const std::string drawn = text_of(recipe, normalise);
    if (from) {
        if (const auto its = from->facts.find("recipe"); its != from->facts.end() && its->second != drawn) {
            ps::fail(options.checkpoint, ": made with ", its->second, ", here ", drawn);
        }
        trainer.resume(*from);
        if (pruning) pruning->resume(*from, trainer);
        const auto history = from->facts.find("history");
        log.resume(history == from->facts.end() ? "[]" : history->second, options.checkpoint, trainer.updates());
        if (!options.json) print(ps::join(options.checkpoint, ": goes on after ", trainer.updates(), " updates\n"));
    }
    bool epoch_ended = false, described = options.json, written = false;
    const auto describe = [&] {
        if (!std::exchange(described, true))
            print(text_of_shared(model.graph) + text_of_step(trainer.plan(), trainer.arena_bytes()));
    };
    const auto updated = [&](std::int64_t updates) {
        describe();
        log.tick(updates);
        const bool due = options.checkpoint_every > 0 && updates % options.checkpoint_every == 0;
        if (options.checkpoint.empty() || !(std::exchange(epoch_ended, false) || due)) return true;
        ps::Checkpoint checkpoint = trainer.checkpoint();
        checkpoint.facts.insert({{"recipe", drawn}, {"history", log.history()}});
        if (pruning) pruning->store(checkpoint);
        ps::write_checkpoint(options.checkpoint, checkpoint);
        return true;
    };
    const auto report = [&](ps::EpochReport const& epoch) {
        epoch_ended = true;
        if (pruning) pruning->begin(trainer, epoch.epoch);
        describe();
        log.add(epoch);
        write_trained(options, model, trainer.best_weights(), normalise);
        written = true;
        return true;
    };
    if (pruning && !from) pruning->begin(trainer, 0);
    trainer.fit(source, normalise, recipe.augment, validation, report, updated);
    // No epoch was left to train.
    if (!written) write_trained(options, model, trainer.best_weights(), normalise);
    if (options.thin_out.empty()) return;
    const ps::prune::Pruned thin = pruning->thinned(trainer.best_weights());
    ps::write_file(
        options.thin_out,
        ps::to_onnx(thin.graph, thin.weights,
                    {.open_batch = true, .signature = with_metadata(model.signature, metadata_of(normalise))}));
}

std::string decimal_text(double value, int digits) {
    char text[40];
    std::snprintf(text, sizeof(text), "%.*f", digits, value);
    return text;
}
std::string percent_text(double share) { return decimal_text(100 * share, 2) + " %"; }

/// The network in groups, whether it is that already or not, and weights to begin with.
void divide(Model& model, TrainCommand const& options) {
    const bool is_grouped = std::ranges::any_of(
        model.graph.nodes(), [](ps::Node const& node) { return ps::dynamic::group_number(node.name) > 0; });
    if (is_grouped) {
        if (const int count = ps::dynamic::group_count(model.graph); count != options.groups) {
            ps::fail(options.model.net, ": is in ", count, " groups, not ", options.groups);
        }
        return;
    }
    if (!options.model.weights.empty()) {
        ps::fail(options.model.weights, ": are weights of the network before it is divided into groups");
    }
    warn_of_undivided(options.model);
    model.graph = ps::dynamic::grouped(model.graph, options.groups);
    model.weights = ps::random_weights(model.graph, static_cast<std::uint32_t>(options.recipe.training.seed));
}

/// An epoch of a step, as a line.
std::string text_of(ps::dynamic::IncrementalEpoch const& now, int groups, std::int64_t epochs, bool json) {
    const double accuracy = now.epoch.validation->accuracy();
    if (json) {
        ps::Json::Array earlier;
        for (const double each : now.earlier_accuracies) earlier.emplace_back(each);
        return ps::to_string(ps::Json(ps::Json::Object{{"groups", now.configuration},
                                                       {"attempt", now.attempt},
                                                       {"epoch", now.epoch.epoch},
                                                       {"loss", now.epoch.loss},
                                                       {"learning_rate", now.epoch.learning_rate},
                                                       {"seconds", now.epoch.seconds},
                                                       {"images_per_second", now.epoch.images_per_second},
                                                       {"accuracy", accuracy},
                                                       {"earlier", std::move(earlier)},
                                                       {"seed", now.seed}})) +
               '\n';
    }
    std::string earlier;
    for (const double each : now.earlier_accuracies)
        earlier += (earlier.empty() ? "; before it " : ", ") + percent_text(each);
    return ps::join("group ", now.configuration, " of ", groups,
                    now.attempt > 1 ? ps::join(", attempt ", now.attempt) : "", ", epoch ", now.epoch.epoch, " of ",
                    epochs, ": loss ", decimal_text(now.epoch.loss, 4), "; accuracy ", percent_text(accuracy), earlier,
                    now.seed ? "; the best until now" : "", '\n');
}
std::string text_of(ps::dynamic::Increment const& done) {
    std::string text = ps::join("group ", done.configuration, " is trained: ");
    for (std::size_t c = 0; c < done.accuracies.size(); ++c) {
        text += ps::join(c == 0 ? "" : ", ", percent_text(done.accuracies[c]), " with ", c + 1);
    }
    if (!done.target_met) text += ps::join("; in ", done.attempts, " attempts the target was not met");
    if (!done.limit_kept) text += "; smaller configurations lost more than they may";
    return text + '\n';
}

template <class Source, class Validation>
void train_groups_on(TrainCommand const& options, Model const& model, Source const& source,
                     Validation const& validation, ps::Normalise const& normalise) {
    Recipe const& recipe = options.recipe;
    ps::dynamic::IncrementalOptions incremental = options.incremental;
    incremental.training = recipe.training;
    const auto make_executor = [threads = options.threads] { return ps::ThreadPool(threads); };
    ps::dynamic::IncrementalTrainer<CommandRecipe, decltype(make_executor)> trainer(
        model.graph, model.weights, incremental,
        {recipe.optimizer,
         {static_cast<float>(recipe.label_smoothing)},
         {.schedule = recipe.schedule, .epochs = recipe.warmup}},
        make_executor);
    const std::string drawn = text_of(recipe, normalise);
    if (!options.checkpoint.empty() && std::filesystem::exists(options.checkpoint)) {
        const ps::Checkpoint from = ps::read_checkpoint(options.checkpoint);
        if (const auto its = from.facts.find("recipe"); its != from.facts.end() && its->second != drawn) {
            ps::fail(options.checkpoint, ": made with ", its->second, ", here ", drawn);
        }
        trainer.resume(from);
        if (!options.json) print(ps::join(options.checkpoint, ": goes on with group ", trainer.step(), '\n'));
    }
    std::size_t reported = trainer.increments().size();
    bool written = false;
    const auto report_steps = [&] {
        for (; reported < trainer.increments().size(); ++reported) {
            if (!options.json) print(text_of(trainer.increments()[reported]));
            write_trained(options, model, trainer.weights(), normalise);
            written = true;
        }
    };
    bool epoch_ended = false;
    const auto report = [&](ps::dynamic::IncrementalEpoch const& now) {
        epoch_ended = true;
        report_steps();
        print(text_of(now, options.groups, recipe.training.epochs, options.json));
        return true;
    };
    const auto keep = [&] {
        ps::Checkpoint checkpoint = trainer.checkpoint();
        checkpoint.facts.insert({"recipe", drawn});
        ps::write_checkpoint(options.checkpoint, checkpoint);
    };
    const auto updated = [&](std::int64_t updates) {
        const bool due = options.checkpoint_every > 0 && updates % options.checkpoint_every == 0;
        if (!options.checkpoint.empty() && (std::exchange(epoch_ended, false) || due)) keep();
        return true;
    };
    trainer.fit(source, validation, normalise, recipe.augment, report, updated);
    report_steps();
    if (!written) write_trained(options, model, trainer.weights(), normalise);
}

template <class Source, class Validation>
void train_either(TrainCommand const& options, Model const& model, Source const& source, Validation const& validation,
                  ps::Normalise const& normalise) {
    if (options.groups > 0) {
        train_groups_on(options, model, source, validation, normalise);
    } else {
        train_on(options, model, source, validation, normalise);
    }
}

/// A schedule of pruning that has learning rates of its own stands in place of --schedule.
void read_pruning(TrainCommand& options, bool schedule_given) {
    ps::prune::PruningSchedule& schedule = options.recipe.schedule.scheduled.schedule;
    schedule = ps::prune::parse_schedule(read_settings(options.pruning));
    check_pruners(options.pruning, schedule, options.recipe.training.epochs);
    for (std::string const& thinner : schedule.thinners) {
        if (options.json) break;
        print_line(options.pruning, ": ", thinner,
                   ": filters are removed when the training ends (--thin-out), and are zero until then");
    }
    take_rates(options.pruning, schedule, options.recipe, schedule_given);
}

void train(CLI::App const& command, TrainCommand& options) {
    const auto given = [&](const char* option) { return !command.get_option(option)->empty(); };
    if (!options.pruning.empty()) read_pruning(options, given("--schedule"));
    ps::TrainingOptions& training = options.recipe.training;
    // All sizes of the input include how many images there are at once.
    if (options.model.dims.empty()) options.model.batch = training.images_at_once();
    options.model.trains = true;
    Model model = options.pruning.empty() ? load_model(options.model) : load_to_prune(options.model);
    if (!given("--batch") && !given("--part")) training.batch = model.graph.batch();
    if (options.groups > 0) divide(model, options);
    (void)require_scores(model.name, model.graph[model.graph.output_node()].shape);
    const ps::Shape shape = model.graph[model.graph.input()].shape;
    const AnyImages images = read_images(options.data, shape);
    if (const int crop = options.recipe.augment.crop; crop >= std::min(shape.h, shape.w) && crop > 0) {
        ps::fail("--crop ", crop, ": moves images of ", to_string(shape), " out of sight");
    }
    const ps::Normalise normalise = options.normalise ? ps::normalisation(images) : ps::Normalise{};
    if (options.validation.given()) {
        const AnyImages validation = read_images(options.validation, shape);
        require_same_classes(images, validation);
        train_either(options, model, images, validation, normalise);
    } else if (options.held_back > 0) {
        const auto parts = ps::split(images, options.held_back, options.recipe.training.seed);
        if (parts.validation.size() == 0) {
            ps::fail("--hold-back ", options.held_back, ": rounded, that is none of ", images.size(), " images");
        }
        train_either(options, model, parts.train, parts.validation, normalise);
    } else {
        train_on(options, model, images, ps::NoValidation{}, normalise);
    }
}

/// Throws CLI::ValidationError for what would train as if it were not there.
void refuse_idle_options(CLI::App const& command, TrainCommand const& options) {
    refuse_idle(command, options.recipe);
    const bool judged = options.validation.given() || options.held_back > 0;
    const bool no_folder = options.data.folder.empty() && options.validation.folder.empty();
    const bool no_epoch = options.recipe.training.epochs == 0;
    refuse_idle(command, {{"--checkpoint-every", options.checkpoint.empty(), "--checkpoint"},
                          {"--checkpoint", no_epoch, "--epochs above 0"},
                          {"--curves", no_epoch, "--epochs above 0"},
                          {"--no-exif", no_folder, "--folder or --validation-folder"},
                          {"--patience", !judged, "--hold-back or --validation-..., whose accuracy is judged"},
                          {"--hold-back", options.validation.given(), "to stand without --validation-..."}});
    refuse_same_file(command, {"--out", "--checkpoint", "--thin-out", "--curves"});
}

/// --groups and what goes with it.
void add_groups(CLI::App& command, TrainCommand& options) {
    CLI::Option* const groups =
        command
            .add_option("--groups", options.groups,
                        "Train so many groups of channels one after another, each with those before it frozen")
            ->check(CLI::Range(1, 1024))
            ->type_name("N")
            ->excludes(command.get_option("--plan"))
            ->excludes(command.get_option("--curves"))
            ->excludes(command.get_option("--pruning"));
    ps::dynamic::IncrementalOptions& incremental = options.incremental;
    command
        .add_option("--dense-rate", incremental.dense_rate,
                    "How much slower layers behind the groups learn with each group (default 0.5)")
        ->check(number_range(0.0, 1.0))
        ->type_name("X")
        ->needs(groups);
    command.add_option("--target", incremental.target, "By how much each group is to raise the accuracy (default 0)")
        ->check(number_range(-1.0, 1.0))
        ->type_name("X")
        ->needs(groups);
    command.add_option("--attempts", incremental.attempts, "How often a group is trained to meet it (default 3)")
        ->check(CLI::Range(1, 1000))
        ->type_name("N")
        ->needs(groups);
    command
        .add_option("--most-loss", incremental.most_loss,
                    "How much accuracy the groups before it alone may lose (default: any)")
        ->check(number_range(0.0, 1.0))
        ->type_name("X")
        ->needs(groups);
}

}  // namespace

void check_pruners(std::string const& file, ps::prune::PruningSchedule const& schedule, std::int64_t epochs) {
    for (std::size_t i = 0; i < schedule.pruners.size(); ++i) {
        std::vector<std::int64_t> acts;
        for (ps::prune::SchedulePolicy const& policy : schedule.policies) {
            if (policy.prunes && policy.instance == i)
                acts.insert(acts.end(), policy.epochs.begin(), policy.epochs.end());
        }
        std::string const& name = schedule.pruners[i].name;
        if (acts.empty()) ps::fail(file, ": no policy says when pruner ", name, " acts");
        const auto [first, last] = std::ranges::minmax(acts);
        if (first >= epochs) {
            ps::fail(file, ": pruner ", name, " acts from epoch ", first, " on, counted from 0: not in --epochs ",
                     epochs);
        }
        if (last >= epochs) {
            warn(ps::join(file, ": pruner ", name, " acts until epoch ", last, ", counted from 0; --epochs ", epochs,
                          " end before it"));
        }
    }
}

void take_rates(std::string const& file, ps::prune::PruningSchedule const& schedule, Recipe& recipe, bool given) {
    if (std::ranges::all_of(schedule.policies, &ps::prune::SchedulePolicy::prunes)) return;
    if (given && recipe.schedule.rate != Rate::constant) {
        ps::fail(file, ": its lr_schedulers say the learning rate, and so does --schedule; leave one out");
    }
    recipe.schedule.rate = Rate::constant;
    recipe.schedule.scheduled.schedule = schedule;
}

ps::prune::Pruned retrain(ps::prune::Pruned const& network, Retraining const& how, AnyImages const& images,
                          AnyImages const& validation, ps::Normalise const& normalise,
                          std::function<bool(std::int64_t, double)> const& goes_on) {
    Recipe const& recipe = how.recipe;
    ps::Trainer<ps::Graph, CommandRecipe> trainer(network.graph, network.weights, recipe.training,
                                                  {recipe.optimizer,
                                                   {static_cast<float>(recipe.label_smoothing)},
                                                   {.schedule = recipe.schedule, .epochs = recipe.warmup},
                                                   {}},
                                                  ps::ThreadPool(how.threads));
    std::optional<ps::prune::PruningRun> pruning;
    if (how.pruning) {
        pruning.emplace(*how.pruning, network.graph);
        pruning->begin(trainer, 0);
    }
    trainer.fit(images, normalise, recipe.augment, validation, [&](ps::EpochReport const& epoch) {
        const bool on = goes_on(epoch.epoch, epoch.validation ? epoch.validation->accuracy() : 0);
        if (on && pruning) pruning->begin(trainer, epoch.epoch);
        return on;
    });
    if (pruning) return pruning->thinned(trainer.weights());
    return {network.graph, trainer.weights()};
}

ps::Kernels training_kernels() { return ps::policy_kernels<CommandRecipe, ps::CompileTraining>(); }

void add_train(CLI::App& app) {
    const auto options = std::make_shared<TrainCommand>();
    CLI::App& command = *app.add_subcommand("train", "Train a network on labelled images, and write its weights");
    command.add_option("net", options->model.net, "A network's name, or an .onnx file")->required()->type_name("NET");
    add_size_options(command, options->model);
    command.add_option("--weights", options->model.weights, "Begin with these (default: random ones)")
        ->check(weights_alone)
        ->type_name("F.safetensors");
    add_images(command, "", options->data, "Images to train with");
    add_images(command, "validation-", options->validation, "Images to judge by after each epoch");
    command.add_option("--hold-back", options->held_back, "Judge by this share of the images instead (default 0)")
        ->check(number_range(0.0, 0.9))
        ->type_name("X");
    add_recipe(command, options->recipe);
    command
        .add_option("--plan", options->plan,
                    "A plan that `primsel plan --training --save` wrote: with the same plan come the same bits")
        ->type_name("P.json")
        ->excludes(command.get_option("--max-arena"));
    add_threads_option(command, options->threads, "Threads to train on");
    command.add_option("--out", options->out, "The weights of the best epoch, or the last where none is judged")
        ->check(writable_network)
        ->type_name("F.safetensors|F.onnx");
    command.add_option("--checkpoint", options->checkpoint, "Where the training goes on from, and is kept each epoch")
        ->check(writable_file)
        ->type_name("F.safetensors");
    command.add_option("--checkpoint-every", options->checkpoint_every, "Keep it after so many updates, too")
        ->check(CLI::Range(1, 1'000'000'000))
        ->type_name("N");
    CLI::Option* const pruning = command
                                     .add_option("--pruning", options->pruning,
                                                 "A schedule of which filters go in which epochs (docs/prune/prune.md)")
                                     ->type_name("F.yaml|F.json");
    command.add_option("--thin-out", options->thin_out, "The network without the filters that went")
        ->check(writable_onnx)
        ->needs(pruning)
        ->type_name("F.onnx");
    command.add_option("--curves", options->curves, "Draw loss and accuracy over the epochs, after each of them")
        ->check(writable_file)
        ->type_name("F.svg");
    command.add_flag("--json", options->json, "Print one JSON object an epoch");
    add_groups(command, *options);
    command.callback([options, &command] {
        if (options->groups > 0 && !options->validation.given() && !(options->held_back > 0)) {
            throw CLI::RequiredError("--groups judges by --validation-... or --hold-back, one of which");
        }
        if (!options->data.given()) throw CLI::RequiredError("--images and --labels, --cifar or --folder");
        refuse_idle_options(command, *options);
        train(command, *options);
    });
}

}  // namespace cli
