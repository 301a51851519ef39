// Searchers at equal budgets, on standard test functions and on a table of pruned networks.
//
//   bench_search_searchers table FILE              the table: three sparsities of ResNet-56, predicted ms, what is left
//   bench_search_searchers run SEEDS TRIALS [FILE]  a line "function,searcher,seed,best after trial 1,..."
//   bench_search_searchers times                    what a proposal of Bayes takes after so many trials
//   bench_search_searchers value FUNCTION X...      what a function is at a point of the unit cube
//
// bench/search/against_optuna.py runs Optuna's samplers beside them. A trial of the table costs its predicted latency
// as a share of the whole network's, and more than any latency where less importance is left than 0.7: the hybrid
// metric.
#include "functions.hpp"

#include <primsel/core/timer.hpp>
#include <primsel/engine/engine.hpp>
#include <primsel/network/zoo/resnet.hpp>
#include <primsel/prune.hpp>
#include <primsel/search/bayes.hpp>
#include <primsel/search/grid.hpp>
#include <primsel/search/random_search.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <iostream>
#include <limits>
#include <numeric>
#include <optional>
#include <random>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace {

namespace ps = primsel;

constexpr int levels = 16;  // sparsities 0, 1/16, ..., 15/16 of each of three groups

struct Row {
    double milliseconds = 0, left = 0;
};

/// The rankings of the first convolutions of the blocks of a stage.
std::vector<ps::prune::Ranking> rankings_of(std::vector<ps::prune::Ranking> const& all, std::string const& stage) {
    std::vector<ps::prune::Ranking> some;
    for (ps::prune::Ranking const& ranking : all) {
        const std::string& name = ranking.layers[0];
        if (ranking.layers.size() == 1 && name.starts_with(stage) && name.ends_with("conv1")) some.push_back(ranking);
    }
    return some;
}

/// Random weights whose filters differ as those of trained networks do: log-normally.
ps::Weights uneven_weights(ps::Graph const& graph) {
    const ps::Weights even = ps::random_weights(graph, 1);
    std::mt19937_64 random(1);
    std::normal_distribution<double> normal;
    ps::Weights weights(even.source());
    for (auto const& [name, tensor] : even) {
        std::vector<float> values(tensor.values.begin(), tensor.values.end());
        const std::size_t filters = static_cast<std::size_t>(tensor.dims[0]), each = values.size() / filters;
        for (std::size_t i = 0; i < filters && tensor.dims.size() == 4; ++i) {
            const auto factor = static_cast<float>(std::exp(normal(random)));
            for (std::size_t k = 0; k < each; ++k) values[i * each + k] *= factor;
        }
        weights.add(name, tensor.dims, std::move(values));
    }
    return weights;
}

/// The share of L1 norms that is left of a stage's layers, on average.
double importance_left(ps::Weights const& weights, std::vector<ps::prune::Ranking> const& rankings, double sparsity) {
    double sum = 0;
    for (ps::prune::Ranking const& ranking : rankings) {
        const auto values = weights.at(ranking.layers[0] + ".weight").values;
        std::vector<double> norms(ranking.count, 0.0);
        const std::size_t each = values.size() / norms.size();
        for (std::size_t i = 0; i < values.size(); ++i) norms[i / each] += std::abs(static_cast<double>(values[i]));
        std::ranges::sort(norms);
        const std::size_t go = ps::prune::choose(ranking, sparsity).size();
        sum += std::accumulate(norms.begin() + static_cast<std::ptrdiff_t>(go), norms.end(), 0.0) /
               std::accumulate(norms.begin(), norms.end(), 0.0);
    }
    return sum / static_cast<double>(rankings.size());
}

