// primsel dynamic NET --budget time=8ms: a network in groups under a governor, on a stream of images.
#include "commands.hpp"
#include "labelled_images.hpp"
#include "model.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "text.hpp"

#include <primsel/core/csv.hpp>
#include <primsel/core/normal.hpp>
#include <primsel/core/statistics.hpp>
#include <primsel/core/text_table.hpp>
#include <primsel/core/thread_pool.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/dynamic/dynamic_engine.hpp>
#include <primsel/dynamic/governed.hpp>
#include <primsel/dynamic/grouped.hpp>
#include <primsel/dynamic/linux_platform.hpp>
#include <primsel/engine/low_precision.hpp>
#include <primsel/io/file.hpp>
#include <primsel/io/state_dict.hpp>
#include <primsel/measure/machine_file.hpp>
#include <primsel/show/chart.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <random>
#include <thread>
#include <utility>

namespace cli {
namespace {

struct DynamicCommand {
    ModelOptions model;
    ps::Precision precision = ps::Precision::float32;
    ImageFiles data;
    int groups = 4;
    std::size_t count = 1000, threads = 1;
    ps::dynamic::Budget budget;
    double every = 0;
    std::vector<double> accuracies;
    std::string out;
    bool set_frequency = false, json = false;
};

struct DynamicPolicies : ps::LowPrecision {
    using executor = ps::ThreadPool;
    using machine = ps::measure::KeptSpeeds<ps::MeasuredInAllPrecisions>;
};
using DynamicEngine = ps::dynamic::DynamicEngine<DynamicPolicies>;

/// "8ms" of a unit "s" is 0.008.
double parse_amount(std::string const& text, std::string const& unit) {
    double amount = 0;
    const std::size_t end = std::min(text.find_first_not_of("0123456789.e-"), text.size());
    std::string left = text.substr(end);
    const bool is_number = ps::read_number(std::string_view(text).substr(0, end), amount) && amount > 0;
    double factor = 1;
    if (left == "%" && unit.empty()) left.clear(), factor = 1e-2;
    if (left.size() == unit.size() + 1 && left.ends_with(unit) && !unit.empty()) {
        factor = left[0] == 'm' ? 1e-3 : left[0] == 'u' ? 1e-6 : 0;
        left = unit;
    }
    if (!is_number || factor == 0 || (left != unit && !left.empty())) {
        throw CLI::ValidationError("--budget", text + ": expected a number of " + (unit.empty() ? "%" : unit));
    }
    return amount * factor;
}
/// "time=8ms,accuracy=70%".
ps::dynamic::Budget parse_budget(std::vector<std::string> const& parts) {
    ps::dynamic::Budget budget;
    for (std::string const& part : parts) {
        const std::size_t equals = std::min(part.find('='), part.size());
        const std::string what = part.substr(0, equals), value = part.substr(std::min(equals + 1, part.size()));
        if (what == "time")
            budget.seconds = parse_amount(value, "s");
        else if (what == "energy")
            budget.joules = parse_amount(value, "J");
        else if (what == "power")
            budget.watts = parse_amount(value, "W");
        else if (what == "accuracy")
            budget.accuracy = parse_amount(value, "");
        else
            throw CLI::ValidationError("--budget", part + ": expected time=, energy=, power= or accuracy=");
    }
    return budget;
}

/// The images of the stream, one after the other, again from the first.
class ImageStream {
public:
    ImageStream(DynamicCommand const& options, Model const& model, ps::Shape shape, ps::Shape result)
        : shape_(shape), image_(shape.size()), bits_(options.model.seed) {
        if (!options.data.given()) return;
        images_ = std::make_unique<AnyImages>(read_images(options.data, shape));
        ps::check_fits(model.name, *images_, shape, require_scores(model.name, result));
        // As the network was trained.
        normalise_ = normalise_of(model, options.model.weights);
    }

