// Training configuration by configuration: each step changes what is its own and what all have in common, and nothing
// else; steps are repeated until they meet their target; a training goes on to the same bits wherever it ended.
#include "../train/bars.hpp"
#include "networks.hpp"

#include <doctest/doctest.h>
#include <primsel/dynamic/incremental.hpp>
#include <primsel/dynamic/nested.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace dynamic {
namespace {

using training::all_values;
using training::Bars;
using training::Recipe;

struct Bared
    : ps::Network<Input<1, 8, 8>, Named<"a", Conv<6, 3>>, Relu, MaxPool<2>, Named<"b", Conv<6, 3, NoBias>>,
                  Named<"n", BatchNorm>, Relu, GlobalAvgPool, Named<"fc1", Dense<9>>, Relu, Named<"fc2", Dense<3>>> {};

constexpr int batch = 24;
ps::Graph in_groups() { return ps::dynamic::grouped(Bared::graph(batch), 3); }
ps::dynamic::IncrementalOptions options_of(double target = 0, int attempts = 1) {
    return {.training = {.batch = batch, .epochs = 2, .learning_rate = 0.05}, .target = target, .attempts = attempts};
}
using Incremental = ps::dynamic::IncrementalTrainer<Recipe>;

bool equal(ps::Weights const& a, ps::Weights const& b, std::string const& name) {
    return std::ranges::equal(a.at(name).values, b.at(name).values);
}

TEST_CASE("a step trains its group and what all have in common") {
    const ps::Weights initial = ps::random_weights(in_groups(), 3);
    Incremental trainer(in_groups(), initial, options_of());
    std::vector<ps::Weights> after{initial};
    int steps = 0;
    const Bars bars;
    trainer.fit(bars, bars, {}, ps::NoAugment{}, [&](ps::dynamic::IncrementalEpoch const& epoch) {
        CHECK(epoch.earlier_accuracies.size() == static_cast<std::size_t>(epoch.configuration) - 1);
        if (epoch.configuration > steps + 1) {
            after.push_back(trainer.weights());
            ++steps;
        }
        return true;
    });
    after.push_back(trainer.weights());
    REQUIRE(trainer.done());
    REQUIRE(after.size() == 4);
    for (int step = 1; step <= 3; ++step) {
        CAPTURE(step);
        ps::Weights const &before = after[static_cast<std::size_t>(step) - 1],
                          &now = after[static_cast<std::size_t>(step)];
        for (auto const& entry : now) {
            std::string const& name = entry.first;
            CAPTURE(name);
            const int group = ps::dynamic::group_number(name);
            CHECK(equal(before, now, name) == (group != 0 && group != step));
        }
    }
    REQUIRE(trainer.increments().size() == 3);
    CHECK(trainer.increments()[2].accuracies.size() == 3);
}

TEST_CASE("the model of the best validation is the seed of the next step, and its accuracies are kept") {
    Incremental trainer(in_groups(), ps::random_weights(in_groups(), 3), options_of());
    const Bars bars;
    std::vector<double> best(3, -1);
    trainer.fit(bars, bars, {}, ps::NoAugment{}, [&](ps::dynamic::IncrementalEpoch const& epoch) {
        double& known = best[static_cast<std::size_t>(epoch.configuration) - 1];
        CHECK(epoch.seed == (epoch.epoch.validation->accuracy() > known));
        known = std::max(known, epoch.epoch.validation->accuracy());
        return true;
    });
    for (std::size_t step = 0; step < 3; ++step) {
        CHECK(trainer.increments()[step].accuracies.back() == best[step]);
    }
}

TEST_CASE("a step is repeated until it meets the target, and no more often than is allowed") {
    Incremental trainer(in_groups(), ps::random_weights(in_groups(), 3), options_of(1.0, 3));
    const Bars bars;
    int epochs = 0;
    trainer.fit(bars, bars, {}, ps::NoAugment{}, [&](ps::dynamic::IncrementalEpoch const&) { return ++epochs > 0; });
    CHECK(epochs == 2 * (1 + 3 + 3));
    CHECK(trainer.increments()[0].target_met);
    CHECK_FALSE(trainer.increments()[1].target_met);
    CHECK(trainer.increments()[1].attempts == 3);
    Incremental once(in_groups(), ps::random_weights(in_groups(), 3), options_of(-1.0, 3));
    once.fit(bars, bars);
    for (ps::dynamic::Increment const& step : once.increments()) CHECK(step.attempts == 1);
}

TEST_CASE("what earlier configurations may lose is heeded where it can be") {
    for (const double most : {0.0, 0.05}) {
        ps::dynamic::IncrementalOptions options = options_of(-1.0, 2);
        options.most_loss = most;
        Incremental trainer(in_groups(), ps::random_weights(in_groups(), 3), options);
        const Bars bars;
        trainer.fit(bars, bars);
        for (ps::dynamic::Increment const& step : trainer.increments()) {
            bool kept = true;
            for (std::size_t c = 0; c + 1 < step.accuracies.size(); ++c) {
                kept = kept && step.accuracies[c] >= trainer.increments()[c].accuracies.back() - most;
            }
            CHECK(step.limit_kept == kept);
        }
    }
}

/// A training that ends after each `updates` of them, and goes on in another trainer.
std::vector<float> trained(std::int64_t updates, std::vector<double>& accuracies) {
    std::optional<ps::Checkpoint> checkpoint;
    const Bars bars;
    for (;;) {
        Incremental trainer(in_groups(), ps::random_weights(in_groups(), 3), options_of(0.5, 2));
        if (checkpoint) trainer.resume(*checkpoint);
        std::int64_t here = 0;
        trainer.fit(
            bars, bars, {}, ps::NoAugment{},
            [&](ps::dynamic::IncrementalEpoch const& epoch) {
                accuracies.push_back(epoch.epoch.validation->accuracy());
                return true;
            },
            [&](std::int64_t) { return ++here < updates; });
        checkpoint = trainer.checkpoint();
        if (trainer.done()) return all_values(trainer.weights());
    }
}

TEST_CASE("it goes on from a checkpoint to the same bits") {
    std::vector<double> expected_accuracies;
    const std::vector<float> expected = trained(1'000'000, expected_accuracies);
    for (const std::int64_t updates : {3, 8, 16, 17}) {
        CAPTURE(updates);
        std::vector<double> accuracies;
        CHECK(trained(updates, accuracies) == expected);
        CHECK(accuracies == expected_accuracies);
    }
}

TEST_CASE("nested by channels: values that a smaller configuration has stay") {
    using Net = ps::Network<Input<1, 8, 8>, Named<"a", Conv<6, 3>>, Relu, MaxPool<2>, Named<"b", Conv<6, 3>>, Relu,
                            Named<"fc", Dense<3>>>;
    const ps::Graph graph = Net::graph(batch);
    const std::vector<ps::dynamic::Configuration> parts = ps::dynamic::nested(graph, 3);
    const ps::Weights initial = ps::random_weights(graph, 3);
    Incremental trainer(graph, parts, initial, options_of());
    std::vector<ps::Weights> after{initial};
    const Bars bars;
    trainer.fit(bars, bars, {}, ps::NoAugment{}, [&](ps::dynamic::IncrementalEpoch const& epoch) {
        if (epoch.configuration > static_cast<int>(after.size())) after.push_back(trainer.weights());
        return true;
    });
    after.push_back(trainer.weights());
    REQUIRE(after.size() == 4);
    for (std::size_t step = 1; step < 3; ++step) {
        const ps::Weights before = ps::dynamic::configuration_weights(graph, after[step], parts[step - 1]);
        const ps::Weights now = ps::dynamic::configuration_weights(graph, after[step + 1], parts[step - 1]);
        for (const char* name : {"a.weight", "a.bias", "b.weight", "b.bias"}) CHECK(equal(before, now, name));
        CHECK_FALSE(equal(before, now, "fc.weight"));
        CHECK_FALSE(equal(after[step], after[step + 1], "b.weight"));
    }
}

TEST_CASE("trainings that cannot be") {
    const auto refused = [](ps::dynamic::IncrementalOptions const& options, const char* why) {
        CHECK_THROWS_WITH_AS(Incremental(in_groups(), ps::random_weights(in_groups(), 3), options),
                             doctest::Contains(why), ps::error);
    };
    ps::dynamic::IncrementalOptions options = options_of();
    options.attempts = 0;
    refused(options, "impossible number of attempts 0");
    options = options_of();
    options.training.groups = {{"group9.*", 0}};
    refused(options, "no weight's name fits 'group9.*'");
    options = options_of();
    options.training.epochs = 0;
    refused(options, "0 epochs train nothing");
    const Bars bars;
    Incremental trainer(in_groups(), ps::random_weights(in_groups(), 3), options_of());
    trainer.fit(bars, bars, {}, ps::NoAugment{}, ps::dynamic::IgnoreIncrements{}, [](std::int64_t) { return false; });
    const ps::Checkpoint checkpoint = trainer.checkpoint();
    Incremental other(in_groups(), ps::random_weights(in_groups(), 3), options_of(0.25));
    CHECK_THROWS_WITH_AS(other.resume(checkpoint), doctest::Contains("increments' target is 0, here 0.25"), ps::error);
    ps::Checkpoint broken = checkpoint;
    broken.facts["increment"] = "7";
    CHECK_THROWS_WITH_AS(trainer.resume(broken), doctest::Contains("it is in increment 7 of 3"), ps::error);
    // A batch norm of which a part would have to stay.
    const ps::Graph whole = Bared::graph(batch);
    Incremental nested(whole, ps::dynamic::nested(whole, 3), ps::random_weights(whole, 3), options_of());
    CHECK_THROWS_WITH_AS(nested.fit(bars, bars), doctest::Contains("weight n.running_var: statistics of a part"),
                         ps::error);
}

}  // namespace
}  // namespace dynamic
