// primsel search SPACE --bound time=20ms: the network of a family that scores best within bounds.
#include "commands.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "text.hpp"

#include <primsel/core/csv.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/core/text_table.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/forecast/forecaster_file.hpp>
#include <primsel/network/prepare.hpp>
#include <primsel/onnx/export.hpp>
#include <primsel/search/evolution.hpp>
#include <primsel/search/subnet_forecasts.hpp>
#include <primsel/show/chart.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <limits>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace cli {
namespace {

struct SearchCommand {
    std::string space, objective = "parameters", device, training_device, svg, out;
    std::vector<int> sizes;
    ps::search::SubnetBounds bounds;
    ps::search::SubnetBatches batches;
    ps::search::EvolutionOptions evolution;
    std::size_t samples = 40;
    double cautious = 1;
    bool json = false;
};

[[noreturn]] void refuse_bound(std::string const& text) {
    throw CLI::ValidationError("--bound", text + ": expected time=20ms, memory=100M or training-memory=1G");
}
double bytes_of(std::string const& text, std::string const& value) {
    try {
        return static_cast<double>(parse_bytes(value));
    } catch (CLI::ValidationError const&) {  // which names another option
        refuse_bound(text);
    }
}
/// "time=20ms", "memory=100M", "training-memory=1G".
void add_bound(std::string const& text, ps::search::SubnetBounds& bounds) {
    const std::size_t equals = std::min(text.find('='), text.size());
    const std::string name = text.substr(0, equals), value = text.substr(std::min(equals + 1, text.size()));
    if (name == "memory") {
        bounds.inference_bytes = bytes_of(text, value);
    } else if (name == "training-memory") {
        bounds.training_bytes = bytes_of(text, value);
    } else {
        const std::string_view unit = value.ends_with("ms") ? "ms" : "s";
        double amount = 0;
        const bool sound = name == "time" && value.ends_with(unit) &&
                           ps::read_number(std::string_view(value).substr(0, value.size() - unit.size()), amount) &&
                           ps::is_finite(amount) && amount > 0;
        if (!sound) refuse_bound(text);
        bounds.seconds = amount * (unit == "ms" ? 1e-3 : 1);
    }
}

ps::search::ResNetSupernet supernet_of(SearchCommand const& options) {
    ps::search::ResNetSupernet supernet;
    if (options.space == "resnet-small") {
        supernet = {.sizes = {32, 48, 64},
                    .widths = {0.5, 0.75, 1.0},
                    .depths = {0, 1},
                    .expansions = {0.25, 0.5},
                    .least_blocks = {1, 1, 1, 1},
                    .channels = {32, 64, 128, 256},
                    .stem_channels = 16,
                    .classes = 10};
    }
    if (!options.sizes.empty()) supernet.sizes = options.sizes;
    return supernet;
}

/// Learned values of convolutions, or multiply-adds of an image.
double score_of(SearchCommand const& options, std::vector<ps::forecast::ConvSizes> const& sizes) {
    double score = 0;
    for (ps::forecast::ConvSizes const& conv : sizes) {
        const double weights = static_cast<double>(conv.n) * (conv.m / conv.groups) * conv.kernel_h * conv.kernel_w;
        score += options.objective == "parameters" ? weights : weights * conv.out_h * conv.out_w;
    }
    return score;
}

ps::search::SubnetForecasts<> forecasts_of(SearchCommand const& options, ps::search::ResNetSupernet const& supernet) {
    if (!options.device.empty() || !options.training_device.empty()) {
        const auto read = [](std::string const& file) {
            return file.empty() ? std::nullopt : std::optional(ps::forecast::read_forecaster(file));
        };
        return {read(options.training_device), read(options.device), options.batches, options.cautious};
    }
    const std::vector<std::size_t> choices = supernet.choices();
    const std::vector<ps::search::Subnet> subnets =
        ps::search::sample_subnets(choices, options.samples, options.evolution.seed);
    std::vector<ps::search::SubnetCosts> costs;
    Progress progress("planning samples", subnets.size());
    for (ps::search::Subnet const& subnet : subnets) {
        costs.push_back(ps::search::engine_costs(supernet, subnet, options.batches));
        progress.tick();
    }
    return ps::search::SubnetForecasts<>::fit(supernet, subnets, costs, options.batches, options.cautious);
}

ps::Json to_json(double value, double factor = 1) {
    return std::isfinite(value) ? ps::Json(value * factor) : ps::Json();
}
ps::Json to_json(ps::search::SubnetCosts const& costs) {
    return ps::Json::Object{{"training_bytes", to_json(costs.training_bytes)},
                            {"bytes", to_json(costs.inference_bytes)},
                            {"ms", to_json(costs.seconds, 1e3)}};
}

/// The sub-networks that were asked about, by time and score, and the best for each time.
class Picture {
public:
    void add(double seconds, double score, bool kept) {
        if (!std::isfinite(seconds)) return;
        ps::show::Series& series = kept ? kept_ : broke_;
        // Draws the points that come first, and then ever fewer.
        ++count_;
        if (count_ % (1 + count_ / 2000) == 0) series.x.push_back(seconds * 1e3), series.y.push_back(score / 1e6);
        if (kept) best_.emplace_back(seconds * 1e3, score / 1e6);
    }
    [[nodiscard]] std::string svg(SearchCommand const& options) {
        std::ranges::sort(best_);
        ps::show::Series front{"front", {}, {}, true};
        double highest = -1;
        for (auto const& [x, y] : best_) {
            if (y > highest) front.x.push_back(x), front.y.push_back(y), highest = y;
        }
        const ps::show::Chart chart{ps::join("Sub-networks of ", options.space, ": millions of ", options.objective),
                                    "predicted milliseconds of a run",
                                    {broke_, kept_, front}};
        return ps::show::to_svg(std::span(&chart, 1));
    }

private:
    ps::show::Series kept_{"within the bounds", {}, {}, false}, broke_{"beyond a bound", {}, {}, false};
    std::vector<std::pair<double, double>> best_;
    std::size_t count_ = 0;
};

/// Finds the sub-network that exceeds its bounds least, among those that break one.
class Nearest {
public:
    explicit Nearest(ps::search::SubnetBounds const& bounds) : bounds_(bounds) {}

