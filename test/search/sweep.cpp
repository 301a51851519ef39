// Sweep files as published, and logs that survive being killed at any byte.
#include <primsel/search/random_search.hpp>
#include <primsel/search/sweep_file.hpp>
#include <primsel/search/trial_log.hpp>

#include "../error_of.hpp"
#include "../io/scratch.hpp"
#include "spaces.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace sweep {
namespace {

namespace ps = primsel;
using tests::error_of;

constexpr const char* published = R"({
  "program": "pipeline.py", "method": "bayes", "metric": {"goal": "minimize", "name": "Latency"},
  "parameters": {"layer_1_conv_pruner_desired_sparsity": {"min": 0.01, "max": 0.99},
                 "layer_1_conv_pruner_group_type": {"values": ["Channels", "Filters"]}}})";

ps::search::Sweep parsed(std::string const& text) {
    return ps::search::parse_sweep(ps::parse_json_settings("f", text));
}
std::string refusal(std::string const& text) {
    return error_of([&] { (void)parsed(text); });
}

TEST_CASE("the published sweep reads, and more kinds of parameters") {
    const ps::search::Sweep sweep = parsed(published);
    CHECK(sweep.method == ps::search::SweepMethod::bayes);
    CHECK(sweep.goals == std::vector<ps::search::SweepGoal>{{"Latency", false}});
    CHECK(
        sweep.space ==
        ps::search::Space({ps::search::Parameter::real("layer_1_conv_pruner_desired_sparsity", 0.01, 0.99),
                           ps::search::Parameter::values("layer_1_conv_pruner_group_type", {"Channels", "Filters"})}));
    const ps::search::Sweep more =
        parsed(R"({"method": "random", "metrics": [{"name": "ms"}, {"name": "top1", "goal": "maximize"}],
                 "constraints": [{"name": "top1", "at_least": 0.9}], "budget": {"trials": 7, "seconds": 60}, "seed": 3,
                 "parameters": {"n": {"min": 1, "max": 64}, "one": {"value": 5},
                                "rate": {"min": 1e-5, "max": 1, "distribution": "log_uniform_values"}}})");
    CHECK(more.trials == 7);
    CHECK_FALSE(more.early_terminate);
    const ps::search::Sweep stopped = parsed(R"({"metric": {"name": "ms"}, "parameters": {"x": {"value": 1}},
                 "early_terminate": {"type": "successive_halving", "min_iter": 2, "eta": 4}})");
    CHECK(stopped.early_terminate->factor == 4);
    CHECK(more.space ==
          ps::search::Space({ps::search::Parameter::integer("n", 1, 64), ps::search::Parameter::constant("one", 5),
                             ps::search::Parameter::real("rate", 1e-5, 1, ps::search::Spacing::logarithmic)}));
    CHECK(ps::search::outcome_of(more, {{"ms", 2}, {"top1", 0.8}}).objectives == std::vector<double>{2, -0.8});
    CHECK(ps::search::outcome_of(more, {{"ms", 2}, {"top1", 0.8}}).constraints[0] == doctest::Approx(0.1));
    CHECK(ps::search::outcome_of(more, {{"ms", 2}}).failed());
    CHECK(ps::search::constraints_of(more) == 1);
}

/// The parameter x of a file that says this of it.
ps::search::Parameter of_x(std::string const& x) {
    return parsed("{\"metric\": {\"name\": \"ms\"}, \"parameters\": {\"x\": {" + x + "}}}").space.parameters()[0];
}

