// Policies that choose the operating points of a day: the governor, those it is compared with, and an oracle.
#pragma once

#include <primsel/dynamic/governor.hpp>

#include <algorithm>
#include <cstddef>
#include <random>
#include <span>
#include <vector>

#include "day.hpp"

namespace xun2019 {

struct Image {
    ps::dynamic::OperatingPoint point;
    ps::dynamic::Budget budget;
    double began = 0, seconds = 0, joules = 0;
    /// Whether the machine or the budget changed since the last.
    bool after_change = false;

    [[nodiscard]] bool late() const { return seconds > budget.seconds; }
    [[nodiscard]] bool over_energy() const {
        return joules > budget.joules || joules > budget.watts * seconds || point.accuracy < budget.accuracy;
    }
};

using States = std::span<const ps::dynamic::CoreState>;

/// The paper's network in one configuration, as fast as the machine lets it.
struct Fixed {
    ps::dynamic::OperatingPoint point;
    ps::dynamic::OperatingPoint next(boards::SimulatedPlatform const&, States states, ps::dynamic::Budget const&) {
        point.level = states[0].top;
        return point;
    }
    void measured(Image const&) {}
};

/// Reacts and does not predict: the frequency follows the share of the budget that the last image took, with a quarter
/// on top, as Linux's schedutil lets it follow the share of time that a core was busy; a late image takes a
/// configuration away, eight in a row below 0.7 of the budget give it back.
struct Reactive {
    std::vector<double> hertz;
    std::vector<double> accuracies;
    int configuration = 4;
    std::size_t quick = 0;
    double wanted = 1e12;

    ps::dynamic::OperatingPoint next(boards::SimulatedPlatform const&, States states, ps::dynamic::Budget const&) {
        const auto place = std::ranges::lower_bound(hertz, wanted) - hertz.begin();
        const std::size_t level = std::min<std::size_t>(static_cast<std::size_t>(place), states[0].top);
        return {.configuration = configuration,
                .level = level,
                .accuracy = accuracies[static_cast<std::size_t>(configuration) - 1]};
    }
    void measured(Image const& image) {
        const double used = image.seconds / image.budget.seconds;
        wanted = 1.25 * hertz[image.point.level] * std::min(used, 4.0);
        if (image.late()) {
            if (configuration > 1) --configuration;
            quick = 0;
        } else if (used > 0.7) {
            quick = 0;
        } else if (++quick >= 8 && configuration < 4) {
            ++configuration, quick = 0;
        }
    }
};

struct Governed {
    ps::dynamic::Governor<ps::dynamic::MostAccurate> governor;
    ps::dynamic::OperatingPoint next(boards::SimulatedPlatform const&, States states,
                                     ps::dynamic::Budget const& budget) {
        if (budget.seconds != governor.budget().seconds || budget.joules != governor.budget().joules ||
            budget.watts != governor.budget().watts || budget.accuracy != governor.budget().accuracy) {
            governor.set_budget(budget);
        }
        return governor.decide(states);
    }
    void measured(Image const& image) { governor.measured(image.seconds, image.joules); }
};

/// Tries points on a copy of the platform, the best first, and takes the first that keeps all budgets for this image;
/// where none does, the fastest.
struct Oracle {
    std::vector<ps::dynamic::OperatingPoint> points;  // the most accurate first

    ps::dynamic::OperatingPoint next(boards::SimulatedPlatform const& platform, States,
                                     ps::dynamic::Budget const& budget) {
        ps::dynamic::OperatingPoint fastest;
        double least = ps::dynamic::Budget::unlimited;
        for (ps::dynamic::OperatingPoint const& point : points) {
            boards::SimulatedPlatform trial = platform;
            if (!trial.apply(point)) continue;
            const double began = trial.seconds(), joules = trial.joules();
            trial.execute(point.configuration);
            const Image image{point, budget, began, trial.seconds() - began, trial.joules() - joules};
            if (!image.late() && !image.over_energy()) return point;
            if (image.seconds < least) least = image.seconds, fastest = point;
        }
        return fastest;
    }
    void measured(Image const&) {}
};

struct Chance {
    std::vector<ps::dynamic::OperatingPoint> points;
    std::mt19937 bits{1};
    ps::dynamic::OperatingPoint next(boards::SimulatedPlatform const&, States, ps::dynamic::Budget const&) {
        return points[bits() % points.size()];
    }
    void measured(Image const&) {}
};

template <class Policy>
[[nodiscard]] std::vector<Image> spend_day(Day const& day, Policy policy, bool tells_load = true) {
    boards::SimulatedPlatform platform(day.platform);
    std::vector<ps::dynamic::CoreState> states(2), last(2);
    std::vector<Image> spent;
    for (std::size_t i = 0; i < images; ++i) {
        platform.idle_until(static_cast<double>(i) * period);
        platform.observe(states);
        Image image;
        image.budget = day.budget_at(platform.seconds());
        const auto same = [](ps::dynamic::CoreState const& a, ps::dynamic::CoreState const& b) {
            return a.cores == b.cores && a.top == b.top && a.slowdown == b.slowdown;
        };
        image.after_change = i == 0 || !same(states[0], last[0]) || !same(states[1], last[1]) ||
                             &day.budget_at(platform.seconds()) != &day.budget_at(spent.back().began);
        last = states;
        if (!tells_load) {
            for (ps::dynamic::CoreState& state : states) state.slowdown = ps::dynamic::OperatingPoint::unknown;
        }
        image.point = policy.next(platform, states, image.budget);
        platform.apply(image.point);
        const double joules = platform.joules();
        image.began = platform.seconds();
        platform.execute(image.point.configuration);
        image.seconds = platform.seconds() - image.began;
        image.joules = platform.joules() - joules;
        policy.measured(image);
        spent.push_back(image);
    }
    return spent;
}

}  // namespace xun2019
