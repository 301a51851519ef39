// Schedules: what a file says, errors with their lines, trainings that lose filters, and that go on to the same bits.
#include "thinned.hpp"

#include <doctest/doctest.h>
#include <primsel/layer/compose.hpp>
#include <primsel/prune/pruning_run.hpp>
#include <primsel/prune/schedule_file.hpp>
#include <primsel/train/trainer.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <random>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace schedule {
namespace {

namespace ps = primsel;
using namespace ps::layer;  // NOLINT(google-build-using-namespace): layers, as networks are written
using namespace thinned;    // NOLINT(google-build-using-namespace)

struct Net : ps::Network<Input<1, 8, 8>, Named<"a", Conv<8, 3>>, Named<"n", BatchNorm>, Relu,
                         Residual<Named<"b", Conv<12, 3>>, Named<"m", BatchNorm>, Relu, Named<"c", Conv<8, 3>>>, Relu,
                         GlobalAvgPool, Named<"d", Dense<2>>> {};

constexpr std::string_view text = R"({
  "pruners": {
    "one": {
      "class": "L1RankedStructureParameterPruner",
      "group_type": "Filters",
      "desired_sparsity": 0.5,
      "weights": ["module.sum1.b.weight"]
    },
    "slow": {
      "class": "L2RankedStructureParameterPruner_AGP",
      "final_sparsity": 0.5,
      "weights": ["a.*"]
    }
  },
  "lr_schedulers": {"fall": {"class": "ExponentialLR", "gamma": 0.5}},
  "policies": [
    {"pruner": {"instance_name": "one", "epochs": [1]}},
    {"pruner": {"instance_name": "slow"}, "starting_epoch": 0, "ending_epoch": 3, "frequency": 1},
    {"lr_scheduler": {"instance_name": "fall"}, "starting_epoch": 2, "ending_epoch": 300, "frequency": 1}
  ]
})";

ps::prune::PruningSchedule parsed(std::string_view from = text) {
    return ps::prune::parse_schedule(ps::parse_json_settings("s.json", from));
}

TEST_CASE("what a schedule says") {
    const ps::prune::PruningSchedule schedule = parsed();
    REQUIRE(schedule.pruners.size() == 2);
    CHECK(schedule.pruners[0].sparsity == 0.5);
    CHECK(schedule.pruners[0].weights == std::vector<std::string>{"module.sum1.b.weight"});
    CHECK(schedule.pruners[0].places == std::vector<std::string>{"s.json:7"});
    CHECK(schedule.pruners[1].gradual);
    CHECK(schedule.pruners[1].criterion == ps::prune::RankedBy::l2);
    REQUIRE(schedule.policies.size() == 3);
    CHECK(schedule.policies[0].epochs == std::vector<std::int64_t>{1});
    CHECK(schedule.policies[1].epochs == std::vector<std::int64_t>{0, 1, 2});
    CHECK(schedule.policies[1].instance == 1);
    // 1 - (1 - 1/2)^3 of the way after half of it.
    CHECK(ps::prune::detail::sparsity_at(schedule.pruners[1], schedule.policies[1], 0) == 0);
    CHECK(ps::prune::detail::sparsity_at(schedule.pruners[1], schedule.policies[1], 1) == doctest::Approx(0.5 * 7 / 8));
    CHECK(ps::prune::detail::sparsity_at(schedule.pruners[1], schedule.policies[1], 2) == 0.5);
    const ps::prune::ScheduledRate rate{schedule};
    CHECK(rate(1.0, 29, 1000, 10) == 1.0);  // epoch 2 is not over
    CHECK(rate(1.0, 30, 1000, 10) == 0.5);
    CHECK(rate(1.0, 49, 1000, 10) == 0.25);
    const ps::prune::ScheduleRate step{.rule = ps::prune::ScheduleRate::Rule::step, .gamma = 0.1, .every = 3},
        several{.rule = ps::prune::ScheduleRate::Rule::multi_step, .gamma = 0.1, .milestones = {1, 4}},
        cosine{.rule = ps::prune::ScheduleRate::Rule::cosine, .every = 8};
    CHECK(step.rate(1, 2) == 1);
    CHECK(step.rate(1, 3) == doctest::Approx(0.1));
    CHECK(several.rate(1, 5) == doctest::Approx(0.01));
    CHECK(cosine.rate(1, 4) == doctest::Approx(0.5));
    ps::prune::check_schedule(schedule, Net::graph(), ps::prune::Coupling(Net::graph()));
}

