// primsel trace NET --out trace.json: one run as Chrome trace events, predicted beside measured; --out trace.svg: a
// picture of where its time goes.
#include "commands.hpp"
#include "options.hpp"
#include "session.hpp"
#include "text.hpp"

#include <primsel/engine/trace.hpp>
#include <primsel/io/file.hpp>
#include <primsel/kernels/measure_machine.hpp>
#include <primsel/plan/print.hpp>
#include <primsel/show/trace_svg.hpp>

#include <CLI/CLI.hpp>

#include <memory>

namespace cli {
namespace {

struct TraceOptions : Options {
    std::string out;
};

void trace(TraceOptions const& options) {
    const Model model = load_to_plan(options);
    const ps::Plan plan = plan_for(model, options.planning, options.threads);
    Session session(model, plan, options.threads);
    for (std::size_t i = 0; i < session.inputs(); ++i) session.fill_randomly(i, options.model.seed);
    const ps::Trace trace = ps::trace_run(session.program(), model.simplified, kernels_of(model), plan, session.srcs(),
                                          session.dsts(), session.executor());
    const bool picture = options.out.ends_with(".svg");
    const double cores = static_cast<double>(options.threads);
    // Measured by the kernels' own unit: the commands are compiled with less optimisation.
    ps::Machine const& machine = kernels().machine();
    const ps::Limits limits{cores * machine.gemm_flops, cores * machine.bandwidth.back()};
    ps::write_file(options.out, picture ? ps::to_svg(trace, limits) : ps::to_chrome_trace(trace));
    if (options.json) {
        return print_json(ps::Json::Object{{"model", model.name},
                                           {"threads", options.threads},
                                           {"steps", trace.steps.size()},
                                           {"blocks", trace.blocks.size()},
                                           {"measured_ms", trace.seconds * 1e3},
                                           {"predicted_ms", trace.predicted * 1e3},
                                           {"file", options.out}});
    }
    print_line(trace.steps.size(), " steps in ", ps::milliseconds(trace.seconds), " ms, predicted ",
               ps::milliseconds(trace.predicted), " ms: ", options.out,
               picture ? "" : ", for chrome://tracing or ui.perfetto.dev");
}

}  // namespace

void add_trace(CLI::App& app) {
    const auto options = std::make_shared<TraceOptions>();
    CLI::App& command =
        *app.add_subcommand("trace", "Trace a run: when each layer and thread worked, and the prediction");
    add_options(command, *options, SavedPlan::instead);
    add_training_option(command, *options);
    command.add_option("--out", options->out, "The trace: Chrome trace events, or a picture of where the time goes")
        ->required()
        ->type_name("F.json|F.svg");
    command.callback([options] { trace(*options); });
}

}  // namespace cli
