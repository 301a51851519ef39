// A day of a simulated Odroid XU3: an image every 8.64 seconds, which are 10,000, budgets that change with the hour,
// other programs, heat, and cores that go and come back.
#pragma once

#include <primsel/dynamic/simulated_platforms.hpp>

#include <algorithm>
#include <cstddef>
#include <random>
#include <vector>

namespace xun2019 {

namespace ps = primsel;

inline constexpr std::size_t images = 10000;
inline constexpr double period = 8.64, hour = 3600;

struct Hours {
    double from;
    ps::Budget budget;
    const char* what;
};
inline const std::vector<Hours> hours{{0, {.seconds = 1.0, .joules = 0.04}, "night: little energy"},
                                      {6, {.seconds = 0.2}, "morning"},
                                      {8, {.seconds = 0.075}, "on the way: quick answers"},
                                      {9, {.seconds = 0.2}, "at work"},
                                      {12, {.seconds = 0.12}, "noon, in the sun"},
                                      {15, {.seconds = 0.15, .accuracy = 0.69}, "afternoon: at least 69 %"},
                                      {17, {.seconds = 0.075}, "on the way back"},
                                      {19, {.seconds = 0.3, .watts = 0.4}, "evening: little power"},
                                      {22, {.seconds = 1.0, .joules = 0.03}, "night: less energy"}};

[[nodiscard]] inline ps::Budget const& budget_at(double seconds) {
    std::size_t i = 0;
    while (i + 1 < hours.size() && hours[i + 1].from * hour <= seconds) ++i;
    return hours[i].budget;
}

[[nodiscard]] inline ps::SimulatedDescription day() {
    using Kind = ps::PlatformEvent::Kind;
    ps::SimulatedDescription odroid = ps::odroid_xu3();
    odroid.noise = {.deviation = 0.03, .outliers = 0.002, .worst = 3, .seed = 2019};
    std::vector<ps::PlatformEvent>& events = odroid.events;
    const auto at = [&](double when, Kind kind, std::size_t set, double value) {
        events.push_back({when * hour, kind, set, value});
    };
    at(7.5, Kind::load, 0, 1), at(8.4, Kind::load, 0, 0);
    at(10, Kind::cores, 0, 0), at(11, Kind::cores, 0, 4);
    at(10.4, Kind::load, 1, 1), at(10.7, Kind::load, 1, 0);
    at(12, Kind::cap, 0, 10), at(12.5, Kind::cap, 0, 8), at(14, Kind::cap, 0, 12), at(15, Kind::cap, 0, 16);
    at(20, Kind::cores, 0, 0), at(20.5, Kind::cores, 0, 4);
    // Another program that comes and goes, for ten minutes on average.
    std::mt19937 bits(5);
    std::exponential_distribution<double> minutes(0.1);
    double load = 1;
    for (double when = 13; when < 18.5; when += minutes(bits) / 60, load = 1 - load) at(when, Kind::load, 0, load);
    at(18.5, Kind::load, 0, 0);
    std::ranges::stable_sort(events, {}, &ps::PlatformEvent::seconds);
    return odroid;
}

}  // namespace xun2019
