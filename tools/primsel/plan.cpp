// primsel plan NET: which primitive and layout each layer gets, and what that is predicted to cost.
#include "commands.hpp"
#include "options.hpp"
#include "present_speed.hpp"
#include "session.hpp"
#include "text.hpp"

#include <primsel/engine/fit.hpp>
#include <primsel/plan/plan_file.hpp>
#include <primsel/plan/print.hpp>
#include <primsel/show/dot.hpp>
#include <primsel/show/svg.hpp>
#include <primsel/train/training_graph.hpp>

#include <CLI/CLI.hpp>

#include <memory>
#include <sstream>

namespace cli {
namespace {

struct PlanCommand : Options {
    std::string svg, dot, save;
};

/// The predicted seconds of each part of a step.
struct Passes {
    double forward = 0, again = 0, backward = 0;
};
Passes passes_of(Model const& model, ps::Plan const& plan) {
    Passes passes;
    const std::size_t first = model.simplified.find(model.backward);
    for (std::size_t i = 0; i < plan.layers.size(); ++i) {
        const bool again = plan.layers[i].name.ends_with(ps::again_suffix);
        (i < first ? passes.forward : again ? passes.again : passes.backward) += plan.layers[i].seconds;
    }
    for (ps::PlannedTransform const& transform : plan.transforms) {
        const bool forward = !transform.reader.empty() && model.simplified.find(transform.reader) < first;
        (forward ? passes.forward : passes.backward) += transform.seconds;
    }
    return passes;
}
std::string text_of_passes(Passes const& passes) {
    std::string text = ps::join("forward ", ps::milliseconds(passes.forward), " ms, backward ",
                                ps::milliseconds(passes.backward), " ms");
    if (passes.again > 0) text += ps::join(", computed again ", ps::milliseconds(passes.again), " ms");
    return text + "; ";
}

ps::Json to_json(Model const& model, ps::Plan const& plan, std::size_t arena) {
    ps::Json::Array layers, transforms, strips;
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
    for (ps::PlannedStrips const& each : plan.strips) {
        ps::Json::Array names;
        for (std::string const& layer : each.layers) names.emplace_back(layer);
        strips.push_back(
            ps::Json::Object{{"layers", std::move(names)}, {"rows", each.rows}, {"predicted_ms", each.seconds * 1e3}});
    }
    ps::Json passes;
    if (!model.backward.empty()) {
        const Passes of = passes_of(model, plan);
        passes = ps::Json::Object{
            {"forward_ms", of.forward * 1e3}, {"backward_ms", of.backward * 1e3}, {"again_ms", of.again * 1e3}};
    }
    return ps::Json::Object{{"model", model.name},
                            {"costs", plan.cost_model},
                            {"solver", plan.solver},
                            {"predicted_ms", plan.total_seconds * 1e3},
                            {"optimal", plan.optimal},
                            {"bound_ms", plan.bound_seconds * 1e3},
                            {"predict_ms", plan.predict_seconds * 1e3},
                            {"solve_ms", plan.solve_seconds * 1e3},
                            {"arena_bytes", arena},
                            {"passes", std::move(passes)},
                            {"layers", std::move(layers)},
                            {"transforms", std::move(transforms)},
                            {"strips", std::move(strips)}};
}

void plan(PlanCommand const& options) {
    const Model model = load_to_plan(options);
    const ps::Plan plan = plan_for(model, options.planning, options.threads);
    if (!options.svg.empty()) ps::write_file(options.svg, ps::show::to_svg(plan, model.simplified));
    if (!options.dot.empty()) ps::write_file(options.dot, ps::show::to_dot(plan, model.simplified));
    if (!options.save.empty()) ps::write_plan(options.save, plan);
    const std::size_t arena = ps::arena_bytes(model.simplified, kernels_of(model), plan, options.threads);
    if (options.json) return print_json(to_json(model, plan, arena));
    std::ostringstream table;
    table << plan << (model.backward.empty() ? "" : text_of_passes(passes_of(model, plan))) << "arena "
          << megabytes(arena) << '\n';
    table << line_of(present_speed(options.threads));
    print(table.str());
}

}  // namespace

void add_plan(CLI::App& app) {
    const auto options = std::make_shared<PlanCommand>();
    CLI::App& command =
        *app.add_subcommand("plan", "Plan a network: primitive, layouts and predicted cost of each layer");
    add_options(command, *options, SavedPlan::instead);
    add_training_option(command, *options);
    command.remove_option(command.get_option("--seed"));  // no plan depends on values
    command.add_option("--svg", options->svg, "Draw the plan")->check(writable_file)->type_name("F.svg");
    command.add_option("--dot", options->dot, "Write the plan for Graphviz")->check(writable_file)->type_name("F.dot");
    command.add_option("--save", options->save, "Save the plan, for --plan")->check(writable_file)->type_name("P.json");
    command.callback([options, &command] {
        refuse_same_file(command, {"--svg", "--dot", "--save"});
        plan(*options);
    });
}

}  // namespace cli
