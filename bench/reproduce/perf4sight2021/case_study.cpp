// The case study of section 6.4 of Rajagopal and Bouganis 2021 at the size of a small machine: a supernet with shared
// weights learns Fashion-MNIST by progressive shrinking, evolution finds the sub-networks of the best accuracy within
// bounds of training memory, inference memory and time, and each is retrained for an epoch on subsets of the classes.
//
//     reproduce_perf4sight2021_case OUT [EPOCHS [IMAGES]]
//     reproduce_perf4sight2021_case OUT strategies
//
// OUT keeps the supernet's weights after each phase; the same command goes on from there. The second command then
// measures steps of training of the largest network, thinned at random and by the L1 norms of its trained weights.
#include "../xun2019/images.hpp"

#include <primsel/core/timer.hpp>
#include <primsel/forecast/forecaster.hpp>
#include <primsel/forecast/measure_network.hpp>
#include <primsel/forecast/thinned.hpp>
#include <primsel/forecast/trees.hpp>
#include <primsel/io/safetensors.hpp>
#include <primsel/learn/linear.hpp>
#include <primsel/network/weight_specs.hpp>
#include <primsel/network/with_batch.hpp>
#include <primsel/search/evolution.hpp>
#include <primsel/search/subnet_forecasts.hpp>
#include <primsel/train.hpp>
#include <primsel/train/judge.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <map>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace case_study {
namespace {

namespace ps = primsel;
using ps::search::Subnet;
using Images = ps::Subset<reproduce::Images>;

struct Recipe : ps::DefaultTraining {
    using executor = ps::Sequential;
};

constexpr int batch = 64;
const ps::search::ResNetSupernet space{.sizes = {32},
                                       .widths = {0.5, 0.75, 1.0},
                                       .depths = {0, 1},
                                       .expansions = {0.25, 0.375, 0.5},
                                       .least_blocks = {1, 1, 1, 1},
                                       .channels = {64, 96, 128, 192},
                                       .stem_channels = 32,
                                       .classes = 10};
const ps::search::SubnetBatches batches{.training = 32, .inference = 1};
/// The places of a Subnet: the size, the stem's block, 5 widths, 4 depths, and the expansions of 8 blocks.
constexpr std::size_t first_width = 2, first_depth = 7, first_expansion = 11;

struct ClassSubset {
    const char* name;
    std::vector<int> labels;
};
/// Four sets of Fashion-MNIST's classes, in place of city, off-road, motorway and country-side.
const std::array<ClassSubset, 4> subsets{ClassSubset{"clothes", {0, 2, 3, 4, 6}},
                                         ClassSubset{"shoes and bags", {5, 7, 8, 9}},
                                         ClassSubset{"winter", {1, 2, 4, 9}}, ClassSubset{"summer", {0, 3, 5, 8}}};

// --- weights that sub-networks share: the first values of the largest network's along each extent

/// Calls visit(position in the part, position in the whole) for each value of a part of a tensor.
void each_shared(std::vector<std::int64_t> const& part, std::vector<std::int64_t> const& whole, auto const& visit) {
    std::size_t count = 1;
    for (const std::int64_t extent : part) count *= static_cast<std::size_t>(extent);
    for (std::size_t i = 0; i < count; ++i) {
        std::size_t left = i, at = 0, stride = 1;
        for (std::size_t axis = part.size(); axis-- > 0;) {
            const auto extent = static_cast<std::size_t>(part[axis]);
            at += left % extent * stride;
            left /= extent, stride *= static_cast<std::size_t>(whole[axis]);
        }
        visit(i, at);
    }
}
ps::Weights part_of(ps::Weights const& whole, ps::Graph const& graph) {
    ps::Weights part;
    for (ps::WeightSpec const& spec : ps::weight_specs(graph)) {
        ps::WeightTensor const& shared = whole.at(spec.name);
        std::size_t count = 1;
        for (const std::int64_t extent : spec.dims) count *= static_cast<std::size_t>(extent);
        std::vector<float> values(count);
        const float* from = shared.values.data();
        each_shared(spec.dims, shared.dims, [&](std::size_t i, std::size_t at) { values[i] = from[at]; });
        part.add(spec.name, spec.dims, std::move(values));
    }
    return part;
}
ps::Weights with_part(ps::Weights const& whole, ps::Weights const& part) {
    ps::Weights result;
    for (auto const& [name, tensor] : whole) {
        std::vector<float> values(tensor.values.begin(), tensor.values.end());
        if (const ps::WeightTensor* const own = part.find(name)) {
            const float* from = own->values.data();
            each_shared(own->dims, tensor.dims, [&](std::size_t i, std::size_t at) { values[at] = from[i]; });
        }
        result.add(name, tensor.dims, std::move(values));
    }
    return result;
}

// --- training

struct Study {
    std::string out;
    std::int64_t epochs;
    reproduce::Images all, test;
    ps::TrainValidation<reproduce::Images> parts = ps::split(all, 0.1, 1);
    ps::Normalise normalise = ps::normalisation(parts.train);

