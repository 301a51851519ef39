// Virtual time only goes on, energy is the integral of power, and the platforms of the paper take its times.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <random>
#include <string>
#include <utility>
#include <vector>

#include "../../bench/reproduce/xun2019/boards/simulated_platforms.hpp"
#include "../error_of.hpp"

namespace simulated {
namespace {

namespace ps = primsel;
using Kind = boards::PlatformEvent::Kind;

double seconds_of(boards::SimulatedDescription const& description, std::size_t core_set, double hertz) {
    boards::SimulatedPlatform platform(description);
    ps::dynamic::CoreSet const& set = platform.core_sets()[core_set];
    const auto level = static_cast<std::size_t>(std::ranges::lower_bound(set.hertz, hertz * 0.999) - set.hertz.begin());
    REQUIRE(platform.apply({.core_set = core_set, .level = level}));
    const double began = platform.seconds();
    platform.execute(4);
    return platform.seconds() - began;
}

boards::SimulatedDescription any_odroid(std::mt19937& bits) {
    boards::SimulatedDescription odroid = boards::odroid_xu3();
    odroid.noise = {.deviation = 0.1, .outliers = 0.05, .worst = 3, .seed = bits()};
    if (bits() % 2 == 0) odroid.heat = {.kelvin_per_watt = 60, .time_constant = 3, .limit = 45};
    for (double t = 0.1; t < 30; t += 0.1 + 1e-6 * static_cast<double>(bits() % 1000000)) {
        const std::size_t set = bits() % 2;
        const auto kind = static_cast<Kind>(bits() % 3);
        const auto most = kind == Kind::load ? 3U : kind == Kind::cap ? odroid.cores[set].hertz.size() : 5U;
        odroid.events.push_back({t, kind, set, static_cast<double>(bits() % most)});
    }
    // An operating system keeps one.
    std::erase_if(odroid.events,
                  [](auto const& e) { return e.kind == Kind::cores && e.core_set == 1 && e.value == 0; });
    return odroid;
}

}  // namespace

TEST_CASE("The platforms take the times of table I, and the Odroid has the ranges of table III") {
    CHECK(seconds_of(boards::odroid_xu3(), 0, 200e6) == doctest::Approx(1.020));
    CHECK(seconds_of(boards::odroid_xu3(), 0, 1800e6) == doctest::Approx(0.117));
    CHECK(seconds_of(boards::odroid_xu3(), 1, 200e6) == doctest::Approx(1.780));
    CHECK(seconds_of(boards::odroid_xu3(), 1, 1300e6) == doctest::Approx(0.280));
    CHECK(seconds_of(boards::jetson_nano(), 0, 614e6) == doctest::Approx(0.00721));
    CHECK(seconds_of(boards::jetson_nano(), 0, 921e6) == doctest::Approx(0.00488));
    CHECK(seconds_of(boards::jetson_nano(), 1, 921e6) == doctest::Approx(0.0704));
    CHECK(seconds_of(boards::jetson_nano(), 1, 1430e6) == doctest::Approx(0.0468));

    const boards::SimulatedPlatform odroid(boards::odroid_xu3());
    CHECK(odroid.core_sets()[0].hertz.size() == 17);
    CHECK(odroid.core_sets()[1].hertz.size() == 12);
    const auto range = [&](double ps::dynamic::OperatingPoint::*value, std::size_t core_sets) {
        std::vector<double> values;
        for (auto const& point : odroid.points({})) {
            if (point.core_set < core_sets) values.push_back(point.*value);
        }
        return std::ranges::max(values) / std::ranges::min(values);
    };
    CHECK(range(&ps::dynamic::OperatingPoint::seconds, 1) == doctest::Approx(30.8).epsilon(0.005));
    CHECK(range(&ps::dynamic::OperatingPoint::seconds, 2) == doctest::Approx(53.7).epsilon(0.005));
    CHECK(range(&ps::dynamic::OperatingPoint::joules, 1) == doctest::Approx(6.76).epsilon(0.005));
    CHECK(range(&ps::dynamic::OperatingPoint::joules, 2) == doctest::Approx(15.73).epsilon(0.005));
}

TEST_CASE("Configurations are numbered from 1, the smallest, as those of an engine") {
    const boards::SimulatedPlatform platform(boards::odroid_xu3());
    boards::SimulatedCores const& a15 = platform.description().cores[0];
    std::vector<int> numbers;
    for (ps::dynamic::OperatingPoint const& point : platform.points({})) {
        if (point.core_set != 0 || point.level != 0) continue;
        numbers.push_back(point.configuration);
        CHECK(point.seconds == a15.seconds(point.configuration, 0, 1));
    }
    CHECK(numbers == std::vector<int>{1, 2, 3, 4});
    CHECK(a15.seconds(1, 0, 1) < a15.seconds(4, 0, 1));
    CHECK(tests::error_of([&] { return a15.seconds(0, 0, 1); }) ==
          "simulated cores: configuration 0 of 4; the first is 1");
    CHECK(tests::error_of([&] { return a15.seconds(5, 0, 1); }).ends_with("configuration 5 of 4; the first is 1"));
}

TEST_CASE("Points tell what an undisturbed image takes") {
    for (boards::SimulatedDescription description : {boards::odroid_xu3(), boards::jetson_nano()}) {
        for (boards::SimulatedCores& cores : description.cores) cores.parallel = 0.8;
        const boards::SimulatedPlatform start(description);
        for (ps::dynamic::OperatingPoint const& point : start.points({}, {}, 4)) {
            boards::SimulatedPlatform platform = start;
            REQUIRE(platform.apply(point));
            const double began = platform.seconds();
            platform.execute(point.configuration);
            CHECK(platform.seconds() - began == doctest::Approx(point.seconds));
            CHECK(platform.joules() == doctest::Approx(point.joules));
        }
    }
}

TEST_CASE("Virtual time never goes back and energy is the integral of power") {
    std::mt19937 bits(1);
    for (int round = 0; round < 20; ++round) {
        boards::SimulatedPlatform platform(any_odroid(bits));
        const std::vector<ps::dynamic::OperatingPoint> points = platform.points({});
        double summed = 0;
        while (platform.seconds() < 32) {
            platform.apply(points[bits() % points.size()]);
            const double began = platform.seconds(), own = platform.joules(), total = platform.total_joules();
            platform.execute(1 + static_cast<int>(bits() % 4));
            CHECK(platform.seconds() > began);
            CHECK(platform.joules() > own);
            CHECK(platform.joules() - own <= (platform.total_joules() - total) * (1 + 1e-12));
            // At rest, by the left ends of short steps: events change the power within one of them at most.
            for (int step = 0; step < 100; ++step) {
                const double t = platform.seconds(), watts = platform.watts(), before = platform.total_joules();
                platform.idle(1e-3);
                CHECK(platform.seconds() == doctest::Approx(t + 1e-3));
                if (platform.watts() != watts) continue;
                summed += 1;
                CHECK(platform.total_joules() - before == doctest::Approx(watts * 1e-3).epsilon(1e-6));
            }
        }
        CHECK(summed > 1000);
    }
}

TEST_CASE("Load, caps and cores that go slow an image from their moment on") {
    const auto taken = [](std::vector<boards::PlatformEvent> events) {
        boards::SimulatedDescription odroid = boards::odroid_xu3();
        odroid.cores[0].change_seconds = 0;
        odroid.events = std::move(events);
        boards::SimulatedPlatform platform(odroid);
        platform.apply({.level = 16});
        platform.execute(4);
        return platform.seconds();
    };
    CHECK(taken({}) == doctest::Approx(0.117));
    CHECK(taken({{0, Kind::load, 0, 1}}) == doctest::Approx(0.234));
    CHECK(taken({{0.0585, Kind::load, 0, 1}}) == doctest::Approx(0.117 * 1.5));
    CHECK(taken({{0.0585, Kind::cap, 0, 0}}) == doctest::Approx((0.117 + 1.020) / 2));
    CHECK(taken({{0.0585, Kind::cores, 0, 0}}) == doctest::Approx((0.117 + 0.280) / 2));
}

TEST_CASE("Heat caps the frequency, and lets it rise once it has gone") {
    boards::SimulatedDescription odroid = boards::odroid_xu3();
    odroid.heat = {.kelvin_per_watt = 60, .time_constant = 2, .limit = 60};
    boards::SimulatedPlatform platform(odroid);
    platform.apply({.level = 16});
    double hottest = 0;
    for (int i = 0; i < 200; ++i) platform.execute(4), hottest = std::max(hottest, platform.celsius());
    std::vector<ps::dynamic::CoreState> states(2);
    platform.observe(states);
    CHECK(states[0].top < 16);
    CHECK(hottest > 60);
    CHECK(hottest < 70);
    platform.idle(100);
    platform.observe(states);
    CHECK(states[0].top == 16);
    CHECK(platform.celsius() < 40);
}

TEST_CASE("Impossible platforms are refused by what is impossible") {
    const auto refusal = [](auto const& change) {
        boards::SimulatedDescription odroid = boards::odroid_xu3();
        change(odroid);
        return tests::error_of([&] { boards::SimulatedPlatform platform(odroid); });
    };
    CHECK(refusal([](auto&) {}).empty());
    CHECK(refusal([](auto& d) { d.cores.clear(); }) == "simulated platform: there are no core sets");
    CHECK(refusal([](auto& d) { d.cores[1].volts.pop_back(); }) ==
          "simulated platform: core set A7 has 12 frequencies and 11 voltages");
    CHECK(refusal([](auto& d) { d.cores[1].shares.pop_back(); }).ends_with("A7 has 3 configurations of 4"));
    CHECK(refusal([](auto& d) { d.events = {{1, Kind::cap, 0, 17}}; }).ends_with("caps A15 at level 17 of 17"));
    CHECK(refusal([](auto& d) { d.events = {{1, Kind::load, 2, 1}}; }).ends_with("is of core set 2 of 2"));
    CHECK(refusal([](auto& d) {
              d.events = {{2, Kind::load, 0, 1}, {1, Kind::load, 0, 0}};
          }) == "simulated platform: events go back in time");
}

}  // namespace simulated
