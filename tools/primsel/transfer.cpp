// primsel transfer --model there.primsel --data here.csv --out here.primsel: what was learned on one machine, corrected
// by samples of another.
#include "commands.hpp"
#include "evaluation.hpp"
#include "options.hpp"

#include <primsel/core/thread_pool.hpp>
#include <primsel/learn/dataset_file.hpp>
#include <primsel/learn/model_file.hpp>
#include <primsel/learn/transfer_model.hpp>

#include <CLI/CLI.hpp>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace cli {
namespace {

struct TransferOptions {
    std::string model, data, layouts, method, out;
    std::uint64_t seed = 1;
    std::size_t threads = 1;
    bool json = false;
};

ps::Json json_of(ps::learn::TransferReport const& part) {
    ps::Json::Array unknown;
    for (std::string const& subject : part.unknown) unknown.emplace_back(subject);
    const auto judged = [](std::optional<ps::learn::Evaluation> const& by) {
        return by ? to_json(*by) : ps::Json(nullptr);
    };
    ps::Json::Object object{{"data", part.name},
                            {"rows", part.rows},
                            {"method", part.method},
                            {"seconds", part.seconds},
                            {"test", judged(part.test)},
                            {"direct", judged(part.direct)},
                            {"unknown", std::move(unknown)}};
    if (part.trust) object.emplace_back("trust", ps::learn::to_string_view(*part.trust));
    return object;
}

std::string method_of(ps::learn::TransferReport const& part) {
    return part.trust ? ps::join(part.method, " (", ps::learn::to_string_view(*part.trust), ")")
                      : std::string(part.method);
}

void print_part(ps::learn::TransferReport const& part) {
    if (part.test) {
        print(
            to_text(ps::join(part.what, " on ", part.test->rows, " other rows, ", method_of(part)), *part.test, false));
        char error[32];
        std::snprintf(error, sizeof(error), "%.2f %%", 100 * part.direct->all.median);
        print(ps::join("all, as the model was: ", error, '\n'));
    }
    if (!part.unknown.empty()) print(ps::join(part.unknown.size(), " others are not known to the model\n"));
    char seconds[32];
    std::snprintf(seconds, sizeof(seconds), "%.1f", part.seconds);
    print_line(part.name, ": ", method_of(part), " by ", part.rows, " rows in ", seconds, " s",
               part.test ? "" : ", with none left to judge by");
}

void transfer(TransferOptions const& options) {
    const ps::learn::TrainedModel source = ps::learn::read_model(options.model);
    std::error_code ignored;
    if (std::filesystem::equivalent(options.model, options.out, ignored)) {
        ps::fail(options.out, ": would be written over the model that it comes from");
    }
    ps::ThreadPool executor(options.threads);
    const ps::learn::Profile profile = ps::learn::read_profile(options.data, options.layouts);
    const ps::learn::TransferOptions how{.method = options.method, .seed = options.seed};
    const auto [model, parts] = ps::learn::transfer_model(source, options.model, profile, how, executor);
    ps::learn::write_model(options.out, model);

    if (options.json) {
        ps::Json::Object object{{"model", options.model}, {"method", model.about_of("method")}, {"file", options.out}};
        for (ps::learn::TransferReport const& part : parts) object.emplace_back(part.what, json_of(part));
        return print_json(std::move(object));
    }
    for (ps::learn::TransferReport const& part : parts) print_part(part);
}

}  // namespace

void add_transfer(CLI::App& app) {
    const auto options = std::make_shared<TransferOptions>();
    CLI::App& command =
        *app.add_subcommand("transfer", "Correct what was learned on one machine by a few samples of another");
    command.add_option("--model", options->model, "A model of `primsel fit`")->required()->type_name("F");
    command.add_option("--data", options->data, "Times of primitives on the other machine")
        ->required()
        ->type_name("F.csv");
    command.add_option("--layouts", options->layouts, "Times of changes of layout on it")->type_name("F.csv");
    command.add_option("--out", options->out, "The model file to write")
        ->check(writable_file)
        ->required()
        ->type_name("F");
    command
        .add_option(
            "--method", options->method,
            "transferred (what deviates, by Gaussian processes), factor (one a primitive), chosen (what predicts "
            "held-back rows best, if need be without the model) or fine-tuned (a perceptron trained on); the default "
            "is fine-tuned for nn1, nn2 and mlp, transferred for others")
        ->check(CLI::IsMember(
            std::vector<std::string>(ps::learn::transfer_methods.begin(), ps::learn::transfer_methods.end())))
        ->type_name("NAME");
    add_learning_options(command, options->seed, options->threads, options->json);
    command.callback([options] { transfer(*options); });
}

}  // namespace cli
