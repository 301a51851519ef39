// primsel profile --out profile.csv [--layouts-out layouts.csv]: times every primitive on the convolutions of the
// networks, row by row, and goes on where it was stopped.
#include "commands.hpp"
#include "progress.hpp"
#include "session.hpp"
#include "text.hpp"

#include <primsel/cost/features.hpp>
#include <primsel/io/dataset.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/learn/machine_about.hpp>
#include <primsel/learn/tables.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/plan/conv_shape_of.hpp>
#include <primsel/profile/profiler.hpp>
#include <primsel/tune/choose_rows.hpp>
#include <primsel/version.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <array>
#include <charconv>
#include <cmath>
#include <csignal>
#include <limits>
#include <memory>
#include <optional>
#include <set>
#include <string_view>
#include <utility>
#include <variant>

namespace cli {
namespace {

struct ProfilingOptions {
    std::string out, layouts_out;
    std::vector<std::string> networks, primitives;
    double budget = std::numeric_limits<double>::infinity();
    std::size_t count = std::numeric_limits<std::size_t>::max();
    bool mixed = false, telling = false, training = false;
    /// Of the images of networks by name, where it is not their own.
    std::optional<Size> size;
    /// What the reference took for another profile; 0: measured.
    double reference_ns = 0;
    ps::SampleOptions sample;
    ps::ProfileOptions measuring;
    bool json = false;
};

/// "90", "60s", "30m", "2h". Throws CLI::ValidationError for anything else.
double parse_seconds(std::string const& text) {
    double value = 0;
    const char* const last = text.data() + text.size();
    const auto [end, fault] = std::from_chars(text.data(), last, value);
    const std::string_view unit(end, static_cast<std::size_t>(last - end));
    const double seconds = unit.empty() || unit == "s" ? 1 : unit == "m" ? 60 : unit == "h" ? 3600 : 0;
    if (fault != std::errc{} || seconds == 0 || !(value > 0 && value < 1e9)) {
        throw CLI::ValidationError("--budget", "expected a time, as 90, 60s, 30m or 2h, not " + text);
    }
    return value * seconds;
}

/// The convolutions of those networks; of all where none is named.
std::vector<ps::ConvShape> convolutions_of(std::vector<std::string> names, std::optional<Size> size) {
    if (names.empty() || names == std::vector<std::string>{"all"}) {
        names.clear();
        for (ListedNetwork const& network : list_networks()) names.push_back(network.name);
    }
    std::vector<ps::ConvShape> shapes;
    for (std::string const& name : names) {
        ModelOptions options;
        options.net = name;
        options.size = size;
        const ps::Graph graph = ps::simplify(graph_of(open_model(options)));
        for (std::size_t i = 0; i < graph.size(); ++i) {
            if (std::holds_alternative<ps::ConvParams>(graph[i].layer)) shapes.push_back(ps::conv_shape_of(graph, i));
        }
    }
    return shapes;
}

/// Those of the primitives that are named, themselves or by their family; all where none is.
std::vector<ps::PrimitiveEntry> chosen_primitives(ps::Kernels const& from, std::vector<std::string> const& names) {
    const auto all = from.primitives;
    if (names.empty()) return {all.begin(), all.end()};
    const auto is_named = [](ps::PrimitiveEntry const& entry, std::string const& name) {
        return entry.id == name || to_string_view(entry.family) == name;
    };
    for (std::string const& name : names) {
        if (std::ranges::none_of(all, [&](auto const& entry) { return is_named(entry, name); })) {
            ps::fail("--primitives ", name, ": no family or primitive is named so; see primsel list primitives");
        }
    }
    std::vector<ps::PrimitiveEntry> chosen;
    for (ps::PrimitiveEntry const& entry : all) {
        if (std::ranges::any_of(names, [&](auto const& name) { return is_named(entry, name); }))
            chosen.push_back(entry);
    }
    return chosen;
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

/// A file and how far it has come.
struct Part {
    std::string what, path;
    std::size_t total = 0, done = 0, now = 0;
};

class Profiling {
public:
    explicit Profiling(ProfilingOptions const& options)
        : options_(options),
          primitives_(chosen_primitives(options.training ? training_kernels() : kernels(), options.primitives)),
          profiler_(kernels_of(primitives_), options.measuring) {
        if (options.reference_ns > 0) profiler_.set_nominal(options.reference_ns * 1e-9);
        about_ = {{"arch", std::string(kernels().arch)},
                  {"compiler", compiler()},
                  {"cpu", ps::cpu_name()},
                  {"images", std::to_string(options.measuring.images)},
                  {"reference_ns", std::to_string(std::llround(profiler_.nominal() * 1e9))},
                  {"version", std::string(ps::version)}};
        ps::add_about(about_, ps::this_machine<ps::default_arch>());  // as it is while this is measured
    }

    /// Rows of `sample` that the file does not have yet, until the time is over or a signal comes.
    template <class Configuration, class Measure>
    Part append(std::string what, std::string const& path, ps::Dataset header, std::vector<Configuration> sample,
                Measure const& measure) {
        header.about = about_;
        ps::DatasetFile file(path, header);
        auto const& about = file.data().about;
        if (const auto known = about.find("reference_ns"); known != about.end()) {
            if (options_.reference_ns > 0 && known->second != about_.at("reference_ns")) {
                ps::fail(path, ": its times are for --reference-ns ", known->second, ", not ",
                         about_.at("reference_ns"));
            }
            profiler_.set_nominal(std::strtod(known->second.c_str(), nullptr) * 1e-9);
        }
        sample.resize(std::min(sample.size(), options_.count));
        Part part{.what = std::move(what), .path = path, .total = sample.size()};
        for (Configuration const& at : sample) part.done += file.contains(at.row()) ? 1U : 0U;
        const ps::Timer timer;
        for (Configuration const& at : sample) {
            if (stop_asked != 0 || whole_.seconds() > options_.budget) break;
            if (file.contains(at.row())) continue;
            file.append(at.row(), measure(at));
            ++part.done;
            ++part.now;
            const double left =
                timer.seconds() / static_cast<double>(part.now) * static_cast<double>(part.total - part.done);
            progress_.show(ps::join(part.what, ": ", part.done, " of ", part.total, ", ",
                                    percent(profiler_.quiet_share()), " % of runs undisturbed, ",
                                    duration(std::min(left, options_.budget - whole_.seconds())), " left"));
        }
        return part;
    }

    [[nodiscard]] ps::Profiler<>& profiler() { return profiler_; }
    [[nodiscard]] double seconds() const { return whole_.seconds(); }

private:
    static ps::Kernels kernels_of(std::span<const ps::PrimitiveEntry> primitives) {
        ps::Kernels some = kernels();
        some.primitives = primitives;
        return some;
    }

    ps::Timer whole_;
    ProfilingOptions const& options_;
    std::vector<ps::PrimitiveEntry> primitives_;
    ps::Profiler<> profiler_;
    std::map<std::string, std::string> about_;
    ProgressLine progress_;
};

/// Those first that tell most of the networks' own layers: as many as anyone takes to another machine.
std::vector<ps::ConvConfiguration> most_telling_first(std::vector<ps::ConvConfiguration> sample,
                                                      std::span<const ps::ConvShape> layers) {
    constexpr std::size_t most = 200;
    ps::Dataset candidates;
    candidates.inputs = ps::ConvConfiguration::inputs();
    for (ps::ConvConfiguration const& at : sample) candidates.add(at.row(), {});
    std::set<std::array<float, ps::ConvFeatures::count>> distinct;
    for (ps::ConvShape const& layer : layers) distinct.insert(ps::ConvFeatures::of(layer));
    ps::Table targets(0, ps::ConvFeatures::count);
    for (auto const& row : distinct) targets.values.insert(targets.values.end(), row.begin(), row.end());
    const std::vector<std::size_t> chosen = ps::choose_rows(ps::features_of(candidates), targets, most);
    std::vector<ps::ConvConfiguration> ordered;
    for (const std::size_t row : chosen) ordered.push_back(sample[row]);
    for (std::size_t row = 0; row < sample.size(); ++row) {
        if (std::ranges::find(chosen, row) == chosen.end()) ordered.push_back(sample[row]);
    }
    return ordered;
}

std::vector<Part> append_all(Profiling& profiling, ProfilingOptions const& options) {
    const std::vector<ps::ConvShape> shapes = convolutions_of(options.networks, options.size);
    std::vector<Part> parts;
    if (!options.layouts_out.empty()) {
        ps::Dataset header;
        header.inputs = ps::TensorConfiguration::inputs();
        header.subjects = profiling.profiler().layout_pairs();
        parts.push_back(profiling.append("layouts", options.layouts_out, header,
                                         ps::sample_tensors(shapes, options.sample.seed),
                                         [&](auto const& at) { return profiling.profiler().transforms(at); }));
    }
    ps::Dataset header;
    header.inputs = ps::ConvConfiguration::inputs();
    header.subjects = profiling.profiler().primitives();
    std::vector<ps::ConvConfiguration> sample = ps::sample_convolutions(shapes, options.sample);
    if (options.telling) sample = most_telling_first(std::move(sample), shapes);
    parts.push_back(profiling.append("convolutions", options.out, header, std::move(sample),
                                     [&](auto const& at) { return profiling.profiler().convolution(at); }));
    return parts;
}

void profile(ProfilingOptions const& options) {
    const StopSignals signals;
    std::vector<Part> parts;
    double seconds = 0, quiet = 0;
    std::size_t runs = 0;
    {
        Profiling profiling(options);
        parts = append_all(profiling, options);
        seconds = profiling.seconds();
        quiet = profiling.profiler().quiet_share();
        runs = profiling.profiler().runs();
    }
    const bool complete = std::ranges::all_of(parts, [](Part const& part) { return part.done == part.total; });
    if (stop_asked != 0 && !complete) {
        ps::fail("stopped with ", parts.back().done, " of ", parts.back().total, ' ', parts.back().what, " in ",
                 parts.back().path, "; the same command goes on from there");
    }
    if (options.json) {
        ps::Json::Array files;
        for (Part const& part : parts) {
            files.push_back(ps::Json::Object{{"what", part.what},
                                             {"file", part.path},
                                             {"total", part.total},
                                             {"done", part.done},
                                             {"now", part.now}});
        }
        return print_json(ps::Json::Object{{"complete", complete},
                                           {"seconds", seconds},
                                           {"runs", runs},
                                           {"undisturbed", quiet},
                                           {"files", std::move(files)}});
    }
    for (Part const& part : parts) {
        print_line(part.path, ": ", part.done, " of ", part.total, ' ', part.what, ", ", part.now, " of them now");
    }
    print(ps::join(duration(seconds), ", ", runs, " runs, ", percent(quiet), " % of them undisturbed",
                   complete ? "\n" : "; the same command goes on from there\n"));
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
        ->check(CLI::PositiveNumber)
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
        ->check(CLI::PositiveNumber)
        ->type_name("X");
    command.add_flag("--json", options->json, "Print one JSON object");
    command.callback([options, images] {
        if (options->training && images->count() == 0) options->measuring.images = 32;
        options->sample.networks_first = !options->mixed;
        options->measuring.learn_seconds = 2;
        profile(*options);
    });
}

}  // namespace cli