void write_table(const char* path) {
    const ps::Graph graph = ps::zoo::ResNet56::graph();
    const ps::Weights weights = uneven_weights(graph);
    const ps::prune::Coupling coupling(graph);
    const std::vector<ps::prune::Ranking> all = ps::prune::rank_filters(graph, weights, coupling, ps::prune::L1Norm{});
    const std::vector<ps::prune::Ranking> groups[3] = {rankings_of(all, "layer1"), rankings_of(all, "layer2"),
                                                       rankings_of(all, "layer3")};
    const ps::Kernels kernels = ps::Engine<ps::zoo::ResNet56>::kernels();
    std::ofstream file(path);
    for (int number = 0; number < levels * levels * levels; ++number) {
        const int at[3] = {number / (levels * levels), number / levels % levels, number % levels};
        ps::prune::RemovedGroups choice;
        double left = 1;
        for (int i = 0; i < 3; ++i) {
            const double sparsity = static_cast<double>(at[i]) / levels;
            // Early layers matter more.
            left *= std::pow(importance_left(weights, groups[i], sparsity), i == 0 ? 1.5 : 1.0);
            for (ps::prune::Ranking const& ranking : groups[i]) {
                const ps::prune::RemovedGroups part = ps::prune::choose(ranking, sparsity);
                choice.insert(part.begin(), part.end());
            }
        }
        ps::Analytical model;
        const ps::Graph thin = ps::simplify(ps::prune::remove_channels(graph, weights, coupling, choice).graph);
        const double seconds = ps::make_plan(thin, kernels, model, ps::ReductionPbqp{}).total_seconds;
        file << at[0] << ',' << at[1] << ',' << at[2] << ',' << seconds * 1e3 << ',' << left << '\n';
    }
}

std::vector<Row> read_table(const char* path) {
    std::vector<Row> rows;
    std::ifstream file(path);
    for (std::string line; std::getline(file, line);) {
        Row row;
        if (std::sscanf(line.c_str(), "%*d,%*d,%*d,%lf,%lf", &row.milliseconds, &row.left) == 2) rows.push_back(row);
    }
    if (rows.size() != levels * levels * levels) std::exit(1);
    return rows;
}
constexpr double least_left = 0.7;

Row const& row_of(std::vector<Row> const& table, ps::search::SearchPoint const& point) {
    std::size_t number = 0;
    for (ps::search::Value const& value : point.values) {
        number = number * levels + static_cast<std::size_t>(std::get<std::int64_t>(value));
    }
    return table[number];
}
double loss_of(std::vector<Row> const& table, ps::search::SearchPoint const& point) {
    Row const& row = row_of(table, point);
    return row.left >= least_left ? row.milliseconds / table[0].milliseconds : 1 + least_left - row.left;
}
/// How a sweep asks Bayes: the latency is computed, not learned, and what a trial tells is whether enough is left.
struct KnownLatency {
    std::vector<Row> const* table;
    [[nodiscard]] ps::search::Outcome operator()(ps::search::SearchPoint const& point) const {
        return {{row_of(*table, point).milliseconds}, {std::numeric_limits<double>::quiet_NaN()}};
    }
    [[nodiscard]] ps::search::Outcome tried(ps::search::SearchPoint const& point) const {
        Row const& row = row_of(*table, point);
        return {{row.milliseconds}, {least_left - row.left}};
    }
};

template <class S, class Loss, class Told>
void run(std::string_view function, std::string_view name, std::uint64_t seed, std::size_t trials, S searcher,
         Loss const& loss, Told const& told) {
    std::cout << function << ',' << name << ',' << seed;
    double best = 1e300;
    for (std::size_t i = 0; i < trials; ++i) {
        if (const std::optional<ps::search::SearchPoint> point = searcher.ask()) {
            best = std::min(best, loss(*point));
            searcher.tell(*point, told(*point));
        }
        std::cout << ',' << best;
    }
    std::cout << std::endl;
}

template <class S, class Loss>
void run(std::string_view function, std::string_view name, std::uint64_t seed, std::size_t trials, S searcher,
         Loss const& loss) {
    run(function, name, seed, trials, std::move(searcher), loss,
        [&](ps::search::SearchPoint const& point) { return ps::search::Outcome{{loss(point)}}; });
}

template <class Loss>
void run_all(std::string_view function, ps::search::Space const& space, std::uint64_t seeds, std::size_t trials,
             Loss const& loss) {
    const double root = std::pow(static_cast<double>(trials), 1 / static_cast<double>(space.parameters().size()));
    const auto grid_levels = std::max<std::size_t>(static_cast<std::size_t>(root + 1e-9), 2);
    for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
        run(function, "bayes", seed, trials, ps::search::Bayes(space, {.seed = seed}), loss);
        run(function, "random", seed, trials, ps::search::RandomSearch(space, seed), loss);
        // A grid is taken in another order for each seed, as no order is better than another.
        std::vector<ps::search::Parameter> rotated = space.parameters();
        const auto middle = rotated.begin() + static_cast<std::ptrdiff_t>(seed % rotated.size());
        std::ranges::rotate(rotated, middle);
        run(function, "grid", seed, trials, ps::search::Grid(ps::search::Space(rotated), grid_levels),
            [&](ps::search::SearchPoint point) {
                std::ranges::rotate(point.values, point.values.end() - (middle - rotated.begin()));
                return loss(point);
            });
    }
}