    [[nodiscard]] ps::Weights trained(ps::Graph const& graph, ps::Weights const& weights, Images const& images,
                                      std::int64_t rounds, double rate, std::uint64_t seed) const {
        ps::Trainer<ps::Graph, Recipe> trainer(
            graph, weights,
            {.batch = batch, .epochs = rounds, .learning_rate = rate, .weight_decay = 1e-4, .seed = seed},
            {.optimizer = {.momentum = 0.9}});
        trainer.fit(images, normalise, ps::Augment{.flip = true});
        return trainer.weights();
    }
    /// Draws `count` of the images to train with.
    [[nodiscard]] Images some(std::size_t count, std::uint64_t seed) const {
        std::vector<std::size_t> order = parts.train.indices();
        ps::permute(order, ps::Random(seed, 7));
        order.resize(std::min(count, order.size()));
        return {all, std::move(order)};
    }
    /// The sub-network's weights, with its own statistics of batch norms, as Cai et al. take them.
    [[nodiscard]] ps::Weights calibrated(ps::Weights const& whole, ps::Graph const& graph) const {
        return trained(graph, part_of(whole, graph), some(std::size_t{32} * batch, 1), 1, 0, 1);
    }
};

Images of_classes(reproduce::Images const& images, std::vector<std::size_t> const& from, ClassSubset const& subset) {
    std::vector<std::size_t> indices;
    for (const std::size_t i : from) {
        if (std::ranges::find(subset.labels, images.label(i)) != subset.labels.end()) indices.push_back(i);
    }
    return {images, std::move(indices)};
}

/// Trains the largest network, then makes depths, expansions and widths elastic, one after the other. A phase trains
/// the largest, the smallest of the phase and two drawn ones in turns, some updates each, at a rate that falls to 0.
ps::Weights progressive_shrinking(Study const& study) {
    const std::vector<std::size_t> choices = space.choices();
    const Subnet largest = ps::search::largest_subnet(choices);
    const ps::Graph whole_graph = space.graph(largest, batch);
    ps::Weights whole = ps::random_weights(whole_graph, 1);
    struct Phase {
        const char* name;
        std::size_t first_free, first_fixed;
    };
    const std::array<Phase, 4> phases{Phase{"largest", 0, 0}, Phase{"depths", first_depth, first_expansion},
                                      Phase{"expansions", first_depth, choices.size()},
                                      Phase{"widths", 1, choices.size()}};
    constexpr int rounds = 24;
    constexpr std::size_t updates = 40;
    ps::Random draw(1, 5);
    for (Phase const& phase : phases) {
        const std::string file = study.out + "/supernet-" + phase.name + ".safetensors";
        const bool done = std::filesystem::exists(file);
        const ps::Timer timer;
        if (done) whole = ps::read_safetensors(file);
        if (!done && phase.first_fixed == 0) {
            whole = study.trained(whole_graph, whole, study.parts.train, study.epochs, 0.05, 1);
        }
        for (int round = 0; round < (phase.first_fixed == 0 ? 0 : rounds); ++round) {
            Subnet subnet = largest;
            for (std::size_t place = phase.first_free; place < phase.first_fixed; ++place) {
                const auto drawn = static_cast<std::uint8_t>(draw.below(choices[place]));
                if (round % 4 == 1) subnet[place] = 0;
                if (round % 4 > 1) subnet[place] = drawn;
            }
            if (done) continue;  // the draws are the same
            const ps::Graph graph = space.graph(subnet, batch);
            const auto seed =
                static_cast<std::uint64_t>(round) + 100 * static_cast<std::uint64_t>(&phase - phases.data());
            const double rate = 0.02 * (1 - static_cast<double>(round) / rounds);
            whole = with_part(
                whole, study.trained(graph, part_of(whole, graph), study.some(updates * batch, seed), 1, rate, seed));
        }
        if (done) continue;
        ps::write_safetensors(file, whole);
        const ps::Graph smallest = space.graph(ps::search::smallest_subnet(choices), batch);
        const auto accuracy = [&](ps::Graph const& graph) {
            return 100 *
                   ps::judge<Recipe>(graph, study.calibrated(whole, graph), study.parts.validation, study.normalise)
                       .accuracy();
        };
        std::printf("%s: %.0f s; validation: largest %.1f %%, smallest %.1f %%\n", phase.name, timer.seconds(),
                    accuracy(whole_graph), accuracy(smallest));
        std::fflush(stdout);
    }
    return whole;
}

// --- accuracy, predicted

/// Features of accuracy: the stem's block, and the means of widths, depths and expansions of blocks that are there.
std::vector<float> features_of(Subnet const& subnet) {
    const auto mean = [&](std::size_t begin, std::size_t end) {
        float sum = 0;
        for (std::size_t i = begin; i < end; ++i) sum += static_cast<float>(subnet[i]);
        return sum / static_cast<float>(end - begin);
    };
    float expansion = 0, blocks = 0;
    for (std::size_t stage = 0; stage < 4; ++stage) {
        for (std::size_t block = 0; block <= subnet[first_depth + stage]; ++block) {
            expansion += static_cast<float>(subnet[first_expansion + 2 * stage + block]), ++blocks;
        }
    }
    return {static_cast<float>(subnet[1]),          static_cast<float>(subnet[first_width]),
            mean(first_width + 1, first_width + 3), mean(first_width + 3, first_depth),
            mean(first_depth, first_expansion),     expansion / blocks};
}
ps::FloatTable table_of(std::vector<std::vector<float>> const& rows) {
    ps::FloatTable table(rows.size(), rows.front().size(), 0.0F);
    for (std::size_t row = 0; row < rows.size(); ++row) {
        for (std::size_t i = 0; i < rows[row].size(); ++i) table(row, i) = rows[row][i];
    }
    return table;
}

/// As the accuracy predictor of Cai et al., but linear: learned from validated sub-networks, judged by others.
ps::learn::LinearRegression learn_accuracy(Study const& study, ps::Weights const& whole) {
    const std::vector<Subnet> subnets = ps::search::sample_subnets(space.choices(), 40, 3);
    std::vector<std::vector<float>> features, accuracies;
    for (Subnet const& subnet : subnets) {
        const ps::Graph graph = space.graph(subnet, batch);
        features.push_back(features_of(subnet));
        accuracies.push_back({static_cast<float>(
            ps::judge<Recipe>(graph, study.calibrated(whole, graph), study.parts.validation, study.normalise)
                .accuracy())});
    }
    constexpr std::ptrdiff_t learned = 30;
    const auto model =
        ps::learn::LinearRegression::fit(table_of({features.begin(), features.begin() + learned}),
                                         table_of({accuracies.begin(), accuracies.begin() + learned}), 0.01);
    const ps::FloatTable predicted = model.predict(table_of({features.begin() + learned, features.end()}));
    double error = 0, least = 1, most = 0;
    for (std::size_t i = 0; i < predicted.rows(); ++i) error += std::abs(predicted(i, 0) - accuracies[learned + i][0]);
    for (std::vector<float> const& each : accuracies) {
        least = std::min<double>(least, each[0]), most = std::max<double>(most, each[0]);
    }
    std::printf("accuracy of %zu sub-networks: %.1f to %.1f %%; predicted for %zu others within %.2f points\n",
                subnets.size(), 100 * least, 100 * most, predicted.rows(),
                100 * error / static_cast<double>(predicted.rows()));
    return model;
}

// --- table 2

double megabytes_of(ps::Weights const& weights) {
    std::size_t bytes = 0;
    for (auto const& [name, tensor] : weights) bytes += tensor.values.size_bytes();
    return static_cast<double>(bytes) / 1e6;
}

void print_row(Study const& study, ps::Weights const& whole, const char* name, double seconds, Subnet const& subnet,
               ps::search::SubnetCosts const& costs) {
    const ps::Graph graph = space.graph(subnet, batch);
    const ps::Weights weights = study.calibrated(whole, graph);
    std::printf("| %s | %.1f | %.2f | %.2f | %.2f | %.3f |", name, seconds, megabytes_of(weights),
                costs.training_bytes / 1e6, costs.inference_bytes / 1e6, costs.seconds * 1e3);
    std::vector<std::size_t> all(study.test.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    for (ClassSubset const& subset : subsets) {
        const Images test = of_classes(study.test, all, subset);
        const auto accuracy = [&](ps::Weights const& of) {
            return 100 * ps::judge<Recipe>(graph, of, test, study.normalise).accuracy();
        };
        std::printf(" %.1f |", accuracy(weights));
        const Images images = of_classes(study.all, study.parts.train.indices(), subset);
        std::printf(" %.1f |", accuracy(study.trained(graph, weights, images, 1, 0.01, 9)));
        std::fflush(stdout);
    }
    std::printf("\n");
}

void table2(Study const& study, ps::Weights const& whole) {
    const std::vector<std::size_t> choices = space.choices();
    const std::vector<Subnet> subnets = ps::search::sample_subnets(choices, 24, 7);
    std::vector<ps::search::SubnetCosts> costs;
    for (Subnet const& subnet : subnets) costs.push_back(ps::search::engine_costs(space, subnet, batches));
    const auto forecasts = ps::search::SubnetForecasts<>::fit(space, subnets, costs, batches);
    const ps::learn::LinearRegression accuracy = learn_accuracy(study, whole);
    std::printf("| | search, s | weights, MB | training, MB | run, MB | run, ms |");
    for (ClassSubset const& subset : subsets) std::printf(" %s | retrained |", subset.name);
    std::printf("\n|---|---|---|---|---|---|---|---|---|---|---|---|---|---|\n");
    print_row(study, whole, "MAX", 0, subnets[1], costs[1]);
    struct Goal {
        const char* name;
        double training, inference, time;
    };
    // The shares of MAX's costs that the paper's A and B take.
    for (Goal const& goal : {Goal{"A", 1.6, 1.05, 1.8}, Goal{"B", 1.9, 1.1, 2.8}}) {
        const ps::Timer timer;
        const ps::search::SubnetBounds bounds{costs[1].training_bytes / goal.training,
                                              costs[1].inference_bytes / goal.inference, costs[1].seconds / goal.time};
        const auto judge = [&](Subnet const& subnet) -> std::optional<double> {
            if (!bounds.hold(forecasts(space.convolutions(subnet)))) return std::nullopt;
            return accuracy.predict(table_of({features_of(subnet)}))(0, 0);
        };
        const ps::search::Evolution found = ps::search::evolve(choices, judge, {.start = {subnets[0]}, .seed = 1});
        const double seconds = timer.seconds();
        bool kept = false;
        for (std::size_t i = 0; i < found.best.size() && !kept; ++i) {
            const ps::search::SubnetCosts exact = ps::search::engine_costs(space, found.best[i].subnet, batches);
            kept = bounds.hold(exact);
            if (kept) print_row(study, whole, goal.name, seconds, found.best[i].subnet, exact);
        }
        if (!kept) std::printf("| %s | none of the best %zu keeps the bounds |\n", goal.name, found.best.size());
    }
    print_row(study, whole, "MIN", 0, subnets[0], costs[0]);
}

// --- figure 3's bars Rand and L1, of our own trainer

ps::Graph thinned_by_l1(ps::Graph const& graph, ps::Weights const& weights, double level) {
    const ps::prune::Coupling coupling(graph);
    const std::vector<ps::prune::Ranking> rankings =
        ps::prune::rank_filters(graph, weights, coupling, ps::prune::L1Norm{});
    return ps::prune::remove_channels(graph, coupling,
                                      ps::prune::sparing(graph, coupling, ps::prune::choose(rankings, level)));
}

/// Learns from the largest network thinned at random to the paper's levels, and forecasts steps of training of it
/// thinned to others: at random, and by the L1 norms of its trained weights.
void strategies(ps::Weights const& whole) {
    const ps::Graph graph = space.graph(ps::search::largest_subnet(space.choices()));
    struct Measured {
        ps::forecast::ProfiledNetwork profile;
        double plan;
    };
    const auto measured = [](ps::Graph const& thin) {
        std::vector<Measured> rows;
        for (const int images : {8, 32, 64}) {
            const ps::forecast::NetworkMeasurement of =
                ps::forecast::measure_network(ps::with_batch(thin, images), {.training = true, .runs = 9});
            rows.push_back({{ps::forecast::network_load(thin, images), of.seconds, static_cast<double>(of.held_bytes)},
                            of.predicted_seconds});
        }
        return rows;
    };
    std::vector<ps::forecast::ProfiledNetwork> learned;
    for (const double level : {0.0, 0.3, 0.5, 0.7, 0.9}) {
        for (Measured const& row : measured(ps::forecast::thinned(graph, {level, "random", 1}))) {
            learned.push_back(row.profile);
        }
    }
    const auto chosen = ps::forecast::Forecaster<>::fit(learned);
    const auto forest = ps::forecast::Forecaster<>::fit_only<ps::forecast::NetworkForest>(learned);
    std::puts(
        "| mean error, % | time: the plan | forest | default | memory: forest | default |\n|---|---|---|---|---|---|");
    for (const bool by_l1 : {false, true}) {
        std::array<double, 5> errors{};
        double count = 0;
        for (const double level : {0.2, 0.4, 0.6, 0.8}) {
            const ps::Graph thin =
                by_l1 ? thinned_by_l1(graph, whole, level) : ps::forecast::thinned(graph, {level, "random", 1});
            for (auto const& [profile, plan] : measured(thin)) {
                const auto off = [](double forecast, double right) { return 100 * std::abs(forecast - right) / right; };
                const ps::forecast::NetworkForecast a = forest.forecast(profile.load),
                                                    b = chosen.forecast(profile.load);
                errors[0] += off(plan, profile.seconds);
                errors[1] += off(a.seconds->value, profile.seconds),
                    errors[2] += off(b.seconds->value, profile.seconds);
                errors[3] += off(a.bytes->value, profile.bytes), errors[4] += off(b.bytes->value, profile.bytes);
                ++count;
            }
        }
        std::printf("| %s |", by_l1 ? "L1 norms of trained weights" : "at random");
        for (const double error : errors) std::printf(" %.1f |", error / count);
        std::printf("\n");
    }
}

int run(int argc, char** argv) {
    std::int64_t epochs = 5;
    std::size_t images = 10000;
    const bool measures = argc == 3 && std::string_view(argv[2]) == "strategies";
    if (measures) {
        strategies(ps::read_safetensors(std::string(argv[1]) + "/supernet-largest.safetensors"));
        return 0;
    }
    if (argc < 2 || argc > 4 || (argc > 2 && !ps::read_number(argv[2], epochs)) ||
        (argc > 3 && !ps::read_number(argv[3], images))) {
        std::puts("reproduce_perf4sight2021_case OUT [EPOCHS [IMAGES]], then OUT strategies");
        return 2;
    }
    std::filesystem::create_directories(argv[1]);
    const std::string data = "/usr/share/datasets/fashion-mnist";
    const Study study{argv[1],
                      epochs,
                      {data, "", reproduce::Images::Part::train, images, 32},
                      {data, "", reproduce::Images::Part::test, 0, 32}};
    table2(study, progressive_shrinking(study));
    return 0;
}

}  // namespace
}  // namespace case_study

int main(int argc, char** argv) {
    try {
        return case_study::run(argc, argv);
    } catch (std::exception const& fault) {
        std::fprintf(stderr, "reproduce_perf4sight2021_case: %s\n", fault.what());
        return 1;
    }
}
