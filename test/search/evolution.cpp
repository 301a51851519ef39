// Evolution finds what trying everything finds, returns only what keeps the bounds, and the same for the same seed. A
// supernet's sizes of convolutions are those of its graphs.
#include <doctest/doctest.h>
#include <primsel/search/evolution.hpp>
#include <primsel/search/subnet_forecasts.hpp>
#include <primsel/search/supernet.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <vector>

namespace evolution_tests {
namespace {

namespace ps = primsel;

const std::vector<std::size_t> tiny{3, 2, 4, 3, 3, 2};
double score_of(ps::search::Subnet const& subnet) {
    double score = 0;
    for (std::size_t i = 0; i < subnet.size(); ++i) score += static_cast<double>((i * 7 + 3) % 5 + 1) * subnet[i];
    return score - 4 * std::abs(subnet[0] - subnet[3]);  // places that depend on each other
}
double cost_of(ps::search::Subnet const& subnet) {
    double cost = 0;
    for (std::size_t i = 0; i < subnet.size(); ++i) cost += static_cast<double>((i * 5 + 2) % 7 + 1) * subnet[i];
    return cost;
}
auto judge_within(double most) {
    return [most](ps::search::Subnet const& subnet) -> std::optional<double> {
        return cost_of(subnet) <= most ? std::optional(score_of(subnet)) : std::nullopt;
    };
}
/// The best score of all that keep the bound.
double best_of_all(double most) {
    double best = -std::numeric_limits<double>::infinity();
    ps::search::Subnet subnet(tiny.size(), 0);
    for (;;) {
        if (cost_of(subnet) <= most) best = std::max(best, score_of(subnet));
        std::size_t place = 0;
        while (place < tiny.size() && ++subnet[place] == tiny[place]) subnet[place++] = 0;
        if (place == tiny.size()) return best;
    }
}

TEST_CASE("evolution finds the best that trying everything finds, and keeps the bound") {
    for (const double most : {0.0, 5.0, 11.0, 20.0, 1000.0}) {
        for (const std::uint64_t seed : {1U, 2U, 3U}) {
            const ps::search::EvolutionOptions options{
                .population = 20, .iterations = 60, .mutation = 0.3, .seed = seed};
            const ps::search::Evolution found = ps::search::evolve(tiny, judge_within(most), options);
            CHECK(found.best.front().score == best_of_all(most));
            for (ps::search::ScoredSubnet const& each : found.best) {
                ps::search::check_subnet(tiny, each.subnet);
                CHECK(cost_of(each.subnet) <= most);
                CHECK(each.score == score_of(each.subnet));
            }
            for (std::size_t i = 1; i < found.best.size(); ++i) {
                CHECK(found.best[i - 1].score >= found.best[i].score);
                CHECK(found.best[i - 1].subnet != found.best[i].subnet);
            }
            CHECK(found.kept <= found.asked);
            CHECK(ps::search::evolve(tiny, judge_within(most), options).best == found.best);
        }
    }
}

TEST_CASE("a population never loses its best, may begin with what is known, and says where nothing fits") {
    double last = -1e9;
    std::size_t iterations = 0;
    const auto report = [&](std::size_t done, ps::search::ScoredSubnet const& best) {
        CHECK(done == ++iterations);
        CHECK(best.score >= last);
        last = best.score;
        return done < 7;
    };
    (void)ps::search::evolve(tiny, judge_within(15), {.population = 10, .iterations = 50, .seed = 9}, report);
    CHECK(iterations == 7);
    // Drawing alone hardly ever finds the one that keeps this bound.
    const std::vector<std::size_t> wide(30, 5);
    const auto sum = [](ps::search::Subnet const& subnet) {
        double all = 0;
        for (const std::uint8_t choice : subnet) all += choice;
        return all;
    };
    const auto strict = [&](ps::search::Subnet const& subnet) -> std::optional<double> {
        return sum(subnet) <= 3 ? std::optional(sum(subnet)) : std::nullopt;
    };
    const ps::search::EvolutionOptions few{.population = 10, .iterations = 100, .mutation = 0.05, .tries = 20};
    CHECK_THROWS_AS((void)ps::search::evolve(wide, strict, few), ps::error);
    ps::search::EvolutionOptions known = few;
    known.start = {ps::search::smallest_subnet(wide)};
    CHECK(ps::search::evolve(wide, strict, known).best.front().score == 3);
    CHECK_THROWS_AS((void)ps::search::evolve(tiny, judge_within(9), {.population = 1}), ps::error);
    CHECK_THROWS_AS((void)ps::search::evolve(tiny, judge_within(9), {.start = {{9, 9}}}), ps::error);
}

const ps::search::ResNetSupernet small{.sizes = {32, 48},
                                       .widths = {0.5, 1.0},
                                       .depths = {0, 1},
                                       .expansions = {0.25, 0.5},
                                       .least_blocks = {1, 1, 1, 1},
                                       .channels = {16, 32, 48, 64},
                                       .stem_channels = 16,
                                       .classes = 10};

TEST_CASE("a supernet's convolutions are those of its graphs, which grow with every choice") {
    for (ps::search::ResNetSupernet const& supernet : {small, ps::search::ResNetSupernet{}}) {
        const std::vector<std::size_t> choices = supernet.choices();
        std::vector<ps::search::Subnet> subnets = ps::search::sample_subnets(choices, 12, 5);
        CHECK(subnets[0] == ps::search::smallest_subnet(choices));
        CHECK(subnets[1] == ps::search::largest_subnet(choices));
        for (ps::search::Subnet const& subnet : subnets) {
            CHECK(supernet.convolutions(subnet) == ps::forecast::conv_sizes(supernet.graph(subnet)));
        }
        ps::search::Subnet subnet = ps::search::smallest_subnet(choices);
        double before = 0;
        for (std::size_t place = 0; place < choices.size(); ++place) {
            for (; subnet[place] + 1U < choices[place]; ++subnet[place]) {
                const double work = ps::forecast::network_features(supernet.convolutions(subnet), 1)(13);
                CHECK(work >= before);
                before = work;
            }
        }
        CHECK_THROWS_AS((void)supernet.graph(ps::search::Subnet(choices.size(), 99)), ps::error);
        CHECK_THROWS_AS((void)supernet.graph({0, 1}), ps::error);
    }
    // As many convolutions as OFA-ResNet50 has at most: 18 blocks of three, 4 shortcuts, 3 of the stem.
    const ps::search::ResNetSupernet ofa;
    CHECK(ofa.convolutions(ps::search::largest_subnet(ofa.choices())).size() == 18 * 3 + 4 + 3);
}

TEST_CASE("what is learned from plans forecasts other sub-networks, and what is chosen keeps the bounds by its plan") {
    const ps::search::SubnetBatches batches{.training = 2, .inference = 1};
    const std::vector<std::size_t> choices = small.choices();
    const std::vector<ps::search::Subnet> subnets = ps::search::sample_subnets(choices, 16, 3);
    std::vector<ps::search::SubnetCosts> costs;
    for (ps::search::Subnet const& subnet : subnets) costs.push_back(ps::search::engine_costs(small, subnet, batches));
    const auto forecasts = ps::search::SubnetForecasts<>::fit(small, subnets, costs, batches);
    const ps::search::SubnetBounds bounds{
        .training_bytes = 0.5 * (costs[0].training_bytes + costs[1].training_bytes),
        .inference_bytes = 0.5 * (costs[0].inference_bytes + costs[1].inference_bytes)};
    const auto judge = [&](ps::search::Subnet const& subnet) -> std::optional<double> {
        const std::vector<ps::forecast::ConvSizes> sizes = small.convolutions(subnet);
        if (!bounds.hold(forecasts(sizes))) return std::nullopt;
        return ps::forecast::network_features(sizes, 1)(1);
    };
    const ps::search::Evolution found = ps::search::evolve(choices, judge, {.population = 20, .iterations = 30});
    CHECK(!bounds.hold(costs[1]));
    bool one = false;
    for (std::size_t i = 0; i < found.best.size() && i < 10 && !one; ++i) {
        one = bounds.hold(ps::search::engine_costs(small, found.best[i].subnet, batches));
    }
    CHECK(one);
    const ps::search::SubnetForecasts<> nothing(std::nullopt, std::nullopt, batches);
    CHECK(!bounds.hold(nothing(small.convolutions(subnets[0]))));
    CHECK(ps::search::SubnetBounds{}.hold(nothing(small.convolutions(subnets[0]))));
    CHECK_THROWS_AS((void)ps::search::SubnetForecasts<>::fit(small, subnets, {}, batches), ps::error);
}

}  // namespace
}  // namespace evolution_tests
