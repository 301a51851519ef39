// Measurements correct predictions: the bias is learned, the best are those measured, the searcher is told.
#include <primsel/search/bayes.hpp>
#include <primsel/search/measured_bias.hpp>
#include <primsel/search/run_sweep.hpp>

#include "../io/scratch.hpp"

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace measured_bias {
namespace {

namespace ps = primsel;

ps::search::Sweep sweep_of(std::vector<ps::search::SweepGoal> goals = {{"latency", false}}) {
    return {.method = ps::search::SweepMethod::bayes,
            .goals = std::move(goals),
            .space = ps::search::Space({ps::search::Parameter::real("x", 0, 1)}),
            .trials = 20,
            .measured = {{"latency"}, {"hybrid", true}}};
}
ps::search::Trial trial(std::uint64_t number, double x, double predicted, std::optional<double> measured = {}) {
    ps::search::Trial trial{.number = number, .point = {{x}}, .metrics = {{"latency", predicted}}};
    if (measured) trial.measured = ps::search::TrialMeasurement{.milliseconds = *measured, .machine = "here"};
    return trial;
}

TEST_CASE("without measurements predictions stay, one scales them all, several show where they are wrong") {
    const ps::search::Sweep sweep = sweep_of();
    CHECK(ps::search::MeasuredBias(sweep).factor({{0.5}}) == 1);
    std::vector<ps::search::Trial> trials{trial(0, 0.1, 2, 3)};
    CHECK(ps::search::MeasuredBias(sweep, trials).factor({{0.9}}) == doctest::Approx(1.5));
    trials.clear();
    for (std::uint64_t i = 0; i < 12; ++i) {
        const double x = static_cast<double>(i) / 11;
        trials.push_back(trial(i, x, 2, 2 * std::exp(0.5 * x)));
    }
    const ps::search::MeasuredBias bias(sweep, trials);
    for (const double x : {0.07, 0.33, 0.5, 0.96}) {
        CHECK(bias.factor({{x}}) == doctest::Approx(std::exp(0.5 * x)).epsilon(0.02));
    }
    // A failed measurement says nothing.
    trials.push_back(trial(20, 0.5, 2, 1e9));
    trials.back().measured->failure = "no";
    CHECK(ps::search::MeasuredBias(sweep, trials).factor({{0.5}}) == bias.factor({{0.5}}));
}

TEST_CASE("the best are judged by measurements; others count as candidates alone") {
    const ps::search::Sweep sweep = sweep_of();
    std::vector<ps::search::Trial> trials{trial(0, 0.1, 1.0, 3.0), trial(1, 0.2, 1.5, 2.0), trial(2, 0.3, 0.9)};
    CHECK(ps::search::best_of(sweep, trials) == std::vector<std::size_t>{1});
    // 0.9 is expected to be 0.9 sqrt(3.0 / 1.0 * 2.0 / 1.5) = 1.8.
    CHECK(ps::search::best_of(sweep, trials, 2) == std::vector<std::size_t>{2});
    trials[2].metrics["latency"] = 1.1;
    CHECK(ps::search::best_of(sweep, trials, 2) == std::vector<std::size_t>{1});
    ps::search::Sweep logged = sweep;
    logged.measured.clear();
    CHECK(ps::search::best_of(logged, trials) == std::vector<std::size_t>{0});
}

TEST_CASE("a share is scaled by what differs from the mean, and stays above 1") {
    ps::search::Sweep sweep = sweep_of({{"hybrid", false}});
    std::vector<ps::search::Trial> trials{trial(0, 0.1, 1, 2), trial(1, 0.9, 1, 8)};
    for (ps::search::Trial& each : trials) each.metrics["hybrid"] = 0.5;
    const ps::search::MeasuredBias bias(sweep, trials);
    CHECK(bias.metrics_of(sweep, trials[0]).at("hybrid") == doctest::Approx(0.25));
    CHECK(bias.metrics_of(sweep, trials[1]).at("hybrid") == doctest::Approx(1.0));
    trials[0].metrics["hybrid"] = 1.25;
    CHECK(bias.metrics_of(sweep, trials[0]).at("hybrid") == 1.25);
}

/// Predictions fall with x; what is measured has its least at 0.3.
double predicted(double x) { return 2 - x; }
double measured(double x) { return 2 + 4 * (x - 0.3) * (x - 0.3); }

struct Known {
    ps::search::Sweep sweep;
    std::shared_ptr<ps::search::MeasuredBias> bias;
    ps::search::Outcome operator()(ps::search::SearchPoint const& point) const {
        const ps::search::Trial trial{.point = point,
                                      .metrics = {{"latency", predicted(ps::search::number_of(point.values[0]))}}};
        return bias->outcome_of(sweep, trial);
    }
    [[nodiscard]] ps::search::Outcome deviations(ps::search::SearchPoint const& point) const {
        return bias->deviations_of(
            sweep, {.point = point, .metrics = {{"latency", predicted(ps::search::number_of(point.values[0]))}}});
    }
};

TEST_CASE("a search whose predictions point elsewhere finds what is measured best, interrupted or not") {
    const ps::search::Sweep sweep = sweep_of();
    const scratch::Folder folder;
    const auto run_to = [&](std::string const& path, std::size_t trials) {
        ps::search::Sweep some = sweep;
        some.trials = trials;
        ps::search::TrialLog log(path, sweep.space);
        const auto bias = std::make_shared<ps::search::MeasuredBias>(sweep, log.trials());
        const ps::search::BayesOptions few{.first = 3, .candidates = 64, .rounds = 8};
        const auto run = ps::search::run_sweep(
            some, ps::search::Bayes<Known>(sweep.space, few, {sweep, bias}), log, 1,
            [](ps::search::Trial& trial, auto const&) {
                trial.metrics["latency"] = predicted(ps::search::number_of(trial.point.values[0]));
            },
            [&](auto const& so_far) { *bias = so_far.bias(); },
            [](ps::search::Trial const& trial) -> std::optional<ps::search::TrialMeasurement> {
                return ps::search::TrialMeasurement{
                    .milliseconds = measured(ps::search::number_of(trial.point.values[0])), .machine = "here"};
            });
        return run.trials();
    };
    const std::vector<ps::search::Trial> whole = run_to(folder.file("whole"), 20);
    const std::vector<std::size_t> best = ps::search::best_of(sweep, whole);
    REQUIRE(best.size() == 1);
    CHECK(whole[best[0]].measured->milliseconds < 2.02);
    CHECK(std::abs(ps::search::number_of(whole[best[0]].point.values[0]) - 0.3) < 0.07);
    (void)run_to(folder.file("cut"), 7);
    const std::vector<ps::search::Trial> cut = run_to(folder.file("cut"), 20);
    REQUIRE(cut.size() == whole.size());
    for (std::size_t i = 0; i < whole.size(); ++i) CHECK(cut[i].point == whole[i].point);
}

TEST_CASE(
    "a trial that cannot be best is not measured, nor one that was stopped; the target is judged by measurements") {
    ps::search::Sweep sweep = sweep_of({{"latency", false, 1.5}});
    ps::search::SweepRun<ps::search::Bayes<>> run(sweep, ps::search::Bayes<>(sweep.space));
    for (std::uint64_t i = 0; i < 4; ++i) {
        run.add(trial(i, 0.1 + 0.2 * static_cast<double>(i), 1));
        CHECK(run.is_last_promising());
        run.measure_last({.milliseconds = 2, .machine = "here"});
        CHECK(run.next());
    }
    run.add(trial(10, 0.5, 100));
    CHECK_FALSE(run.is_last_promising());
    ps::search::Trial stopped = trial(11, 0.6, 0.1);
    stopped.stopped = true;
    run.add(stopped);
    CHECK_FALSE(run.is_last_promising());
    ps::search::SweepRun<ps::search::Bayes<>> other(sweep, ps::search::Bayes<>(sweep.space));
    other.add(trial(0, 0.1, 2));
    other.measure_last({.milliseconds = 1.2, .machine = "here"});
    CHECK_FALSE(other.next());
}

TEST_CASE("a measurement on another machine is none") {
    ps::search::Sweep sweep = sweep_of();
    ps::search::SweepRun<ps::search::Bayes<>> run(sweep, ps::search::Bayes<>(sweep.space));
    const auto measure = [&](std::uint64_t number, double x, double milliseconds, const char* machine) {
        run.add(trial(number, x, 1));
        run.measure_last({.milliseconds = milliseconds, .machine = machine});
        return run.trials().back().measured->failure;
    };
    CHECK(measure(0, 0.1, 2, "board").empty());
    CHECK(measure(1, 0.2, 1, "server") == "was measured on server, the trials before it on board");
    CHECK(measure(2, 0.3, 1.5, "board").empty());
    CHECK(run.best() == std::vector<std::size_t>{2});
}

}  // namespace
}  // namespace measured_bias
