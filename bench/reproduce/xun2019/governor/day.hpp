// Days of a simulated Odroid XU3: an image every 8.64 seconds, which are 10,000, budgets that change with the hour,
// other programs, heat, and cores that go and come back.
#pragma once

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <random>
#include <vector>

#include "../boards/simulated_platforms.hpp"

namespace xun2019 {

namespace ps = primsel;

inline constexpr std::size_t images = 10000;
inline constexpr double period = 8.64, hour = 3600;
/// Days by chance by which nothing was chosen: their seeds.
inline constexpr unsigned first_held_out = 101, held_out = 5;

struct Hours {
    double from;
    ps::dynamic::Budget budget;
    const char* what = "";
};

struct Day {
    boards::SimulatedDescription platform = boards::odroid_xu3();
    std::vector<Hours> hours;

    [[nodiscard]] ps::dynamic::Budget const& budget_at(double seconds) const {
        std::size_t i = 0;
        while (i + 1 < hours.size() && hours[i + 1].from * hour <= seconds) ++i;
        return hours[i].budget;
    }
    void at(double when, boards::PlatformEvent::Kind kind, std::size_t set, double value) {
        platform.events.push_back({when * hour, kind, set, value});
    }
    /// Another program that comes and goes, so long on average.
    void come_and_go(double from, double to, std::size_t set, double mean_minutes, std::mt19937& bits) {
        std::exponential_distribution<double> minutes(1 / mean_minutes);
        double load = 1;
        for (double when = from; when < to; when += minutes(bits) / 60, load = 1 - load) {
            at(when, boards::PlatformEvent::Kind::load, set, load);
        }
        at(to, boards::PlatformEvent::Kind::load, set, 0);
    }
};

/// The day in whose sight the governor's constants were chosen.
[[nodiscard]] inline Day known_day() {
    using Kind = boards::PlatformEvent::Kind;
    Day day;
    day.hours = {{0, {.seconds = 1.0, .joules = 0.04}, "night: little energy"},
                 {6, {.seconds = 0.2}, "morning"},
                 {8, {.seconds = 0.075}, "on the way: quick answers"},
                 {9, {.seconds = 0.2}, "at work"},
                 {12, {.seconds = 0.12}, "noon, in the sun"},
                 {15, {.seconds = 0.15, .accuracy = 0.69}, "afternoon: at least 69 %"},
                 {17, {.seconds = 0.075}, "on the way back"},
                 {19, {.seconds = 0.3, .watts = 0.4}, "evening: little power"},
                 {22, {.seconds = 1.0, .joules = 0.03}, "night: less energy"}};
    day.platform.noise = {.deviation = 0.03, .outliers = 0.002, .worst = 3, .seed = 2019};
    day.at(7.5, Kind::load, 0, 1), day.at(8.4, Kind::load, 0, 0);
    day.at(10, Kind::cores, 0, 0), day.at(11, Kind::cores, 0, 4);
    day.at(10.4, Kind::load, 1, 1), day.at(10.7, Kind::load, 1, 0);
    day.at(12, Kind::cap, 0, 10), day.at(12.5, Kind::cap, 0, 8);
    day.at(14, Kind::cap, 0, 12), day.at(15, Kind::cap, 0, 16);
    day.at(20, Kind::cores, 0, 0), day.at(20.5, Kind::cores, 0, 4);
    std::mt19937 bits(5);
    day.come_and_go(13, 18.5, 0, 10, bits);
    std::ranges::stable_sort(day.platform.events, {}, &boards::PlatformEvent::seconds);
    return day;
}

/// A day by chance: budgets, times of change, load on both clusters, caps, cores that go, noise and its outliers.
[[nodiscard]] inline Day any_day(unsigned seed) {
    using Kind = boards::PlatformEvent::Kind;
    std::mt19937 bits(seed);
    const auto between = [&bits](double low, double high) {
        return std::uniform_real_distribution<double>(low, high)(bits);
    };
    Day day;
    for (double from = 0; from < 24; from += between(0.5, 3)) {
        ps::dynamic::Budget budget{.seconds = 0.06 * std::exp(between(0, 2))};  // 60 to 440 ms
        const double also = between(0, 1);
        if (also < 0.15) budget.joules = between(0.03, 0.08);
        if (also > 0.7) budget.accuracy = 0.69;
        if (also > 0.15 && also < 0.3) budget.watts = between(0.35, 0.8);
        day.hours.push_back({from, budget});
    }
    day.platform.noise = {
        .deviation = between(0.01, 0.05), .outliers = between(0.001, 0.004), .worst = between(2, 4), .seed = seed};
    for (std::size_t set = 0; set < 2; ++set) {
        for (double when = between(0, 3); when < 23; when += between(1, 4)) {
            const double until = std::min(when + between(0.2, 2), 23.5);
            day.come_and_go(when, until, set, between(3, 20), bits);
            when = until;
        }
    }
    for (double when = between(0, 5); when < 22; when += between(2, 6)) {
        day.at(when, Kind::cap, 0, std::floor(between(6, 14))), day.at(when + between(0.3, 1.5), Kind::cap, 0, 16);
    }
    for (double when = between(0, 6); when < 22; when += between(4, 9)) {
        day.at(when, Kind::cores, 0, 0), day.at(when + between(0.1, 1), Kind::cores, 0, 4);
    }
    std::ranges::stable_sort(day.platform.events, {}, &boards::PlatformEvent::seconds);
    return day;
}

}  // namespace xun2019
