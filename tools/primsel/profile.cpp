// primsel profile --out profile.csv [--layouts-out layouts.csv]: times every primitive on the convolutions of the
// networks, row by row, and goes on where it was stopped; or has them timed, through a queue.
#include "commands.hpp"
#include "op_times.hpp"
#include "options.hpp"
#include "profiling.hpp"
#include "progress.hpp"
#include "session.hpp"
#include "sweep_trials.hpp"
#include "text.hpp"

#include <primsel/core/read_number.hpp>
#include <primsel/core/timer.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <csignal>
#include <memory>
#include <set>
#include <string_view>
#include <utility>

namespace cli {
namespace {

/// "90", "60s", "30m", "2h". Throws CLI::ValidationError for anything else.
double parse_seconds(std::string const& text) {
    double value = 0;
    const std::string_view all = text, units = "smh";
    const std::size_t unit = all.empty() ? units.npos : units.find(all.back());
    const double seconds = unit == 1 ? 60 : unit == 2 ? 3600 : 1;
    const bool is_number = ps::read_number(all.substr(0, all.size() - (unit == units.npos ? 0 : 1)), value);
    if (!is_number || !(value > 0 && value < 1e9)) {
        throw CLI::ValidationError("--budget", "expected a time, as 90, 60s, 30m or 2h, not " + text);
    }
    return value * seconds;
}

volatile std::sig_atomic_t stop_asked = 0;

/// While it lives, the first SIGINT or SIGTERM asks to stop and the second ends the program.
class StopSignals {
public:
    StopSignals() {
        struct sigaction action {};
        action.sa_handler = [](int) { stop_asked = 1; };
        action.sa_flags = static_cast<int>(SA_RESETHAND | SA_RESTART);
        sigaction(SIGINT, &action, &before_[0]);
        sigaction(SIGTERM, &action, &before_[1]);
    }
    StopSignals(StopSignals const&) = delete;
    StopSignals& operator=(StopSignals const&) = delete;
    ~StopSignals() {
        sigaction(SIGINT, &before_[0], nullptr);
        sigaction(SIGTERM, &before_[1], nullptr);
    }

private:
    struct sigaction before_[2];
};

int percent(double share) { return static_cast<int>(std::lround(100 * share)); }

bool is_stopped() { return stop_asked != 0; }

/// Rows of the table that its file does not have yet, until the time is over or a signal comes.
void append(Profiling& profiling, ProfilingTable& table, ProfilingOptions const& options, ps::Timer const& whole,
            ProgressLine& progress) {
    ps::learn::DatasetFile file(table.path, table.header);
    if (const double known = reference_ns_of(table.path, file, options); known > 0) {
        profiling.profiler().set_nominal(known * 1e-9);
    }
    for (auto const& row : table.rows) table.done += file.contains(row) ? 1U : 0U;
    const ps::Timer timer;
    for (auto const& row : table.rows) {
        if (is_stopped() || whole.seconds() > options.budget) break;
        if (file.contains(row)) continue;
        file.append(row, profiling.measure(row));
        ++table.done;
        ++table.now;
        const double left =
            timer.seconds() / static_cast<double>(table.now) * static_cast<double>(table.rows.size() - table.done);
        progress.show(ps::join(table.what, ": ", table.done, " of ", table.rows.size(), ", ",
                               percent(profiling.profiler().quiet_share()), " % of runs undisturbed, ",
                               duration(std::min(left, options.budget - whole.seconds())), " left"));
    }
}

void profile(ProfilingOptions const& options) {
    const StopSignals signals;
    const ps::Timer whole;
    std::vector<ProfilingTable> tables;
    std::set<std::string> workers;
    double quiet = 0;
    std::size_t runs = 0;
    if (!options.ops_out.empty())
        write_op_times(options.ops_out, networks_of(options.networks), options.ops_drawn, options.sample.seed);
    {
        Profiling profiling(chosen_primitives(options.training, options.primitives), options.measuring);
        if (options.reference_ns > 0) profiling.profiler().set_nominal(options.reference_ns * 1e-9);
        tables = tables_of(options, profiling);
        ProgressLine progress;
        for (ProfilingTable& table : tables) {
            if (options.queue.empty()) append(profiling, table, options, whole, progress);
        }
        quiet = profiling.profiler().quiet_share();
        runs = profiling.profiler().runs();
    }
    if (!options.queue.empty()) workers = hand_out(options, tables, is_stopped);
    const bool complete =
        std::ranges::all_of(tables, [](ProfilingTable const& table) { return table.done == table.rows.size(); });
    if (is_stopped() && !complete) {
        ps::fail("stopped with ", tables.back().done, " of ", tables.back().rows.size(), ' ', tables.back().what,
                 " in ", tables.back().path, "; the same command goes on from there");
    }
    if (options.json) {
        ps::Json::Array files;
        for (ProfilingTable const& table : tables) {
            files.push_back(ps::Json::Object{{"what", table.what},
                                             {"file", table.path},
                                             {"total", table.rows.size()},
                                             {"done", table.done},
                                             {"now", table.now}});
        }
        ps::Json::Object json{{"complete", complete}, {"seconds", whole.seconds()}};
        if (options.queue.empty()) {
            json.emplace_back("runs", runs);
            json.emplace_back("undisturbed", quiet);
        } else {
            json.emplace_back("workers", ps::Json::Array(workers.begin(), workers.end()));
        }
        json.emplace_back("files", std::move(files));
        return print_json(std::move(json));
    }
    for (ProfilingTable const& table : tables) {
        print_line(table.path, ": ", table.done, " of ", table.rows.size(), ' ', table.what, ", ", table.now,
                   " of them now");
    }
    std::string how = ps::join(runs, " runs, ", percent(quiet), " % of them undisturbed");
    if (!options.queue.empty()) how = ps::join("by ", workers.size(), " workers");
    print(ps::join(duration(whole.seconds()), ", ", how, complete ? "\n" : "; the same command goes on from there\n"));
}

}  // namespace

void add_profile(CLI::App& app) {
    const auto options = std::make_shared<ProfilingOptions>();
    CLI::App& command = *app.add_subcommand(
        "profile", "Time every primitive on the networks' convolutions, for cost models to learn from");
    command.add_option("--out", options->out, "Times of primitives; a file that is there is gone on with")
        ->required()
        ->type_name("F.csv");
    command.add_option("--layouts-out", options->layouts_out, "Times of changes of layout")->type_name("F.csv");
    command
        .add_option("--ops-out", options->ops_out,
                    "Times of the networks' other layers and of layers drawn at random, which are taken first")
        ->check(writable_file)
        ->type_name("F.csv");
    command.add_option("--ops-drawn", options->ops_drawn, "How many layers are drawn for --ops-out (default 1500)")
        ->check(CLI::Range(0, 1'000'000))
        ->type_name("N");
    command.add_option("--networks", options->networks, "Whose convolutions: names, or .onnx files (default all)")
        ->delimiter(',')
        ->type_name("NET,...");
    command
        .add_option_function<std::string>(
            "--size", [options](std::string const& text) { options->size = parse_size(text); },
            "Of the images of networks by name, where it is not their own")
        ->type_name("HxW");
    CLI::Option* const images =
        command.add_option("--images", options->measuring.images, "That a time is of (default 1, --training 32)");
    images->check(CLI::Range(1, 4096))->type_name("N");
    command.add_flag("--training", options->training,
                     "Time the primitives of a step of training, gradients among them, in a file of their own");
    command.add_option("--primitives", options->primitives, "Only these primitives and families (default all)")
        ->delimiter(',')
        ->type_name("ID,...");
    command
        .add_option_function<std::string>(
            "--budget", [options](std::string const& text) { options->budget = parse_seconds(text); },
            "Stop after that time: 90, 60s, 30m, 2h")
        ->type_name("TIME");
    command.add_option("--count", options->count, "Only the first so many configurations")
        ->check(CLI::Range(std::size_t{1}, std::size_t{1} << 40))
        ->type_name("N");
    command.add_option("--seed", options->sample.seed, "Draws the order of configurations (default 1)")->type_name("S");
    command
        .add_option("--max-operations", options->sample.max_operations,
                    "Leave out larger convolutions, at two operations a multiply-add (default 5e9)")
        ->check(positive_number)
        ->type_name("X");
    CLI::Option* const mixed =
        command.add_flag("--mixed", options->mixed, "Draw from all configurations, not the networks' own ones first");
    command
        .add_flag("--telling", options->telling,
                  "First what tells most of the networks' layers to a model of another machine (see transfer)")
        ->excludes(mixed);
    command.add_option("--cpu", options->measuring.cpu, "The processor to run on (default the current one)")
        ->check(CLI::Range(0, 4095))
        ->type_name("N");
    command
        .add_option("--reference-ns", options->reference_ns,
                    "Times are for the speed at which the reference takes so long, as another profile's header says")
        ->check(positive_number)
        ->type_name("X");
    add_queue_options(command, options->queue, options->queue_name, options->lease);
    CLI::Option* const queue = command.get_option("--queue");
    queue->excludes(command.get_option("--budget"));
    command.add_option("--ahead", options->ahead, "Configurations that wait or are measured at once (default 64)")
        ->check(CLI::Range(1, 1'000'000))
        ->needs(queue)
        ->type_name("N");
    command
        .add_option("--tolerance", options->tolerance,
                    "The share by which reference and FMA peak of a worker's machine may differ (default 0.05)")
        ->check(number_range(0.0, 10.0))
        ->needs(queue)
        ->type_name("X");
    command.add_flag("--json", options->json, "Print one JSON object");
    command.callback([options, images, &command] {
        const bool only_files =
            !options->networks.empty() &&
            std::ranges::all_of(options->networks, [](auto const& net) { return net.ends_with(".onnx"); });
        refuse_idle(command, {{"--size", only_files, "a network by name"},
                              {"--queue-name", options->queue.empty(), "--queue"},
                              {"--lease", options->queue.empty(), "--queue"}});
        if (options->training && images->count() == 0) options->measuring.images = 32;
        options->sample.networks_first = !options->mixed;
        options->measuring.learn_seconds = 2;
        profile(*options);
    });
}

}  // namespace cli
