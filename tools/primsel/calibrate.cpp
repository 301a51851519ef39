// primsel calibrate NET: what measuring for some seconds changes about the plan, and keeps what was measured.
#include <primsel/measure/calibration_file.hpp>

#include "commands.hpp"
#include "options.hpp"
#include "session.hpp"
#include "text.hpp"

#include <CLI/CLI.hpp>

#include <cstdio>
#include <memory>

#include <unistd.h>

namespace cli {
namespace {

struct CalibrateCommand : Options {
    bool forget = false;
};

void calibrate(CalibrateCommand const& options) {
    const Model model = load_model(options.model);
    ps::measure::CalibrationFile calibration(kernels());
    if (options.forget && !calibration.path().empty()) {
        ::unlink(calibration.path().c_str());
        calibration = ps::measure::CalibrationFile(kernels());
    }
    const ps::measure::CalibratedPlan result = calibrate(model, options.planning, options.threads, calibration);
    const bool kept = calibration.write();
    if (options.json) {
        ps::Json::Array steps;
        for (ps::measure::RefineStep const& step : result.steps) {
            steps.push_back(ps::Json::Object{{"measurements", step.measurements},
                                             {"seconds", step.spent},
                                             {"predicted_ms", step.plan_seconds * 1e3}});
        }
        return print_json(ps::Json::Object{{"model", model.name},
                                           {"costs", result.plan.cost_model},
                                           {"known", result.known},
                                           {"settled", result.settled},
                                           {"file", kept ? ps::Json(calibration.path()) : ps::Json()},
                                           {"steps", std::move(steps)}});
    }
    char line[128];
    print_line(model.name, ", ", result.plan.cost_model, ", ", result.known, " times known from before");
    print("measured   seconds   the plan is believed to take\n");
    for (ps::measure::RefineStep const& step : result.steps) {
        std::snprintf(line, sizeof(line), "%8zu  %8.2f  %10.3f ms\n", step.measurements, step.spent,
                      step.plan_seconds * 1e3);
        print(line);
    }
    print(result.settled ? "nothing left to measure would pay\n" : "the time is used up: more of it could still pay\n");
    print_line(kept ? "kept in " + calibration.path() : "kept nowhere");
}

}  // namespace

void add_calibrate(CLI::App& app) {
    const auto options = std::make_shared<CalibrateCommand>();
    options->planning.calibration_seconds = 2;
    CLI::App& command = *app.add_subcommand(
        "calibrate", "Time what could change a network's plan (for 2 s, or --calibrate), and remember it for engines");
    add_options(command, *options, SavedPlan::refused);
    command.add_flag("--forget", options->forget, "Begin anew, without what was measured before");
    command.callback([options] { calibrate(*options); });
}

}  // namespace cli
