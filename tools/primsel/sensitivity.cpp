// primsel sensitivity NET: how much each layer can lose.
#include "commands.hpp"
#include "labelled_images.hpp"
#include "options.hpp"
#include "progress.hpp"
#include "pruning.hpp"
#include "session.hpp"
#include "text.hpp"

#include <primsel/core/text_table.hpp>
#include <primsel/core/thread_pool.hpp>
#include <primsel/network/fingerprint.hpp>
#include <primsel/prune/sensitivity_file.hpp>
#include <primsel/show/sensitivity_charts.hpp>
#include <primsel/train/judge.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <cstdio>
#include <memory>
#include <optional>

namespace cli {
namespace {

struct SensitivityCommand : Options {
    RankingOptions ranking;
    std::vector<double> sparsities{0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9};
    std::vector<float> mean, std;
    std::string layers;
    double apart = 0.05;
    std::string out, svg;
};

struct JudgingPolicies : ps::DefaultPolicies {
    using executor = ps::ThreadPool;
};

std::string in_percents(double share) {
    char text[24];
    std::snprintf(text, sizeof(text), "%.1f", 100 * share);
    return text;
}

void print_points(std::vector<ps::prune::SensitivityPoint> const& points, std::vector<double> const& sparsities) {
    ps::TextTable table;
    std::vector<std::string> heading{"accuracy in % without", "filters"};
    for (const double sparsity : sparsities) heading.push_back(in_percents(sparsity) + " %");
    heading.emplace_back("predicted ms");
    table.add(heading);
    for (std::size_t i = 0; i < points.size(); ++i) {
        ps::prune::SensitivityPoint const& first = points[i];
        if (first.layer.empty()) continue;
        std::vector<std::string> row{first.layer, std::to_string(first.channels)};
        for (; i < points.size() && points[i].layer == first.layer; ++i) row.push_back(in_percents(points[i].accuracy));
        --i;
        row.push_back(ps::milliseconds(points[i].seconds));
        table.add(row);
    }
    print(ps::join("whole network: accuracy ", in_percents(points[0].accuracy), " %, predicted ",
                   ps::milliseconds(points[0].seconds), " ms\n", table.text()));
}

void print_groups(std::vector<std::vector<std::string>> const& groups) {
    print("groups that bear pruning alike, the least sensitive first:\n");
    for (std::size_t i = 0; i < groups.size(); ++i) print_line("  ", i + 1, ": ", list_of_names(groups[i]));
}

void sensitivity(SensitivityCommand& options) {
    Model model = load_to_prune(options.model);
    const int batch = model.graph.batch();
    const std::string structure = ps::structure(model.graph);
    set_default_batch(model, options.model, 32);
    (void)require_scores(model.name, model.graph[model.graph.output_node()].shape);
    const ps::Shape shape = model.graph[model.graph.input()].shape;
    const AnyImages images = read_images(options.ranking.data, shape);
    ps::Normalise normalise{options.mean, options.std};
    if (options.mean.empty()) normalise = normalise_of(model, options.model.weights);

    const ps::prune::Coupling coupling(model.graph);
    std::vector<ps::prune::Ranking> rankings = rankings_of(model, options.model, coupling, options.ranking);
    if (!options.layers.empty()) {
        check_fits("--layers", options.layers, rankings);
        std::erase_if(rankings, [&](ps::prune::Ranking const& ranking) { return !fits(options.layers, ranking); });
    }
    std::optional<ps::prune::SensitivityFile> file;
    if (!options.out.empty()) {
        file.emplace(options.out, std::map<std::string, std::string>{{"network", structure},
                                                                     {"criterion", options.ranking.criterion},
                                                                     {"type", options.ranking.type},
                                                                     {"images", std::to_string(images.size())}});
    }
    Progress progress("sensitivity", 1 + rankings.size() * options.sparsities.size());
    const auto judge = [&](ps::Graph const& graph, ps::Weights const& weights) {
        progress.tick();
        return ps::judge<JudgingPolicies>(graph, weights, images, normalise, ps::ThreadPool(options.threads))
            .accuracy();
    };
    // A run is of one image, or as many as --batch says.
    const SecondsPredictor seconds_of = seconds_predictor(options.planning);
    const auto predict = [&](ps::Graph const& graph) { return seconds_of(ps::with_batch(graph, batch)); };
    const auto keep = [&](ps::prune::SensitivityPoint const& point) {
        if (file) file->append(point);
    };
    const std::vector<ps::prune::SensitivityPoint> known =
        file ? file->rows() : std::vector<ps::prune::SensitivityPoint>{};
    const std::vector<ps::prune::SensitivityPoint> points =
        ps::prune::sensitivity(model.graph, model.weights, {coupling, rankings},
                               {.sparsities = options.sparsities, .known = known}, judge, predict, keep);
    if (!options.svg.empty()) ps::write_file(options.svg, ps::show::to_svg(ps::show::sensitivity_charts(points)));
    const std::vector<std::vector<std::string>> groups = ps::prune::similar_groups(points, options.apart);
    if (options.json) {
        ps::Json::Array rows, alike;
        for (ps::prune::SensitivityPoint const& point : points) {
            rows.push_back(ps::Json::Object{{"layer", point.layer.empty() ? ps::Json() : ps::Json(point.layer)},
                                            {"sparsity", point.sparsity},
                                            {"channels", point.channels},
                                            {"left", point.left},
                                            {"accuracy", point.accuracy},
                                            {"predicted_ms", point.seconds * 1e3}});
        }
        for (auto const& group : groups) {
            alike.emplace_back(ps::Json::Array(group.begin(), group.end()));
        }
        return print_json(ps::Json::Object{{"model", model.name},
                                           {"images", images.size()},
                                           {"points", std::move(rows)},
                                           {"groups", std::move(alike)}});
    }
    print_points(points, options.sparsities);
    print_groups(groups);
}

}  // namespace

void add_sensitivity(CLI::App& app) {
    const auto options = std::make_shared<SensitivityCommand>();
    CLI::App& command =
        *app.add_subcommand("sensitivity", "How much accuracy and time each layer loses with its filters, untrained");
    add_options(command, *options, SavedPlan::refused);
    add_ranking_options(command, options->ranking, false);
    add_images(command, "", options->ranking.data, "Images to judge by");
    command.add_option("--mean", options->mean, "Taken from the pixels, for each channel (default: as trained)")
        ->expected(1, 4)
        ->delimiter(',')
        ->check(finite_number)
        ->type_name("R,G,B");
    command.add_option("--std", options->std, "What they are then divided by, for each channel")
        ->expected(1, 4)
        ->delimiter(',')
        ->check(positive_number)
        ->needs(command.get_option("--mean"))
        ->type_name("R,G,B");
    command.get_option("--mean")->needs(command.get_option("--std"));
    command.add_option("--sparsities", options->sparsities, "The shares of filters that go (default 0.1,0.2,...,0.9)")
        ->expected(1, 100)
        ->delimiter(',')
        ->check(number_range(0.0, 1.0))
        ->type_name("X,...");
    command.add_option("--layers", options->layers, "Only those with such names; * stands for any characters")
        ->type_name("PATTERN");
    command
        .add_option("--apart", options->apart,
                    "Accuracies of layers of a group differ by so much at most (default 0.05)")
        ->check(number_range(0.0, 1.0))
        ->type_name("X");
    command.add_option("--out", options->out, "Keep what is found; what is there already is not computed again")
        ->type_name("F.csv");
    command.add_option("--svg", options->svg, "Draw accuracy and predicted time over what is gone")
        ->check(writable_file)
        ->type_name("F.svg");
    command.callback([options, &command] {
        const char* const plan = "a network that runs; thinned ones are only predicted";
        refuse_idle(command, {{"--taylor-batches", options->ranking.criterion != "taylor", "--criterion taylor"},
                              {"--calibrate", true, plan},
                              {"--max-arena", true, plan}});
        if (!options->ranking.data.given()) throw CLI::RequiredError("--images and --labels, --cifar or --folder");
        sensitivity(*options);
    });
}

}  // namespace cli