    void add(ps::search::Subnet const& subnet, ps::search::SubnetCosts const& costs) {
        const double excess =
            std::max({share(costs.seconds, bounds_.seconds), share(costs.inference_bytes, bounds_.inference_bytes),
                      share(costs.training_bytes, bounds_.training_bytes)});
        if (subnet_.empty() || excess < excess_) subnet_ = subnet, costs_ = costs, excess_ = excess;
    }
    /// "; the nearest, 0 1 2, takes 2.00 ms of 1.00 ms, memory 5 MB of 1 MB"
    [[nodiscard]] std::string text() const {
        std::string text = ps::join("; the nearest, ", ps::search::text_of(subnet_), ", takes");
        const char* comma = " ";
        const auto add = [&](const char* what, double value, double most, auto const& said) {
            if (!std::isfinite(most)) return;
            text += ps::join(std::exchange(comma, ", "), what, std::isfinite(value) ? said(value) : "what is not known",
                             " of ", said(most));
        };
        const auto bytes = [](double value) { return megabytes(static_cast<std::size_t>(value)); };
        add("", costs_.seconds, bounds_.seconds, [](double value) { return ps::milliseconds(value) + " ms"; });
        add("memory ", costs_.inference_bytes, bounds_.inference_bytes, bytes);
        add("training memory ", costs_.training_bytes, bounds_.training_bytes, bytes);
        return text;
    }

private:
    [[nodiscard]] static double share(double value, double most) {
        if (!std::isfinite(most)) return 0;
        return std::isfinite(value) ? value / most : std::numeric_limits<double>::infinity();
    }

