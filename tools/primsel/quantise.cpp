// primsel quantise NET: the ranges of a network's tensors, what layers in less than floats cost and save with them, and
// the precision of each layer within an error budget.
#include "commands.hpp"
#include "files.hpp"
#include "labelled_images.hpp"
#include "options.hpp"
#include "session.hpp"
#include "text.hpp"

#include <primsel/core/number_text.hpp>
#include <primsel/core/read_number.hpp>
#include <primsel/core/text_table.hpp>
#include <primsel/engine/calibrate_ranges.hpp>
#include <primsel/engine/correct_biases.hpp>
#include <primsel/engine/measure_layer_errors.hpp>
#include <primsel/io/file.hpp>
#include <primsel/io/safetensors.hpp>
#include <primsel/network/simplify.hpp>
#include <primsel/plan/precision_file.hpp>
#include <primsel/plan/print.hpp>
#include <primsel/show/precision_chart.hpp>
#include <primsel/train/batches.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <map>
#include <memory>
#include <optional>

namespace cli {
namespace {

struct QuantiseCommand : Options {
    std::string images, labels, out, out_weights, curve;
    ImageOptions pixels;
    std::optional<ps::RangeMethod> method;
    /// Shares: the largest error beside float, the least agreement with float's class, the most accuracy lost.
    std::optional<double> error, agreement, accuracy_loss;
    std::size_t error_images = 16;

