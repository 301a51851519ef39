// primsel explain NET LAYER: every candidate's cost or refusal, in order.
#include "commands.hpp"
#include "options.hpp"
#include "present_speed.hpp"
#include "session.hpp"
#include "text.hpp"

#include <primsel/plan/print.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <memory>

namespace cli {
namespace {

struct ExplainOptions : Options {
    std::string layer;
};

ps::Json to_json(std::string const& model, ps::PlannedLayer const& layer, PresentSpeed const& present) {
    ps::Json::Array candidates;
    for (ps::Candidate const& candidate : layer.candidates) {
        const bool refused = !candidate.refusal.empty();
        candidates.push_back(ps::Json::Object{{"primitive", candidate.primitive},
                                              {"predicted_ms", refused ? ps::Json() : candidate.seconds * 1e3},
                                              {"refusal", refused ? ps::Json(candidate.refusal) : ps::Json()}});
    }
    return ps::Json::Object{{"model", model},
                            {"layer", layer.name},
                            {"kind", layer.kind},
                            {"shape", layer.shape},
                            {"primitive", layer.primitive.empty() ? ps::Json() : ps::Json(layer.primitive)},
                            {"layouts", ps::Json::Object{{"in", layer.in_layout}, {"out", layer.out_layout}}},
                            {"present_factor", present.networks == 0 ? ps::Json() : ps::Json(present.factor)},
                            {"candidates", std::move(candidates)}};
}

void explain(ExplainOptions const& options) {
    const Model model = load_to_plan(options);
    const ps::Plan plan = plan_for(model, options.planning, options.threads);
    std::vector<std::string> names;
    for (ps::PlannedLayer const& layer : plan.layers) names.push_back(layer.name);
    if (std::ranges::find(names, options.layer) == names.end()) {
        ps::fail(model.name, ": no layer is named ", options.layer, "; ", did_you_mean(options.layer, names),
                 "there are ", list_of_names(names));
    }
    if (options.json) return print_json(to_json(model.name, plan.layer(options.layer), present_speed(options.threads)));
    print(plan.explain(options.layer));
    print(line_of(present_speed(options.threads)));
}

}  // namespace

void add_explain(CLI::App& app) {
    const auto options = std::make_shared<ExplainOptions>();
    CLI::App& command = *app.add_subcommand("explain", "Explain a layer's choice: every candidate's cost or refusal");
    add_options(command, *options, SavedPlan::instead);
    add_training_option(command, *options);
    command.remove_option(command.get_option("--seed"));  // no plan depends on values
    command.add_option("LAYER", options->layer, "A layer of `primsel plan NET`")->required();
    command.callback([options] { explain(*options); });
}

}  // namespace cli
