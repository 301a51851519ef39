// primsel forecast NET: what a network will take, here or on a device of which measurements exist.
#include "commands.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "session.hpp"
#include "text.hpp"

#include <primsel/core/text_table.hpp>
#include <primsel/forecast/engine_forecast.hpp>
#include <primsel/forecast/forecaster.hpp>
#include <primsel/forecast/forecaster_file.hpp>
#include <primsel/forecast/measure_network.hpp>
#include <primsel/forecast/network_profile_file.hpp>
#include <primsel/forecast/thinned.hpp>
#include <primsel/machine/machine.hpp>
#include <primsel/version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cli {
namespace {

struct ForecastCommand {
    ModelOptions model;
    bool training = false, json = false;
    std::string device, fit, save, profile;
    std::size_t runs = 0;
    std::vector<double> levels{0, 30, 50, 70, 90};
    std::vector<int> batches;
    std::vector<std::string> strategies{"random"};
    std::size_t max_memory = std::numeric_limits<std::size_t>::max();
};

/// A time and bytes, each with one standard deviation; nothing where it is not known.
struct Forecast {
    std::optional<double> seconds, seconds_off, bytes, bytes_off;
    std::optional<ps::forecast::MemoryForecast> memory;
};

ps::Json number_or_null(std::optional<double> value, double factor = 1) {
    return value ? ps::Json(*value * factor) : ps::Json();
}
ps::Json to_json(ForecastCommand const& options, ps::Graph const& graph, Forecast const& of) {
    ps::Json parts;
    if (of.memory) {
        parts = ps::Json::Object{{"arena", of.memory->arena},
                                 {"packed", of.memory->packed},
                                 {"weights", of.memory->weights},
                                 {"results", of.memory->results},
                                 {"optimizer", of.memory->optimizer}};
    }
    return ps::Json::Object{{"model", options.model.net},
                            {"batch", graph.batch()},
                            {"pass", options.training ? "training" : "inference"},
                            {"device", options.device.empty() ? ps::Json() : ps::Json(options.device)},
                            {"ms", number_or_null(of.seconds, 1e3)},
                            {"ms_deviation", number_or_null(of.seconds_off, 1e3)},
                            {"bytes", number_or_null(of.bytes)},
                            {"bytes_deviation", number_or_null(of.bytes_off)},
                            {"memory", std::move(parts)}};
}
std::string text_of(ForecastCommand const& options, ps::Graph const& graph, Forecast const& of) {
    std::string text = ps::join(options.model.net, ", batch ", graph.batch(), ", ",
                                options.training ? "a step of training" : "a run", ":\n");
    if (of.seconds) {
        text += ps::join("  time    ", ps::milliseconds(*of.seconds), " ms");
        if (of.seconds_off) text += ps::join(" +- ", ps::milliseconds(*of.seconds_off), " ms");
        text += '\n';
    }
    if (of.bytes) {
        text += "  memory  " + megabytes(static_cast<std::size_t>(*of.bytes));
        if (of.bytes_off && *of.bytes_off > 0) text += " +- " + megabytes(static_cast<std::size_t>(*of.bytes_off));
        if (of.memory) {
            text +=
                ps::join(": arena ", megabytes(of.memory->arena), ", packed weights ", megabytes(of.memory->packed));
            if (options.training) {
                text += ps::join(", weights ", megabytes(of.memory->weights), ", results and gradients ",
                                 megabytes(of.memory->results), ", optimiser ", megabytes(of.memory->optimizer));
            }
        }
        text += '\n';
    }
    return text;
}

/// By the plan of an engine or trainer of this library.
Forecast of_engine(ForecastCommand const& options, ps::Graph const& graph) {
    const ps::forecast::EngineForecast forecast =
        options.training ? ps::forecast::forecast_training(graph, {.batch = graph.batch()}, {.momentum = 0.9})
                         : ps::forecast::forecast_inference(graph);
    Forecast of{.seconds = forecast.seconds,
                .seconds_off = std::nullopt,
                .bytes = static_cast<double>(forecast.memory.total()),
                .bytes_off = 0.0,
                .memory = forecast.memory};
    if (options.runs > 0) {
        std::vector<double> seconds;
        for (std::size_t i = 0; i < options.runs; ++i) {
            const ps::forecast::NetworkMeasurement measured = ps::forecast::measure_network(
                graph, {.training = options.training, .runs = 1, .max_bytes = options.max_memory});
            if (measured.outcome == ps::forecast::NetworkMeasurement::Outcome::too_large) {
                ps::fail("--runs: would hold ", megabytes(measured.forecast_bytes), ", more than --max-memory");
            }
            if (measured.outcome != ps::forecast::NetworkMeasurement::Outcome::measured)
                ps::fail("--runs: a run failed");
            seconds.push_back(measured.seconds);
        }
        const ps::forecast::Estimate corrected = ps::forecast::corrected_by(forecast.seconds, seconds);
        of.seconds = corrected.value, of.seconds_off = corrected.deviation;
    }
    return of;
}

Forecast of_device(ForecastCommand const& options, ps::Graph const& graph) {
    const ps::forecast::Forecaster<> device = ps::forecast::read_forecaster(options.device);
    const std::string pass = options.training ? "training" : "inference";
    if (const auto of = device.about.find("pass"); of != device.about.end() && of->second != pass) {
        ps::fail("--device ", options.device, ": was learned from ", of->second, ", not ", pass);
    }
    const ps::forecast::NetworkForecast forecast = device.forecast(graph, graph.batch());
    Forecast of;
    if (forecast.seconds) of.seconds = forecast.seconds->value, of.seconds_off = forecast.seconds->deviation;
    if (forecast.bytes) of.bytes = forecast.bytes->value, of.bytes_off = forecast.bytes->deviation;
    return of;
}

// --- a table of measurements

ps::forecast::ProfileKey key_of(ForecastCommand const& options, ps::Shape const& image, ps::forecast::Thinning thinning,
                                int batch) {
    return {.network = options.model.net,
            .height = image.h,
            .width = image.w,
            .thinning = std::move(thinning),
            .batch = batch,
            .training = options.training};
}

void profile(ForecastCommand const& options) {
    ps::forecast::NetworkProfileFile file(
        options.profile,
        {{"arch", std::string(kernels().arch)}, {"cpu", ps::cpu_name()}, {"version", std::string(ps::version)}});
    const std::vector<int> batches = options.batches.empty() ? std::vector<int>{1, 4, 16} : options.batches;
    Progress progress("measuring", options.strategies.size() * options.levels.size() * batches.size());
    std::size_t here = 0;
    for (const int batch : batches) {
        ModelOptions of = options.model;
        of.batch = batch;
        const ps::Graph graph = graph_of(open_model(of));
        for (std::string const& strategy : options.strategies) {
            for (const double level : options.levels) {
                progress.tick();
                const ps::forecast::Thinning thinning{level / 100, strategy, options.model.seed};
                const ps::forecast::ProfileKey key = key_of(options, graph[graph.input()].shape, thinning, batch);
                if (ps::forecast::has_row(file.rows(), key)) continue;
                file.append({key, ps::forecast::measure_network(ps::forecast::thinned(graph, thinning),
                                                                {.training = options.training,
                                                                 .runs = options.runs == 0 ? 5 : options.runs,
                                                                 .max_bytes = options.max_memory})});
                ++here;
            }
        }
    }
    if (options.json) {
        return print_json(
            ps::Json::Object{{"file", options.profile}, {"measured", here}, {"rows", file.rows().size()}});
    }
    print_line(options.profile, ": ", here, " rows more, ", file.rows().size(), " in all");
}

void fit(ForecastCommand const& options) {
    std::map<std::string, std::string> about;
    const ps::SharedBytes table = ps::read_file(options.fit);
    const std::vector<ps::forecast::ProfileRow> rows =
        ps::forecast::parse_network_profile(options.fit, table.text(), about);
    std::vector<ps::forecast::ProfiledNetwork> profile;
    std::map<std::string, std::vector<ps::forecast::ConvSizes>> known;
    for (ps::forecast::ProfileRow const& row : rows) {
        ps::forecast::ProfileKey const& key = row.key;
        if (key.training != options.training ||
            row.measured.outcome != ps::forecast::NetworkMeasurement::Outcome::measured)
            continue;
        ps::forecast::ProfileKey network = key;
        network.batch = 1;
        std::vector<ps::forecast::ConvSizes>& sizes = known[ps::forecast::NetworkProfileFormat::line({network, {}})];
        if (sizes.empty()) {
            ModelOptions of;
            of.net = key.network, of.batch = 1, of.size = Size{key.height, key.width};
            sizes = ps::forecast::conv_sizes(ps::forecast::thinned(graph_of(open_model(of)), key.thinning));
        }
        const double none = std::numeric_limits<double>::quiet_NaN(),
                     bytes = static_cast<double>(row.measured.resident_bytes);
        profile.push_back({ps::forecast::network_load(sizes, key.batch),
                           row.measured.seconds > 0 ? row.measured.seconds : none, bytes > 0 ? bytes : none});
    }
    const std::string pass = options.training ? "training" : "inference";
    if (profile.empty()) ps::fail("--fit ", options.fit, ": has no measured row of ", pass);
    ps::forecast::Forecaster<> device = ps::forecast::Forecaster<>::fit(profile);
    device.about = about;
    device.about["pass"] = pass;
    ps::forecast::write_forecaster(options.save, device);
    if (options.json) return print_json(ps::Json::Object{{"file", options.save}, {"rows", profile.size()}});
    print_line(options.save, ": learned from ", profile.size(), " rows");
}

void forecast(ForecastCommand const& options) {
    if (!options.fit.empty()) return fit(options);
    if (options.model.net.empty()) throw CLI::RequiredError("NET");
    if (!options.profile.empty()) return profile(options);
    const ps::Graph graph = graph_of(open_model(options.model));
    const Forecast of = options.device.empty() ? of_engine(options, graph) : of_device(options, graph);
    if (options.json) return print_json(to_json(options, graph, of));
    print(text_of(options, graph, of));
}

}  // namespace

