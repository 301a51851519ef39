// primsel fit --data profile.csv --out model.primsel: learns what primitives take, and writes what it learned.
#include "commands.hpp"
#include "evaluation.hpp"
#include "options.hpp"

#include <primsel/core/thread_pool.hpp>
#include <primsel/learn/dataset_file.hpp>
#include <primsel/learn/fit_model.hpp>
#include <primsel/learn/model_file.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace cli {
namespace {

struct FitOptions {
    std::string data, layouts, model = "gp", out;
    std::uint64_t seed = 1;
    std::size_t threads = 1;
    bool json = false;
};

void fit(FitOptions const& options) {
    ps::ThreadPool executor(options.threads);
    const ps::learn::Profile profile = ps::learn::read_profile(options.data, options.layouts);
    const ps::learn::FittedModel fitted =
        ps::learn::fit_model(profile, {.regression = options.model, .seed = options.seed}, executor);
    ps::learn::write_model(options.out, fitted.model);

    if (options.json) {
        ps::Json::Object object{{"model", options.model}, {"file", options.out}};
        for (ps::learn::FitReport const& part : fitted.parts) {
            object.emplace_back(
                part.what,
                ps::Json::Object{
                    {"data", part.name}, {"rows", part.rows}, {"seconds", part.seconds}, {"test", to_json(part.test)}});
        }
        return print_json(std::move(object));
    }
    for (ps::learn::FitReport const& part : fitted.parts) {
        print(to_text(ps::join(part.what, " on ", part.test.rows, " other rows"), part.test, false));
        char seconds[32];
        std::snprintf(seconds, sizeof(seconds), "%.1f", part.seconds);
        print_line(part.name, ": learned from ", part.rows, " rows in ", seconds, " s");
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
        .add_option(
            "--model", options->model,
            "gp (default; Gaussian processes), boosted, forest, mlp, nn1, nn2 (both as published, slow) or linear")
        ->check(CLI::IsMember(
            std::vector<std::string>(ps::learn::regression_names.begin(), ps::learn::regression_names.end())))
        ->type_name("NAME");
    command.add_option("--out", options->out, "The model file to write")
        ->check(writable_file)
        ->required()
        ->type_name("F");
    add_learning_options(command, options->seed, options->threads, options->json);
    command.callback([options] { fit(*options); });
}

}  // namespace cli