    ps::search::SubnetBounds bounds_;
    ps::search::Subnet subnet_;
    ps::search::SubnetCosts costs_;
    double excess_ = 0;
};

void search(SearchCommand& options) {
    const ps::search::ResNetSupernet supernet = supernet_of(options);
    const std::vector<std::size_t> choices = supernet.choices();
    const ps::Timer learning;
    const ps::search::SubnetForecasts<> forecasts = forecasts_of(options, supernet);
    const double learned = learning.seconds();
    const bool here = options.device.empty() && options.training_device.empty();

    Picture picture;
    Nearest nearest(options.bounds);
    bool any_kept = false;
    const auto judge = [&](ps::search::Subnet const& subnet) -> std::optional<double> {
        const std::vector<ps::forecast::ConvSizes> sizes = supernet.convolutions(subnet);
        const ps::search::SubnetCosts costs = forecasts(sizes);
        const bool kept = options.bounds.hold(costs);
        const double score = score_of(options, sizes);
        any_kept = any_kept || kept;
        if (!kept) nearest.add(subnet, costs);
        if (!options.svg.empty()) picture.add(costs.seconds, score, kept);
        return kept ? std::optional(score) : std::nullopt;
    };
    options.evolution.start = {ps::search::smallest_subnet(choices)};
    const ps::Timer searching;
    ps::search::Evolution found;
    try {
        Progress progress("searching", options.evolution.iterations);
        found =
            ps::search::evolve(choices, judge, options.evolution, [&](std::size_t, ps::search::ScoredSubnet const&) {
                progress.tick();
                return true;
            });
    } catch (ps::error const& fault) {
        if (any_kept) throw;
        ps::fail(fault.what(), nearest.text());
    }
    const double searched = searching.seconds();

    // For our own engines the plan has the last word.
    std::optional<ps::search::ScoredSubnet> chosen;
    ps::search::SubnetCosts costs;
    Nearest nearest_plan(options.bounds);
    for (ps::search::ScoredSubnet const& each : found.best) {
        costs = here ? ps::search::engine_costs(supernet, each.subnet, options.batches)
                     : forecasts(supernet.convolutions(each.subnet));
        if (options.bounds.hold(costs)) {
            chosen = each;
            break;
        }
        nearest_plan.add(each.subnet, costs);
    }
    if (!chosen) {
        ps::fail("search: by their plans, none of ", found.best.size(), " sub-networks keeps the bounds",
                 nearest_plan.text());
    }
    if (!options.svg.empty()) ps::write_file(options.svg, picture.svg(options));
    if (!options.out.empty()) {
        const ps::Graph graph = supernet.graph(chosen->subnet, 1);
        ps::write_file(options.out, ps::to_onnx(graph, ps::random_weights(graph), {.open_batch = true}));
    }
    if (options.json) {
        return print_json(ps::Json::Object{{"space", options.space},
                                           {"objective", options.objective},
                                           {"asked", found.asked},
                                           {"kept", found.kept},
                                           {"learning_seconds", learned},
                                           {"searching_seconds", searched},
                                           {"subnet", ps::search::text_of(chosen->subnet)},
                                           {"size", supernet.sizes[chosen->subnet[0]]},
                                           {"score", chosen->score},
                                           {"costs", to_json(costs)}});
    }
    char text[160];
    std::snprintf(text, sizeof(text), "%zu sub-networks in %.1f s, %zu of them within the bounds; learned in %.1f s\n",
                  found.asked, searched, found.kept, learned);
    print(text);
    print_line("best: ", ps::search::text_of(chosen->subnet), ", images of ", supernet.sizes[chosen->subnet[0]]);
    std::snprintf(text, sizeof(text), "  %.2f million %s\n", chosen->score / 1e6, options.objective.c_str());
    print(text);
    const auto line = [](const char* what, double value, std::string const& known) {
        print_line("  ", what, "  ", std::isfinite(value) ? known : "not known");
    };
    const auto bytes = [](double value) {
        return std::isfinite(value) ? megabytes(static_cast<std::size_t>(value)) : std::string();
    };
    line("memory of a step of training", costs.training_bytes, bytes(costs.training_bytes));
    line("memory of a run", costs.inference_bytes, bytes(costs.inference_bytes));
    line("time of a run", costs.seconds, ps::milliseconds(costs.seconds) + " ms");
}

}  // namespace

