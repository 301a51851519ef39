// The trainer: it learns what can be learned, gives the same bits for any number of threads and whether a batch comes
// whole or in parts, leaves frozen weights alone, and keeps running statistics.
#include "../threads.hpp"
#include "bars.hpp"

#include <doctest/doctest.h>
#include <primsel/core/executor.hpp>
#include <primsel/network/network.hpp>
#include <primsel/train/trainer.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace training {
namespace {

/// Plans that do not depend on how fast this machine is just now.
struct OnUsualMachine : Recipe {
    struct machine {
        template <class Arch>
        static ps::Machine const& speeds(int) {
            static const ps::Machine usual{};
            return usual;
        }
    };
};
struct OnThreads : ps::DefaultTraining {
    using executor = ps::CallerPool<laws::Threads>;
    using learning_rate = ps::Constant;
};
template <class Net>
std::vector<float> after_training(ps::TrainingOptions const& options) {
    ps::Trainer<Net, Recipe> trainer(ps::random_weights(Net::graph(), 3), options, {.optimizer = {.momentum = 0.9}});
    trainer.fit(Bars{});
    return all_values(trainer.weights());
}
template <class Net>
std::vector<float> after_training_on(ps::TrainingOptions const& options, std::size_t threads) {
    ps::Trainer<Net, OnThreads> trainer(ps::random_weights(Net::graph(), 3), options, {.optimizer = {.momentum = 0.9}},
                                        ps::CallerPool<laws::Threads>(threads, {}));
    trainer.fit(Bars{});
    return all_values(trainer.weights());
}

}  // namespace

TEST_CASE("a network learns what can be learned, and runs as it was trained") {
    const Bars bars;
    ps::Trainer<Normalised, Recipe> trainer(ps::random_weights(Normalised::graph(), 3),
                                            {.batch = 24, .epochs = 30, .learning_rate = 0.1},
                                            {.optimizer = {.momentum = 0.9}});
    const double before = trainer.evaluate(bars).accuracy();
    std::vector<double> losses;
    trainer.fit(bars, {}, ps::NoAugment{}, bars, [&](ps::EpochReport const& epoch) {
        losses.push_back(epoch.loss);
        CHECK(epoch.epoch == static_cast<std::int64_t>(losses.size()));
        CHECK(epoch.batches == 8);
        REQUIRE(epoch.validation);
        return true;
    });
    CHECK(losses.size() == 30);
    CHECK(losses.back() < 0.5 * losses.front());
    const double after = trainer.evaluate(bars).accuracy();
    CHECK(before < 0.8);
    CHECK(after > 0.95);
    CHECK(trainer.updates() == 240);
}

TEST_CASE("a network with more results than there are classes is judged by all of them") {
    struct More : ps::Network<Input<1, 8, 8>, Named<"a", Conv<8, 3, NoBias>>, Named<"n", BatchNorm>, Relu,
                              GlobalAvgPool, Named<"fc", Dense<7>>> {};
    const Bars bars;
    ps::Trainer<More, Recipe> trainer(ps::random_weights(More::graph(), 3),
                                      {.batch = 24, .epochs = 30, .learning_rate = 0.1},
                                      {.optimizer = {.momentum = 0.9}});
    trainer.fit(bars);
    CHECK(trainer.evaluate(bars).accuracy() > 0.95);
}

TEST_CASE("the same bits for any number of threads") {
    const ps::TrainingOptions options{.batch = 16, .epochs = 1, .learning_rate = 0.05};
    CHECK(after_training_on<Normalised>(options, 3) == after_training_on<Normalised>(options, 1));
    CHECK(after_training_on<Plain>(options, 3) == after_training_on<Plain>(options, 1));
}

TEST_CASE("a batch in parts is the batch") {
    const std::vector<float> whole = after_training<Plain>({.batch = 24, .epochs = 1, .learning_rate = 0.05}),
                             parts =
                                 after_training<Plain>({.batch = 24, .part = 8, .epochs = 1, .learning_rate = 0.05});
    REQUIRE(whole.size() == parts.size());
    for (std::size_t i = 0; i < whole.size(); ++i) CHECK(parts[i] == doctest::Approx(whole[i]).epsilon(1e-3));
}