TEST_CASE("rates of a schedule are PyTorch's, beyond their ends too") {
    using Rule = ps::prune::ScheduleRate::Rule;
    // torch.optim.lr_scheduler of these names, with a rate of 1 at the beginning.
    const std::vector<std::pair<ps::prune::ScheduleRate, std::vector<double>>> all{
        {{.rule = Rule::exponential, .gamma = 0.5, .milestones = {}}, {1, 0.5, 0.25, 0.125, 0.0625, 0.03125}},
        {{.rule = Rule::step, .gamma = 0.5, .every = 2, .milestones = {}}, {1, 1, 0.5, 0.5, 0.25, 0.25, 0.125, 0.125}},
        {{.rule = Rule::multi_step, .gamma = 0.5, .milestones = {1, 3, 3}}, {1, 0.5, 0.5, 0.125, 0.125, 0.125}},
        {{.rule = Rule::cosine, .every = 3, .milestones = {}}, {1, 0.75, 0.25, 0, 0.25, 0.75, 1, 0.75, 0.25, 0, 0.25}},
        {{.rule = Rule::cosine, .every = 3, .lowest = 0.2, .milestones = {}},
         {1, 0.8, 0.4, 0.2, 0.4, 0.8, 1, 0.8, 0.4}}};
    for (auto const& [rate, factors] : all) {
        for (std::size_t epoch = 0; epoch < factors.size(); ++epoch) {
            CAPTURE(epoch);
            CHECK(rate.rate(1, static_cast<std::int64_t>(epoch)) == doctest::Approx(factors[epoch]).epsilon(1e-12));
        }
    }
}

TEST_CASE("a cosine of a file ends at its eta_min") {
    const auto parsed_with = [](std::string_view eta_min) {
        std::string other(text);
        const std::string_view old = R"("class": "ExponentialLR", "gamma": 0.5)";
        other.replace(other.find(old), old.size(),
                      ps::join(R"("class": "CosineAnnealingLR", "T_max": 4, "eta_min": )", eta_min));
        return parsed(other);
    };
    const ps::prune::ScheduledRate rate{parsed_with("0.01")};
    CHECK(rate(0.1, 20, 1000, 10) == 0.1);
    CHECK(rate(0.1, 40, 1000, 10) == doctest::Approx(0.055));
    CHECK(rate(0.1, 60, 1000, 10) == doctest::Approx(0.01));
    CHECK(rate(0.1, 80, 1000, 10) == doctest::Approx(0.055));
    CHECK_THROWS_WITH_AS((void)parsed_with("-1"), doctest::Contains("s.json:15: expected a number from 0"), ps::error);
}

TEST_CASE("extensions and thinning policies of a schedule are understood and change no other policy") {
    std::string other(text);
    const auto insert = [&](std::string_view before, std::string_view what) { other.insert(other.find(before), what); };
    insert("\"policies\"", R"("extensions": {"thin": {"class": "FilterRemover", "thinning_func_str": "remove_filters",
                                                      "arch": "resnet56_cifar", "dataset": "cifar10"}},
  )");
    insert("{\"lr_scheduler\"", R"({"extension": {"instance_name": "thin"}, "epochs": [1]},
    )");
    const ps::prune::PruningSchedule schedule = parsed(other), without = parsed();
    CHECK(schedule.thinners == std::vector<std::string>{"thin"});
    CHECK(without.thinners.empty());
    REQUIRE(schedule.policies.size() == without.policies.size());
    for (std::size_t i = 0; i < schedule.policies.size(); ++i) {
        CHECK(schedule.policies[i].prunes == without.policies[i].prunes);
        CHECK(schedule.policies[i].instance == without.policies[i].instance);
        CHECK(schedule.policies[i].epochs == without.policies[i].epochs);
    }
    const auto refused = [&](std::string_view old, std::string_view by, const char* why) {
        std::string wrong = other;
        wrong.replace(wrong.find(old), old.size(), by);
        CHECK_THROWS_WITH_AS((void)parsed(wrong), doctest::Contains(why), ps::error);
    };
    refused("FilterRemover", "FilterMover", "s.json:16: 'FilterMover' is none of FilterRemover");
    refused("remove_filters", "remove_filter", "did you mean remove_filters?");
    refused(R"("instance_name": "thin")", R"("instance_name": "thinn")",
            "s.json:21: there is no extension 'thinn'; did you mean thin?");
    refused(R"({"extension": )", R"({"pruner": {"instance_name": "one"}, "extension": )", "is for one instance");
    refused(R"({"extension": {"instance_name": "thin"}, )", "{", "needs one of pruner, lr_scheduler, extension");
}