    [[nodiscard]] bool labelled() const { return images_ != nullptr; }
    std::span<const float> next() {
        if (images_ == nullptr) {
            ps::core::Normal normal;
            for (float& value : image_) value = normal(bits_);
            return image_;
        }
        images_->read(place_, image_.data());
        label_ = images_->label(place_);
        place_ = (place_ + 1) % images_->size();
        normalise_(shape_, image_.data());
        return image_;
    }
    [[nodiscard]] bool is_right(std::span<const float> scores) const {
        return labelled() && std::ranges::max_element(scores) - scores.begin() == label_;
    }

private:
    std::unique_ptr<AnyImages> images_;
    ps::Shape shape_;
    ps::Normalise normalise_;
    std::vector<float> image_;
    std::mt19937 bits_;
    std::size_t place_ = 0;
    int label_ = 0;
};

/// Every configuration timed at every frequency of every core set that has a core for each thread. Accuracies: those
/// given, or of labelled images; else the share of the groups, which only says that more is better.
std::vector<ps::dynamic::OperatingPoint> measured_points(DynamicEngine& engine, ps::dynamic::LinuxPlatform& platform,
                                                         std::size_t threads, ImageStream& stream,
                                                         std::vector<double> accuracies) {
    constexpr std::size_t judged = 500, timed = 15;
    const auto count = static_cast<std::size_t>(engine.count());
    std::vector<float> scores(engine.out_shape().size());
    if (!accuracies.empty() && accuracies.size() != count) {
        ps::fail("--accuracies: ", accuracies.size(), " for ", count, " configurations");
    }
    for (std::size_t c = 0; accuracies.size() < count; ++c) {
        engine.use(static_cast<int>(c) + 1);
        std::size_t right = 0;
        for (std::size_t i = 0; i < judged && stream.labelled(); ++i) {
            engine.run(stream.next(), scores);
            right += stream.is_right(scores) ? 1 : 0;
        }
        accuracies.push_back(stream.labelled() ? static_cast<double>(right) / judged
                                               : static_cast<double>(c + 1) / static_cast<double>(count));
    }
    std::vector<ps::dynamic::OperatingPoint> points;
    const std::span<const ps::dynamic::CoreSet> sets = platform.core_sets();
    for (std::size_t set = 0; set < sets.size(); ++set) {
        if (sets[set].cores.size() < threads) continue;
        for (std::size_t level = 0; level < sets[set].hertz.size(); ++level) {
            for (std::size_t c = 0; c < count; ++c) {
                ps::dynamic::OperatingPoint point{
                    .configuration = static_cast<int>(c) + 1, .core_set = set, .level = level, .threads = threads};
                platform.apply(point);
                engine.use(point.configuration);
                const std::span<const float> image = stream.next();
                std::vector<double> seconds;
                engine.run(image, scores);
                const double before = platform.joules(), began = platform.seconds();
                for (std::size_t i = 0; i < timed; ++i) {
                    const double from = platform.seconds();
                    engine.run(image, scores);
                    seconds.push_back(platform.seconds() - from);
                }
                point.seconds = ps::median(seconds);
                point.watts = (platform.joules() - before) / (platform.seconds() - began);
                point.accuracy = accuracies[c];
                points.push_back(point);
            }
        }
    }
    return points;
}

std::string trace_text(std::vector<ps::dynamic::GovernedImage> const& images) {
    std::string text = "image,began_s,configuration,core_set,level,ms,budget_ms,late,switched\n";
    for (std::size_t i = 0; i < images.size(); ++i) {
        ps::dynamic::GovernedImage const& image = images[i];
        text += ps::join(i, ',', image.began - images[0].began, ',', image.point.configuration, ',',
                         image.point.core_set, ',', image.point.level, ',', image.seconds * 1e3, ',',
                         image.budget.seconds * 1e3, ',', image.missed ? 1 : 0, ',', image.switched ? 1 : 0, '\n');
    }
    return text;
}
std::string trace_picture(std::vector<ps::dynamic::GovernedImage> const& images) {
    ps::show::Series taken{"time", {}, {}}, budget{"budget", {}, {}}, groups{"configuration", {}, {}};
    // The slowest of so many, so that a picture has no more than a thousand.
    const std::size_t step = (images.size() + 999) / 1000;
    for (std::size_t i = 0; i < images.size(); i += step) {
        ps::dynamic::GovernedImage const* slowest = &images[i];
        for (std::size_t k = i; k < std::min(i + step, images.size()); ++k) {
            if (images[k].seconds > slowest->seconds) slowest = &images[k];
        }
        const double when = slowest->began - images[0].began;
        taken.x.push_back(when), taken.y.push_back(1e3 * slowest->seconds);
        budget.x.push_back(when), budget.y.push_back(1e3 * slowest->budget.seconds);
        groups.x.push_back(when), groups.y.push_back(static_cast<double>(slowest->point.configuration));
    }
    const std::vector<ps::show::Chart> charts{{"Milliseconds of an image", "seconds", {taken, budget}},
                                              {"Configuration", "seconds", {groups}}};
    return ps::show::to_svg(charts);
}

/// The results of a stream. `right` counts labelled images.
struct StreamResult {
    std::vector<ps::dynamic::GovernedImage> images;
    std::size_t switches = 0;
    std::optional<std::size_t> right;
    int configurations = 0;
};

void print_result(DynamicCommand const& options, ps::dynamic::LinuxPlatform const& platform,
                  StreamResult const& stream) {
    std::size_t late = 0;
    std::vector<std::vector<double>> times(static_cast<std::size_t>(stream.configurations));
    for (ps::dynamic::GovernedImage const& image : stream.images) {
        late += image.missed ? 1 : 0;
        times[static_cast<std::size_t>(image.point.configuration) - 1].push_back(image.seconds);
    }
    const std::size_t count = stream.images.size();
    if (options.json) {
        ps::Json::Array limits, configurations;
        for (std::string const& limit : platform.limits()) limits.push_back(ps::Json(limit));
        for (std::size_t c = 0; c < times.size(); ++c) {
            const ps::Json median = times[c].empty() ? ps::Json() : ps::Json(1e3 * ps::median(times[c]));
            configurations.push_back(
                ps::Json::Object{{"configuration", c + 1}, {"images", times[c].size()}, {"median_ms", median}});
        }
        ps::Json::Object result{{"images", count}, {"late", late}, {"switches", stream.switches}};
        if (stream.right) {
            result.emplace_back("accuracy", static_cast<double>(*stream.right) / static_cast<double>(count));
        }
        result.emplace_back("configurations", std::move(configurations));
        result.emplace_back("limits", std::move(limits));
        if (!options.out.empty()) result.emplace_back("file", options.out);
        return print_json(std::move(result));
    }
    ps::TextTable table;
    table.add({"configuration", "images", "median ms"});
    for (std::size_t c = 0; c < times.size(); ++c) {
        table.add({std::to_string(c + 1), std::to_string(times[c].size()),
                   times[c].empty() ? "-" : ps::milliseconds(ps::median(times[c]))});
    }
    const std::string right = stream.right ? ps::join(", ", *stream.right, " right") : "";
    print(ps::join(table.text(), late, " of ", count, " images late, ", stream.switches, " switches", right, "\n"));
    for (std::string const& limit : platform.limits()) print_line(limit);
}

/// Throws error, which says what is nearest, where no point keeps the budget by what was measured of it.
void require_kept(std::span<const ps::dynamic::OperatingPoint> points, ps::dynamic::Budget const& budget) {
    const auto share = [](double cost, double most) {
        return std::isinf(most) ? 0 : std::isfinite(cost) ? cost / most : std::numeric_limits<double>::infinity();
    };
    const auto excess = [&](ps::dynamic::OperatingPoint const& point) {
        const double accuracy = budget.accuracy > 0 ? share(budget.accuracy, std::max(point.accuracy, 0.0)) : 0;
        return std::max({share(point.seconds, budget.seconds), share(point.joules, budget.joules),
                         share(point.watts, budget.watts), accuracy});
    };
    ps::dynamic::OperatingPoint const& nearest = *std::ranges::min_element(points, {}, excess);
    if (excess(nearest) <= 1) return;
    std::string text;
    const auto add = [&](const char* what, double value, double bound, double scale, const char* unit) {
        if (std::isinf(bound) || bound == 0) return;
        char numbers[80];
        std::snprintf(numbers, sizeof(numbers), "%.4g of %.4g %s", value * scale, bound * scale, unit);
        text += ps::join(text.empty() ? "" : ", ", what, ' ', std::isfinite(value) ? numbers : "not known");
    };
    add("time", nearest.seconds, budget.seconds, 1e3, "ms");
    add("energy", nearest.joules, budget.joules, 1e3, "mJ");
    add("power", nearest.watts, budget.watts, 1, "W");
    add("accuracy", nearest.accuracy, budget.accuracy, 100, "%");
    ps::fail("dynamic: no configuration keeps the budget; nearest is configuration ", nearest.configuration, ": ",
             text);
}

void check_threads(std::size_t threads) {
    const ps::dynamic::LinuxPlatform platform({.set_frequency = false});
    const std::size_t most =
        std::ranges::max(platform.core_sets(), {}, [](auto const& set) { return set.cores.size(); }).cores.size();
    if (threads > most) ps::fail("--threads ", threads, ": no set of cores has more than ", most);
}

void run_dynamic(CLI::App const& command, DynamicCommand const& options) {
    check_threads(options.threads);
    ModelOptions named = options.model;
    named.weights.clear();
    Model model;
    model.name = named.net, model.graph = graph_of(open_model(named));
    const bool has_groups = std::ranges::any_of(
        model.graph.nodes(), [](ps::Node const& node) { return ps::dynamic::group_number(node.name) > 0; });
    refuse_idle(command, {{"--groups", has_groups, "a network that has none"}});
    if (has_groups) {
        model = load_model(options.model);
    } else {
        warn_of_undivided(options.model);
        model.graph = ps::dynamic::grouped(model.graph, options.groups);
        model.weights = options.model.weights.empty() ? ps::random_weights(model.graph, options.model.seed)
                                                      : ps::read_state_dict(options.model.weights, model.graph);
        if (!options.model.ranges.empty()) add_ranges(model, options.model.ranges);
    }
    if (!model.layer_precisions.empty()) {
        ps::fail(options.model.ranges, ": bounds the precision of layers, of which parts of a network have not all");
    }
    if (const int batch = model.graph.batch(); batch > 1) {
        ps::fail(model.name, ": takes ", batch, " images at once; those of a stream come one at a time");
    }
    ps::ThreadPool threads(options.threads);
    const auto handles = threads.native_handles();
    DynamicEngine engine(model.graph, model.weights, {.plan = {.precision = options.precision}}, std::move(threads));
    ImageStream stream(options, model, engine.in_shape(), engine.out_shape());
    ps::dynamic::LinuxPlatform platform({.set_frequency = options.set_frequency});
    platform.take_along(handles);
    ps::dynamic::Governor governor(measured_points(engine, platform, options.threads, stream, options.accuracies),
                                   options.budget);
    ps::dynamic::Governed governed(platform, governor);
    std::vector<float> scores(engine.out_shape().size());
    StreamResult result;
    result.configurations = engine.count();
    if (stream.labelled()) result.right = 0;
    std::vector<ps::dynamic::GovernedImage>& images = result.images;
    images.reserve(options.count);
    ProgressLine line;
    ps::Timer shown;
    const auto began = std::chrono::steady_clock::now();
    for (std::size_t i = 0; i < options.count; ++i) {
        std::this_thread::sleep_until(began + std::chrono::duration<double>(options.every * static_cast<double>(i)));
        const std::span<const float> image = stream.next();
        images.push_back(
            governed.run([&](int c) noexcept { engine.use(c); }, [&]() noexcept { engine.run(image, scores); }));
        if (result.right && stream.is_right(scores)) ++*result.right;
        if (shown.seconds() < 0.1) continue;
        shown = ps::Timer();
        ps::dynamic::CoreSet const& set = platform.core_sets()[images.back().point.core_set];
        line.show(ps::join("image ", i + 1, ": configuration ", images.back().point.configuration, " of ",
                           engine.count(), " on ", set.name, ", ", ps::milliseconds(images.back().seconds), " ms of ",
                           ps::milliseconds(options.budget.seconds), ", ", governor.misses(), " late"));
    }
    line.clear();
    if (!options.out.empty()) {
        ps::write_file(options.out, options.out.ends_with(".svg") ? trace_picture(images) : trace_text(images));
    }
    result.switches = governor.switches();
    print_result(options, platform, result);
    require_kept(governor.points(), options.budget);
}

}  // namespace

void add_dynamic(CLI::App& app) {
    const auto options = std::make_shared<DynamicCommand>();
    CLI::App& command = *app.add_subcommand(
        "dynamic", "Run a network in groups on a stream of images, as many groups as keep within a budget");
    add_model_options(command, options->model);
    command.remove_option(command.get_option("--batch"));  // images come one at a time
    add_precision_options(command, options->model, options->precision);
    command.add_option("--groups", options->groups, "Of a network that has none (default 4)")
        ->check(CLI::Range(2, 64))
        ->type_name("N");
    command
        .add_option_function<std::vector<std::string>>(
            "--budget", [options](std::vector<std::string> const& parts) { options->budget = parse_budget(parts); },
            "Of an image: time=8ms, energy=20mJ, power=2W, accuracy=70%, or several of them")
        ->required()
        ->delimiter(',')
        ->type_name("WHAT=AMOUNT");
    add_images(command, "", options->data, "Images of the stream; random ones without");
    command.add_option("--count", options->count, "Images of the stream (default 1000)")
        ->check(CLI::Range(std::size_t{1}, std::size_t{100'000'000}))
        ->type_name("N");
    command.add_option("--every", options->every, "Seconds from the beginning of one image to that of the next")
        ->check(number_range(0.0, 3600.0))
        ->type_name("SECONDS");
    command
        .add_option("--accuracies", options->accuracies,
                    "Of each configuration (default: of 500 labelled images; without, more groups are better)")
        ->delimiter(',')
        ->check(number_range(0.0, 1.0))
        ->type_name("A,B,...");
    command.add_option("--threads", options->threads, "Threads to run on, each on a core of its own (default 1)")
        ->check(CLI::Range(1, 1024))
        ->type_name("N");
    command.add_flag("--set-frequency", options->set_frequency, "Choose frequencies too, where the system permits");
    command.add_option("--out", options->out, "The trace: a line an image, or a picture")
        ->check(writable_file)
        ->type_name("F.csv|F.svg");
    command.add_flag("--json", options->json, "Print one JSON object");
    command.callback([options, &command] {
        refuse_idle(command,
                    {{"--no-exif", options->data.folder.empty(), "--folder"},
                     {"--seed", options->data.given() && !options->model.weights.empty(), "random weights or images"}});
        run_dynamic(command, *options);
    });
}

}  // namespace cli
