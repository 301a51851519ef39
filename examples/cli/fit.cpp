// primsel fit --data profile.csv --out model.primsel: learns what primitives take, and writes what it learned.
#include "commands.hpp"
#include "evaluation.hpp"

#include <primsel/core/thread_pool.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/io/model.hpp>
#include <primsel/learn/tables.hpp>

#include <CLI/CLI.hpp>

#include <cmath>
#include <memory>
#include <optional>
#include <utility>

namespace cli {
namespace {

struct FitOptions {
    std::string data, layouts, model = "gp", out;
    std::uint64_t seed = 1;
    std::size_t threads = 1;
    bool json = false;
};

struct Samples {
    ps::Table features, times, validation_features, validation_times;
    /// Of the subjects; those that are alike have the same.
    std::vector<std::string> labels;
};

ps::MlpOptions nn2(std::uint64_t seed) {
    ps::MlpOptions options;
    options.seed = seed;
    return options;
}
/// As large, but trained for a bounded time, and less by what lies far off.
ps::MlpOptions mlp(std::uint64_t seed) {
    ps::MlpOptions options = nn2(seed);
    options.learning_rate = 2e-3;
    options.batch = 256;
    options.most_epochs = options.patience = 200;
    options.one_cycle = true;
    options.huber = 0.1;
    return options;
}

ps::AnyRegression regression_of(FitOptions const& options, Samples const& s, bool layouts,
                                ps::ExecutorRef const& executor) {
    const std::uint64_t seed = options.seed;
    if (options.model == "linear") return ps::LinearRegression::fit(s.features, s.times);
    if (options.model == "forest") return ps::Forest::fit(s.features, s.times, {.seed = seed}, executor);
    if (options.model == "boosted") return ps::BoostedTrees::fit(s.features, s.times, {.seed = seed}, executor);
    if (options.model == "gp") {
        ps::GaussianProcessOptions gp{.rows = 400, .seed = seed};
        if (layouts) gp.steps = 150;  // few samples
        return ps::GaussianProcess::fit(s.features, s.times, s.labels, gp, executor);
    }
    return ps::Mlp::fit(s.features, s.times, s.validation_features, s.validation_times,
                        options.model == "nn2" ? nn2(seed) : mlp(seed), executor);
}

/// What was learned from one file, and how well.
struct FittedPart {
    std::string what, path, fingerprint;
    ps::Trained<ps::AnyRegression> trained;
    std::size_t trained_rows = 0;
    Judgement test;
    double seconds = 0;
};

FittedPart learn(FitOptions const& options, std::string const& path, ps::Dataset const& data,
                 ps::ExecutorRef executor) {
    constexpr std::size_t least = 10;
    if (data.rows() < least) ps::fail(path, ": ", data.rows(), " rows are too few to learn from and to judge by");
    const bool layouts = data.inputs.size() == 2;
    const ps::Timer timer;
    const ps::Split split = ps::split_rows(data.rows(), options.seed);
    // What was measured in none of the rows to learn from is left to other models.
    const std::vector<std::string> learned = without_idle(data.select(split.train)).subjects;
    const ps::Dataset some = with_subjects(data, learned);
    const ps::Table features = ps::features_of(some), times = ps::log_times(some);
    const Samples samples{features.select(split.train), times.select(split.train), features.select(split.validation),
                          times.select(split.validation), labels_of(learned, layouts)};
    FittedPart part{.what = layouts ? "layouts" : "primitives",
                    .path = path,
                    .fingerprint = fingerprint(data),
                    .trained = {learned, regression_of(options, samples, layouts, executor)},
                    .trained_rows = split.train.size(),
                    .test = {}};
    part.seconds = timer.seconds();
    part.test = judge(some.select(split.test), part.trained.regression.predict(features.select(split.test)));
    return part;
}

ps::TrainedModel assemble(FitOptions const& options, std::map<std::string, std::string> about,
                          std::vector<FittedPart> const& parts) {
    about["seed"] = std::to_string(options.seed);
    for (FittedPart const& part : parts) {
        about[part.what + "_data"] = part.fingerprint;
        about[part.what + "_rows"] = std::to_string(part.trained_rows);
        about[part.what + "_mdrae"] = std::to_string(part.test.errors.all.median);
    }
    ps::TrainedModel model{.about = std::move(about), .primitives = parts[0].trained, .layouts = {}};
    if (parts.size() > 1) model.layouts = parts[1].trained;
    return model;
}

void fit(FitOptions const& options) {
    ps::ThreadPool executor(options.threads);
    const ps::Dataset data = read_times(options.data, false);
    std::optional<ps::Dataset> layouts;
    if (!options.layouts.empty()) {
        layouts = read_times(options.layouts, true);
        require_same_arch(options.data, data, options.layouts, *layouts);
    }
    std::vector<FittedPart> parts;
    parts.push_back(learn(options, options.data, data, executor));
    if (layouts) parts.push_back(learn(options, options.layouts, *layouts, executor));
    const ps::TrainedModel model = assemble(options, data.about, parts);
    ps::write_model(options.out, model);

    if (options.json) {
        ps::Json::Object object{{"model", options.model}, {"file", options.out}};
        for (FittedPart const& part : parts) {
            object.emplace_back(part.what, ps::Json::Object{{"data", part.path},
                                                            {"rows", part.trained_rows},
                                                            {"seconds", part.seconds},
                                                            {"test", to_json(part.test)}});
        }
        return print_json(std::move(object));
    }
    for (FittedPart const& part : parts) {
        print(to_text(ps::join(part.what, " on ", part.test.rows, " other rows"), part.test, false));
        char seconds[32];
        std::snprintf(seconds, sizeof(seconds), "%.1f", part.seconds);
        print_line(part.path, ": learned from ", part.trained_rows, " rows in ", seconds, " s");
    }
}

}  // namespace

void add_fit(CLI::App& app) {
    const auto options = std::make_shared<FitOptions>();
    CLI::App& command = *app.add_subcommand("fit", "Learn from a profile what primitives take, for --costs");
    command.add_option("--data", options->data, "Times of primitives, as `primsel profile` writes them")
        ->required()
        ->type_name("F.csv");
    command.add_option("--layouts", options->layouts, "Times of changes of layout")->type_name("F.csv");
    command
        .add_option("--model", options->model,
                    "gp (default; Gaussian processes), boosted, forest, mlp, nn2 (as published, slow) or linear")
        ->check(CLI::IsMember({"gp", "boosted", "forest", "mlp", "nn2", "linear"}))
        ->type_name("NAME");
    command.add_option("--out", options->out, "The model file to write")->required()->type_name("F");
    add_learning_options(command, options->seed, options->threads, options->json);
    command.callback([options] { fit(*options); });
}

}  // namespace cli