TEST_CASE("the memory of a training is known before it begins") {
    const ps::Weights weights = ps::random_weights(Plain::graph(), 3);
    std::size_t floats = 0;
    for (auto const& [name, tensor] : weights) floats += tensor.values.size();
    const ps::Trainer<Plain, OnUsualMachine> whole(weights, {.batch = 24});
    CHECK(whole.memory_bytes() >= whole.arena_bytes() + 2 * floats * sizeof(float));  // weights, gradients
    const ps::Trainer<Plain, OnUsualMachine> parts(weights, {.batch = 24, .part = 8});
    const std::size_t sums = parts.memory_bytes() - parts.arena_bytes() - floats * 2 * sizeof(float);
    CHECK(sums >= floats * sizeof(float));
    CHECK(parts.memory_bytes() < whole.memory_bytes());
}

TEST_CASE("frozen weights stay, and others have the rate of their group") {
    const ps::Weights initial = ps::random_weights(Plain::graph(), 3);
    ps::Trainer<Plain, Recipe> trainer(
        initial, {.batch = 24, .epochs = 1, .learning_rate = 0.05, .groups = {{"a.*", 0}, {"b.weight", 0.5}}});
    trainer.fit(Bars{});
    const ps::Weights after = trainer.weights();
    for (const char* name : {"a.weight", "a.bias"}) {
        CHECK(std::ranges::equal(after.at(name).values, initial.at(name).values));
    }
    for (const char* name : {"b.weight", "b.bias", "fc.weight", "fc.bias"}) {
        CHECK_FALSE(std::ranges::equal(after.at(name).values, initial.at(name).values));
    }
    CHECK(ps::matches_pattern("layer*.weight", "layer1.conv.weight"));
    CHECK_FALSE(ps::matches_pattern("layer*.weight", "layer1.conv.bias"));
    CHECK(ps::matches_pattern("*", ""));
}

TEST_CASE("a group's rate and weight decay are those of its weights, and the first that fits holds") {
    const ps::Weights initial = ps::random_weights(Plain::graph(), 3);
    std::vector<float> images(24 * 64), labels(24);
    for (std::size_t i = 0; i < 24; ++i) Bars{}.read(i, images.data() + i * 64), labels[i] = static_cast<float>(i % 3);
    const auto moved = [&](ps::TrainingOptions const& options, std::string const& name, std::size_t i) {
        ps::Trainer<Plain, Recipe> trainer(initial, options);
        (void)trainer.step(images, labels, 0.1);
        return static_cast<double>(trainer.weights().at(name).values[i] - initial.at(name).values[i]);
    };
    const ps::TrainingOptions alike{.batch = 24, .weight_decay = 0.25},
        grouped{.batch = 24,
                .weight_decay = 0.25,
                .groups = {{"b.weight", 0.5}, {.pattern = "b.*", .rate = 4}, {.pattern = "fc.*", .weight_decay = 0.0}}};
    for (const std::size_t i : {0U, 2U}) {
        const auto near = [&](double value) { return doctest::Approx(value).epsilon(1e-3).scale(1e-3); };
        CHECK(moved(grouped, "a.weight", i) == near(moved(alike, "a.weight", i)));
        CHECK(moved(grouped, "b.weight", i) == near(0.5 * moved(alike, "b.weight", i)));
        CHECK(moved(grouped, "b.bias", i) == near(4 * moved(alike, "b.bias", i)));
        const double decay = 0.1 * 0.25 * static_cast<double>(initial.at("fc.weight").values[i]);
        CHECK(std::abs(decay) > 1e-5);
        CHECK(moved(grouped, "fc.weight", i) == near(moved(alike, "fc.weight", i) + decay));
    }
}