TEST_CASE("distributions are those that Weights & Biases documents") {
    using ps::search::Parameter;
    constexpr auto logarithmic = ps::search::Spacing::logarithmic;
    const auto near = [](Parameter const& a, Parameter const& b) {
        for (double share = 0; share <= 1; share += 0.125) {
            CHECK(ps::search::number_of(a.at(share)) ==
                  doctest::Approx(ps::search::number_of(b.at(share))).epsilon(1e-9));
        }
    };
    CHECK(of_x(R"("distribution": "constant", "value": 3)") == Parameter::constant("x", 3));
    CHECK(of_x(R"("values": ["a", "b"], "probabilities": [0.25, 0.75])") ==
          Parameter::values("x", {"a", "b"}, {0.25, 0.75}));
    CHECK(of_x(R"("distribution": "categorical_w_probabilities", "values": [2, 1], "probabilities": [0.25, 0.75])") ==
          Parameter::values("x", {1, 2}, {0.75, 0.25}));
    CHECK(of_x(R"("distribution": "uniform", "min": 1, "max": 3)") == Parameter::real("x", 1, 3));
    CHECK(of_x(R"("distribution": "int_uniform", "min": 1, "max": 3)") == Parameter::integer("x", 1, 3));
    // Exponents of e.
    near(of_x(R"("distribution": "log_uniform", "min": -2, "max": 1)"),
         Parameter::real("x", std::exp(-2), std::exp(1), logarithmic));
    near(of_x(R"("distribution": "inv_log_uniform", "min": -1, "max": 2)"),
         Parameter::real("x", std::exp(-2), std::exp(1), logarithmic));
    CHECK(of_x(R"("distribution": "inv_log_uniform_values", "min": 0.1, "max": 2)") ==
          Parameter::real("x", 0.1, 2, logarithmic));
    CHECK(of_x(R"("distribution": "normal")") == Parameter::normal("x", 0, 1));
    CHECK(of_x(R"("mu": 2, "sigma": 0.5)") == Parameter::normal("x", 2, 0.5));
    CHECK(of_x(R"("distribution": "log_normal", "sigma": 0.5)") == Parameter::normal("x", 0, 0.5, logarithmic));
    CHECK(of_x(R"("distribution": "q_uniform", "min": 1, "max": 10, "q": 4)") ==
          Parameter::multiples(Parameter::real("x", 1, 10), 4));
    CHECK(of_x(R"("distribution": "q_uniform", "min": 0.5, "max": 10)").count() == 10);
    CHECK(of_x(R"("distribution": "q_log_uniform_values", "min": 1, "max": 100, "q": 10)") ==
          Parameter::multiples(Parameter::real("x", 1, 100, logarithmic), 10));
    near(of_x(R"("distribution": "q_log_uniform", "min": 0, "max": 2, "q": 0.5)"),
         Parameter::multiples(Parameter::real("x", 1, std::exp(2), logarithmic), 0.5));
    CHECK(of_x(R"("distribution": "q_normal", "mu": 5, "q": 2)") ==
          Parameter::multiples(Parameter::normal("x", 5, 1), 2));
    CHECK(of_x(R"("distribution": "q_log_normal", "sigma": 0.5)") ==
          Parameter::multiples(Parameter::normal("x", 0, 0.5, logarithmic), 1));
    for (auto const& entry :
         {std::pair(R"("min": 0, "max": 1, "q": 2)", "'q' goes with a distribution q_"),
          std::pair(R"("min": 0, "max": 1, "probabilities": [1])", "'probabilities' go with values"),
          std::pair(R"("min": 0, "max": 1, "distribution": "normal")", "needs one of"),
          std::pair(R"("value": 1, "distribution": "uniform")", "'uniform' does not go with value"),
          std::pair(R"("min": 0, "max": 1, "distribution": "constant")", "'constant' does not go with min and max"),
          std::pair(R"("values": [1, 2], "probabilities": [1])", "has 2 values and 1 probabilities"),
          std::pair(R"("min": 1, "max": 3, "q": 4, "distribution": "q_uniform")", "no multiple of 4 from 1 to 3")}) {
        const std::string wrong = entry.first;
        CAPTURE(wrong);
        CHECK(error_of([&] { (void)of_x(wrong); }).find(entry.second) != std::string::npos);
    }
}

TEST_CASE("caps, targets and hyperband") {
    const auto with = [](std::string const& more) {
        return parsed(
            R"({"name": "n", "project": "p", "metric": {"name": "ms", "target": 2}, "parameters": {"x": {"value": 1}}, )" +
            more + "}");
    };
    CHECK(with(R"("run_cap": 5)").trials == 5);
    CHECK(with(R"("run_cap": 5, "budget": {"seconds": 3})").trials == 5);
    CHECK(with(R"("run_cap": 5, "budget": {"trials": 3})").trials == 3);
    const ps::search::Sweep sweep = with(R"("run_cap": 5, "command": ["python", "${program}"])");
    CHECK(sweep.command == std::vector<std::string>{"python", "${program}"});
    CHECK(ps::search::reaches_target(sweep, {{2.0}}));
    CHECK_FALSE(ps::search::reaches_target(sweep, {{2.1}}));
    const auto early = [&](std::string const& of) {
        return *with("\"early_terminate\": {" + of + "}").early_terminate;
    };
    // The documentation's examples: brackets at 3, 9, 27; and at 27 / 3 and 27 / 9.
    CHECK(early(R"("type": "hyperband", "min_iter": 3)").least_steps == 3);
    const ps::search::SuccessiveHalving halving(early(R"("type": "hyperband", "max_iter": 27, "s": 2)"));
    for (std::size_t steps = 0; steps < 27; ++steps) CHECK(halving.is_rung(steps) == (steps == 3 || steps == 9));
    CHECK(early(R"("type": "hyperband", "min_iter": 3, "strict": true)").strict);
    CHECK(error_of([&] { (void)early(R"("type": "hyperband", "max_iter": 27)"); }) ==
          "f:1: 'max_iter' and 's' go together");
    CHECK(error_of([&] { (void)early(R"("type": "hyperband", "max_iter": 27, "s": 4)"); }) ==
          "f:1: so many brackets begin before the first iteration");
}

