#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <map>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::search {

struct HalvingOptions {
    /// Steps (epochs) after which a trial is judged first.
    std::size_t least_steps = 1;
    /// It is judged again each time it took so many times as many steps; one in as many goes on.
    std::size_t factor = 3;
};

/// Hopeless trials are stopped early, without waiting for others to come as far: asynchronous successive halving (Li et
/// al. 2020). A trial that reaches a rung goes on where it is among the best of those that reached the rung before it.
class SuccessiveHalving {
public:
    /// Throws error for no steps, or a factor below 2.
    explicit SuccessiveHalving(HalvingOptions const& options = {}) : options_(options) {
        if (options_.least_steps < 1) fail("successive halving: judges after at least one step");
        if (options_.factor < 2) fail("successive halving: a factor of ", options_.factor, " stops nothing");
    }

    /// Whether the trial goes on after so many steps; the loss is to be minimised, and stops it where it is not finite.
    /// Between rungs every trial goes on. Told the same twice, it answers the same.
    [[nodiscard]] bool goes_on(std::size_t trial, std::size_t steps, double loss) {
        if (!is_finite(loss)) return false;
        if (!is_rung(steps)) return true;
        std::map<std::size_t, Entry>& rung = rungs_[steps];
        const auto [place, added] = rung.try_emplace(trial);
        if (!added) return place->second.goes_on;
        place->second.loss = loss;
        // Fewer than `factor` trials do not decide anything.
        std::vector<double> losses;
        for (auto const& [number, entry] : rung) losses.push_back(entry.loss);
        std::ranges::sort(losses);
        const std::size_t stay = losses.size() / options_.factor;
        place->second.goes_on = stay == 0 || loss <= losses[stay - 1];
        return place->second.goes_on;
    }
    /// The greatest loss with which another trial would go on after so many steps.
    [[nodiscard]] double limit(std::size_t steps) const {
        const auto rung = rungs_.find(steps);
        if (rung == rungs_.end()) return std::numeric_limits<double>::infinity();
        std::vector<double> losses;
        for (auto const& [number, entry] : rung->second) losses.push_back(entry.loss);
        std::ranges::sort(losses);
        const std::size_t stay = (losses.size() + 1) / options_.factor;
        return stay == 0 ? std::numeric_limits<double>::infinity() : losses[stay - 1];
    }
    /// Those that are known, by the steps where they stop one.
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

    HalvingOptions options_;
    std::map<std::size_t, std::map<std::size_t, Entry>> rungs_;
};

}  // namespace primsel::inline PRIMSEL_ABI::search