void add_search(CLI::App& app) {
    const auto options = std::make_shared<SearchCommand>();
    CLI::App& command =
        *app.add_subcommand("search", "The network of a family that scores best within bounds of time and memory");
    command
        .add_option("SPACE", options->space,
                    "ofa-resnet50 (image size, width, depth and expansion of every block), or resnet-small")
        ->required()
        ->check(CLI::IsMember({"ofa-resnet50", "resnet-small"}));
    command
        .add_option_function<std::vector<std::string>>(
            "--bound",
            [options](std::vector<std::string> const& all) {
                for (std::string const& text : all) add_bound(text, options->bounds);
            },
            "What a network may take at most: time=20ms and memory=100M of a run, training-memory=1G of a step")
        ->type_name("WHAT=MOST")
        ->allow_extra_args(false);
    command.add_option("--objective", options->objective, "What there is to be most of: parameters or multiply-adds")
        ->check(CLI::IsMember({"parameters", "multiply-adds"}))
        ->type_name("NAME");
    command.add_option("--sizes", options->sizes, "Of the images, in place of the space's own")
        ->expected(1, 20)
        ->delimiter(',')
        ->check(CLI::Range(32, 1024))
        ->type_name("N,...");
    const auto positive = [&](const char* name, auto& value, int most, const char* what) {
        return command.add_option(name, value, what)->check(CLI::Range(1, most))->type_name("N");
    };
    positive("--batch", options->batches.inference, 1 << 16, "Images of a run (default 1)");
    positive("--training-batch", options->batches.training, 1 << 16, "Images of a step of training (default 32)");
    command.add_option("--population", options->evolution.population, "Networks of a population (default 100)")
        ->check(CLI::Range(2, 100'000))
        ->type_name("N");
    positive("--iterations", options->evolution.iterations, 1'000'000, "Populations one after the other (default 500)");
    command
        .add_option("--samples", options->samples,
                    "Sub-networks whose plans are made for forecasts of the others (default 40)")
        ->check(CLI::Range(3, 100'000))
        ->type_name("N");
    command
        .add_option("--cautious", options->cautious,
                    "So many standard deviations are added to each forecast (default 1)")
        ->check(number_range(0.0, 10.0))
        ->type_name("X");
    command
        .add_option("--device", options->device,
                    "Forecast runs on a device, by what `primsel forecast --fit` learned of it")
        ->type_name("FILE");
    command.add_option("--training-device", options->training_device, "The same of steps of training")
        ->type_name("FILE");
    command
        .add_option("--seed", options->evolution.seed,
                    "With the same forecasts the same seed gives the same result (default 1)")
        ->type_name("S");
    command.add_option("--svg", options->svg, "Draw what was tried, and the front")
        ->check(writable_file)
        ->type_name("F.svg");
    command.add_option("--out", options->out, "The network that was found, with random weights")
        ->check(writable_file)
        ->type_name("F.onnx");
    command.add_flag("--json", options->json, "Print one JSON object");
    command.callback([options, &command] {
        const bool given = !options->device.empty() || !options->training_device.empty(),
                   no_runs = given && options->device.empty(), no_steps = given && options->training_device.empty();
        refuse_idle(command, {{"--samples", given, "to stand without --device and --training-device"},
                              {"--batch", no_runs, "--device, which forecasts runs"},
                              {"--training-batch", no_steps, "--training-device, which forecasts steps"}});
        ps::search::SubnetBounds const& bounds = options->bounds;
        if (no_runs && (std::isfinite(bounds.seconds) || std::isfinite(bounds.inference_bytes))) {
            throw CLI::ValidationError("--bound", "time and memory need --device, which forecasts runs");
        }
        if (no_steps && std::isfinite(bounds.training_bytes)) {
            throw CLI::ValidationError("--bound", "training-memory needs --training-device, which forecasts steps");
        }
        search(*options);
    });
}

}  // namespace cli
