// primsel trace NET --out trace.json: one run as Chrome trace events, predicted beside measured.
#include "commands.hpp"
#include "options.hpp"
#include "session.hpp"
#include "text.hpp"

#include <primsel/engine/trace.hpp>
#include <primsel/io/file.hpp>
#include <primsel/plan/print.hpp>

#include <CLI/CLI.hpp>

#include <memory>

namespace cli {
namespace {

struct TraceOptions : Options {
    std::string out;
};

void trace(TraceOptions const& options) {
    const Model model = load_model(options.model);
    const ps::Plan plan = plan_for(model, options.planning, options.threads);
    Session session(model, plan, options.threads);
    for (std::size_t i = 0; i < session.inputs(); ++i) session.fill_randomly(i, options.model.seed);
    const ps::Trace trace = ps::trace_run(session.program(), model.simplified, kernels(), plan, session.srcs(),
                                          session.dsts(), session.executor());
    ps::write_file(options.out, ps::to_chrome_trace(trace));
    if (options.json) {
        return print_json(ps::Json::Object{{"model", model.name},
                                           {"threads", options.threads},
                                           {"steps", trace.steps.size()},
                                           {"blocks", trace.blocks.size()},
                                           {"measured_ms", trace.seconds * 1e3},
                                           {"predicted_ms", trace.predicted * 1e3},
                                           {"file", options.out}});
    }
    print(ps::join(trace.steps.size(), " steps in ", ps::detail::milliseconds(trace.seconds), " ms, predicted ",
                   ps::detail::milliseconds(trace.predicted), " ms: ", options.out,
                   ", for chrome://tracing or ui.perfetto.dev\n"));
}

}  // namespace

void add_trace(CLI::App& app) {
    const auto options = std::make_shared<TraceOptions>();
    CLI::App& command =
        *app.add_subcommand("trace", "Trace a run: when each layer and thread worked, and the prediction");
    add_options(command, *options);
    command.add_option("--out", options->out, "The trace, as Chrome trace events")->required()->type_name("F.json");
    command.callback([options] { trace(*options); });
}

}  // namespace cli
