#include "program_trials.hpp"
#include "session.hpp"
#include "sweep_trials.hpp"

#include <primsel/core/statistics.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/engine/trace.hpp>

#include <algorithm>
#include <memory>
#include <vector>

namespace cli {
namespace {

/// The median of runs for a fifth of a second, nine at least, after one to warm up.
double median_seconds(Session& session) {
    constexpr double enough = 0.2;
    session.run();
    std::vector<double> seconds;
    for (const ps::Timer all; seconds.size() < 9 || (all.seconds() < enough && seconds.size() < 1000);) {
        const ps::Timer timer;
        session.run();
        seconds.push_back(timer.seconds());
    }
    return ps::median(seconds);
}

}  // namespace

std::string network_file(std::string const& folder, std::uint64_t trial) {
    return ps::join(folder, "/trial-", trial, ".onnx");
}

std::string machine_name() { return ps::join(ps::cpu_name(), ", ", std::string_view(kernels().arch)); }

ps::search::TrialMeasurement measure_network(std::string const& file, SweepCommand const& options) {
    if (!options.measure_command.empty()) return measure_by_command(options.measure_command, file);
    constexpr int together = 8;
    const auto session_of = [&](Model const& model, ps::Plan const& plan) {
        auto session = std::make_unique<Session>(model, plan, options.threads);
        for (std::size_t i = 0; i < session->inputs(); ++i) session->fill_randomly(i, options.model.seed);
        return session;
    };
    ModelOptions which;
    which.net = file;
    which.batch = options.model.batch == 0 ? 1 : 0;
    const Model model = load_model(which);
    PlanningOptions planning = options.planning;
    for (auto const& [key, value] : model.signature.metadata) {
        if (key == precision_key) planning.precision = precision_of(value).value_or(planning.precision);
    }
    const ps::Plan plan = plan_for(model, planning, options.threads);
    ps::search::TrialMeasurement measured{.predicted = plan.total_seconds * 1e3, .machine = machine_name()};
    {
        const auto session = session_of(model, plan);
        measured.milliseconds = median_seconds(*session) * 1e3;
        const ps::Trace trace = ps::trace_run(session->program(), {model.simplified, kernels_of(model), plan},
                                              session->srcs(), session->dsts(), session->executor(), 9);
        for (ps::TracedStep const& step : trace.steps) {
            const auto known =
                std::ranges::find_if(measured.layers, [&](auto const& layer) { return layer.first == step.layer; });
            if (known != measured.layers.end()) {
                known->second += step.median * 1e3;
            } else {
                measured.layers.emplace_back(step.layer, step.median * 1e3);
            }
        }
    }
    if (options.model.batch != 0) {
        measured.images_per_second = options.model.batch / (measured.milliseconds * 1e-3);
        return measured;
    }
    which.batch = together;
    const Model several = load_model(which);
    const auto session = session_of(several, plan_for(several, planning, options.threads));
    measured.images_per_second = together / median_seconds(*session);
    return measured;
}

}  // namespace cli
