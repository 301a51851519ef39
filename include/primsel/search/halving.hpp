#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::search {

/// Options of SuccessiveHalving.
struct HalvingOptions {
    /// The number of steps (epochs) of the first rung.
    std::size_t least_steps = 1;
    /// Each rung has `factor` times the steps of the one before, and one in `factor` trials goes on.
    std::size_t factor = 3;
    /// Whether the best trial alone goes on while fewer than `factor` have reached a rung; otherwise all do.
    bool strict = false;
};

/// Stops hopeless trials early, without waiting for others: asynchronous successive halving (Li et al. 2020). A trial
/// goes on from a rung if its loss is among the best 1 / factor of the trials that have reached the rung so far.
class SuccessiveHalving {
public:
    /// Throws error if `least_steps` is 0 or `factor` below 2.
    explicit SuccessiveHalving(HalvingOptions const& options = {}) : options_(options) {
        if (options_.least_steps < 1) fail("successive halving: judges after at least one step");
        if (options_.factor < 2) fail("successive halving: a factor of ", options_.factor, " stops nothing");
    }

    /// Whether the trial goes on after `steps` steps with this loss, the less the better. A loss that is not finite
    /// stops it. Between rungs every trial goes on. A second call for the same trial and rung gives the first answer.
    [[nodiscard]] bool goes_on(std::size_t trial, std::size_t steps, double loss) {
        if (!is_finite(loss)) return false;
        if (!is_rung(steps)) return true;
        std::map<std::size_t, Entry>& rung = rungs_[steps];
        const auto [place, added] = rung.try_emplace(trial);
        if (!added) return place->second.goes_on;
        place->second.loss = loss;
        place->second.goes_on = loss <= bound_of(rung, 0);
        return place->second.goes_on;
    }
    /// The largest loss with which another trial would go on from this rung; infinite if any would.
    [[nodiscard]] double limit(std::size_t steps) const {
        const auto rung = rungs_.find(steps);
        return rung == rungs_.end() ? std::numeric_limits<double>::infinity() : bound_of(rung->second, 1);
    }
    /// The finite limits, by the steps of their rungs.
    [[nodiscard]] std::map<std::size_t, double> limits() const {
        std::map<std::size_t, double> all;
        for (auto const& [steps, rung] : rungs_) {
            const double bound = limit(steps);
            if (is_finite(bound)) all.emplace(steps, bound);
        }
        return all;
    }
    [[nodiscard]] bool is_rung(std::size_t steps) const {
        for (std::size_t rung = options_.least_steps; rung <= steps; rung *= options_.factor) {
            if (rung == steps) return true;
            if (rung > steps / options_.factor) break;
        }
        return false;
    }

private:
    struct Entry {
        double loss = 0;
        bool goes_on = true;
    };

    /// The greatest loss that goes on from a rung that `more` trials reach beside those known.
    [[nodiscard]] double bound_of(std::map<std::size_t, Entry> const& rung, std::size_t more) const {
        std::vector<double> losses;
        for (auto const& [number, entry] : rung) losses.push_back(entry.loss);
        std::ranges::sort(losses);
        std::size_t stay = (losses.size() + more) / options_.factor;
        if (options_.strict && !losses.empty()) stay = std::max<std::size_t>(stay, 1);
        return stay == 0 ? std::numeric_limits<double>::infinity() : losses[stay - 1];
    }

    HalvingOptions options_;
    std::map<std::size_t, std::map<std::size_t, Entry>> rungs_;
};

}  // namespace primsel::inline PRIMSEL_ABI::search
