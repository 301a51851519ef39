// primsel evaluate --costs COSTS --data profile.csv: how far predictions are from what was measured.
#include "commands.hpp"
#include "evaluation.hpp"
#include "session.hpp"

#include <primsel/cost/analytical.hpp>
#include <primsel/cost/semi_empirical.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/learn/dataset_file.hpp>
#include <primsel/learn/evaluate_model.hpp>
#include <primsel/learn/fit_model.hpp>
#include <primsel/learn/model_file.hpp>

#include <CLI/CLI.hpp>

#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cli {
namespace {

struct EvaluateOptions {
    std::string costs, data, layouts;
    bool all_rows = false, json = false;
};

/// Costs that are computed, not read from a file.
bool is_computed(std::string_view costs) {
    return costs == ps::Analytical::name || costs == ps::SemiEmpiricalCosts::name;
}

ps::learn::ModelEvaluation evaluate_computed(std::string_view costs, ps::learn::NamedDataset const& measured) {
    const auto by = [&](auto model) { return ps::learn::evaluate(measured, kernels(), model); };
    return costs == ps::Analytical::name ? by(ps::Analytical()) : by(ps::SemiEmpiricalCosts());
}

/// By the rows that were held back when the model was trained, or by all.
ps::learn::ModelEvaluation evaluate_learned(EvaluateOptions const& options, ps::learn::TrainedModel const& model,
                                            ps::learn::NamedDataset measured) {
    if (!options.all_rows) {
        std::optional<ps::learn::Dataset> rows = ps::learn::held_back(model, measured.data);
        if (!rows) {
            ps::fail(measured.name, ": none of these rows were held back to judge ", options.costs,
                     " by; --all-rows judges it by all");
        }
        measured.data = *std::move(rows);
    }
    return ps::learn::evaluate(measured, measured.data.of_layouts() ? model.layouts : model.primitives);
}

/// "primitives" or "layouts", and what is said of them.
struct EvaluatedPart {
    std::string what;
    ps::learn::ModelEvaluation evaluation;
};

void evaluate(EvaluateOptions const& options) {
    const bool computed = is_computed(options.costs);
    const ps::learn::TrainedModel model = computed ? ps::learn::TrainedModel() : ps::learn::read_model(options.costs);
    const ps::learn::Profile profile = ps::learn::read_profile(options.data, options.layouts);
    std::vector<EvaluatedPart> parts;
    const auto add = [&](ps::learn::NamedDataset const& measured) {
        parts.push_back({ps::learn::what_of(measured.data), computed ? evaluate_computed(options.costs, measured)
                                                                     : evaluate_learned(options, model, measured)});
    };
    add(profile.primitives);
    if (profile.layouts) add(*profile.layouts);
    if (options.json) {
        ps::Json::Object object{{"costs", options.costs}};
        for (EvaluatedPart const& part : parts) {
            ps::Json::Array unknown;
            for (std::string const& subject : part.evaluation.unknown) unknown.emplace_back(subject);
            object.emplace_back(part.what, to_json(part.evaluation.errors));
            object.emplace_back(part.what + "_unknown", std::move(unknown));
        }
        return print_json(std::move(object));
    }
    for (EvaluatedPart const& part : parts) {
        print(to_text(ps::join(part.what, " on ", part.evaluation.errors.rows, " rows"), part.evaluation.errors, true));
        if (!part.evaluation.unknown.empty())
            print(ps::join(part.evaluation.unknown.size(), " others are not known to these costs\n"));
    }
}

}  // namespace

void add_evaluate(CLI::App& app) {
    const auto options = std::make_shared<EvaluateOptions>();
    CLI::App& command = *app.add_subcommand("evaluate", "How far predicted costs are from measured ones");
    command
        .add_option("--costs", options->costs,
                    "A model of `primsel fit` or `primsel transfer`, analytical or semi-empirical")
        ->required()
        ->type_name("NAME|FILE");
    command.add_option("--data", options->data, "Times of primitives, as `primsel profile` writes them")
        ->required()
        ->type_name("F.csv");
    command.add_option("--layouts", options->layouts, "Times of changes of layout")->type_name("F.csv");
    command.add_flag("--all-rows", options->all_rows, "Not only the rows that were held back in training");
    command.add_flag("--json", options->json, "Print one JSON object");
    command.callback([options] { evaluate(*options); });
}

}  // namespace cli
