// How well the latency of a pruned network is predicted: networks with random shares of random filters gone, predicted
// as an engine plans and measured as it runs, one thread.
// Costs predict for the clock at which the machine was measured; that of a virtual machine moves by a fifth within
// seconds, so it is measured before and after each run, and times are given at the predicted clock as well. All
// networks are measured in rounds, of which the least counts: what shares the memory's bandwidth disturbs for seconds
// on end.
//
//     bench_prune_latency [networks of each = 100] [seed = 1] [multiple = 1] [resnet18 mobilenet_v2 resnet56 ...]
//
// prints a line a network, and of each kind Spearman's rank correlation and the median error.
#include <primsel/core/csv.hpp>
#include <primsel/core/statistics.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/engine/engine.hpp>
#include <primsel/network/zoo.hpp>
#include <primsel/prune/choose.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <numeric>
#include <random>
#include <string>
#include <string_view>
#include <vector>

namespace {

namespace ps = primsel;

constexpr int rounds = 3;

struct Measured {
    double seconds;
    double at_clock;  ///< at the clock that costs predict for
};

/// The lower quartile of some runs: other work on the machine makes runs longer and none shorter.
Measured measured_seconds(ps::Engine<ps::Graph>& engine) {
    ps::Machine const& machine = ps::this_machine<>();
    std::vector<float> image(engine.in_shape().size(), 0.5F), result(engine.out_shape().size());
    std::vector<double> runs, at_clock;
    const ps::Timer all;
    engine.run(image, result);
    double before = ps::relative_clock<>(machine);
    while (runs.size() < 9 || (all.seconds() < 0.15 && runs.size() < 200)) {
        const ps::Timer timer;
        engine.run(image, result);
        runs.push_back(timer.seconds());
        const double after = ps::relative_clock<>(machine);
        at_clock.push_back(runs.back() * (before + after) / 2);
        before = after;
    }
    return {ps::quantile(runs, 0.25), ps::quantile(at_clock, 0.25)};
}

std::vector<double> ranks_of(std::vector<double> const& values) {
    std::vector<std::size_t> order(values.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    std::ranges::sort(order, {}, [&](std::size_t i) { return values[i]; });
    std::vector<double> ranks(values.size());
    for (std::size_t rank = 0; rank < order.size(); ++rank) ranks[order[rank]] = static_cast<double>(rank);
    return ranks;
}
/// Spearman's: of values that are all different.
double rank_correlation(std::vector<double> const& a, std::vector<double> const& b) {
    const std::vector<double> first = ranks_of(a), second = ranks_of(b);
    const auto count = static_cast<double>(a.size());
    double squares = 0;
    for (std::size_t i = 0; i < a.size(); ++i) squares += (first[i] - second[i]) * (first[i] - second[i]);
    return 1 - 6 * squares / (count * (count * count - 1));
}
double median_error(std::vector<double> const& predicted, std::vector<double> const& measured) {
    std::vector<double> errors;
    for (std::size_t i = 0; i < measured.size(); ++i) {
        errors.push_back(std::abs(predicted[i] - measured[i]) / measured[i]);
    }
    return ps::median(errors);
}

void report(std::string const& name, std::size_t networks, unsigned seed, std::size_t multiple) {
    const ps::Graph graph = ps::zoo::graph(name);
    const ps::Weights weights = ps::random_weights(graph);
    const ps::prune::Coupling coupling(graph);
    std::mt19937 bits(seed);
    std::uniform_real_distribution<double> share(0.0, 0.9);
    std::vector<ps::prune::RemovedGroups> choices(networks);
    for (ps::prune::RemovedGroups& choice : choices) {
        const double most = share(bits);
        for (ps::prune::Ranking const& ranking : ps::prune::rank_filters(
                 graph, weights, coupling, ps::prune::RandomScore{static_cast<std::uint32_t>(bits())})) {
            choice.merge(ps::prune::choose(ranking, std::min(0.9, 2 * most * share(bits)), multiple));
        }
        choice = ps::prune::sparing(graph, coupling, choice);
    }
    constexpr double never = std::numeric_limits<double>::infinity();
    std::vector<double> predicted(networks), planned(networks), measured(networks, never), at_clock(networks, never);
    for (int round = 0; round < rounds; ++round) {
        for (std::size_t i = 0; i < networks; ++i) {
            const ps::prune::Pruned thin = ps::prune::remove_channels(graph, weights, coupling, choices[i]);
            ps::Engine<ps::Graph> engine(thin.graph, thin.weights);
            predicted[i] = engine.plan().total_seconds;
            planned[i] = engine.plan().predict_seconds + engine.plan().solve_seconds;
            const Measured run = measured_seconds(engine);
            measured[i] = std::min(measured[i], run.seconds);
            at_clock[i] = std::min(at_clock[i], run.at_clock);
        }
        std::fprintf(stderr, "%s: round %d of %d\n", name.c_str(), round + 1, rounds);
    }
    for (std::size_t i = 0; i < networks; ++i) {
        std::printf("%s %zu: predicted %.4f ms, measured %.4f ms, at the predicted clock %.4f ms\n", name.c_str(), i,
                    predicted[i] * 1e3, measured[i] * 1e3, at_clock[i] * 1e3);
    }
    std::printf("%s in multiples of %zu, %zu networks of %.3f to %.3f ms, predicted in %.1f ms (median)\n",
                name.c_str(), multiple, networks, std::ranges::min(measured) * 1e3, std::ranges::max(measured) * 1e3,
                ps::median(planned) * 1e3);
    const auto compare = [&](char const* times, std::vector<double> const& seconds) {
        std::printf("  %s: rank correlation %.4f, median error %.1f %%\n", times, rank_correlation(predicted, seconds),
                    100 * median_error(predicted, seconds));
    };
    compare("times as measured", measured);
    compare("at the predicted clock", at_clock);
}

}  // namespace

int main(int argc, char** argv) try {
    const std::vector<std::string> arguments(argv + 1, argv + argc);
    std::size_t networks = 100;
    unsigned seed = 1;
    if (!arguments.empty() && (!ps::read_number(std::string_view(arguments[0]), networks) || networks < 2)) {
        ps::fail("a number of networks from 2 on is needed, not ", arguments[0]);
    }
    if (arguments.size() > 1 && !ps::read_number(std::string_view(arguments[1]), seed)) {
        ps::fail("a seed is needed, not ", arguments[1]);
    }
    std::size_t multiple = 1;
    if (arguments.size() > 2 && !ps::read_number(std::string_view(arguments[2]), multiple)) {
        ps::fail("a multiple is needed, not ", arguments[2]);
    }
    std::vector<std::string> names(arguments.begin() + std::min<std::ptrdiff_t>(3, std::ssize(arguments)),
                                   arguments.end());
    if (names.empty()) names = {"resnet18", "mobilenet_v2", "resnet56"};
    for (std::string const& name : names) report(name, networks, seed, multiple);
    return EXIT_SUCCESS;
} catch (std::exception const& error) {
    std::fprintf(stderr, "%s\n", error.what());
    return EXIT_FAILURE;
}