TEST_CASE("training ends early where validation gets no better") {
    const Bars bars;
    ps::Trainer<Plain, Recipe> trainer(ps::random_weights(Plain::graph(), 3),
                                       {.batch = 24, .epochs = 50, .learning_rate = 0, .patience = 2});
    int epochs = 0;
    trainer.fit(bars, {}, ps::NoAugment{}, bars, [&](ps::EpochReport const&) { return ++epochs < 100; });
    CHECK(epochs == 3);
    CHECK(all_values(trainer.best_weights()) == all_values(ps::random_weights(Plain::graph(), 3)));
}

TEST_CASE("a training that diverges ends with an error, before its weights are kept") {
    ps::Trainer<Plain, Recipe> trainer(ps::random_weights(Plain::graph(), 3),
                                       {.batch = 24, .epochs = 50, .learning_rate = 1e30});
    std::int64_t kept = 0;
    const auto keep = [&](std::int64_t updates) { return (kept = updates) > 0; };
    CHECK_THROWS_WITH_AS(trainer.fit(Bars{}, {}, ps::NoAugment{}, ps::NoValidation{}, ps::IgnoreReports{}, keep),
                         doctest::Contains("the training diverges"), ps::error);
    CHECK(trainer.updates() == kept + 1);
    CHECK_THROWS_WITH_AS((void)trainer.checkpoint(), doctest::Contains("the training diverges"), ps::error);
    // After the last update no loss says so.
    const Bars bars;
    ps::Trainer<Plain, Recipe> once(ps::random_weights(Plain::graph(192), 3), {.batch = 192, .learning_rate = 1e60});
    std::int64_t reports = 0;
    CHECK_THROWS_WITH_AS(
        once.fit(bars, {}, ps::NoAugment{}, ps::NoValidation{}, [&](ps::EpochReport const&) { return ++reports > 0; }),
        doctest::Contains("after update 1 a value of "), ps::error);
    CHECK(reports == 0);
}

TEST_CASE("impossible options and images are refused") {
    const auto refused = [](ps::TrainingOptions const& options, const char* why) {
        CHECK_THROWS_WITH_AS((ps::Trainer<Plain, Recipe>(ps::random_weights(Plain::graph(), 3), options)),
                             doctest::Contains(why), ps::error);
    };
    refused({.batch = 24, .part = 7}, "a batch of 24 cannot be taken in parts of 7");
    refused({.batch = 24, .learning_rate = -1}, "impossible learning rate -1");
    refused({.batch = 24, .groups = {{"*", 0}}}, "no weight is trained");
    refused({.batch = 24, .groups = {{"layer9.*", 0.1}}}, "no weight's name fits 'layer9.*'");
    struct Other : Bars {
        [[nodiscard]] ps::Shape shape() const { return {1, 4, 16}; }
    };
    struct More : Bars {
        [[nodiscard]] int classes() const { return 4; }
    };
    ps::Trainer<Plain, Recipe> trainer(ps::random_weights(Plain::graph(), 3), {.batch = 24});
    CHECK_THROWS_WITH_AS(trainer.fit(More{}),
                         doctest::Contains("the labels are of 4 classes, the network's result has 3 values"),
                         ps::error);
    CHECK_THROWS_WITH_AS(trainer.fit(Other{}), doctest::Contains("the images are 1x4x16, the network takes 1x8x8"),
                         ps::error);
    // The same of those to judge by, before anything is trained.
    struct None : Bars {
        [[nodiscard]] std::size_t size() const { return 0; }
    };
    const auto judged = [&](auto const& by, const char* why) {
        CHECK_THROWS_WITH_AS(trainer.fit(Bars{}, {}, ps::NoAugment{}, by), doctest::Contains(why), ps::error);
        CHECK_THROWS_WITH_AS((void)trainer.evaluate(by), doctest::Contains(why), ps::error);
    };
    judged(More{}, "the labels are of 4 classes, the network's result has 3 values");
    judged(Other{}, "the images are 1x4x16, the network takes 1x8x8");
    judged(None{}, "there are no images");
    CHECK(trainer.updates() == 0);
}

}  // namespace training