    [[nodiscard]] bool has_budget() const { return error || agreement || accuracy_loss; }
};

constexpr std::array methods{ps::RangeMethod::min_max, ps::RangeMethod::percentile, ps::RangeMethod::mse,
                             ps::RangeMethod::kl};

std::string in_percent(double share) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.2f %%", 100 * share);
    return text;
}
ps::Json or_null(std::optional<double> const& value) { return value ? ps::Json(*value) : ps::Json(); }

/// Images, one after another, and the class of each where it is known.
struct Samples {
    std::vector<float> images;
    std::vector<int> labels;
};
Samples read_samples(QuantiseCommand const& options, Model const& model) {
    const ps::Shape shape = model.graph[model.graph.input()].shape;
    if (options.labels.empty()) return {read_images(options.images, options.pixels, shape), {}};
    ImageFiles files;
    files.images = options.images, files.labels = options.labels;
    const AnyImages all = read_images(files, shape);
    if (all.shape() != shape) {
        ps::fail(options.images, ": has images of ", all.shape(), "; the network takes images of ", shape);
    }
    const std::size_t results = require_scores(model.name, model.graph[model.graph.outputs()[0]].shape);
    if (static_cast<std::size_t>(all.classes()) > results) {
        ps::fail(model.name, ": the labels are of ", all.classes(), " classes, its result has ", results, " values");
    }
    Samples samples;
    ps::Batches<AnyImages> batches(all, ps::evaluation_batches(model.graph.batch()),
                                   normalise_of(model, options.model.weights));
    for (ps::Batch batch = batches.next(); batch.count == model.graph.batch(); batch = batches.next()) {
        samples.images.insert(samples.images.end(), batch.images.begin(), batch.images.end());
        for (const float label : batch.labels) samples.labels.push_back(static_cast<int>(label));
    }
    return samples;
}

/// A plan with its results for all images, beside those of floats.
struct Tried {
    std::vector<float> values;
    double error = 0;
    /// The shares of images whose class is as in floats, and as it should be; nothing where there are no such classes.
    std::optional<double> same_class, accuracy;
    double predicted_seconds = 0, fastest_seconds = std::numeric_limits<double>::infinity();
};

/// The classes with the largest scores, one an image; none for results that are no rows of scores.
std::vector<int> classes_of(Model const& model, std::span<const float> values) {
    const ps::Shape shape = model.graph[model.graph.outputs()[0]].shape;
    std::vector<int> classes;
    if (model.outputs.size() != 1 || shape.pixels() != 1 || shape.c < 2) return classes;
    const auto row = static_cast<std::size_t>(shape.c);
    for (std::size_t at = 0; at < values.size(); at += row) {
        const auto scores = values.subspan(at, row);
        classes.push_back(static_cast<int>(std::ranges::max_element(scores) - scores.begin()));
    }
    return classes;
}
std::optional<double> equal_share(std::vector<int> const& a, std::vector<int> const& b) {
    if (a.empty() || a.size() != b.size()) return {};
    std::size_t same = 0;
    for (std::size_t i = 0; i < a.size(); ++i) same += a[i] == b[i] ? 1U : 0U;
    return static_cast<double>(same) / static_cast<double>(a.size());
}

/// right: the results in floats; null if these are they.
Tried try_plan(Model const& model, ps::Plan const& plan, std::size_t threads, Samples const& samples,
               Tried const* right) {
    Session session(model, plan, threads);
    Tried tried;
    const std::size_t batch = session.input(0).size();
    for (std::size_t at = 0; at < samples.images.size(); at += batch) {
        std::ranges::copy(std::span(samples.images).subspan(at, batch), session.input(0).begin());
        const ps::Timer timer;
        session.run();
        tried.fastest_seconds = std::min(tried.fastest_seconds, timer.seconds());
        for (std::size_t i = 0; i < session.outputs(); ++i) {
            tried.values.insert(tried.values.end(), session.output(i).begin(), session.output(i).end());
        }
    }
    std::vector<float> const& expected = right == nullptr ? tried.values : right->values;
    const std::vector<int> classes = classes_of(model, tried.values);
    tried.error = std::sqrt(ps::relative_squared_error(tried.values, expected));
    tried.same_class = equal_share(classes, classes_of(model, expected));
    tried.accuracy = equal_share(classes, samples.labels);
    tried.predicted_seconds = plan.total_seconds;
    return tried;
}

/// Rows of what was tried, for people and as JSON.
class TriedTable {
public:
    explicit TriedTable(bool has_labels) : has_labels_(has_labels) {
        std::vector<std::string> heading{"ranges", "error", "same class", "predicted", "fastest run"};
        if (has_labels) heading.emplace_back("accuracy");
        table_.add(std::move(heading));
    }
    void add(std::string const& name, Tried const& tried) {
        std::vector<std::string> row{
            name, in_percent(tried.error), tried.same_class ? in_percent(*tried.same_class) : "",
            ps::milliseconds(tried.predicted_seconds) + " ms", ps::milliseconds(tried.fastest_seconds) + " ms"};
        if (has_labels_) row.push_back(tried.accuracy ? in_percent(*tried.accuracy) : "");
        table_.add(std::move(row));
        rows_.push_back(json_of(name, tried));
    }
    [[nodiscard]] ps::Json json_of(std::string const& name, Tried const& tried) const {
        ps::Json::Object row{{"ranges", name},
                             {"error", tried.error},
                             {"same_class", or_null(tried.same_class)},
                             {"predicted_ms", tried.predicted_seconds * 1e3},
                             {"fastest_ms", tried.fastest_seconds * 1e3}};
        if (has_labels_) row.emplace_back("accuracy", or_null(tried.accuracy));
        return row;
    }
    [[nodiscard]] std::string text() const { return table_.text(); }
    [[nodiscard]] ps::Json::Array const& rows() const { return rows_; }

private:
    bool has_labels_;
    ps::TextTable table_;
    ps::Json::Array rows_;
};

/// The convolutions that a plan computes in 8 bits.
std::vector<std::string> layers_in_bytes(ps::Plan const& plan) {
    const ps::Kernels all = kernels();
    std::vector<std::string> names;
    for (ps::PlannedLayer const& layer : plan.layers) {
        const auto entry = std::ranges::find(all.primitives, layer.primitive, &ps::PrimitiveEntry::id);
        const bool in_bytes = entry != all.primitives.end() && entry->precision == ps::Precision::int8;
        if (in_bytes) names.push_back(layer.name);
    }
    return names;
}

/// The plans of all budgets, those of them that were measured, and the fastest that was measured to be within the
/// budget.
class PrecisionSearch {
public:
    /// quantised: a model with ranges, which gets the bounds of each plan that is measured. All must outlive this.
    PrecisionSearch(Model& quantised, QuantiseCommand const& options, PlanningOptions const& planning,
                    Samples const& samples, Tried const& right, ps::LayerErrors const& errors)
        : model_(quantised),
          options_(options),
          planning_(planning),
          samples_(samples),
          right_(right),
          errors_(errors),
          curve_(precision_curve(quantised, planning, errors, options.threads)) {}