TEST_CASE("what a schedule must not say, with its line") {
    const auto refused = [](std::string_view old, std::string_view by, const char* why) {
        std::string other(text);
        other.replace(other.find(old), old.size(), by);
        CAPTURE(by);
        CHECK_THROWS_WITH_AS(ps::prune::check_schedule(parsed(other), Net::graph(), ps::prune::Coupling(Net::graph())),
                             doctest::Contains(why), ps::error);
    };
    refused("desired_sparsity", "desired_sparsty", "s.json:6: 'desired_sparsty' is none of");
    refused("desired_sparsity", "desired_sparsty", "did you mean desired_sparsity?");
    refused("L1Ranked", "LiRanked", "s.json:4: 'LiRankedStructureParameterPruner' is none of");
    refused("L1Ranked", "LiRanked", "did you mean L1RankedStructureParameterPruner?");
    refused("0.5,", "1.5,", "s.json:6: expected a number from");
    refused("module.sum1.b", "sum1.x",
            "s.json:7: no weight that can be pruned is named sum1.x.weight; did you mean sum1.");
    refused("\"a.*\"", "\"d.*\"", "s.json:12: no weight that can be pruned is named d.*");
    refused("\"instance_name\": \"one\"", "\"instance_name\": \"on\"",
            "s.json:17: there is no pruner 'on'; did you mean one?");
    refused("\"ending_epoch\": 3,", "\"ending_epoch\": 0,", "s.json:18: expected an integer from 1");
    refused("\"epochs\": [1]", "\"epochs\": []", "s.json:17: there is no epoch");
    refused("\"epochs\": [1]", "\"epochs\": [1], \"frequency\": 2", "exclude each other");
    refused("\"slow\": {", "\"one\": {", "the key \"one\" is given twice, in lines 3 and 9");
    refused("\"policies\"", "\"polices\"",
            "s.json:16: 'polices' is none of version, pruners, lr_schedulers, extensions, policies; did "
            "you");
    refused("},\n    \"slow\"", "}\n    \"slow\"", "s.json:9:5: not valid JSON: Missing a comma");
    refused("Filters", "Rows", "s.json:5: 'Rows' is none of Filters, Channels");
    std::string deep;
    for (int i = 0; i < 100; ++i) deep += '[';
    CHECK_THROWS_WITH_AS((void)parsed(deep), doctest::Contains("levels"), ps::error);
    for (std::size_t end = 0; end < text.size(); ++end) {
        CHECK_THROWS_AS((void)parsed(text.substr(0, end)), ps::error);
    }
}

ps::LabelledImages bars(int count) {
    ps::LabelledImages images{.image = {1, 8, 8}, .class_count = 2};
    std::mt19937 bits(3);
    std::normal_distribution<float> noise(0, 0.3F);
    for (int i = 0; i < count; ++i) {
        images.labels.push_back(i % 2);
        for (int at = 0; at < 64; ++at) {
            const bool bar = i % 2 == 0 ? at / 8 == i % 8 : at % 8 == i % 8;
            images.floats.push_back((bar ? 1.0F : 0.0F) + noise(bits));
        }
    }
    return images;
}

