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
#include <primsel/forecast/measured_networks.hpp>
#include <primsel/forecast/network_profile_file.hpp>
#include <primsel/forecast/thinned.hpp>
#include <primsel/machine/machine.hpp>
#include <primsel/version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <filesystem>
#include <limits>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cli {
namespace {

struct ForecastCommand {
    ModelOptions model;
    bool training = false, json = false;
    std::string device, fit, save, profile, layers, method = "chosen";
    std::size_t runs = 0, threads = 1;
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
        options.training
            ? ps::forecast::forecast_training(graph, {.batch = graph.batch()}, {.momentum = 0.9}, options.threads)
            : ps::forecast::forecast_inference(graph, options.threads);
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

// --- learning from a table

using Profile = std::vector<ps::forecast::ProfiledNetwork>;

/// Reads the layers of networks, each once.
class KnownGraphs {
public:
    ps::Graph const& operator()(std::string const& net, std::optional<Size> size,
                                ps::forecast::Thinning const& thinning) {
        const std::string key = ps::join(net, ' ', size ? size->h : 0, ' ', size ? size->w : 0, ' ', thinning.level,
                                         ' ', thinning.strategy, ' ', thinning.seed);
        const auto found = graphs_.find(key);
        if (found != graphs_.end()) return found->second;
        ModelOptions of;
        of.net = net, of.batch = 1, of.size = size;
        return graphs_.emplace(key, ps::forecast::thinned(graph_of(open_model(of)), thinning)).first->second;
    }

private:
    std::map<std::string, ps::Graph> graphs_;
};

/// The measured rows of this program's own table.
Profile own_profile(ForecastCommand const& options, std::string_view text, std::map<std::string, std::string>& about) {
    Profile profile;
    KnownGraphs graphs;
    for (ps::forecast::ProfileRow const& row : ps::forecast::parse_network_profile(options.fit, text, about)) {
        ps::forecast::ProfileKey const& key = row.key;
        if (key.training != options.training ||
            row.measured.outcome != ps::forecast::NetworkMeasurement::Outcome::measured)
            continue;
        ps::Graph const& graph = graphs(key.network, Size{key.height, key.width}, key.thinning);
        const double none = std::numeric_limits<double>::quiet_NaN(),
                     bytes = static_cast<double>(row.measured.resident_bytes);
        profile.push_back({ps::forecast::network_load(graph, key.batch, key.training),
                           row.measured.seconds > 0 ? row.measured.seconds : none, bytes > 0 ? bytes : none});
    }
    return profile;
}
/// A plain table's. Files are where its lines say, from here or from the folder of the table.
Profile plain_profile(ForecastCommand const& options, std::string_view text,
                      std::map<std::string, std::string>& about) {
    Profile profile;
    KnownGraphs graphs;
    const std::filesystem::path folder = std::filesystem::path(options.fit).parent_path();
    for (ps::forecast::MeasuredNetwork const& row :
         ps::parse_table<ps::forecast::MeasuredNetworkFormat>(options.fit, text, about)) {
        const std::filesystem::path beside = folder / row.network;
        const bool here = std::filesystem::exists(row.network) || !std::filesystem::exists(beside);
        ps::Graph const& graph = graphs(here ? row.network : beside.string(), std::nullopt, {});
        profile.push_back({ps::forecast::network_load(graph, row.batch, options.training), row.seconds, row.bytes});
    }
    return profile;
}
Profile read_profile(ForecastCommand const& options, std::map<std::string, std::string>& about) {
    const ps::SharedBytes table = ps::read_file(options.fit);
    const std::string_view text = table.text();
    if (!options.layers.empty()) {
        const ps::SharedBytes layers = ps::read_file(options.layers);
        Profile profile;
        for (ps::forecast::ProfiledLevel& row :
             ps::forecast::join_levels(options.layers, layers.text(), options.fit, text, options.training)) {
            profile.push_back(std::move(row.profile));
        }
        return profile;
    }
    std::map<std::string, std::string> ignored;
    ps::core::CsvLines lines(text, ignored);
    std::string_view columns;
    const bool some = lines.next(columns);
    if (some && columns == ps::forecast::MeasuredNetworkFormat::columns) return plain_profile(options, text, about);
    if (some && columns == ps::forecast::MeasuredLevelFormat::columns)
        ps::fail("--fit ", options.fit, ": needs --layers, the table of its networks' convolutions");
    if (some && columns != ps::forecast::NetworkProfileFormat::columns)
        ps::fail("--fit ", options.fit, ": its columns are none of ", ps::forecast::MeasuredNetworkFormat::columns,
                 "; ", ps::forecast::MeasuredLevelFormat::columns, " (with --layers); ",
                 ps::forecast::NetworkProfileFormat::columns);
    return own_profile(options, text, about);
}

ps::Json to_json(auto const& model) {
    if (!model) return {};
    ps::Json::Array errors;
    for (ps::forecast::ValidatedError const& error : model->errors()) {
        const auto known = [](double value) { return ps::is_nan(value) ? ps::Json() : ps::Json(value); };
        errors.push_back(ps::Json::Object{{"model", std::string(error.kind)},
                                          {"other_networks", known(error.other_networks)},
                                          {"other_widths", known(error.other_widths)}});
    }
    return ps::Json::Object{{"model", std::string(model->chosen())}, {"errors", std::move(errors)}};
}
std::string errors_text(std::string_view what, auto const& model) {
    if (!model) return "";
    const auto percent = [](double value) {
        std::array<char, 16> text{};
        std::snprintf(text.data(), text.size(), "%.1f %%", 100 * value);
        return ps::is_nan(value) ? std::string("-") : std::string(text.data());
    };
    ps::TextTable table;
    table.add({std::string(what), "another network", "another width"});
    for (ps::forecast::ValidatedError const& error : model->errors()) {
        const bool chosen = error.kind == model->chosen();
        table.add({ps::join("  ", error.kind, chosen ? " (taken)" : ""), percent(error.other_networks),
                   percent(error.other_widths)});
    }
    return table.text();
}

void fit(ForecastCommand const& options) {
    using Device = ps::forecast::Forecaster<>;
    std::map<std::string, std::string> about;
    const Profile profile = read_profile(options, about);
    const std::string pass = options.training ? "training" : "inference";
    if (profile.empty()) ps::fail("--fit ", options.fit, ": has no measured row of ", pass);
    Device device = options.method == "forest" ? Device::fit_only<ps::forecast::NetworkForest>(profile)
                    : options.method == "sum"  ? Device::fit_only<ps::forecast::CorrectedSum>(profile)
                                               : Device::fit(profile);
    device.about = about;
    device.about["pass"] = pass;
    ps::forecast::write_forecaster(options.save, device);
    if (options.json) {
        return print_json(ps::Json::Object{{"file", options.save},
                                           {"rows", profile.size()},
                                           {"time", to_json(device.time())},
                                           {"memory", to_json(device.memory())}});
    }
    print_line(options.save, ": learned from ", profile.size(), " rows");
    print(errors_text("time, mean error in cross-validation", device.time()));
    print(errors_text("memory, mean error in cross-validation", device.memory()));
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
        command
            .add_option("--fit", options->fit,
                        "Learn from such a table, or one of the columns network,batch,seconds,bytes: a network's file "
                        "or name, its batch, and what a run (or with --training a step) took; an empty cell is unknown")
            ->type_name("F.csv")
            ->excludes(profile);
    CLI::Option* const layers =
        command
            .add_option(
                "--layers", options->layers,
                "perf4sight's table of convolutions; --fit is then its table network,level,bs,latency_ms,memory_mb")
            ->needs(fit)
            ->type_name("F.csv");
    CLI::Option* const method =
        command
            .add_option(
                "--model", options->method,
                "What learns: chosen (default), the best of all in cross-validation; forest, the paper's random "
                "forest on its 42 features; sum, a sum of these features")
            ->check(CLI::IsMember({"chosen", "forest", "sum"}))
            ->needs(fit)
            ->type_name("NAME");
    CLI::Option* const save =
        command.add_option("--save", options->save, "Where --fit writes what it learned, for --device")
            ->check(writable_file)
            ->needs(fit)
            ->type_name("FILE");
    fit->needs(save);
    add_threads_option(command, options->threads, "Threads of a run here");
    CLI::Option* const threads = command.get_option("--threads");
    for (CLI::Option* const other : {runs, profile, fit, layers, method, threads}) device->excludes(other);
    // These measure runs on one thread.
    for (CLI::Option* const other : {runs, profile, fit}) threads->excludes(other);
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
