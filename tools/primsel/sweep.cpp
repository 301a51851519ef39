// primsel sweep FILE: which filters a network can do without, by trials that a file describes.
#include "commands.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "remote_queue.hpp"
#include "sweep_trials.hpp"
#include "text.hpp"

#include <primsel/core/text_table.hpp>
#include <primsel/prune/sensitivity_file.hpp>
#include <primsel/search/any_searcher.hpp>
#include <primsel/search/run_sweep.hpp>
#include <primsel/show/sweep_report.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <utility>

namespace cli {
namespace {

/// Metrics that need not be learned from trials. Predicted latencies are corrected by the bias that measurements show.
struct KnownMetrics {
    SweepTrials const* trials;
    ps::search::Sweep sweep;
    std::shared_ptr<ps::search::MeasuredBias> bias;
    bool any = false;

    KnownMetrics(SweepTrials const& of, ps::search::Sweep its_sweep, std::shared_ptr<ps::search::MeasuredBias> its_bias)
        : trials(&of), sweep(std::move(its_sweep)), bias(std::move(its_bias)) {
        const Metrics metrics =
            trials->known(sweep.space.at(std::vector<double>(sweep.space.parameters().size(), 0.5)));
        for (ps::search::SweepGoal const& goal : sweep.goals) any = any || metrics.contains(goal.metric);
        for (ps::search::MetricBound const& bound : sweep.bounds) any = any || metrics.contains(bound.metric);
    }
    ps::search::Outcome operator()(ps::search::SearchPoint const& point) const {
        if (!any) return {};
        const ps::search::Trial trial{.point = point, .metrics = trials->known(point)};
        return bias->outcome_of(sweep, trial);
    }
    /// The deviations of what is known, by measurements.
    [[nodiscard]] ps::search::Outcome deviations(ps::search::SearchPoint const& point) const {
        if (!any) return {};
        return bias->deviations_of(sweep, {.point = point, .metrics = trials->known(point)});
    }
};

std::string short_text(double value) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.4g", value);
    return text;
}

/// The line that says how far a sweep has come, and the seconds that choosing took.
struct SweepLine {
    ProgressLine line;
    std::string text = "sweep: 0 trials";
    double choosing = 0;
};

/// A searcher that says so while it chooses.
template <ps::search::Searcher S>
struct ShownSearcher {
    S searcher;
    SweepLine* shown;

