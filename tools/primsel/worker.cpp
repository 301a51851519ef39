// primsel worker --queue URL: does trials of a sweep, or measures parts of a profile, that another program hands out.
#include "commands.hpp"
#include "profiling.hpp"
#include "remote_queue.hpp"
#include "sweep_trials.hpp"
#include "text.hpp"

#include <primsel/search/run_sweep.hpp>

#include <CLI/CLI.hpp>

#include <unistd.h>

#include <memory>

namespace cli {
namespace {

struct WorkerCommand {
    std::string queue, queue_name = "primsel", name, measure_command;
    double lease = 60, patience = 60;
    int cpu = -1;
    bool measure = false;
    bool json = false;
};

/// The sweep that the queue is for, with its options.
SweepFile described(std::string const& about, CLI::App& command, SweepCommand& options) {
    const ps::JsonCursor at = ps::parse_json("the queue's sweep", about);
    add_sweep_options(command, options);
    options.file = at["file"].string();
    for (ps::JsonCursor::Member const& option : at["options"].members()) {
        std::vector<std::string> values;
        for (ps::JsonCursor const& value : option.value.elements()) values.push_back(value.string());
        set_option(command, "the queue's sweep", std::string(option.key), values);
    }
    return read_sweep(command, options.file, at["sweep"].string());
}

std::size_t work_on_sweep(std::string const& about, RemoteQueue& queue, ps::search::WorkOptions const& options) {
    CLI::App command;
    SweepCommand sweep;
    const SweepFile file = described(about, command, sweep);
    const ps::JsonCursor at = ps::parse_json("the queue's sweep", about);
    std::optional<double> threshold;
    if (const auto number = at.find("threshold")) threshold = number->number();
    const auto machine = at.find("machine");
    if (machine && !machine->string().empty() && machine->string() != machine_name()) {
        ps::fail("the sweep predicts latencies of ", machine->string(), ", and this machine is ", machine_name(),
                 ": its trials are not comparable; start another sweep here, with another --queue-name");
    }
    const std::unique_ptr<SweepTrials> trials = make_trials(sweep, file, threshold);
    const auto try_one = [&](ps::search::Trial& trial, auto const& goes_on) { (*trials)(trial, goes_on); };
    return ps::search::work(file.sweep, queue, options, try_one, [] { return false; });
}

/// Measures the trials that the sweep keeps, and does none.
std::size_t measure_trials(std::string const& about, WorkerCommand const& options, ps::search::WorkOptions const& how) {
    CLI::App command;
    SweepCommand sweep;
    (void)described(about, command, sweep);
    if (sweep.measure.empty()) ps::fail("--measure: the sweep has none measured; see primsel sweep --measure");
    if (!options.measure_command.empty()) sweep.measure_command = options.measure_command;
    RemoteQueue queue(options.queue, measuring_queue(options.queue_name), options.lease);
    const std::string here = ps::join(machine_name(), sweep.measure_command.empty() ? "" : ", ", sweep.measure_command);
    if (const std::string first = queue.keep_about(here); first != here) {
        ps::fail(queue.url(), ": networks are measured by ", first, ", and here it would be by ", here,
                 ": the times are not comparable; start another sweep, with another --queue-name");
    }
    const auto measure = [&](std::uint64_t trial) {
        return measure_network(network_file(sweep.measure, trial), sweep);
    };
    return ps::search::work_on_measurements(queue, how, measure, [] { return false; });
}

/// The description of the work that is handed out. A worker that is told no lease takes the queue's.
std::string wait_for_work(WorkerCommand& options, bool has_lease) {
    RemoteQueue queue(options.queue, options.queue_name, options.lease);
    std::string about = queue.about();
    for (double waited = 0; about.empty() && waited < options.patience; waited += 0.2) {
        ::usleep(200'000);
        about = queue.about();
    }
    if (about.empty()) {
        ps::fail(queue.url(), ": nothing is handed out under the name ", options.queue_name,
                 "; see primsel sweep --queue and primsel profile --queue");
    }
    if (!has_lease) options.lease = queue.kept_lease().value_or(options.lease);
    return about;
}

void work(WorkerCommand& options, bool has_lease) {
    const std::string about = wait_for_work(options, has_lease);
    RemoteQueue queue(options.queue, options.queue_name, options.lease);
    if (options.name.empty()) {
        char host[256] = "worker";
        ::gethostname(host, sizeof(host) - 1);
        options.name = ps::join(std::string(static_cast<const char*>(host)), '-', ::getpid());
    }
    const bool profiles = is_profile(about);
    const ps::search::WorkOptions how{
        .name = options.name, .renew_seconds = options.lease / 3, .patience = options.patience};
    if (profiles && options.measure) ps::fail("--measure: a profile is handed out there, and no sweep");
    const std::size_t counted = profiles          ? work_on_profile(about, queue, how, options.cpu)
                                : options.measure ? measure_trials(about, options, how)
                                                  : work_on_sweep(about, queue, how);
    const char* const what = profiles ? "parts" : "trials";
    if (options.json) return print_json(ps::Json::Object{{"worker", options.name}, {what, counted}});
    print_line(options.name, ": ", counted, ' ', what);
}

}  // namespace

void add_queue_options(CLI::App& command, std::string& queue, std::string& name, double& lease) {
    command.add_option("--queue", queue, "A Redis server through which work goes to workers and back")
        ->type_name("redis://[USER:PASSWORD@]HOST[:PORT][/DATABASE]|unix:SOCKET");
    command.add_option("--queue-name", name, "Of the work there (default primsel)")->type_name("NAME");
    command
        .add_option(
            "--lease", lease,
            "What a worker has that is silent so long is handed out again (default 60; of a worker: the queue's)")
        ->check(number_range(0.1, 1e6))
        ->type_name("SECONDS");
}

void add_worker(CLI::App& app) {
    const auto options = std::make_shared<WorkerCommand>();
    CLI::App& command =
        *app.add_subcommand("worker", "Do what primsel sweep --queue or primsel profile --queue hands out");
    add_queue_options(command, options->queue, options->queue_name, options->lease);
    command.get_option("--queue")->required();
    command.add_option("--name", options->name, "What the worker is called (default: host and process)")
        ->type_name("NAME");
    command.add_option("--patience", options->patience, "Ends after so long with nothing to do (default 60)")
        ->check(number_range(0.0, 1e9))
        ->type_name("SECONDS");
    command.add_flag("--measure", options->measure,
                     "Do no trials: measure the networks that a sweep keeps; nothing else should run there");
    command
        .add_option("--measure-command", options->measure_command,
                    "What measures them, in place of the sweep's; see primsel sweep --measure-command")
        ->needs(command.get_option("--measure"))
        ->type_name("COMMAND");
    command.add_option("--cpu", options->cpu, "The processor to measure a profile on (default the current one)")
        ->check(CLI::Range(0, 4095))
        ->type_name("N");
    command.add_flag("--json", options->json, "Print one JSON object");
    command.callback([options, &command] { work(*options, command.count("--lease") > 0); });
}

}  // namespace cli