TEST_CASE("what is not understood is refused with its line and the nearest name") {
    const std::string rest = ",\n\"metric\": {\"name\": \"ms\"},\n\"parameters\": {\"x\": {\"min\": 0, \"max\": 1}}}";
    const auto refused_x = [](std::string const& x) {
        return refusal("{\"metric\": {\"name\": \"ms\"},\n\"parameters\": {\n\"x\": {" + x + "}}}");
    };
    CHECK(
        refusal("{\"methd\": \"grid\"" + rest) ==
        "f:1: 'methd' is none of program, command, method, metric, metrics, constraints, parameters, budget, run_cap, "
        "early_terminate, seed, options, name, description, project, entity; did you mean method?");
    CHECK(refusal("{\n\"method\": \"bayse\"" + rest) ==
          "f:2: 'bayse' is none of grid, random, bayes; did you mean bayes?");
    CHECK(
        refused_x("\"mim\": 0, \"max\": 1") ==
        "f:3: 'mim' is none of min, max, values, value, distribution, probabilities, mu, sigma, q; did you mean min?");
    CHECK(refused_x("\"min\": 2, \"max\": 1") == "f:3: parameter x: no range from 2 to 1");
    CHECK(refused_x("\"min\": 2, \"max\": 3, \"values\": [1]") ==
          "f:3: 'x' needs one of: min and max, values, value, mu and sigma");
    CHECK(refused_x("\"min\": 2") == "f:3: 'max' is missing");
    CHECK(refusal(R"({"metric": {"name": "ms"}, "parameters": {}})") == "f:1: there are no parameters");
    CHECK(refusal(R"({"parameters": {"x": {"value": 1}}})") == "f:1: needs one metric or two, not 0");
    CHECK(refusal(R"({"parameters": {"x": {"value": 1}}, "metrics": [{"name": "a"}, {"name": "b"}],
                      "early_terminate": {"eta": 2}})") == "f:2: goes with one metric, not 2");
}

TEST_CASE("a log cut at any byte goes on without the trial that was cut, which is then written as before") {
    const ps::search::Space space = spaces::mixed();
    ps::search::RandomSearch random(space, 1);
    const scratch::Folder folder;
    const std::string path = folder.file("log");
    std::vector<ps::search::Trial> trials;
    for (std::uint64_t i = 0; i < 3; ++i) {
        trials.push_back({.number = i,
                          .point = random.ask().value(),
                          .seed = i,
                          .metrics = {{"ms", 1.5}},
                          .plan = "key",
                          .version = "1"});
    }
    trials[1].metrics["top1"] = std::nan("");
    trials[1].failure = "no \"memory\"";
    trials[2].rungs = {{1, 0.5}, {3, 0.25}};
    trials[2].stopped = true;
    const ps::search::TrialLogHeader header{.file = "s.json", .sweep = "{\n}", .about = {{"network", "n"}}};
    {
        ps::search::TrialLog log(path, space, header);
        for (ps::search::Trial const& trial : trials) log.add(trial);
        CHECK(error_of([&] { ps::search::TrialLog second(path, space); }) == path + ": another program appends to it");
    }
    const ps::SharedBytes file = ps::read_file(path);
    const std::string text(file.text());
    for (std::size_t bytes = 0; bytes <= text.size(); bytes += bytes + 20 < text.size() ? 7 : 1) {
        ps::write_file(path, std::string_view(text).substr(0, bytes));
        {
            ps::search::TrialLog log(path, space, header);
            REQUIRE(log.trials().size() <= 3);
            CHECK(log.warning().empty() == (bytes == 0 || text[bytes - 1] == '\n'));
            for (std::size_t i = 0; i < 3; ++i) {
                if (i < log.trials().size()) CHECK(log.trials()[i].point == trials[i].point);
                if (i >= log.trials().size()) log.add(trials[i]);
            }
        }
        const ps::SharedBytes again = ps::read_file(path);
        CHECK(again.text() == text);
    }
    CHECK(ps::search::read_log_header(path) == header);
    CHECK(ps::search::read_trials(path, space)[2].rungs == trials[2].rungs);
    CHECK(error_of([&] {
              ps::search::TrialLog log(path, space, {.file = {}, .sweep = {}, .about = {{"network", "m"}}});
          }) == path + ": cannot go on with it: its network is n, here m");
    ps::write_file(path, "notes");
    CHECK(error_of([&] { ps::search::TrialLog log(path, space); }) == path + ": is no log of trials");
    const ps::SharedBytes notes = ps::read_file(path);
    CHECK(notes.text() == "notes");
    const std::string lines = text.substr(text.find('\n') + 1);
    ps::write_file(path, lines + lines);
    CHECK(error_of([&] { ps::search::TrialLog log(path, space); }) == path + ": line 4: a second trial 0");
    ps::write_file(path, "{\"trial\": 1}\n");
    CHECK(error_of([&] { ps::search::TrialLog log(path, space); }) == path + ": line 1: has no member \"parameters\"");
}

}  // namespace
}  // namespace sweep