    [[nodiscard]] ps::search::Space const& space() const { return searcher.space(); }
    [[nodiscard]] std::optional<ps::search::SearchPoint> ask() {
        shown->line.show(shown->text + "; choosing the next", ProgressLine::Urgency::at_once);
        const ps::Timer timer;
        std::optional<ps::search::SearchPoint> point = searcher.ask();
        shown->choosing += timer.seconds();
        shown->line.show(shown->text, ProgressLine::Urgency::at_once);
        return point;
    }
    void tell(ps::search::SearchPoint const& point, ps::search::Outcome const& outcome) {
        searcher.tell(point, outcome);
    }
    void correct(ps::search::SearchPoint const& point, ps::search::Outcome const& outcome) {
        searcher.correct(point, outcome);
    }
};

/// "12 of 40 trials, the best 1.23 ms, mostly by x (0.61); 3 min left"
template <class Run>
std::string text_of_progress(Run const& run) {
    const ps::search::SweepProgress progress = run.progress();
    std::string text = ps::join("sweep: ", progress.done);
    if (progress.left) text += ps::join(" of ", progress.done + progress.under_way + *progress.left);
    text += " trials";
    if (progress.failed > 0) text += ps::join(", ", progress.failed, " failed");
    ps::search::SweepGoal const& goal = run.sweep().goals[0];
    const std::vector<std::size_t> best = run.best();
    if (!best.empty()) {
        text += ps::join(", the best ", goal.metric, ' ', short_text(run.trials()[best[0]].metrics.at(goal.metric)));
    }
    const std::vector<ps::search::Influence> influences = run.influences(goal.metric);
    const auto most = std::ranges::max_element(influences, {}, &ps::search::Influence::importance);
    if (most != influences.end() && most->importance > 0) {
        const auto place = static_cast<std::size_t>(most - influences.begin());
        text += ps::join(", mostly by ", run.sweep().space.parameters()[place].name(), " (",
                         short_text(most->importance), ')');
    }
    if (std::isfinite(progress.seconds_left)) text += "; " + duration(progress.seconds_left) + " left";
    return text;
}

ps::Json json_of(ps::search::Sweep const& sweep, ps::search::Trial const& trial) {
    ps::Json::Object parameters, metrics;
    for (std::size_t i = 0; i < trial.point.values.size(); ++i) {
        parameters.emplace_back(sweep.space.parameters()[i].name(),
                                std::visit([](auto const& held) { return ps::Json(held); }, trial.point.values[i]));
    }
    for (auto const& [name, value] : trial.metrics) {
        metrics.emplace_back(name, std::isfinite(value) ? ps::Json(value) : ps::Json());
    }
    ps::Json::Object json{
        {"trial", trial.number}, {"parameters", std::move(parameters)}, {"metrics", std::move(metrics)}};
    if (trial.measured && trial.measured->failure.empty()) {
        json.emplace_back("measured", ps::Json::Object{{"latency", trial.measured->milliseconds},
                                                       {"predicted", trial.measured->predicted},
                                                       {"throughput", trial.measured->images_per_second},
                                                       {"machine", trial.measured->machine}});
    }
    return json;
}

/// The importance of each parameter for each metric.
template <class Run>
ps::Json importance_of(Run const& run) {
    std::set<std::string> metrics;
    for (ps::search::Trial const& trial : run.trials()) {
        for (auto const& [name, value] : trial.metrics) metrics.insert(name);
    }
    ps::Json::Object all;
    for (std::string const& metric : metrics) {
        const std::vector<ps::search::Influence> influences = run.influences(metric);
        ps::Json::Object one;
        for (std::size_t i = 0; i < influences.size(); ++i) {
            one.emplace_back(run.sweep().space.parameters()[i].name(), influences[i].importance);
        }
        all.emplace_back(metric, std::move(one));
    }
    return all;
}

void print_best(ps::search::Sweep const& sweep, std::vector<ps::search::Trial> const& trials,
                std::vector<std::size_t> const& best) {
    if (best.empty()) return;
    ps::TextTable table;
    std::vector<std::string> heading{"trial"};
    for (ps::search::Parameter const& parameter : sweep.space.parameters()) heading.push_back(parameter.name());
    for (auto const& [name, value] : trials[best[0]].metrics) heading.push_back(name);
    const std::size_t metrics = heading.size();
    const bool any = std::ranges::any_of(best, [&](std::size_t place) { return trials[place].measured.has_value(); });
    if (any) heading.insert(heading.end(), {"measured ms", "predicted ms", "images/s", "machine"});
    table.add(heading);
    for (const std::size_t place : best) {
        ps::search::Trial const& trial = trials[place];
        std::vector<std::string> row{std::to_string(trial.number)};
        for (ps::search::Value const& value : trial.point.values) {
            const auto* real = std::get_if<double>(&value);
            row.push_back(real != nullptr ? short_text(*real) : ps::search::text_of(value));
        }
        for (std::size_t i = row.size(); i < metrics; ++i) {
            const auto found = trial.metrics.find(heading[i]);
            row.push_back(found == trial.metrics.end() ? "" : short_text(found->second));
        }
        if (any && trial.measured && trial.measured->failure.empty()) {
            row.push_back(short_text(trial.measured->milliseconds));
            row.push_back(short_text(trial.measured->predicted));
            row.push_back(short_text(trial.measured->images_per_second));
            row.push_back(trial.measured->machine);
        } else if (any) {
            row.insert(row.end(), {trial.measured ? trial.measured->failure : "", "", "", ""});
        }
        table.add(row);
    }
    print(table.text());
}

/// Throws error, with the reasons for which trials failed, where none can be chosen.
template <class Run>
void require_best(SweepCommand const& options, Run const& run) {
    if (!run.best().empty()) return;
    const std::size_t failed = run.progress().failed, all = run.trials().size();
    std::string why = failed < all ? "no trial keeps the bounds" : all > 0 ? "every trial failed" : "there is no trial";
    if (failed > 0 && failed < all) why += ps::join("; ", failed, " of ", all, " failed");
    std::map<std::string, std::size_t> reasons;
    for (ps::search::Trial const& trial : run.trials()) {
        if (!trial.failure.empty()) ++reasons[trial.failure];
    }
    constexpr std::size_t most = 3;
    for (std::size_t shown = 0; auto const& [reason, count] : reasons) {
        if (shown++ == most) break;
        why += ps::join("; ", count, count == 1 ? " trial: " : " trials: ", reason);
    }
    if (!options.out.empty()) why += ps::join("; ", options.out, " is not written");
    ps::fail(options.file, ": ", why);
}

/// The machine for which the trials are predicted; empty if nothing is.
std::string machine_of(SweepTrials const& trials) {
    const auto about = trials.about();
    const auto found = about.find("machine");
    return found == about.end() ? std::string() : found->second;
}

/// The accuracy that hybrid was to have by a log that is there.
std::optional<double> logged_threshold(std::string const& log) {
    std::error_code none;
    if (std::filesystem::file_size(log, none) == 0 || none) return std::nullopt;
    if (const ps::SharedBytes text = ps::read_file(log); text.text().find('\n') == std::string_view::npos)
        return std::nullopt;  // a log whose first line was cut short begins anew
    const ps::search::TrialLogHeader header = ps::search::read_log_header(log);
    const auto found = header.about.find("threshold");
    double threshold = 0;
    if (found == header.about.end() || !ps::read_number(std::string_view(found->second), threshold))
        return std::nullopt;
    return threshold;
}

/// Removes the networks of trials that others surpassed.
class KeptNetworks {
public:
    explicit KeptNetworks(std::string folder) : folder_(std::move(folder)) {}

