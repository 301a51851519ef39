// Laws of the governor, on any machine: no chosen point is dominated by another that could be used, deadlines are kept
// once the machine is known, no choice is taken back and forth, and nothing is allocated.
#include <doctest/doctest.h>
#include <primsel/dynamic/governed.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../../bench/reproduce/xun2019/boards/simulated_platforms.hpp"
#include "../allocations.hpp"
#include "../error_of.hpp"
#include "points.hpp"

namespace governing {
namespace {

namespace ps = primsel;
using Kind = boards::PlatformEvent::Kind;

const std::vector<double> accuracies{0.66, 0.69, 0.70, 0.712};

/// Every image a second, for so many images.
struct Outcome {
    std::size_t misses = 0, late_misses = 0, switches = 0;
    double accuracy = 0;
};
template <ps::dynamic::Objective O>
Outcome govern(boards::SimulatedPlatform platform, ps::dynamic::Governor<O> governor, std::size_t images) {
    ps::dynamic::Governed governed(platform, governor);
    Outcome outcome;
    for (std::size_t i = 0; i < images; ++i) {
        platform.idle_until(static_cast<double>(i));
        const ps::dynamic::GovernedImage image =
            governed.run([](int) {}, [&] { platform.execute(governed.configuration()); });
        outcome.accuracy += image.missed ? 0 : image.point.accuracy;
        outcome.late_misses += image.missed && i >= images / 4 ? 1 : 0;
    }
    outcome.misses = governor.misses(), outcome.switches = governor.switches();
    return outcome;
}

boards::SimulatedDescription noisy_odroid(double deviation, std::uint64_t seed) {
    boards::SimulatedDescription odroid = boards::odroid_xu3();
    odroid.noise = {.deviation = deviation, .seed = seed};
    return odroid;
}

/// The most accurate point that keeps the budget for the image that comes, found by trying.
double oracle(boards::SimulatedPlatform const& platform, std::vector<ps::dynamic::OperatingPoint> const& points,
              double seconds) {
    for (ps::dynamic::OperatingPoint const& point : points) {
        boards::SimulatedPlatform trial = platform;
        if (!trial.apply(point)) continue;
        const double began = trial.seconds();
        trial.execute(point.configuration);
        if (trial.seconds() - began <= seconds) return point.accuracy;
    }
    return 0;
}

}  // namespace

TEST_CASE_TEMPLATE("What is chosen is never dominated by another point that can be used", O, ps::dynamic::MostAccurate,
                   ps::dynamic::LeastEnergy, ps::dynamic::LeastTime) {
    std::mt19937 bits(2);
    std::uniform_real_distribution<double> any(0.1, 1.0);
    for (int round = 0; round < 100; ++round) {
        const ps::dynamic::Budget budget{.seconds = any(bits), .accuracy = bits() % 2 == 0 ? 0 : any(bits)};
        ps::dynamic::Governor<O> governor(any_points(bits, 1 + bits() % 60), budget, {.headroom = 0, .patience = 0});
        for (int image = 0; image < 20; ++image) {
            std::vector<ps::dynamic::CoreState> states(3);
            for (ps::dynamic::CoreState& state : states) state = {bits() % 3, bits() % 4, 1 + any(bits)};
            const ps::dynamic::OperatingPoint chosen = governor.decide(states);
            std::size_t usable = 0, better = 0, within = 0;
            const bool kept = governor.expects_to_keep();
            for (std::size_t i = 0; i < governor.points().size(); ++i) {
                ps::dynamic::OperatingPoint const& point = governor.points()[i];
                if (!governor.can_use(i)) continue;
                ++usable;
                within += ps::dynamic::keeps(governor.expected(i), budget) ? 1 : 0;
                better += kept && point.core_set == chosen.core_set && ps::dynamic::dominates(point, chosen) ? 1 : 0;
            }
            if (usable > 0) CHECK(kept == (within > 0));
            CHECK(better == 0);
            governor.measured(chosen.seconds * (0.9 + 0.3 * any(bits)));
        }
    }
}

TEST_CASE("On a steady machine, budgets that can be kept are kept once it is known") {
    for (const double deviation : {0.0, 0.02, 0.1}) {
        for (const double seconds : {0.045, 0.07, 0.2, 0.4, 2.0}) {
            CAPTURE(deviation);
            CAPTURE(seconds);
            const boards::SimulatedPlatform platform(noisy_odroid(deviation, 3));
            const Outcome outcome =
                govern(platform, ps::dynamic::Governor(platform.points(accuracies), {.seconds = seconds}), 2000);
            CHECK(outcome.late_misses <= (deviation == 0 ? 0 : 15));  // 1 % of 1500
        }
    }
}

TEST_CASE("Times that are predicted too short are learned") {
    for (const double error : {0.6, 0.9, 1.3}) {
        const boards::SimulatedPlatform platform(noisy_odroid(0.03, 4));
        std::vector<ps::dynamic::OperatingPoint> points = platform.points(accuracies);
        for (ps::dynamic::OperatingPoint& point : points) point.seconds *= error;
        CHECK(govern(platform, ps::dynamic::Governor(points, {.seconds = 0.2}), 2000).late_misses <= 15);
    }
}

TEST_CASE("After a change of the machine at most an image or two are late") {
    boards::SimulatedDescription odroid = noisy_odroid(0.02, 5);
    odroid.events = {{400, Kind::load, 0, 1},  {800, Kind::load, 0, 0},   {1200, Kind::cap, 0, 8},
                     {1500, Kind::cap, 0, 16}, {1800, Kind::cores, 0, 0}, {2200, Kind::cores, 0, 4}};
    for (const bool tells : {true, false}) {
        odroid.tells_load = tells;
        const boards::SimulatedPlatform platform(odroid);
        const Outcome outcome =
            govern(platform, ps::dynamic::Governor(platform.points(accuracies), {.seconds = 0.2}), 2600);
        CHECK(outcome.misses <= 26);
        CHECK(outcome.accuracy / 2600 > 0.69);
    }
}

TEST_CASE("Noise does not make it flap, neither does load that comes and goes") {
    boards::SimulatedDescription odroid = noisy_odroid(0.05, 6);
    boards::SimulatedPlatform platform(odroid);
    CHECK(govern(platform, ps::dynamic::Governor(platform.points(accuracies), {.seconds = 0.2}), 4000).switches < 80);
    odroid.tells_load = false;
    for (double t = 20; t < 4000; t += 40) {
        odroid.events.push_back({t, Kind::load, 0, 1});
        odroid.events.push_back({t + 20, Kind::load, 0, 0});
    }
    platform = boards::SimulatedPlatform(odroid);
    const Outcome outcome =
        govern(platform, ps::dynamic::Governor(platform.points(accuracies), {.seconds = 0.2}), 4000);
    CHECK(outcome.switches < 100);  // the load changes 200 times
    CHECK(outcome.misses < 40);
}

TEST_CASE("An oracle holds at least the accuracy of the governor, and that more than chance") {
    boards::SimulatedDescription odroid = noisy_odroid(0.05, 7);
    odroid.events = {
        {100, Kind::load, 0, 1}, {200, Kind::load, 0, 0}, {250, Kind::cores, 0, 0}, {350, Kind::cores, 0, 4}};
    const boards::SimulatedPlatform start(odroid);
    std::vector<ps::dynamic::OperatingPoint> points = start.points(accuracies);
    const double ours = govern(start, ps::dynamic::Governor(points, {.seconds = 0.15}), 500).accuracy;
    std::ranges::stable_sort(points, ps::dynamic::MostAccurate{});
    boards::SimulatedPlatform platform = start, drawn = start;
    std::mt19937 bits(8);
    double best = 0, random = 0;
    for (int i = 0; i < 500; ++i) {
        platform.idle_until(i), drawn.idle_until(i);
        best += oracle(platform, points, 0.15);
        platform.execute(1);
        ps::dynamic::OperatingPoint const& point = points[bits() % points.size()];
        drawn.apply(point);
        const double began = drawn.seconds();
        drawn.execute(point.configuration);
        random += drawn.seconds() - began <= 0.15 ? point.accuracy : 0;
    }
    CHECK(best >= ours);
    CHECK(ours > random + 0.1 * 500);
}

TEST_CASE("New budgets count from the next image on") {
    const boards::SimulatedPlatform platform(boards::odroid_xu3());
    ps::dynamic::Governor governor(platform.points(accuracies), {.seconds = 0.2});
    std::vector<ps::dynamic::CoreState> states(2);
    platform.observe(states);
    CHECK(governor.decide(states).accuracy == 0.712);
    REQUIRE(governor.set_budget({.seconds = 0.05}));
    CHECK(governor.decide(states).accuracy == 0.66);
    CHECK_FALSE(governor.set_budget({.seconds = 0}));
    CHECK_FALSE(governor.set_budget({.joules = std::numeric_limits<double>::quiet_NaN()}));
    CHECK(governor.budget().seconds == 0.05);
    states[0].cores = 0;
    CHECK(governor.decide(states).core_set == 1);
    CHECK_FALSE(governor.expects_to_keep());
    states[1].cores = 0;  // nothing can be used: it stays where it is
    CHECK(governor.decide(states).core_set == 1);
}

TEST_CASE("Impossible points, budgets and options are refused") {
    const auto refusal = [](std::vector<ps::dynamic::OperatingPoint> points, ps::dynamic::Budget budget,
                            ps::dynamic::GovernorOptions options) {
        return tests::error_of([&] { ps::dynamic::Governor governor(std::move(points), budget, options); });
    };
    CHECK(refusal({}, {}, {}) == "governor: there are no operating points");
    CHECK(refusal({{.seconds = 1}, {}}, {}, {}).starts_with("governor: operating point 1 has a time of"));
    CHECK(refusal({{.configuration = 0, .seconds = 1}}, {}, {}) ==
          "governor: operating point 0 has configuration 0; the first is 1");
    CHECK(refusal({{.seconds = 1}}, {.seconds = -1}, {}) == "governor: a budget is not positive");
    CHECK(refusal({{.seconds = 1}}, {}, {.share = 1}).starts_with("governor: impossible share"));
    CHECK(refusal({{.seconds = 1}}, {}, {.margin = 0.5}).starts_with("governor: impossible margin"));
    CHECK(refusal({{.seconds = 1}}, {}, {.headroom = 1}).starts_with("governor: impossible headroom"));
    CHECK(refusal({{.seconds = 1}}, {}, {}).empty());
    boards::SimulatedPlatform platform(boards::odroid_xu3());
    ps::dynamic::Governor governor({{.core_set = 2, .seconds = 1}});
    CHECK(tests::error_of([&] { ps::dynamic::Governed governed(platform, governor); }) ==
          "governor: core set 2 of 2 of the platform");
}

TEST_CASE("Decisions, measurements and virtual time allocate nothing") {
    boards::SimulatedDescription odroid = noisy_odroid(0.2, 9);
    odroid.events = {{50, Kind::load, 0, 1}, {100, Kind::cores, 0, 0}, {150, Kind::cores, 0, 4}};
    boards::SimulatedPlatform platform(odroid);
    ps::dynamic::Governor governor(platform.points(accuracies), {.seconds = 0.15});
    ps::dynamic::Governed governed(platform, governor);
    const std::size_t before = scratch::allocations;
    for (int i = 0; i < 1500; ++i) {
        platform.idle_until(0.2 * i);
        governed.run([](int) {}, [&] { platform.execute(governed.configuration()); });
        if (i % 100 == 0) governor.set_budget({.seconds = 0.1 + 0.001 * i});
    }
    CHECK(scratch::allocations == before);
    CHECK(governor.switches() > 5);
}

}  // namespace governing
