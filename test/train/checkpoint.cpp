// A training that goes on from a checkpoint ends in the bits of one that was never interrupted, wherever that was; and
// what belongs to another training is refused.
#include "bars.hpp"

#include <doctest/doctest.h>
#include <primsel/train/trainer.hpp>

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace training {
namespace {

struct ByAdam : Recipe {
    using optimizer = ps::Adam;
    using learning_rate = ps::Cosine;
};

/// Weights, best weights, and what each epoch reported.
struct Outcome {
    std::vector<float> weights, best;
    std::vector<double> losses, accuracies;
    friend bool operator==(Outcome const&, Outcome const&) = default;
};

/// A training that ends after each `updates` of them, and goes on in another trainer from a checkpoint.
template <class Net, class Policies>
Outcome trained(ps::TrainingOptions const& options, typename ps::Trainer<Net, Policies>::Updates optimizer,
                std::int64_t updates) {
    Outcome outcome;
    std::optional<ps::Checkpoint> checkpoint;
    for (bool done = false; !done;) {
        // Other weights than those of the checkpoint, to be replaced.
        ps::Trainer<Net, Policies> trainer(
            ps::random_weights(Net::graph(), checkpoint ? 4 : 3), options,
            {.optimizer = optimizer, .plan = checkpoint ? checkpoint->plan : std::nullopt});
        if (checkpoint) trainer.resume(*checkpoint);
        const std::int64_t last = trainer.updates() + updates;
        done = true;
        trainer.fit(
            Bars{}, {}, ps::Augment{.flip = true, .crop = 1}, Bars{},
            [&](ps::EpochReport const& epoch) {
                outcome.losses.push_back(epoch.loss);
                outcome.accuracies.push_back(epoch.validation->accuracy());
                return true;
            },
            [&](std::int64_t number) {
                done = number < last;
                return done;
            });
        checkpoint = trainer.checkpoint();
        outcome.weights = all_values(trainer.weights());
        outcome.best = all_values(trainer.best_weights());
    }
    return outcome;
}

}  // namespace

TEST_CASE("a resumed training has the bits of one that was never interrupted") {
    // Eight updates an epoch: after 1, 3, 7 and 8 an epoch is begun, and ended.
    const ps::TrainingOptions plain{.batch = 24, .epochs = 3, .learning_rate = 0.05, .weight_decay = 1e-3};
    const ps::TrainingOptions parts{
        .batch = 24, .part = 12, .epochs = 2, .learning_rate = 0.05, .clip_norm = 0.5, .groups = {{"a.*", 0.5}}};
    const Outcome whole = trained<Plain, Recipe>(plain, {.momentum = 0.9}, 1000);
    CHECK(whole.losses.size() == 3);
    const Outcome normalised = trained<Normalised, ByAdam>(parts, {}, 1000);
    CHECK(normalised.losses.size() == 2);
    for (const std::int64_t updates : {1, 3, 7, 8}) {
        CAPTURE(updates);
        CHECK(trained<Plain, Recipe>(plain, {.momentum = 0.9}, updates) == whole);
        CHECK(trained<Normalised, ByAdam>(parts, {}, updates) == normalised);
    }
}

TEST_CASE("shared weights stay one weight while they are trained, and checkpoints have them once") {
    struct Net : ps::Network<Input<1, 8, 8>, Named<"in", Conv<6, 3, Pad<1>>>, Relu, Named<"a", Conv<6, 3, Pad<1>>>,
                             Relu, MaxPool<2>, Named<"b", Conv<6, 3, Pad<1>>>, Relu, Flatten, Named<"e", Dense<5>>,
                             Tanh, Named<"d", Dense<96>>, Tanh, Named<"y", Dense<3>>> {};
    ps::Graph graph = Net::graph(24);
    graph.set_shared(
        {{"a.weight", {"kernel"}}, {"b.weight", {"kernel"}}, {"e.weight", {"matrix"}}, {"d.weight", {"matrix", true}}});
    const ps::TrainingOptions options{.batch = 24, .epochs = 2, .learning_rate = 0.05};
    ps::Trainer<ps::Graph, Recipe> trainer(graph, ps::random_weights(graph, 3), options,
                                           {.optimizer = {.momentum = 0.9}});
    trainer.fit(Bars{}, {}, ps::NoAugment{}, Bars{});
    const ps::Weights weights = trainer.weights();
    ps::check_weights(graph, weights);  // that they are equal, too
    ps::check_weights(graph, trainer.best_weights());
    CHECK(all_values(weights) != all_values(ps::random_weights(graph, 3)));
    const ps::Checkpoint checkpoint = trainer.checkpoint();
    for (const std::string name : {"a.weight", "optimizer/a.weight", "best/e.weight"})
        CHECK(checkpoint.tensors.find(name));
    for (const std::string name : {"b.weight", "optimizer/b.weight", "best/d.weight"})
        CHECK(!checkpoint.tensors.find(name));
    ps::Trainer<ps::Graph, Recipe> next(graph, ps::random_weights(graph, 4), options,
                                        {.optimizer = {.momentum = 0.9}, .plan = checkpoint.plan});
    next.resume(checkpoint);
    CHECK(all_values(next.weights()) == all_values(weights));
    // A group has all of a weight or nothing of it.
    CHECK_THROWS_WITH_AS((ps::Trainer<ps::Graph, Recipe>(graph, weights, {.batch = 24, .groups = {{"b.*", 0}}})),
                         "train: a.weight and b.weight are one weight, but belong to two groups", ps::error);
}

TEST_CASE("a training that ended early stays ended") {
    const ps::TrainingOptions options{.batch = 24, .epochs = 50, .learning_rate = 0, .patience = 2};
    const Outcome whole = trained<Plain, Recipe>(options, {}, 1000);
    CHECK(whole.losses.size() == 3);
    CHECK(trained<Plain, Recipe>(options, {}, 5) == whole);
    ps::Trainer<Plain, Recipe> first(ps::random_weights(Plain::graph(), 3), options), next(first.weights(), options);
    first.fit(Bars{}, {}, ps::NoAugment{}, Bars{});
    next.resume(first.checkpoint());
    next.fit(Bars{}, {}, ps::NoAugment{}, Bars{}, [](ps::EpochReport const&) {
        FAIL("trained on");
        return true;
    });
}

TEST_CASE("checkpoints of other trainings are refused, and change nothing") {
    const ps::TrainingOptions options{.batch = 24, .epochs = 2, .learning_rate = 0.05};
    const ps::Weights initial = ps::random_weights(Plain::graph(), 3);
    ps::Trainer<Plain, Recipe> trainer(initial, options, {.optimizer = {.momentum = 0.9}});
    trainer.fit(Bars{}, {}, ps::NoAugment{}, ps::NoValidation{}, ps::IgnoreReports{},
                [](std::int64_t number) { return number < 3; });
    const ps::Checkpoint checkpoint = trainer.checkpoint();
    CHECK(trainer.updates() == 3);

    const auto refused = [&](auto&& other, ps::Checkpoint const& from, std::string const& why) {
        const std::vector<float> before = all_values(other.weights());
        CHECK_THROWS_WITH_AS(other.resume(from), doctest::Contains(why.c_str()), ps::error);
        CHECK(all_values(other.weights()) == before);
        CHECK(other.updates() == 0);
    };
    using Same = ps::Trainer<Plain, Recipe>;
    const Same::Parts parts{.optimizer = {.momentum = 0.9}};
    ps::TrainingOptions more = options;
    more.epochs = 3;
    refused(Same(initial, more, parts), checkpoint, "checkpoint: its epochs is 2, here 3");
    ps::TrainingOptions slower = options;
    slower.learning_rate = 0.04;
    refused(Same(initial, slower, parts), checkpoint, "its learning rate is 0.05, here 0.04");
    refused(Same(initial, options), checkpoint, "its optimiser's numbers a weight is 1, here 0");
    refused(ps::Trainer<Normalised, Recipe>(ps::random_weights(Normalised::graph(), 3), options,
                                            {.optimizer = {.momentum = 0.9}}),
            checkpoint, "its network is");
    ps::Checkpoint otherwise = checkpoint;
    otherwise.plan->layers.back().primitive += "-another";
    refused(Same(initial, options, parts), otherwise, "its plan is another");
    ps::Checkpoint poor = checkpoint;
    poor.facts["updates"] = "many";
    refused(Same(initial, options, parts), poor, "its updates is many, which is no such number");
    poor.facts.erase("updates");
    refused(Same(initial, options, parts), poor, "no checkpoint of a training: it does not say its updates");
    ps::Checkpoint without = checkpoint;
    without.tensors = initial;
    refused(Same(initial, options, parts), without, "optimizer/fc.weight is missing");
    without.tensors = {};
    refused(Same(initial, options, parts), without, "a.weight is missing");

    Same other(initial, options, parts);
    other.resume(checkpoint);
    struct Fewer : Bars {
        [[nodiscard]] std::size_t size() const { return 96; }
    };
    CHECK_THROWS_WITH_AS(other.fit(Fewer{}), doctest::Contains("there are 96 images, the training began with 192"),
                         ps::error);
}

}  // namespace training
