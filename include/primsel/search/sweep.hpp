#pragma once

#include <primsel/core/error.hpp>
#include <primsel/search/halving.hpp>
#include <primsel/search/searcher.hpp>
#include <primsel/search/space.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <map>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

enum class SweepMethod { grid, random, bayes };

/// What is looked for: the least of a metric, or the most.
struct Goal {
    std::string metric;
    bool maximize = false;
    friend bool operator==(Goal const&, Goal const&) = default;
};
/// What a metric must be for a point to be chosen.
struct Bound {
    std::string metric;
    double at_least = -std::numeric_limits<double>::infinity(), at_most = std::numeric_limits<double>::infinity();
    friend bool operator==(Bound const&, Bound const&) = default;
};

/// What to try, how, and how long.
struct Sweep {
    SweepMethod method = SweepMethod::bayes;
    std::vector<Goal> goals{};
    std::vector<Bound> bounds{};
    Space space;
    /// None beyond so many trials or seconds is begun.
    std::size_t trials = 100;
    double seconds = std::numeric_limits<double>::infinity();
    std::optional<HalvingOptions> early_terminate{};
    std::uint64_t seed = 1;
    /// The script of a file that another program wrote; nothing is done with it.
    std::string program{};
};

/// One trial, as it is logged.
struct Trial {
    std::uint64_t number = 0;
    Point point{};
    std::uint64_t seed = 0;
    /// By name; NaN for one that could not be had.
    std::map<std::string, double> metrics{};
    /// The key of the plan that latency is of, and the version of the library.
    std::string plan{}, version{};
    double seconds = 0;
    /// Why it failed; empty where it did not.
    std::string failure{};
};

/// What the searcher is told of a trial's metrics: goals to be minimised, bounds to be at most 0. A metric that is
/// missing is NaN, and the trial one that failed.
[[nodiscard]] inline Outcome outcome_of(Sweep const& sweep, std::map<std::string, double> const& metrics) {
    const auto value = [&](std::string const& name) {
        const auto found = metrics.find(name);
        return found == metrics.end() ? std::numeric_limits<double>::quiet_NaN() : found->second;
    };
    Outcome outcome;
    for (Goal const& goal : sweep.goals) {
        outcome.objectives.push_back(goal.maximize ? -value(goal.metric) : value(goal.metric));
    }
    for (Bound const& bound : sweep.bounds) {
        if (std::isfinite(bound.at_least)) outcome.constraints.push_back(bound.at_least - value(bound.metric));
        if (std::isfinite(bound.at_most)) outcome.constraints.push_back(value(bound.metric) - bound.at_most);
    }
    return outcome;
}
[[nodiscard]] inline std::size_t constraints_of(Sweep const& sweep) { return outcome_of(sweep, {}).constraints.size(); }

/// Latency while accuracy is at least the threshold, and beyond any such latency where it is not, the more the farther
/// below: to be minimised. `whole_latency`: of the network that was not pruned.
[[nodiscard]] inline double hybrid_metric(double latency, double accuracy, double threshold, double whole_latency) {
    return accuracy >= threshold ? latency / whole_latency : 1 + threshold - accuracy;
}

}  // namespace primsel::inline PRIMSEL_ABI
