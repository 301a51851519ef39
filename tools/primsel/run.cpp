// primsel run NET: the network's outputs, and how long they take.
#include "commands.hpp"
#include "files.hpp"
#include "options.hpp"
#include "present_speed.hpp"
#include "session.hpp"
#include "text.hpp"

#include <primsel/core/statistics.hpp>
#include <primsel/io/file.hpp>
#include <primsel/plan/print.hpp>

#include <CLI/CLI.hpp>
#include <image.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace cli {
namespace {

struct RunOptions : Options {
    std::vector<std::string> inputs;
    ImageOptions image;
    std::string output, labels;
    std::size_t repeat = 5;
};

std::vector<double> measure(Session& session, std::size_t runs) {
    session.run();  // warms up
    std::vector<double> seconds;
    for (std::size_t i = 0; i < runs; ++i) {
        const ps::Timer timer;
        session.run();
        seconds.push_back(timer.seconds());
    }
    return seconds;
}

/// The class of a score.
struct ScoredClass {
    std::size_t number;
    float value;
};

/// The largest values of each image, for an output that is a row of scores an image; else none.
std::vector<std::vector<ScoredClass>> largest(Port const& port, std::span<const float> values) {
    const auto count = static_cast<std::size_t>(port.dims.size() < 2 ? 0 : port.dims[1]);
    const auto batch = static_cast<std::size_t>(port.dims.empty() ? 1 : port.dims[0]);
    if (count < 2 || values.size() != batch * count) return {};
    std::vector<std::vector<ScoredClass>> result;
    for (std::size_t image = 0; image < batch; ++image) {
        const std::span<const float> scores = values.subspan(image * count, count);
        std::vector<std::size_t> order(count);
        std::iota(order.begin(), order.end(), std::size_t{0});
        const auto last = order.begin() + static_cast<std::ptrdiff_t>(std::min<std::size_t>(count, 5));
        std::ranges::partial_sort(order, last, [&](std::size_t a, std::size_t b) {
            return scores[a] != scores[b] ? scores[a] > scores[b] : a < b;
        });
        std::vector<ScoredClass>& best = result.emplace_back();
        for (auto at = order.begin(); at != last; ++at) best.push_back({*at, scores[*at]});
    }
    return result;
}

/// The names of classes, one a line. Throws error.
std::vector<std::string> read_names(std::string const& path) {
    const ps::SharedBytes file = ps::read_file(path);
    std::vector<std::string> names;
    for (std::string_view text = file.text(); !text.empty();) {
        const std::size_t end = std::min(text.find('\n'), text.size());
        std::string_view line = text.substr(0, end);
        if (line.ends_with('\r')) line.remove_suffix(1);
        names.emplace_back(line);
        text.remove_prefix(std::min(end + 1, text.size()));
    }
    if (names.empty()) ps::fail(path, ": names no class");
    return names;
}

std::string text_of(std::vector<ScoredClass> const& best, std::vector<std::string> const& names) {
    std::string text;
    for (ScoredClass const& each : best) {
        text += text.empty() ? " " : ", ";
        text += names.empty() ? ps::join('#', each.number) : ps::printable(names[each.number]);
        text += ps::join(' ', each.value);
    }
    return text + '\n';
}

void run(CLI::App const& command, RunOptions& options) {
    if (options.model.batch == 0 && options.image.files.size() > 1) {
        options.model.batch = static_cast<int>(options.image.files.size());
    }
    std::vector<std::string> names;
    if (!options.labels.empty()) names = read_names(options.labels);
    const ps::Timer timer;
    const Source source = open_model(options.model);
    const std::vector<GivenInput> given = read_inputs(source, options.inputs, options.image);
    Model model = load_model(source, given);
    model.load_seconds = timer.seconds();
    const bool all_given = std::ranges::all_of(model.inputs, [&](Port const& input) {
        return std::ranges::find(given, input.name, &GivenInput::name) != given.end();
    });
    refuse_idle(command, {{"--seed", all_given && !has_random_weights(options.model), "an input that is not given"}});
    const ps::Plan plan = plan_for(model, options.planning, options.threads);
    Session session(model, plan, options.threads);
    for (std::size_t i = 0; i < session.inputs(); ++i) {
        const auto found = std::ranges::find(given, model.inputs[i].name, &GivenInput::name);
        if (found == given.end())
            session.fill_randomly(i, options.model.seed);
        else
            fill(*found, session.input(i));
    }
    const std::vector<double> seconds = measure(session, options.repeat);
    const double median = ps::median(seconds), least = *std::ranges::min_element(seconds);
    // By the runs before this one.
    const PresentSpeed present = present_speed(options.threads);
    keep_pace(plan, options.planning, options.threads, median);

    ps::Json::Array outputs;
    std::string text;
    bool any_named = names.empty();
    for (std::size_t i = 0; i < session.outputs(); ++i) {
        Port const& port = model.outputs[i];
        ps::Json::Array dims(port.dims.begin(), port.dims.end());
        ps::Json file;
        text += ps::printable(port.name) + ' ' + ps::to_string(port.dims);
        if (!options.output.empty()) {
            const std::string path = write_output(options.output, model, i, session.output(i));
            file = path;
            text += " in " + ps::printable(path);
        }
        text += '\n';
        ps::Json::Object output{{"name", port.name}, {"shape", std::move(dims)}, {"file", file}};
        const auto best = largest(port, session.output(i));
        const bool is_named = !best.empty() && static_cast<std::size_t>(port.dims[1]) == names.size();
        any_named = any_named || is_named;
        if (is_named) {
            ps::Json::Array images;
            for (std::size_t image = 0; image < best.size(); ++image) {
                text += best.size() == 1 ? "  largest:" : ps::join("  largest of image ", image, ':');
                text += text_of(best[image], names);
                ps::Json::Array classes;
                for (ScoredClass const& each : best[image]) {
                    classes.push_back(
                        ps::Json::Object{{"class", each.number}, {"name", names[each.number]}, {"value", each.value}});
                }
                images.emplace_back(std::move(classes));
            }
            output.emplace_back("largest", std::move(images));
        } else if (!best.empty() && best[0].size() == 5) {
            text += "  largest:" + text_of(best[0], {});
        }
        outputs.push_back(std::move(output));
    }
    if (!any_named) {
        ps::fail(options.labels, ": names ", names.size(), " classes; no output of ", model.name,
                 " has as many scores");
    }
    const bool planned = options.planning.plan.empty();
    const double predict = planned ? plan.predict_seconds : 0, solve = planned ? plan.solve_seconds : 0;
    std::size_t const arena = session.program().arena_bytes(), weights = session.program().weight_bytes();
    if (options.json) {
        return print_json(ps::Json::Object{{"model", model.name},
                                           {"threads", options.threads},
                                           {"runs", seconds.size()},
                                           {"median_ms", median * 1e3},
                                           {"min_ms", least * 1e3},
                                           {"predicted_ms", plan.total_seconds * 1e3},
                                           {"present_ms", plan.total_seconds * present.factor * 1e3},
                                           {"load_ms", model.load_seconds * 1e3},
                                           {"predict_ms", predict * 1e3},
                                           {"solve_ms", solve * 1e3},
                                           {"prepare_ms", session.prepare_seconds() * 1e3},
                                           {"arena_bytes", arena},
                                           {"weight_bytes", weights},
                                           {"outputs", std::move(outputs)}});
    }
    using ps::milliseconds;
    print(text);
    print(ps::join(
        "median ", milliseconds(median), " ms, least ", milliseconds(least), " ms of ", seconds.size(),
        seconds.size() == 1 ? " run" : " runs", " on ", options.threads, options.threads == 1 ? " thread" : " threads",
        "; predicted ", milliseconds(plan.total_seconds), " ms",
        present.networks == 0 ? ""
                              : ps::join(" at the machine's best, ", milliseconds(plan.total_seconds * present.factor),
                                         " ms at its present speed"),
        '\n'));
    print(ps::join("load ", milliseconds(model.load_seconds), " ms, predict ", milliseconds(predict), " ms, solve ",
                   milliseconds(solve), " ms, prepare ", milliseconds(session.prepare_seconds()), " ms; arena ",
                   megabytes(arena), ", packed weights ", megabytes(weights), '\n'));
}

}  // namespace

void add_run(CLI::App& app) {
    const auto options = std::make_shared<RunOptions>();
    CLI::App& command = *app.add_subcommand("run", "Run a network: its outputs, and how long they take");
    add_options(command, *options, SavedPlan::instead);
    command.add_option("--input", options->inputs, "Values of an input; without, random ones of a normal distribution")
        ->type_name("[NAME=]X.npy|X.pb")
        ->allow_extra_args(false);
    CLI::Option* const image =
        command
            .add_option("--image", options->image.files, "An image, one for each of the batch: " + image::kinds("or"))
            ->type_name("P.png")
            ->allow_extra_args(false);
    add_pixel_options(command, options->image, image);
    command
        .add_option("--labels", options->labels, "The names of the classes, one a line, for outputs that are scores")
        ->type_name("F");
    command.add_option("--output", options->output, "Write each output to DIR/<name>.npy")->type_name("DIR");
    command.add_option("--repeat", options->repeat, "Timed runs, after one to warm up (default 5)")
        ->check(CLI::Range(1, 1000000))
        ->type_name("R");
    command.callback([options, &command] { run(command, *options); });
}

}  // namespace cli