struct Recipe : ps::DefaultTraining {
    using learning_rate = ps::prune::ScheduledRate;
};
using Trainer = ps::Trainer<ps::Graph, Recipe>;

/// Trains until so many updates are done, from a checkpoint where there is one; returns one of the end.
ps::Checkpoint train(std::int64_t updates, std::optional<ps::Checkpoint> const& from, ps::prune::PruningRun& run,
                     std::vector<double>* sparsities = nullptr) {
    const ps::LabelledImages images = bars(24);
    const ps::TrainingOptions options{.batch = 8, .epochs = 4, .learning_rate = 0.05, .weight_decay = 1e-3};
    Trainer::Parts parts;
    parts.optimizer.momentum = 0.9;
    parts.learning_rate = {parsed()};
    if (from) parts.plan = from->plan;
    Trainer trainer(Net::graph(8), ps::random_weights(Net::graph(), 5), options, parts);
    if (from) {
        trainer.resume(*from);
        run.resume(*from, trainer);
    } else {
        run.begin(trainer, 0);
    }
    ps::Checkpoint last;
    trainer.fit(
        images, {}, ps::NoAugment{}, images,
        [&](ps::EpochReport const& epoch) {
            run.begin(trainer, epoch.epoch);
            if (sparsities != nullptr) sparsities->push_back(static_cast<double>(run.choice().size()));
            return true;
        },
        [&](std::int64_t done) {
            last = trainer.checkpoint();
            run.store(last);
            return done < updates;
        });
    return last;
}

TEST_CASE("a training that loses filters ends thinned, and killed and resumed in the same bits") {
    const ps::Graph graph = Net::graph(8);
    ps::prune::PruningRun whole(parsed(), graph);
    std::vector<double> sparsities;
    const ps::Checkpoint end = train(1000, std::nullopt, whole, &sparsities);
    // Half of b's 12 filters go in epoch 1; of the 8 that are coupled with a's 7/16 go, then half.
    CHECK(sparsities == std::vector<double>{6 + 3, 6 + 4, 6 + 4, 6 + 4});
    ps::Weights weights;
    for (ps::WeightSpec const& spec : ps::weight_specs(graph)) weights.add(spec.name, end.tensors.at(spec.name));
    for (auto const& [name, places] : ps::prune::zero_weights(graph, ps::prune::Coupling(graph), whole.choice())) {
        for (const std::size_t place : places) REQUIRE(weights.at(name).values[place] == 0.0F);
    }
    const ps::prune::Pruned thin = whole.thinned(weights);
    CHECK(thin.graph[thin.graph.find("sum1.b")].shape.c == 6);
    CHECK(thin.graph[thin.graph.find("a")].shape.c == 4);
    // The network that was trained computes what the thinned one does.
    const std::vector<float> expected = result_of(graph, weights), actual = result_of(thin.graph, thin.weights);
    for (std::size_t i = 0; i < expected.size(); ++i) CHECK(actual[i] == doctest::Approx(expected[i]).epsilon(1e-4));

    for (const std::int64_t killed : {2, 3, 4, 6, 7}) {  // 3 updates are an epoch
        CAPTURE(killed);
        ps::prune::PruningRun before(parsed(), graph), after(parsed(), graph);
        const ps::Checkpoint half = train(killed, std::nullopt, before);
        const ps::Checkpoint again = train(1000, half, after);
        CHECK(after.choice() == whole.choice());
        CHECK(again.facts == end.facts);
        for (auto const& entry : end.tensors) {
            auto const& name = entry.first;
            auto const& tensor = entry.second;
            CAPTURE(name);
            CHECK(std::ranges::equal(tensor.values, again.tensors.at(name).values));
        }
    }
    ps::prune::PruningRun other(parsed(), graph);
    ps::Checkpoint silent = end;
    silent.facts.erase("pruned channels");
    CHECK_THROWS_WITH_AS((void)train(1, silent, other), doctest::Contains("does not say which channels are pruned"),
                         ps::error);
    silent.facts["pruned channels"] = "1,100000";
    CHECK_THROWS_WITH_AS((void)train(1, silent, other), doctest::Contains("which are none here"), ps::error);
}

}  // namespace
}  // namespace schedule
