#include "recipe.hpp"

#include "options.hpp"
#include "text.hpp"

#include <primsel/core/error.hpp>
#include <primsel/core/read_number.hpp>
#include <primsel/io/json.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <string_view>
#include <utility>

namespace cli {

std::size_t AnyOptimizer::state_per_weight() const noexcept {
    return rule == Rule::sgd ? sgd.state_per_weight() : ps::Adam{}.state_per_weight();
}
void AnyOptimizer::step(std::span<float> weights, std::span<const float> gradient, std::span<float> state,
                        double learning_rate, std::int64_t number, double weight_decay) const noexcept {
    if (rule == Rule::sgd) return sgd.step(weights, gradient, state, learning_rate, number, weight_decay);
    if (rule == Rule::adam) return ps::Adam{}.step(weights, gradient, state, learning_rate, number, weight_decay);
    ps::AdamW{}.step(weights, gradient, state, learning_rate, number, weight_decay);
}

double AnyRate::operator()(double base, std::int64_t step, std::int64_t total, std::int64_t per_epoch) const {
    base = scheduled(base, step, total, per_epoch);
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

std::string text_of(Recipe const& recipe, ps::Normalise const& normalise) {
    ps::Json::Array mean, scale;
    for (const float value : normalise.mean) mean.emplace_back(value);
    for (const float value : normalise.deviation) scale.emplace_back(value);
    return ps::to_string(ps::Json(ps::Json::Object{{"optimizer", static_cast<int>(recipe.optimizer.rule)},
                                                   {"momentum", recipe.optimizer.sgd.momentum},
                                                   {"nesterov", recipe.optimizer.sgd.nesterov},
                                                   {"schedule", static_cast<int>(recipe.schedule.rate)},
                                                   {"decay", recipe.schedule.decay.factor},
                                                   {"decay-every", recipe.schedule.decay.epochs},
                                                   {"warm-up", recipe.warmup},
                                                   {"label-smoothing", recipe.label_smoothing},
                                                   {"flip", recipe.augment.flip},
                                                   {"crop", recipe.augment.crop},
                                                   {"mean", std::move(mean)},
                                                   {"deviation", std::move(scale)}}));
}

namespace {

/// "fc.*=0.1": those weights learn a tenth as fast.
ps::WeightGroup parse_group(std::string const& text) {
    const std::size_t equals = text.rfind('=');
    const std::string_view number =
        equals == std::string::npos ? std::string_view() : std::string_view(text).substr(equals + 1);
    double rate = 0;
    if (equals == 0 || !ps::read_number(number, rate) || !(rate >= 0)) {
        throw CLI::ValidationError("--rate", text + ": a pattern of names is needed, '=' and a number, as 'fc.*=0.1'");
    }
    return {text.substr(0, equals), rate};
}

/// Sets what the file says and the command line does not.
void read_recipe(CLI::App& command, std::string const& file) {
    if (file.empty()) return;
    std::vector<std::string> names;
    for (CLI::Option const* option : command.get_options()) {
        for (std::string const& name : option->get_lnames()) {
            if (name != "recipe" && name != "help") names.push_back(name);
        }
    }
    CLI::ConfigTOML reader;
    for (CLI::ConfigItem const& item : reader.from_file(file)) {
        if (!item.parents.empty()) ps::fail(file, ": has a section [", item.parents[0], "]; a recipe has none");
        if (std::ranges::find(names, item.fullname()) == names.end()) {
            ps::fail(file, ": '", item.fullname(), "' is no option of train; ", did_you_mean(item.fullname(), names),
                     "see primsel train --help");
        }
        CLI::Option& option = *command.get_option("--" + item.name);
        if (!option.empty()) continue;
        try {
            if (option.get_expected_min() == 0) {
                option.add_result(option.get_flag_value(item.name, reader.to_flag(item)));
            } else {
                option.add_result(item.inputs);
            }
            option.run_callback();
        } catch (CLI::ParseError const& error) {
            ps::fail(file, ": ", error.what());
        }
    }
}

}  // namespace

void add_recipe(CLI::App& command, Recipe& recipe) {
    ps::TrainingOptions& training = recipe.training;
    command.add_option("--epochs", training.epochs, "Times through the images (default 1)")
        ->check(CLI::Range(0, 1'000'000))
        ->type_name("N");
    command.add_option("--batch", training.batch, "Images an update is made by (default 64)")
        ->check(CLI::Range(1, 1 << 20))
        ->type_name("N");
    command.add_option("--part", training.part, "Images at once, where a whole batch needs too much memory")
        ->check(CLI::Range(1, 1 << 20))
        ->type_name("N");
    command
        .add_option_function<std::string>(
            "--max-arena", [&training](std::string const& text) { training.max_arena = parse_bytes(text); },
            "The most memory for the results of layers: where they take more, some are computed twice")
        ->type_name("BYTES");
    const std::vector<std::pair<std::string, Rule>> rules{
        {"sgd", Rule::sgd}, {"adam", Rule::adam}, {"adamw", Rule::adamw}};
    command.add_option("--optimizer", recipe.optimizer.rule, "sgd, adam or adamw (default sgd)")
        ->transform(CLI::CheckedTransformer(rules))
        ->type_name("NAME");
    command.add_option("--learning-rate", training.learning_rate, "At the beginning (default 0.1)")
        ->check(number_from_0)
        ->type_name("X");
    const std::vector<std::pair<std::string, Rate>> rates{{"constant", Rate::constant},
                                                          {"cosine", Rate::cosine},
                                                          {"step", Rate::step},
                                                          {"exponential", Rate::exponential}};
    command.add_option("--schedule", recipe.schedule.rate, "constant, cosine, step or exponential (default cosine)")
        ->transform(CLI::CheckedTransformer(rates))
        ->type_name("NAME");
    command
        .add_option_function<double>(
            "--decay",
            [&recipe](double factor) { recipe.schedule.decay.factor = recipe.schedule.exponential.factor = factor; },
            "What the learning rate is multiplied by (default: step 0.1, exponential 0.95)")
        ->check(number_range(0.0, 1.0))
        ->type_name("X");
    command.add_option("--decay-every", recipe.schedule.decay.epochs, "Of the schedule step: epochs (default 30)")
        ->check(CLI::Range(1, 1'000'000))
        ->type_name("N");
    command.add_option("--warm-up", recipe.warmup, "Epochs in which the learning rate grows to that (default 0)")
        ->check(number_from_0)
        ->type_name("N");
    command.add_option("--momentum", recipe.optimizer.sgd.momentum, "Of sgd (default 0)")
        ->check(number_range(0.0, 1.0))
        ->type_name("X");
    command.add_flag("--nesterov", recipe.optimizer.sgd.nesterov, "Nesterov's momentum");
    command.add_option("--weight-decay", training.weight_decay, "(default 0)")->check(number_from_0)->type_name("X");
    command.add_option("--label-smoothing", recipe.label_smoothing, "(default 0)")
        ->check(number_range(0.0, 1.0))
        ->type_name("X");
    command.add_option("--clip", training.clip_norm, "The greatest length of the gradients (default: any)")
        ->check(number_from_0)
        ->type_name("X");
    command
        .add_option_function<std::vector<std::string>>(
            "--freeze",
            [&training](std::vector<std::string> const& patterns) {
                for (std::string const& pattern : patterns) training.groups.push_back({pattern, 0});
            },
            "Leave weights as they are whose names fit this, as 'layer1.*'")
        ->type_name("PATTERN")
        ->allow_extra_args(false);
    command
        .add_option_function<std::vector<std::string>>(
            "--rate",
            [&training](std::vector<std::string> const& groups) {
                for (std::string const& group : groups) training.groups.push_back(parse_group(group));
            },
            "Times the learning rate, for weights whose names fit, as 'fc.*=0.1'")
        ->type_name("PATTERN=X")
        ->allow_extra_args(false);
    command.add_flag("--flip", recipe.augment.flip, "Mirror every other image, left to right");
    command.add_option("--crop", recipe.augment.crop, "Move images by up to so many pixels (default 0)")
        ->check(CLI::Range(0, 4096))
        ->type_name("N");
    command.add_option("--patience", training.patience, "Stop after so many epochs without a better accuracy")
        ->check(CLI::Range(1, 1'000'000))
        ->type_name("N");
    command.add_option("--seed", training.seed, "Draws the order, the augmentation, the dropout (default 1)")
        ->type_name("S");
    CLI::Option& file =
        *command.add_option("--recipe", "A file of these options, a line each, as 'batch = 32'")->type_name("F.toml");
    command.parse_complete_callback([&command, &file] {
        if (!file.empty()) read_recipe(command, file.as<std::string>());
    });
}

void refuse_idle(CLI::App const& command, Recipe const& recipe) {
    AnyOptimizer const& optimizer = recipe.optimizer;
    const Rate rate = recipe.schedule.rate;
    const bool no_sgd = optimizer.rule != Rule::sgd, no_momentum = no_sgd || optimizer.sgd.momentum == 0;
    refuse_idle(command,
                {{"--momentum", no_sgd, "--optimizer sgd"},
                 {"--nesterov", optimizer.sgd.nesterov && no_momentum, "--optimizer sgd with a --momentum above 0"},
                 {"--decay", rate != Rate::step && rate != Rate::exponential, "--schedule step or exponential"},
                 {"--decay-every", rate != Rate::step, "--schedule step"}});
}

}  // namespace cli
