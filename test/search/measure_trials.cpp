// Trials that are kept are measured, here or by a consumer, once each; the log has what was measured.
#include <primsel/search/random_search.hpp>
#include <primsel/search/run_sweep.hpp>

#include "../error_of.hpp"
#include "../io/scratch.hpp"

#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

namespace measure_trials {
namespace {

namespace ps = primsel;
using tests::error_of;

struct Killed {};

ps::search::Sweep sweep_of(std::size_t goals) {
    ps::search::Sweep sweep{.method = ps::search::SweepMethod::random,
                            .goals = {{"loss", false}, {"size", true}},
                            .space = ps::search::Space({ps::search::Parameter::real("x", -1, 1)}),
                            .trials = 30};
    sweep.goals.resize(goals);
    return sweep;
}
constexpr auto try_one = [](ps::search::Trial& trial, auto const&) {
    const double x = std::get<double>(trial.point.values[0]);
    trial.metrics = {{"loss", x * x}, {"size", x}};
};
ps::search::TrialMeasurement measurement_of(std::uint64_t trial) {
    return {.milliseconds = 1.5 + static_cast<double>(trial),
            .predicted = 1.25,
            .images_per_second = 700,
            .layers = {{"conv1", 0.5}, {"a \"b\"\n", 1.0}}};
}

/// Those that nobody surpassed when they were done, and no others, were measured.
void check_log(ps::search::Sweep const& sweep, std::vector<ps::search::Trial> const& trials) {
    CHECK(trials.size() == sweep.trials);
    std::vector<ps::search::Trial> until;
    for (ps::search::Trial const& trial : trials) {
        until.push_back(trial);
        const std::vector<std::size_t> best = ps::search::best_of(sweep, until);
        const bool kept = std::ranges::find(best, until.size() - 1) != best.end();
        CHECK(trial.measured.has_value() == kept);
        if (trial.measured) CHECK(*trial.measured == measurement_of(trial.number));
    }
}

TEST_CASE("what was measured reads back, from a log and from a message; what is none is refused") {
    const ps::search::Sweep sweep = sweep_of(1);
    ps::search::Trial trial{.number = 3, .point = {{0.5}}, .metrics = {{"loss", 1}}, .measured = measurement_of(3)};
    CHECK(ps::search::parse_trial("t", ps::search::line_of(sweep.space, trial), sweep.space).measured ==
          trial.measured);
    trial.measured = ps::search::TrialMeasurement{.failure = "no \x01 luck"};
    CHECK(ps::search::parse_trial("t", ps::search::line_of(sweep.space, trial), sweep.space).measured ==
          trial.measured);
    const std::string line = ps::search::line_of(3, measurement_of(3));
    CHECK(ps::search::parse_measurement("m", line, 3) == measurement_of(3));
    CHECK(error_of([&] { (void)ps::search::parse_measurement("m", line, 4); }) == "m: trial: is not trial 4");
    for (std::size_t i = 0; i < line.size(); ++i) {
        CHECK(error_of([&] { (void)ps::search::parse_measurement("m", line.substr(0, i), 3); }).starts_with("m:"));
    }
    for (const char* wrong : {R"({"trial":3})", R"({"trial":3,"measured":1})", R"({"trial":3,"measured":{}})",
                              R"({"trial":3,"measured":{"latency":1,"predicted":1,"throughput":1,"layers":[1]}})"}) {
        CHECK(error_of([&] { (void)ps::search::parse_measurement("m", wrong, 3); }).starts_with("m:"));
    }
}

TEST_CASE("trials that are kept are measured while nothing else runs") {
    for (const std::size_t goals : {1U, 2U}) {
        const ps::search::Sweep sweep = sweep_of(goals);
        const scratch::Folder folder;
        ps::search::TrialLog log(folder.file("log"), sweep.space);
        std::atomic<int> running = 0;
        const auto trying = [&](ps::search::Trial& trial, auto const& goes_on) {
            ++running;
            try_one(trial, goes_on);
            --running;
        };
        ps::search::run_sweep(
            sweep, ps::search::RandomSearch(sweep.space, 1), log, 1, trying, [](auto const&) {},
            [&](ps::search::Trial const& trial) -> std::optional<ps::search::TrialMeasurement> {
                CHECK(running == 0);
                return measurement_of(trial.number);
            });
        check_log(sweep, ps::search::read_trials(folder.file("log"), sweep.space));
    }
}

TEST_CASE("measured by a consumer, the sweep killed again and again: each once") {
    const ps::search::Sweep sweep = sweep_of(2);
    for (std::size_t kill = 1; kill < 8; kill += 3) {
        CAPTURE(kill);
        const scratch::Folder folder;
        ps::search::LocalQueue trials(10), kept(10);
        std::atomic<bool> over = false;
        std::map<std::uint64_t, int> measured;
        std::thread producer([&] { (void)ps::search::work(sweep, trials, {}, try_one, [&] { return over.load(); }); });
        std::thread consumer([&] {
            const auto measure = [&](std::uint64_t trial) {
                ++measured[trial];
                return measurement_of(trial);
            };
            (void)ps::search::work_on_measurements(kept, {}, measure, [&] { return over.load(); });
        });
        for (int times = 0; times < 60; ++times) {
            ps::search::TrialLog log(folder.file("log"), sweep.space);
            ps::search::SweepRun<ps::search::RandomSearch> run(sweep, ps::search::RandomSearch(sweep.space, 1),
                                                               log.trials());
            std::size_t since = 0;
            try {
                ps::search::drive(
                    run, log, trials, {.ahead = 2, .wait_seconds = 0.05},
                    [&](auto const&) {
                        if (++since == kill) throw Killed();
                    },
                    ps::search::MeasuredElsewhere<ps::search::LocalQueue>(kept, 0.05));
                break;
            } catch (Killed const&) {
            }
        }
        over = true;
        producer.join();
        consumer.join();
        check_log(sweep, ps::search::read_trials(folder.file("log"), sweep.space));
        for (auto const& [trial, times] : measured) CHECK(times == 1);
    }
}

TEST_CASE("why a trial was not measured is told") {
    const auto failure_of = [](auto const& answer) {
        ps::search::LocalQueue queue(10);
        std::thread consumer([&] {
            const std::optional<ps::search::Lease> lease = queue.take("c", 10);
            if (lease) answer(queue, *lease);
        });
        ps::search::MeasuredElsewhere<ps::search::LocalQueue> measure(queue, 0.02);
        const std::optional<ps::search::TrialMeasurement> measured = measure(ps::search::Trial{.number = 5});
        consumer.join();
        return measured.value().failure;
    };
    CHECK(failure_of([](auto& queue, auto const& lease) { queue.set_aside(lease, "not mine"); }) == "not mine");
    CHECK(failure_of([](auto& queue, auto const& lease) { (void)queue.finish(lease, "{}"); }) ==
          "measurement: has no member \"trial\"");
    ps::search::LocalQueue queue(10);
    queue.put(5, R"({"trial":6})");
    queue.put(7, R"({"trial":7})");
    const auto fails = [](std::uint64_t) -> ps::search::TrialMeasurement { throw std::runtime_error("no such file"); };
    CHECK(ps::search::work_on_measurements(queue, {.patience = 0.1}, fails, [] { return false; }) == 1);
    CHECK(queue.aside().at(0).reason == "message: is trial 6, not 5");
    ps::search::MeasuredElsewhere<ps::search::LocalQueue> measure(queue, 0.02);
    CHECK(measure(ps::search::Trial{.number = 7}).value().failure == "no such file");
}

}  // namespace
}  // namespace measure_trials