    [[nodiscard]] std::vector<ps::PrecisionPlan> const& curve() const { return curve_; }
    [[nodiscard]] std::map<std::size_t, Tried> const& measured() const { return measured_; }
    /// The bounds on layers' precision that lead to a plan of the curve.
    [[nodiscard]] std::vector<ps::LayerPrecision> bounds(std::size_t point) const {
        return ps::layer_precisions(model_.simplified, curve_[point].precisions, errors_);
    }
    /// Plans anew within those bounds, as `primsel run` will, and runs that.
    Tried const& measure(std::size_t point) {
        const auto [at, is_new] = measured_.try_emplace(point);
        if (is_new) {
            model_.layer_precisions = bounds(point);
            const ps::Plan plan = plan_for(model_, planning_, options_.threads);
            at->second = try_plan(model_, plan, options_.threads, samples_, &right_);
        }
        return at->second;
    }
    /// The last plan of the curve within the budget, by bisection. The first one is as precise as floats.
    std::size_t within_budget() {
        std::size_t within = 0, beyond = curve_.size();
        for (std::size_t next = beyond - 1; within + 1 < beyond; next = within + (beyond - within) / 2) {
            (fits(next) ? within : beyond) = next;
        }
        return within;
    }

private:
    [[nodiscard]] bool fits(std::size_t point) {
        Tried const& tried = measure(point);
        if (options_.error && tried.error > *options_.error) return false;
        if (options_.agreement && *tried.same_class < *options_.agreement) return false;
        return !options_.accuracy_loss || *tried.accuracy >= *right_.accuracy - *options_.accuracy_loss;
    }