    template <class Run>
    void update(Run const& run) {
        if (folder_.empty()) return;
        std::set<std::uint64_t> best;
        for (const std::size_t place : run.best()) best.insert(run.trials()[place].number);
        kept_.insert(run.trials().back().number);
        for (const std::uint64_t number : kept_) {
            std::error_code ignored;
            if (!best.contains(number)) std::filesystem::remove(network_file(folder_, number), ignored);
        }
        kept_ = std::move(best);
    }

private:
    std::string folder_;
    std::set<std::uint64_t> kept_;
};

/// Workers do the trials; what they need to know is kept in the queue.
template <class Searcher, class Report>
ps::search::SweepRun<Searcher> hand_out(CLI::App const& command, SweepCommand const& options, SweepFile const& file,
                                        SweepTrials const& trials, Searcher searcher, ps::search::TrialLog& log,
                                        Report const& report) {
    ps::Json::Object given;
    for (auto const& [name, values] : given_options(command)) {
        constexpr std::array own{"file",  "log",        "report", "sensitivity", "out",
                                 "queue", "queue-name", "lease",  "ahead",       "json"};
        if (std::ranges::find(own, name) != own.end()) continue;
        given.emplace_back(name, ps::Json::Array(values.begin(), values.end()));
    }
    const std::string about = ps::to_string(ps::Json(ps::Json::Object{{"file", file.name},
                                                                      {"sweep", file.text},
                                                                      {"options", std::move(given)},
                                                                      {"threshold", trials.threshold()},
                                                                      {"machine", machine_of(trials)}}),
                                            0, ps::JsonStrings::any);
    RemoteQueue queue(options.queue, options.queue_name, options.lease);
    if (queue.keep_about(about) != about) {
        ps::fail(queue.url(), ": another sweep, or this one with other options, is handed out under the name ",
                 options.queue_name, "; use another --queue-name");
    }
    queue.keep_lease(options.lease);
    ps::search::SweepRun<Searcher> run(file.sweep, std::move(searcher), log.trials());
    if (options.measure.empty()) {
        ps::search::drive(run, log, queue, {.ahead = options.ahead}, report);
    } else {
        RemoteQueue measuring(options.queue, measuring_queue(options.queue_name), options.lease);
        ps::search::drive(run, log, queue, {.ahead = options.ahead}, report,
                          ps::search::MeasuredElsewhere<RemoteQueue>(measuring));
    }
    return run;
}

bool sweep_has(ps::search::Sweep const& sweep, std::string_view parameter) {
    return std::ranges::any_of(sweep.space.parameters(), [&](auto const& each) { return each.name() == parameter; });
}

/// Throws CLI::ValidationError for what would change nothing.
void refuse_idle_options(CLI::App const& command, SweepCommand const& options, ps::search::Sweep const& sweep) {
    const bool by_schedule = !options.schedule.empty(), no_taylor = options.ranking.criterion != "taylor",
               no_epochs = options.epochs == 0 && !sweep_has(sweep, "epochs"),
               no_images = !options.ranking.data.given(), no_queue = options.queue.empty(),
               unmeasured = options.measure.empty();
    const bool no_network = options.model.net.empty();
    for (const char* option : {"--images", "--cifar", "--folder", "--training-images", "--epochs", "--pruning"}) {
        refuse_idle(command, {{option, no_network, "a network: a program does the trials"}});
    }
    refuse_idle(command, {{"--criterion", by_schedule, "to stand without --pruning, whose pruners say it"},
                          {"--type", by_schedule, "to stand without --pruning, whose pruners say it"},
                          {"--taylor-batches", no_taylor, "--criterion taylor"},
                          {"--training-images", no_epochs, "--epochs"},
                          {"--training-cifar", no_epochs, "--epochs"},
                          {"--training-folder", no_epochs, "--epochs"},
                          {"--training-batch", no_epochs, "--epochs"},
                          {"--learning-rate", no_epochs, "--epochs"},
                          {"--threshold", !sweep_uses(sweep, "hybrid"), "the metric hybrid"},
                          {"--mean", no_images && unmeasured && options.out.empty(), "images, as --images"},
                          {"--threads", no_images && unmeasured, "images, as --images, or --measure"},
                          {"--calibrate", unmeasured, "--measure"},
                          {"--max-arena", unmeasured, "--measure"},
                          {"--sensitivity", options.report.empty(), "--report"},
                          {"--queue-name", no_queue, "--queue"},
                          {"--lease", no_queue, "--queue"},
                          {"--ahead", no_queue, "--queue"}});
}

void sweep(CLI::App& command, SweepCommand& options) {
    const ps::SharedBytes text = ps::read_file(options.file);
    const SweepFile file = read_sweep(command, options.file, std::string(text.text()));
    std::string const& program = file.sweep.program;
    if (options.model.net.empty() && program.empty()) {
        ps::fail(options.file, ": no network is named, by NET or in its options as net, and no program");
    }
    if (!options.model.net.empty() && !program.empty()) {
        warn(ps::join(options.file, ": ", program, " is not run: trials prune ", options.model.net));
    }
    refuse_idle_options(command, options, file.sweep);
    if (!options.out.empty() && file.sweep.goals.size() > 1) ps::fail("--out: needs one metric; there is a front");
    if (options.log.empty()) options.log = std::filesystem::path(options.file).replace_extension(".jsonl").string();
    const std::unique_ptr<SweepTrials> made = make_trials(options, file, logged_threshold(options.log));
    SweepTrials const& trials = *made;
    const ps::search::TrialLogHeader header{.file = file.name, .sweep = file.text, .about = trials.about()};
    ps::search::TrialLog log(options.log, file.sweep.space, header);
    if (!log.warning().empty()) std::fprintf(stderr, "primsel: %s\n", ps::printable(log.warning()).c_str());

    const auto bias = std::make_shared<ps::search::MeasuredBias>(file.sweep, log.trials());
    const KnownMetrics known(trials, file.sweep, bias);
    const ps::search::BayesOptions effort =
        known.any ? ps::search::BayesOptions{.candidates = 64, .rounds = 8} : ps::search::BayesOptions{};
    SweepLine shown;
    ShownSearcher<ps::search::AnySearcher<KnownMetrics>> searcher{
        ps::search::AnySearcher<KnownMetrics>(file.sweep, effort, known), &shown};
    KeptNetworks networks(options.measure);
    const ps::Timer timer;
    const auto report = [&](auto const& run) {
        if (shown.line.is_due()) shown.text = text_of_progress(run);
        shown.line.show(shown.text);
        networks.update(run);
        *bias = run.bias();
    };
    const auto measure = [&](ps::search::Trial const& trial) -> std::optional<ps::search::TrialMeasurement> {
        if (options.measure.empty()) return std::nullopt;
        try {
            return measure_network(network_file(options.measure, trial.number), options);
        } catch (std::exception const& fault) {
            return ps::search::TrialMeasurement{.failure = fault.what()};
        }
    };
    const auto try_one = [&](ps::search::Trial& trial, auto const& goes_on) { trials(trial, goes_on); };
    const auto run = options.queue.empty()
                         ? ps::search::run_sweep(file.sweep, std::move(searcher), log, 1, try_one, report, measure)
                         : hand_out(command, options, file, trials, std::move(searcher), log, report);
    shown.line.clear();
    const double seconds = timer.seconds();

    const std::vector<std::size_t> best = run.best();
    if (!options.report.empty()) {
        std::vector<ps::prune::SensitivityPoint> points;
        std::map<std::string, std::string> about;
        if (!options.sensitivity.empty()) {
            const ps::SharedBytes table = ps::read_file(options.sensitivity);
            points = ps::prune::parse_sensitivity(options.sensitivity, table.text(), about);
        }
        ps::write_file(options.report,
                       ps::show::to_html(file.sweep, log.trials(), {options.file, header.about, points}));
    }
    if (!options.out.empty() && !best.empty()) trials.write(options.out, run.trials()[best[0]]);
    if (options.json) {
        ps::Json::Array chosen;
        for (const std::size_t place : best) chosen.push_back(json_of(file.sweep, log.trials()[place]));
        print_json(ps::Json::Object{{"trials", run.trials().size()},
                                    {"failed", run.progress().failed},
                                    {"best", std::move(chosen)},
                                    {"log", options.log},
                                    {"importance", importance_of(run)},
                                    {"seconds", seconds},
                                    {"choosing_seconds", shown.choosing}});
        return require_best(options, run);
    }
    print_line(run.trials().size(), " trials, ", run.progress().failed, " failed; they are in ", options.log);
    print_line(short_text(seconds), " s, ", short_text(shown.choosing), " s of them to choose");
    for (ps::search::Trial const& trial : run.trials()) {
        if (trial.failure.empty()) continue;
        print_line("trial ", trial.number, " failed: ", trial.failure);
        break;
    }
    print_best(file.sweep, log.trials(), best);
    require_best(options, run);
}

}  // namespace

void add_sweep(CLI::App& app) {
    const auto options = std::make_shared<SweepCommand>();
    CLI::App& command =
        *app.add_subcommand("sweep", "Try what a file describes: which filters a network can do without");
    add_sweep_options(command, *options);
    command.add_option("--log", options->log, "Where trials are kept, and gone on from (default: FILE's name, .jsonl)")
        ->type_name("F.jsonl");
    command.add_option("--report", options->report, "A page that shows all trials")
        ->check(writable_file)
        ->type_name("F.html");
    command
        .add_option("--sensitivity", options->sensitivity, "Show this in the report, from primsel sensitivity --out")
        ->type_name("F.csv");
    command.add_option("--out", options->out, "The best network, retrained as its trial was")
        ->check(writable_network)
        ->type_name("F.onnx|F.safetensors");
    add_queue_options(command, options->queue, options->queue_name, options->lease);
    command.add_option("--ahead", options->ahead, "Trials that wait or are done at once, with --queue (default 4)")
        ->check(CLI::Range(1, 1'000'000))
        ->type_name("N");
    command.callback([options, &command] { sweep(command, *options); });
}

}  // namespace cli
