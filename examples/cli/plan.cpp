// primsel plan NET: which primitive and layout each layer gets, and what that is predicted to cost.
#include "commands.hpp"
#include "options.hpp"
#include "session.hpp"
#include "text.hpp"

#include <primsel/io/plan.hpp>
#include <primsel/plan/print.hpp>
#include <primsel/show/dot.hpp>
#include <primsel/show/svg.hpp>

#include <CLI/CLI.hpp>

#include <memory>
#include <sstream>

namespace cli {
namespace {

struct PlanCommand : Options {
    std::string svg, dot, save;
};

ps::Json to_json(std::string const& model, ps::Plan const& plan) {
    ps::Json::Array layers, transforms;
    for (ps::PlannedLayer const& layer : plan.layers) {
        layers.push_back(ps::Json::Object{
            {"name", layer.name},
            {"kind", layer.kind},
            {"shape", layer.shape},
            {"primitive", layer.primitive.empty() ? ps::Json() : ps::Json(layer.primitive)},
            {"layouts", ps::Json::Object{{"in", layer.in_layout}, {"out", layer.out_layout}}},
            {"predicted_ms", layer.seconds * 1e3},
        });
    }
    for (ps::PlannedTransform const& transform : plan.transforms) {
        transforms.push_back(ps::Json::Object{
            {"writer", transform.writer},
            {"reader", transform.reader.empty() ? ps::Json() : ps::Json(transform.reader)},
            {"shape", transform.shape},
            {"from", transform.from},
            {"to", transform.to},
            {"predicted_ms", transform.seconds * 1e3},
        });
    }
    return ps::Json::Object{{"model", model},
                            {"costs", plan.cost_model},
                            {"solver", plan.solver},
                            {"predicted_ms", plan.total_seconds * 1e3},
                            {"optimal", plan.optimal},
                            {"bound_ms", plan.bound_seconds * 1e3},
                            {"predict_ms", plan.predict_seconds * 1e3},
                            {"solve_ms", plan.solve_seconds * 1e3},
                            {"layers", std::move(layers)},
                            {"transforms", std::move(transforms)}};
}

void plan(PlanCommand const& options) {
    const Model model = load_model(options.model);
    const ps::Plan plan = plan_for(model, options.planning, options.threads);
    if (!options.svg.empty()) ps::write_file(options.svg, ps::to_svg(plan, model.simplified));
    if (!options.dot.empty()) ps::write_file(options.dot, ps::to_dot(plan, model.simplified));
    if (!options.save.empty()) ps::write_plan(options.save, plan);
    if (options.json) return print_json(to_json(model.name, plan));
    std::ostringstream table;
    table << plan;
    print(table.str());
}

}  // namespace

void add_plan(CLI::App& app) {
    const auto options = std::make_shared<PlanCommand>();
    CLI::App& command =
        *app.add_subcommand("plan", "Plan a network: primitive, layouts and predicted cost of each layer");
    add_options(command, *options, SavedPlan::instead);
    command.add_option("--svg", options->svg, "Draw the plan")->type_name("F.svg");
    command.add_option("--dot", options->dot, "Write the plan for Graphviz")->type_name("F.dot");
    command.add_option("--save", options->save, "Save the plan, for --plan")->type_name("P.json");
    command.callback([options] { plan(*options); });
}

}  // namespace cli
