#include "pruning.hpp"

#include "text.hpp"

#include <primsel/network/simplify.hpp>
#include <primsel/prune/choose.hpp>
#include <primsel/prune/criterion.hpp>
#include <primsel/prune/taylor.hpp>
#include <primsel/train/training_options.hpp>

#include <CLI/CLI.hpp>

#include <algorithm>
#include <utility>

namespace cli {
namespace {

ps::prune::Taylor taylor_of(ModelOptions from, RankingOptions const& options) {
    if (!options.data.given()) ps::fail("--criterion taylor: needs images, as --images and --labels");
    from.trains = true;
    Model model = load_model(from);
    (void)require_scores(model.name, model.graph[model.graph.output_node()].shape);
    const ps::Normalise normalise = normalise_of(model, from.weights);
    const AnyImages images = read_images(options.data, model.graph[model.graph.input()].shape);
    constexpr std::size_t images_at_once = 16;
    set_default_batch(model, from, static_cast<int>(std::min(images_at_once, images.size())));
    return ps::prune::taylor(model.graph, model.weights, images, normalise, options.batches);
}

}  // namespace

void add_ranking_options(CLI::App& command, RankingOptions& options, bool with_images) {
    command
        .add_option("--criterion", options.criterion,
                    "Which filters matter least: l1 (default), l2, median, batch-norm, taylor, random")
        ->check(CLI::IsMember({"l1", "l2", "median", "batch-norm", "taylor", "random"}))
        ->type_name("NAME");
    command
        .add_option("--type", options.type,
                    "Judge by the filters that make channels (default), or those that read them")
        ->check(CLI::IsMember({"filters", "channels"}))
        ->type_name("filters|channels");
    command.add_option("--taylor-batches", options.batches, "Batches of images for --criterion taylor (default 16)")
        ->check(CLI::Range(1, 1'000'000))
        ->type_name("N");
    if (with_images) add_images(command, "", options.data, "Images for --criterion taylor");
}

Model load_to_prune(ModelOptions const& options) {
    Model model = load_model(options);
    model.graph = ps::join_reorderings(model.graph);
    return model;
}

std::vector<ps::prune::Ranking> rankings_of(Model const& model, ModelOptions const& from,
                                            ps::prune::Coupling const& coupling, RankingOptions const& options) {
    const ps::prune::GroupType type =
        options.type == "channels" ? ps::prune::GroupType::channels : ps::prune::GroupType::filters;
    const auto rank = [&](auto const& criterion) {
        return ps::prune::rank_filters(model.graph, model.weights, coupling, criterion, type);
    };
    if (options.criterion == "l2") return rank(ps::prune::L2Norm{});
    if (options.criterion == "median") return rank(ps::prune::GeometricMedian{});
    if (options.criterion == "batch-norm") return rank(ps::prune::BatchNormScale{});
    if (options.criterion == "random") return rank(ps::prune::RandomScore{from.seed});
    if (options.criterion == "taylor") return rank(taylor_of(from, options));
    return rank(ps::prune::L1Norm{});
}

bool fits(std::string const& pattern, ps::prune::Ranking const& ranking) {
    return std::ranges::any_of(ranking.layers, [&](std::string const& layer) {
        return ps::matches_pattern(pattern, layer) || ps::matches_pattern(pattern, layer + ".weight");
    });
}

void check_fits(std::string const& option, std::string const& pattern, std::span<const ps::prune::Ranking> rankings) {
    std::vector<std::string> names;
    for (ps::prune::Ranking const& ranking : rankings) {
        if (fits(pattern, ranking)) return;
        names.insert(names.end(), ranking.layers.begin(), ranking.layers.end());
    }
    ps::fail(option, ' ', pattern, ": no layer that can be pruned has such a name; ", did_you_mean(pattern, names),
             "there are ", list_of_names(names));
}

}  // namespace cli
