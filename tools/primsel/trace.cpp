// primsel trace NET: where the time of a run goes, step by step; --out trace.json: one run as Chrome trace events,
// predicted beside measured; --out trace.svg: a picture of it.
#include "commands.hpp"
#include "options.hpp"
#include "session.hpp"
#include "text.hpp"

#include <primsel/core/text_table.hpp>
#include <primsel/engine/trace.hpp>
#include <primsel/io/file.hpp>
#include <primsel/machine/measure_machine.hpp>
#include <primsel/plan/print.hpp>
#include <primsel/show/trace_svg.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <variant>
#include <vector>

namespace cli {
namespace {

struct TraceOptions : Options {
    std::string out;
    std::size_t runs = 15;
};

/// The time of a training step that one of the three convolutions of its layers takes, or that all other layers take.
struct PassTime {
    const char* name;
    double seconds = 0, predicted = 0, operations = 0;
};

std::vector<PassTime> times_of_passes(ps::Trace const& trace, ps::Graph const& graph) {
    std::vector<PassTime> passes{{"convolutions"}, {"their input gradients"}, {"their weight gradients"}, {"the rest"}};
    for (ps::TracedStep const& step : trace.steps) {
        ps::AnyLayer const& layer = graph[graph.find(step.layer)].layer;
        const std::size_t pass = step.operations == 0                                          ? 3
                                 : std::holds_alternative<ps::ConvInputGradientParams>(layer)  ? 1
                                 : std::holds_alternative<ps::ConvWeightGradientParams>(layer) ? 2
                                                                                               : 0;
        passes[pass].seconds += step.median;
        passes[pass].predicted += step.predicted;
        passes[pass].operations += step.operations;
    }
    return passes;
}
/// Their share of what the cores can multiply and add, counting the operations of the direct algorithm.
double share_of_peak(PassTime const& pass, double peak) {
    return pass.seconds > 0 ? pass.operations / pass.seconds / peak : 0;
}
std::string text_of(std::vector<PassTime> const& passes, double peak) {
    ps::TextTable table;
    table.add({"", "measured ms", "predicted ms", "GFLOP/s", "of the FMA peak"});
    for (PassTime const& pass : passes) {
        std::vector<std::string> line{pass.name, ps::milliseconds(pass.seconds), ps::milliseconds(pass.predicted)};
        if (pass.operations > 0) {
            line.push_back(std::to_string(std::lround(pass.operations / pass.seconds * 1e-9)));
            line.push_back(ps::join(std::lround(100 * share_of_peak(pass, peak)), " %"));
        } else {
            line.insert(line.end(), {"", ""});
        }
        table.add(std::move(line));
    }
    return table.text();
}
ps::Json json_of(std::vector<PassTime> const& passes, double peak) {
    ps::Json::Array all;
    for (PassTime const& pass : passes) {
        all.push_back(ps::Json::Object{{"pass", pass.name},
                                       {"measured_ms", pass.seconds * 1e3},
                                       {"predicted_ms", pass.predicted * 1e3},
                                       {"share_of_fma_peak", share_of_peak(pass, peak)}});
    }
    return all;
}

/// The share of what the machine gives at most that a step comes to: of its arithmetic or its memory, whichever is
/// more.
double share_of_limits(ps::TracedStep const& step, ps::show::Limits const& limits) {
    const double operations = step.operations / limits.operations_in(step.precision);
    return step.median > 0 ? std::max(operations, step.bytes / limits.bytes) / step.median : 0;
}
/// The steps, those first that lose the most time beside the machine's limits.
std::vector<ps::TracedStep> worst_first(std::vector<ps::TracedStep> steps, ps::show::Limits const& limits) {
    std::ranges::stable_sort(steps, std::greater{}, [&](ps::TracedStep const& step) {
        return step.median * std::max(0.0, 1 - share_of_limits(step, limits));
    });
    return steps;
}
std::string text_of(std::vector<ps::TracedStep> const& steps, ps::show::Limits const& limits) {
    ps::TextTable table;
    table.add({"layer", "computed by", "precision", "measured ms", "predicted ms", "of the peak"});
    for (ps::TracedStep const& step : steps) {
        table.add({step.layer, step.computed_by, std::string(to_string_view(step.precision)),
                   ps::milliseconds(step.median), ps::milliseconds(step.predicted),
                   ps::join(std::lround(100 * share_of_limits(step, limits)), " %")});
    }
    return table.text();
}
ps::Json json_of(std::vector<ps::TracedStep> const& steps, ps::show::Limits const& limits) {
    ps::Json::Array rows;
    for (ps::TracedStep const& step : steps) {
        rows.push_back(ps::Json::Object{{"layer", step.layer},
                                        {"computed_by", step.computed_by},
                                        {"precision", to_string_view(step.precision)},
                                        {"measured_ms", step.median * 1e3},
                                        {"predicted_ms", step.predicted * 1e3},
                                        {"share_of_peak", share_of_limits(step, limits)}});
    }
    return rows;
}

/// The convolutions of a precision: their time, and their share of what the cores can multiply and add in it.
std::string precisions_of(std::vector<ps::TracedStep> const& steps, ps::show::Limits const& limits) {
    ps::TextTable table;
    table.add({"convolutions in", "steps", "measured ms", "Gop/s", "of its peak"});
    for (const ps::Precision precision : ps::all_precisions) {
        double seconds = 0, operations = 0;
        std::size_t count = 0;
        for (ps::TracedStep const& step : steps) {
            if (step.precision != precision || step.operations == 0) continue;
            seconds += step.median, operations += step.operations, ++count;
        }
        if (count == 0) continue;
        table.add({std::string(to_string_view(precision)), std::to_string(count), ps::milliseconds(seconds),
                   std::to_string(std::lround(operations / seconds * 1e-9)),
                   ps::join(std::lround(100 * operations / seconds / limits.operations_in(precision)), " %")});
    }
    return table.text();
}

void trace(TraceOptions const& options) {
    const Model model = load_to_plan(options);
    const ps::Plan plan = plan_for(model, options.planning, options.threads);
    Session session(model, plan, options.threads);
    for (std::size_t i = 0; i < session.inputs(); ++i) session.fill_randomly(i, options.model.seed);
    const ps::Trace trace = ps::trace_run(session.program(), {model.simplified, kernels_of(model), plan},
                                          session.srcs(), session.dsts(), session.executor(), options.runs);
    const bool picture = options.out.ends_with(".svg");
    const double cores = static_cast<double>(options.threads);
    // Measured by the kernels' own unit: the commands are compiled with less optimisation.
    ps::Machine const& machine = kernels().machine(1);
    const ps::show::Limits limits{.operations = cores * machine.fma_flops,
                                  .bytes = cores * machine.bandwidth.back(),
                                  .bf16_operations = cores * machine.bf16_flops,
                                  .int8_operations = cores * machine.int8_flops};
    if (!options.out.empty()) {
        ps::write_file(options.out, picture ? ps::show::to_svg(trace, limits) : ps::to_chrome_trace(trace));
    }
    const std::vector<ps::TracedStep> steps = worst_first(trace.steps, limits);
    std::vector<PassTime> passes;
    if (!model.backward.empty()) passes = times_of_passes(trace, model.simplified);
    if (options.json) {
        ps::Json::Object json{{"model", model.name},
                              {"threads", options.threads},
                              {"runs", options.runs},
                              {"steps", trace.steps.size()},
                              {"blocks", trace.blocks.size()},
                              {"measured_ms", trace.seconds * 1e3},
                              {"predicted_ms", trace.predicted * 1e3},
                              {"rows", json_of(steps, limits)},
                              {"file", options.out.empty() ? ps::Json() : ps::Json(options.out)}};
        if (!passes.empty()) json.emplace_back("passes", json_of(passes, limits.operations));
        return print_json(std::move(json));
    }
    print(text_of(steps, limits));
    if (std::ranges::any_of(steps, [](auto const& step) { return step.precision != ps::Precision::float32; })) {
        print(precisions_of(steps, limits));
    }
    print_line(trace.steps.size(), " steps in ", ps::milliseconds(trace.seconds), " ms, predicted ",
               ps::milliseconds(trace.predicted), " ms; medians of ", options.runs, " runs");
    if (!options.out.empty()) {
        print_line(options.out, picture ? "" : ", for chrome://tracing or ui.perfetto.dev",
                   ": the run of the median time");
    }
    if (!passes.empty()) print(text_of(passes, limits.operations));
}

}  // namespace

void add_trace(CLI::App& app) {
    const auto options = std::make_shared<TraceOptions>();
    CLI::App& command = *app.add_subcommand(
        "trace", "Where the time of a run goes: each layer beside its prediction and the machine's peak");
    add_options(command, *options, SavedPlan::instead);
    add_training_option(command, *options);
    command.add_option("--runs", options->runs, "Timed runs, after one to warm up (default 15)")
        ->check(CLI::Range(1, 100'000))
        ->type_name("R");
    command.add_option("--out", options->out, "One run: Chrome trace events, or a picture of where the time goes")
        ->check(writable_file)
        ->type_name("F.json|F.svg");
    command.callback([options] { trace(*options); });
}

}  // namespace cli