/// Mean seconds of a proposal of Bayes between so many trials and eight more, with so many parameters and objectives.
double proposal_seconds(std::size_t parameters, std::size_t objectives, std::size_t trials) {
    constexpr std::size_t proposals = 8;
    std::vector<ps::search::Parameter> all;
    for (std::size_t i = 0; i < parameters; ++i) {
        all.push_back(ps::search::Parameter::real("x" + std::to_string(i), 0, 1));
    }
    const ps::search::Space space(all);
    ps::search::Bayes<> bayes(space, {.objectives = objectives, .seed = 1});
    const auto tell = [&](ps::search::SearchPoint const& point) {
        const std::vector<double> x = space.shares_of(point);
        double sum = 0;
        for (std::size_t i = 0; i < x.size(); ++i) sum += std::cos(3 * x[i] + static_cast<double>(i));
        std::vector<double> values{sum, x[0] * x[0] - sum / 2};
        values.resize(objectives);
        bayes.tell(point, {values});
    };
    ps::search::RandomSearch random(space, 2);
    for (std::size_t i = 0; i < trials; ++i) tell(random.ask().value());
    double seconds = 0;
    for (std::size_t i = 0; i < proposals; ++i) {
        const ps::Timer timer;
        const std::optional<ps::search::SearchPoint> point = bayes.ask();
        seconds += timer.seconds() / proposals;
        tell(point.value());
    }
    return seconds;
}
void print_times() {
    std::printf("ms a proposal\n%10s %10s %10s %10s\n", "trials", "3, 1 goal", "8, 1 goal", "8, 2 goals");
    for (const std::size_t trials : {10U, 20U, 40U, 80U, 160U}) {
        std::printf("%10zu %10.1f %10.1f %10.1f\n", trials, proposal_seconds(3, 1, trials) * 1e3,
                    proposal_seconds(8, 1, trials) * 1e3, proposal_seconds(8, 2, trials) * 1e3);
        std::fflush(stdout);
    }
}

}  // namespace

int main(int argc, char** argv) {
    if (argc == 3 && std::string_view(argv[1]) == "table") {
        write_table(argv[2]);
        return 0;
    }
    if (argc == 2 && std::string_view(argv[1]) == "times") {
        print_times();
        return 0;
    }
    for (functions::Function const& function : functions::all) {
        if (argc < 4 || std::string_view(argv[1]) != "value" || function.name != argv[2]) continue;
        std::vector<double> at;
        for (int i = 3; i < argc; ++i) at.push_back(std::strtod(argv[i], nullptr));
        if (at.size() != function.parameters) return 2;
        std::printf("%.12g\n", function.of(at));
        return 0;
    }
    if (argc < 4 || std::string_view(argv[1]) != "run") {
        std::cerr << "searchers table FILE | searchers times | searchers run SEEDS TRIALS [FILE]\n";
        return 2;
    }
    const std::uint64_t seeds = std::strtoull(argv[2], nullptr, 10);
    const std::size_t trials = std::strtoull(argv[3], nullptr, 10);
    for (functions::Function const& function : functions::all) {
        std::vector<ps::search::Parameter> parameters;
        for (std::size_t i = 0; i < function.parameters; ++i) {
            parameters.push_back(ps::search::Parameter::real("x" + std::to_string(i), 0, 1));
        }
        run_all(function.name, ps::search::Space(parameters), seeds, trials, [&](ps::search::SearchPoint const& point) {
            std::vector<double> at;
            for (ps::search::Value const& value : point.values) at.push_back(ps::search::number_of(value));
            return function.of(at);
        });
    }
    if (argc > 4) {
        const std::vector<Row> table = read_table(argv[4]);
        std::vector<ps::search::Parameter> parameters;
        for (const char* name : {"layer1", "layer2", "layer3"}) {
            parameters.push_back(ps::search::Parameter::integer(name, 0, levels - 1));
        }
        const ps::search::Space space(parameters);
        const auto loss = [&](ps::search::SearchPoint const& point) { return loss_of(table, point); };
        run_all("resnet56", space, seeds, trials, loss);
        const KnownLatency known{&table};
        for (std::uint64_t seed = 1; seed <= seeds; ++seed) {
            run("resnet56", "bayes-known", seed, trials,
                ps::search::Bayes(space, {.constraints = 1, .seed = seed}, known), loss,
                [&](ps::search::SearchPoint const& point) { return known.tried(point); });
        }
    }
    return 0;
}