    Model& model_;
    QuantiseCommand const& options_;
    PlanningOptions const& planning_;
    Samples const& samples_;
    Tried const& right_;
    ps::LayerErrors const& errors_;
    std::vector<ps::PrecisionPlan> curve_;
    std::map<std::size_t, Tried> measured_;
};

/// The layers that stay more precise than they could be, with their errors, and the number of layers in each type.
std::string text_of_layers(PrecisionSearch const& search, std::size_t chosen, ps::Graph const& graph,
                           ps::LayerErrors const& errors) {
    ps::TextTable table;
    table.add({"layer", "computes in", "error in bf16", "in int8"});
    const auto text = [](std::optional<double> error) { return error ? in_percent(std::sqrt(*error)) : ""; };
    for (ps::LayerPrecision const& bound : search.bounds(chosen)) {
        ps::LayerError const& error = errors.at(bound.layer);
        table.add({bound.layer, std::string(to_string_view(bound.precision)), text(error.bf16), text(error.int8)});
    }
    std::map<ps::Precision, std::size_t> counts;
    for (std::size_t i = 0; i < graph.size(); ++i) {
        if (errors.contains(graph[i].name)) ++counts[search.curve()[chosen].precisions[i]];
    }
    std::string summary = "of the layers that can be less precise";
    for (auto const& [precision, count] : counts) {
        summary += ps::join(counts.begin()->first == precision ? " " : ", ", count, " in ", to_string_view(precision));
    }
    return search.bounds(chosen).empty() ? summary + '\n' : table.text() + summary + '\n';
}

ps::Json json_of_layers(ps::Graph const& graph, ps::PrecisionPlan const& plan, ps::LayerErrors const& errors) {
    ps::Json::Array layers;
    const auto root = [](std::optional<double> error) { return error ? ps::Json(std::sqrt(*error)) : ps::Json(); };
    for (std::size_t i = 0; i < graph.size(); ++i) {
        const auto error = errors.find(graph[i].name);
        if (error == errors.end()) continue;
        layers.push_back(ps::Json::Object{{"name", graph[i].name},
                                          {"precision", to_string_view(plan.precisions[i])},
                                          {"bf16_error", root(error->second.bf16)},
                                          {"int8_error", root(error->second.int8)}});
    }
    return layers;
}

void draw_curve(std::string const& path, std::string const& network, PrecisionSearch const& search) {
    ps::show::Chart chart = ps::show::precision_chart(search.curve());
    chart.title = ps::join(network, ": milliseconds of a run over its error");
    ps::show::Series measured{.name = "run", .x = {}, .y = {}, .joined = false};
    for (auto const& [point, tried] : search.measured()) {
        measured.x.push_back(100 * tried.error);
        measured.y.push_back(1e3 * tried.fastest_seconds);
    }
    chart.series.push_back(std::move(measured));
    ps::write_file(path, ps::show::to_svg(std::span(&chart, 1)));
}

/// As safetensors or as an ONNX file, as the name says.
void write_weights(QuantiseCommand const& options, Model const& model) {
    const auto about = metadata_of(normalise_of(model, options.model.weights));
    if (options.out_weights.ends_with(".safetensors"))
        ps::write_safetensors(options.out_weights, model.weights, about);
    else
        ps::write_file(options.out_weights, onnx_of(model, options.model, model.weights, about));
}

void quantise(QuantiseCommand const& options) {
    Model model = load_model(options.model);
    model.layer_precisions.clear();
    if (model.inputs.size() != 1) ps::fail(model.name, ": has ", model.inputs.size(), " inputs, not one");
    const bool is_file = options.model.weights.empty() && !has_random_weights(options.model);
    if (is_file && options.out_weights.ends_with(".safetensors")) {
        ps::fail("--out-weights ", options.out_weights, ": the weights of ", model.name, " go into another .onnx file");
    }
    const Samples samples = read_samples(options, model);
    const std::size_t one = model.graph[model.graph.input()].shape.size(),
                      batch = one * static_cast<std::size_t>(model.graph.batch());
    if (samples.images.empty() || samples.images.size() % batch != 0) {
        ps::fail(options.images, ": ", samples.images.size() / one, " images; ", model.name, " takes batches of ",
                 model.graph.batch());
    }

    const ps::Plan in_floats = plan_for(model, options.planning, options.threads);
    const Tried right = try_plan(model, in_floats, options.threads, samples, nullptr);
    if (options.agreement && !right.same_class) {
        ps::fail(model.name, ": --agreement needs a network whose only result is a row of scores");
    }
    if (options.accuracy_loss && !right.accuracy) {
        ps::fail(model.name, ": --accuracy-loss needs a network whose only result is a row of scores");
    }
    PlanningOptions planning = options.planning;
    planning.precision = ps::Precision::int8;

    TriedTable table(!samples.labels.empty());
    table.add("none (float32)", right);
    ps::PrecisionFile file;
    std::string chosen;
    Model quantised = model;
    std::optional<Tried> before;  // the chosen ranges, or the plan within the budget
    if (options.model.ranges.empty()) {
        const ps::TensorStatistics statistics(model.graph, model.weights, samples.images);
        double least = std::numeric_limits<double>::infinity();
        for (const ps::RangeMethod method : methods) {
            if (options.method.value_or(method) != method) continue;
            const ps::TensorRanges ranges = statistics.ranges(method);
            Model candidate = model;
            candidate.graph = ps::with_ranges(model.graph, ranges);
            candidate.simplified = ps::simplify(candidate.graph);
            const ps::Plan plan = plan_for(candidate, planning, options.threads);
            const Tried tried = try_plan(candidate, plan, options.threads, samples, &right);
            table.add(std::string(to_string_view(method)), tried);
            if (!(tried.error < least)) continue;
            least = tried.error, file.ranges = ranges, chosen = to_string_view(method), quantised = candidate;
            before = tried;
        }
    } else {
        file = ps::read_precision_file(options.model.ranges);
        file.layer_precisions.clear();
        chosen = options.model.ranges;
    }

    ps::Json budget;
    std::string budget_text;
    if (options.has_budget() || !options.curve.empty()) {
        if (file.errors.empty()) {
            const std::size_t some = std::max<std::size_t>(options.error_images * one / batch, 1) * batch;
            file.errors = measure_layer_errors(quantised, planning, options.threads,
                                               std::span(samples.images).first(std::min(some, samples.images.size())));
        }
        PrecisionSearch search(quantised, options, planning, samples, right, file.errors);
        std::vector<ps::PrecisionPlan> const& curve = search.curve();
        ps::Json chosen_plan;
        if (options.has_budget()) {
            const std::size_t point = search.within_budget();
            file.layer_precisions = search.bounds(point);
            before = search.measure(point);
            table.add("within the budget", *before);
            budget_text = ps::join(text_of_layers(search, point, quantised.simplified, file.errors),
                                   "the sum of their errors predicted ", in_percent(curve[point].error()),
                                   ", measured ", in_percent(before->error), '\n');
            chosen_plan = ps::Json::Object{{"predicted_error", curve[point].error()},
                                           {"tried", table.json_of("within the budget", *before)},
                                           {"layers", json_of_layers(quantised.simplified, curve[point], file.errors)}};
        }
        if (!options.curve.empty()) {
            // Eight plans between the slowest and the fastest.
            for (std::size_t i = 0; i < 8; ++i) (void)search.measure(i * (curve.size() - 1) / 7);
            draw_curve(options.curve, model.name, search);
        }
        ps::Json::Array points;
        for (std::size_t i = 0; i < curve.size(); ++i) {
            const auto found = search.measured().find(i);
            const bool known = found != search.measured().end();
            points.push_back(
                ps::Json::Object{{"predicted_error", curve[i].error()},
                                 {"predicted_ms", curve[i].plan.total_seconds * 1e3},
                                 {"error", known ? ps::Json(found->second.error) : ps::Json()},
                                 {"same_class", known ? or_null(found->second.same_class) : ps::Json()},
                                 {"fastest_ms", known ? ps::Json(found->second.fastest_seconds * 1e3) : ps::Json()}});
        }
        budget = ps::Json::Object{{"within", std::move(chosen_plan)}, {"curve", std::move(points)}};
    }
    bool corrects = false;
    if (!options.out_weights.empty()) {
        // Only for the layers that the plan computes in 8 bits: others would be shifted the other way.
        quantised.layer_precisions = file.layer_precisions;
        const ps::Plan plan = plan_for(quantised, planning, options.threads);
        if (!before) {
            before = try_plan(quantised, plan, options.threads, samples, &right);
            table.add(chosen, *before);
        }
        const std::vector<std::string> layers = layers_in_bytes(plan);
        Model corrected = quantised;
        corrected.weights = ps::correct_biases(quantised.graph, quantised.weights, samples.images, layers);
        const Tried after = try_plan(corrected, plan, options.threads, samples, &right);
        table.add("biases corrected", after);
        corrects = after.error < before->error;
        write_weights(options, corrects ? corrected : quantised);
    }
    if (!options.out.empty()) ps::write_precision_file(options.out, file);
    if (options.json) {
        ps::Json::Object result{{"model", model.name},
                                {"images", samples.images.size() / one},
                                {"tried", table.rows()},
                                {"chosen", chosen},
                                {"file", options.out.empty() ? ps::Json() : ps::Json(options.out)}};
        if (!options.out_weights.empty()) {
            result.emplace_back("weights", ps::Json::Object{{"file", options.out_weights},
                                                            {"biases", corrects ? "corrected" : "kept"}});
        }
        if (!budget.is_null()) result.emplace_back("budget", std::move(budget));
        return print_json(result);
    }
    print(table.text() + budget_text);
    if (!options.out.empty()) print_line("ranges by ", chosen, " in ", options.out);
    if (!options.out_weights.empty()) {
        print_line("weights ", corrects ? "with corrected biases" : "as they are, for corrected biases raise the error",
                   " in ", options.out_weights);
    }
}

/// An option that takes a share, as 0.01 or 1%.
CLI::Option* add_share(CLI::App& command, std::string const& name, std::optional<double>& share, double most,
                       std::string const& what) {
    return command
        .add_option_function<std::string>(
            name,
            [name, most, &share](std::string const& text) {
                const std::size_t in_percents = text.ends_with('%') ? 1 : 0;
                double value = 0;
                const bool is_number =
                    ps::read_number(std::string_view(text).substr(0, text.size() - in_percents), value);
                if (in_percents == 1) value /= 100;
                if (!is_number || !(value >= 0 && value <= most)) {
                    throw CLI::ValidationError(name, "expected a share, as 1% or 0.01, not " + text);
                }
                share = value;
            },
            what)
        ->type_name("SHARE");
}

}  // namespace