void add_forecast(CLI::App& app) {
    const auto options = std::make_shared<ForecastCommand>();
    CLI::App& command = *app.add_subcommand(
        "forecast", "What a run or a step of training will take, in time and memory, before it runs");
    add_model_options(command, options->model);
    command.get_option("NET")->required(false);
    command.add_flag("--training", options->training, "A step of training with momentum, in place of a run");
    CLI::Option* const device =
        command.add_option("--device", options->device, "On a device, by what --fit learned of it; here without")
            ->type_name("FILE");
    CLI::Option* const runs =
        command
            .add_option("--runs", options->runs,
                        "Correct the time by so many runs here; with --profile, as many of each network (default 5)")
            ->check(CLI::Range(1, 1000))
            ->type_name("N");
    CLI::Option* const profile =
        command
            .add_option("--profile", options->profile,
                        "Measure the network here, thinned and at several batches, in a process each; what is in the "
                        "table already is not measured again")
            ->type_name("F.csv");
    command.add_option("--levels", options->levels, "The percents of filters that go (default 0,30,50,70,90)")
        ->expected(1, 100)
        ->delimiter(',')
        ->check(number_range(0.0, 99.0))
        ->needs(profile)
        ->type_name("X,...");
    command.add_option("--batches", options->batches, "Images that run together (default 1,4,16)")
        ->expected(1, 100)
        ->delimiter(',')
        ->check(CLI::Range(1, 1 << 20))
        ->needs(profile)
        ->type_name("N,...");
    command
        .add_option("--strategies", options->strategies,
                    "Which filters go: random (default), l1, early, middle, late, mixed")
        ->expected(1, 6)
        ->delimiter(',')
        ->check(CLI::IsMember(std::vector<std::string>(ps::forecast::thinning_strategies.begin(),
                                                       ps::forecast::thinning_strategies.end())))
        ->needs(profile)
        ->type_name("NAME,...");
    command
        .add_option_function<std::string>(
            "--max-memory",
            [options](std::string const& text) {
                try {
                    options->max_memory = parse_bytes(text);
                } catch (CLI::ValidationError const&) {  // which names another option
                    throw CLI::ValidationError("--max-memory", "expected bytes, as 64K, 1.5M or 2G, not " + text);
                }
            },
            "What is forecast to hold more is not run; K, M and G stand for powers of 1024")
        ->type_name("BYTES");
    CLI::Option* const fit =
        command.add_option("--fit", options->fit, "Learn from such a table")->type_name("F.csv")->excludes(profile);
    CLI::Option* const save =
        command.add_option("--save", options->save, "Where --fit writes what it learned, for --device")
            ->check(writable_file)
            ->needs(fit)
            ->type_name("FILE");
    fit->needs(save);
    for (CLI::Option* const other : {runs, profile, fit}) device->excludes(other);
    command.add_flag("--json", options->json, "Print one JSON object");
    command.callback([options, &command] {
        const bool fits = !options->fit.empty(), profiles = !options->profile.empty();
        const char* const no_fit = "to stand without --fit, whose table names its networks";
        refuse_idle(command, {{"NET", fits, no_fit},
                              {"--batch", fits, no_fit},
                              {"--size", fits, no_fit},
                              {"--dims", fits, no_fit},
                              {"--runs", fits, "to stand without --fit, whose table has the times"},
                              {"--batch", profiles, "to stand without --profile, which takes --batches"},
                              {"--seed", !profiles, "--profile"},
                              {"--weights", true, "a network that computes; forecasts depend on its layers alone"},
                              {"--max-memory", !profiles && options->runs == 0, "--profile or --runs"}});
        forecast(*options);
    });
}

}  // namespace cli
