// YAML and JSON say the same, and errors name their lines.
#include <doctest/doctest.h>
#include <primsel/io/yaml.hpp>
#include <primsel/prune/schedule_file.hpp>
#include <primsel/search/sweep_file.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace yaml {
namespace {

namespace ps = primsel;

constexpr std::string_view figure14 = R"(pruners:
    layer_1_conv_pruner:
        class: 'L1RankedStructureParameterPruner'
        group_type: Filters
        desired_sparsity: 0.9
        weights: [
            module.layer1.0.conv1.weight,
            module.layer1.1.conv1.weight
        ]
lr_schedulers:
    exp_finetuning_lr:
        class: ExponentialLR
        gamma: 0.95

policies:
    - pruner:
        instance_name: layer_1_conv_pruner
        epochs: [0]

    - lr_scheduler:
        instance_name: exp_finetuning_lr
        starting_epoch: 10
        ending_epoch: 300
        frequency: 1
)";

TEST_CASE("the schedule of Fay-Hunt 2021, figure 14") {
    const ps::prune::PruningSchedule schedule = ps::prune::parse_schedule(ps::parse_yaml("s.yaml", figure14));
    REQUIRE(schedule.pruners.size() == 1);
    CHECK(schedule.pruners[0].name == "layer_1_conv_pruner");
    CHECK(schedule.pruners[0].sparsity == 0.9);
    CHECK(schedule.pruners[0].places == std::vector<std::string>{"s.yaml:7", "s.yaml:8"});
    REQUIRE(schedule.rates.size() == 1);
    CHECK(schedule.rates[0].gamma == 0.95);
    REQUIRE(schedule.policies.size() == 2);
    CHECK(schedule.policies[0].epochs == std::vector<std::int64_t>{0});
    CHECK(schedule.policies[1].epochs.size() == 290);
}

constexpr std::string_view figure16 = R"(program: pipeline.py
method: bayes
metric:
    goal: minimize
    name: Latency
parameters:
    layer_1_conv_pruner_desired_sparsity:
        max: 0.99
        min: 0.01
    layer_1_conv_pruner_group_type:
        values: [Channels, Filters]
    epochs:
        value: 3
)";

TEST_CASE("the sweep of Fay-Hunt 2021, figure 16, is the same in JSON") {
    const ps::search::Sweep yaml = ps::search::parse_sweep(ps::parse_yaml("s.yaml", figure16));
    const ps::search::Sweep json = ps::search::parse_sweep(ps::parse_json_settings(
        "s.json", R"({"program": "pipeline.py", "method": "bayes", "metric": {"goal": "minimize", "name": "Latency"},
            "parameters": {"layer_1_conv_pruner_desired_sparsity": {"max": 0.99, "min": 0.01},
            "layer_1_conv_pruner_group_type": {"values": ["Channels", "Filters"]}, "epochs": {"value": 3}}})"));
    CHECK(yaml.space == json.space);
    CHECK(yaml.space.parameters()[2] == ps::search::Parameter::constant("epochs", std::int64_t{3}));
    CHECK(yaml.goals == json.goals);
    CHECK(yaml.method == json.method);
    std::size_t reads = 0;
    for (std::size_t end = 0; end < figure16.size(); ++end) {  // throws error, or reads what is there
        try {
            (void)ps::search::parse_sweep(ps::parse_yaml("s.yaml", figure16.substr(0, end)));
            ++reads;
        } catch (ps::error const& fault) {
            CHECK(std::string_view(fault.what()).starts_with("s.yaml:"));
        }
    }
    CHECK(reads > 0);
    CHECK(reads < figure16.size());
    const auto refused = [](std::string_view old, std::string_view by, const char* why) {
        std::string other(figure16);
        other.replace(other.find(old), old.size(), by);
        CAPTURE(by);
        CHECK_THROWS_WITH_AS((void)ps::search::parse_sweep(ps::parse_yaml("s.yaml", other)), doctest::Contains(why),
                             ps::error);
    };
    refused("method", "methd", "s.yaml:2: 'methd' is none of");
    refused("bayes", "bayse", "s.yaml:2: 'bayse' is none of grid, random, bayes; did you mean bayes?");
    refused("        min: 0.01", "        mim: 0.01", "s.yaml:9: 'mim' is none of");
    refused("max: 0.99", "max: 0.001", "parameter layer_1_conv_pruner_desired_sparsity: no range from 0.01 to 0.001");
    refused("max: 0.99", "max: .inf", "s.yaml:8: expected a number from -1e+300 to 1e+300, not .inf");
    refused("max: 0.99", "max: .nan", "s.yaml:8: expected a number from -1e+300 to 1e+300, not .nan");
    refused("max: 0.99", "max: \"a\\n  b\"", "not a\\n  b");
    refused("min: 0.01", "min: +1.1", "no range from 1.1 to 0.99");
}

TEST_CASE("what is no such YAML is refused with its line") {
    const auto refused = [](std::string_view old, std::string_view by, const char* why) {
        std::string other(figure14);
        other.replace(other.find(old), old.size(), by);
        CAPTURE(by);
        CHECK_THROWS_WITH_AS((void)ps::prune::parse_schedule(ps::parse_yaml("s.yaml", other)), doctest::Contains(why),
                             ps::error);
    };
    refused("desired_sparsity", "desired_sparsty", "s.yaml:5: 'desired_sparsty' is none of");
    refused("gamma: 0.95", "gamma: fast", "s.yaml:13: expected a number from");
    refused("instance_name: layer_1", "instance_name: layer_2",
            "s.yaml:17: there is no pruner 'layer_2_conv_pruner'; did you");
    refused("    group_type", "  group_type", "s.yaml:4: ");
    refused("gamma: 0.95", "gamma:", "s.yaml:13: expected a text or a number, not nothing");
    refused("gamma: 0.95", "gamma: 0.95\n        gamma: 0.9", "s.yaml:14: 'gamma' is given twice");
    // Each line ten times the one before.
    std::string bomb = "a0: &a0 [x, x, x, x, x, x, x, x, x, x]\n";
    for (int i = 1; i < 10; ++i) {
        const std::string last = "*a" + std::to_string(i - 1);
        bomb += "a" + std::to_string(i) + ": &a" + std::to_string(i) + " [" + last;
        for (int copy = 1; copy < 10; ++copy) bomb += ", " + last;
        bomb += "]\n";
    }
    CHECK_THROWS_WITH_AS((void)ps::parse_yaml("s.yaml", bomb), doctest::Contains("more than 100000 values"), ps::error);
    CHECK_THROWS_WITH_AS((void)ps::parse_yaml("s.yaml", std::string(50, '[') + std::string(50, ']')),
                         doctest::Contains("levels"), ps::error);
    std::size_t reads = 0;
    for (std::size_t end = 0; end < figure14.size(); ++end) {  // throws error, or reads what is there
        try {
            (void)ps::prune::parse_schedule(ps::parse_yaml("s.yaml", figure14.substr(0, end)));
            ++reads;
        } catch (ps::error const& fault) {
            CHECK(std::string_view(fault.what()).starts_with("s.yaml:"));
        }
    }
    CHECK(reads > 0);
    CHECK(reads < figure14.size());
}

}  // namespace
}  // namespace yaml