void add_quantise(CLI::App& app) {
    const auto options = std::make_shared<QuantiseCommand>();
    CLI::App& command = *app.add_subcommand(
        "quantise",
        "Find the ranges of a network's tensors, for 8-bit layers, the error with each way to choose them, and the "
        "precision of each layer within an error budget");
    add_options(command, *options, SavedPlan::refused);
    CLI::Option* const images =
        command
            .add_option("--images", options->images,
                        "Images like those that the network will see: its input as an array, or a folder of files")
            ->required()
            ->type_name("X.npy|DIR");
    add_pixel_options(command, options->pixels, images);
    CLI::Option* const labels =
        command
            .add_option("--labels", options->labels,
                        "Their labels: images are then read as by `primsel accuracy`, idx or .npy")
            ->type_name("F");
    CLI::Option* const method = command
                                    .add_option_function<std::string>(
                                        "--method",
                                        [options](std::string const& name) {
                                            for (const ps::RangeMethod each : methods) {
                                                if (name == to_string_view(each)) options->method = each;
                                            }
                                        },
                                        "min-max, percentile, mse or kl (default: the one with the least error)")
                                    ->check(CLI::IsMember({"min-max", "percentile", "mse", "kl"}))
                                    ->type_name("NAME");
    constexpr double any = std::numeric_limits<double>::max();
    add_share(
        command, "--budget", options->error, any,
        "The largest error beside float, relative to the RMS of the results, as 1%: layers whose error is dear stay "
        "more precise");
    add_share(command, "--agreement", options->agreement, 1,
              "The least share of images whose class is the same as in floats, as 99%");
    add_share(command, "--accuracy-loss", options->accuracy_loss, 1,
              "The largest loss of accuracy on images with labels, as 0.3%")
        ->needs(labels);
    command
        .add_option("--error-images", options->error_images,
                    "The number of images by which each layer's error is measured (default 16)")
        ->check(CLI::Range(1, 1 << 20))
        ->type_name("N");
    command.add_option("--curve", options->curve, "Draw the time over the error of all budgets")
        ->check(writable_file)
        ->type_name("F.svg");
    command
        .add_option("--out", options->out,
                    "Write the ranges, and the precision of layers within the budget, for `primsel run --ranges`")
        ->check(writable_file)
        ->type_name("F.json");
    command
        .add_option("--out-weights", options->out_weights,
                    "Write the weights, with biases that make up for what 8 bits do to means where that lowers the "
                    "error")
        ->check(writable_network)
        ->type_name("F.onnx|F.safetensors");
    method->excludes(command.get_option("--ranges"));
    command.callback([options, &command] {
        const bool is_array = options->images.ends_with(".npy") || !options->labels.empty();
        const bool has_curve = options->has_budget() || !options->curve.empty();
        refuse_idle(command, {{"--seed", !has_random_weights(options->model), random_weights_need},
                              {"--precision", true, "another command: this one compares float32 with int8"},
                              {"--error-images", !has_curve, "--budget, --agreement, --accuracy-loss or --curve"},
                              {"--ranges", !has_curve && options->out_weights.empty(),
                               "--budget, --agreement, --accuracy-loss, --curve or --out-weights"},
                              {"--mean", is_array, "a folder of images"},
                              {"--std", is_array, "a folder of images"},
                              {"--scale", is_array, "a folder of images"},
                              {"--no-exif", is_array, "a folder of images"}});
        refuse_same_file(command, {"--out", "--out-weights", "--curve"});
        quantise(*options);
    });
}

}  // namespace cli
