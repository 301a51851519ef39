// primsel quantise NET: the ranges of a network's tensors, and what 8-bit layers cost and save with them.
#include "commands.hpp"
#include "files.hpp"
#include "options.hpp"
#include "session.hpp"
#include "text.hpp"

#include <primsel/core/text_table.hpp>
#include <primsel/engine/calibrate_ranges.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/plan/print.hpp>
#include <primsel/plan/ranges_file.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <memory>
#include <optional>

namespace cli {
namespace {

struct QuantiseCommand : Options {
    std::string images, out;
    ImageOptions pixels;
    std::optional<ps::RangeMethod> method;
};

constexpr std::array methods{ps::RangeMethod::min_max, ps::RangeMethod::percentile, ps::RangeMethod::mse};

/// The results of a network for all images, one after another, and the milliseconds of the fastest run.
struct Results {
    std::vector<float> values;
    double seconds = std::numeric_limits<double>::infinity();
};
Results results_of(Model const& model, ps::Plan const& plan, std::size_t threads, std::span<const float> images) {
    Session session(model, plan, threads);
    Results results;
    const std::size_t batch = session.input(0).size();
    for (std::size_t at = 0; at < images.size(); at += batch) {
        std::ranges::copy(images.subspan(at, batch), session.input(0).begin());
        const ps::Timer timer;
        session.run();
        results.seconds = std::min(results.seconds, timer.seconds());
        for (std::size_t i = 0; i < session.outputs(); ++i) {
            results.values.insert(results.values.end(), session.output(i).begin(), session.output(i).end());
        }
    }
    return results;
}

/// The RMS of the differences over the RMS of what is right.
double relative_error(std::span<const float> values, std::span<const float> right) {
    double differences = 0, squares = 0;
    for (std::size_t i = 0; i < right.size(); ++i) {
        differences += std::pow(static_cast<double>(values[i]) - static_cast<double>(right[i]), 2);
        squares += std::pow(static_cast<double>(right[i]), 2);
    }
    return squares > 0 ? std::sqrt(differences / squares) : differences > 0 ? 1 : 0;
}

/// The share of rows whose largest value is at the same place; nothing for results that are no rows of scores.
std::optional<double> agreement(Model const& model, std::span<const float> values, std::span<const float> right) {
    const ps::Shape shape = model.graph[model.graph.outputs()[0]].shape;
    if (model.outputs.size() != 1 || shape.pixels() != 1 || shape.c < 2) return {};
    const auto row = static_cast<std::size_t>(shape.c);
    std::size_t same = 0;
    for (std::size_t at = 0; at < right.size(); at += row) {
        const auto largest = [&](std::span<const float> all) {
            const auto scores = all.subspan(at, row);
            return std::ranges::max_element(scores) - scores.begin();
        };
        same += largest(values) == largest(right) ? 1U : 0U;
    }
    return static_cast<double>(same * row) / static_cast<double>(right.size());
}

std::string in_percent(double share) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.2f %%", 100 * share);
    return text;
}

void quantise(QuantiseCommand const& options) {
    const Model model = load_model(options.model);
    if (model.inputs.size() != 1) ps::fail(model.name, ": has ", model.inputs.size(), " inputs, not one");
    const std::vector<float> images =
        read_images(options.images, options.pixels, model.graph[model.graph.input()].shape);
    const ps::TensorStatistics statistics(model.graph, model.weights, images);

    const ps::Plan in_floats = plan_for(model, options.planning, options.threads);
    const Results right = results_of(model, in_floats, options.threads, images);
    PlanningOptions planning = options.planning;
    planning.precision = ps::Precision::int8;

    ps::TextTable table;
    ps::Json::Array tried;
    table.add({"ranges", "error", "same class", "predicted", "fastest run"});
    const auto add = [&](std::string_view name, ps::Plan const& plan, Results const& results) {
        const double error = relative_error(results.values, right.values);
        const std::optional<double> same = agreement(model, results.values, right.values);
        table.add({std::string(name), in_percent(error), same ? in_percent(*same) : "",
                   ps::milliseconds(plan.total_seconds) + " ms", ps::milliseconds(results.seconds) + " ms"});
        tried.push_back(ps::Json::Object{{"ranges", name},
                                         {"error", error},
                                         {"same_class", same ? ps::Json(*same) : ps::Json()},
                                         {"predicted_ms", plan.total_seconds * 1e3},
                                         {"fastest_ms", results.seconds * 1e3}});
        return error;
    };
    add("none (float32)", in_floats, right);
    ps::TensorRanges best;
    std::string_view chosen;
    double least = std::numeric_limits<double>::infinity();
    for (const ps::RangeMethod method : methods) {
        if (options.method.value_or(method) != method) continue;
        const ps::TensorRanges ranges = statistics.ranges(method);
        Model quantised = model;
        quantised.simplified = ps::simplify(ps::with_ranges(model.graph, ranges));
        const ps::Plan plan = plan_for(quantised, planning, options.threads);
        const double error = add(to_string_view(method), plan, results_of(quantised, plan, options.threads, images));
        if (error < least) least = error, best = ranges, chosen = to_string_view(method);
    }
    if (!options.out.empty()) ps::write_ranges(options.out, best);
    if (options.json) {
        return print_json(ps::Json::Object{{"model", model.name},
                                           {"images", images.size() / model.graph[model.graph.input()].shape.size()},
                                           {"tried", std::move(tried)},
                                           {"chosen", chosen},
                                           {"file", options.out.empty() ? ps::Json() : ps::Json(options.out)}});
    }
    print(table.text());
    if (!options.out.empty()) print_line("ranges by ", chosen, " in ", options.out);
}

}  // namespace

void add_quantise(CLI::App& app) {
    const auto options = std::make_shared<QuantiseCommand>();
    CLI::App& command = *app.add_subcommand(
        "quantise",
        "Find the ranges of a network's tensors, for 8-bit layers, and the error with each way to choose them");
    add_options(command, *options, SavedPlan::refused);
    CLI::Option* const images =
        command
            .add_option("--images", options->images,
                        "Images like those that the network will see: its input as an array, or a folder of files")
            ->required()
            ->type_name("X.npy|DIR");
    add_pixel_options(command, options->pixels, images);
    command
        .add_option_function<std::string>(
            "--method",
            [options](std::string const& name) {
                for (const ps::RangeMethod each : methods) {
                    if (name == to_string_view(each)) options->method = each;
                }
            },
            "min-max, percentile or mse (default: the one with the least error)")
        ->check(CLI::IsMember({"min-max", "percentile", "mse"}))
        ->type_name("NAME");
    command.add_option("--out", options->out, "Write the ranges, for `primsel run --ranges`")
        ->check(writable_file)
        ->type_name("F.json");
    command.callback([options, &command] {
        const bool is_array = options->images.ends_with(".npy");
        refuse_idle(command, {{"--seed", !has_random_weights(options->model), random_weights_need},
                              {"--precision", true, "another command: this one compares float32 with int8"},
                              {"--ranges", true, "another command: this one makes them"},
                              {"--mean", is_array, "a folder of images"},
                              {"--std", is_array, "a folder of images"},
                              {"--scale", is_array, "a folder of images"},
                              {"--no-exif", is_array, "a folder of images"}});
        quantise(*options);
    });
}

}  // namespace cli
