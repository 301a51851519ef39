#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/dynamic/detail/core_load.hpp>
#include <primsel/dynamic/detail/patience.hpp>
#include <primsel/dynamic/objective.hpp>
#include <primsel/dynamic/operating_point.hpp>
#include <primsel/dynamic/platform.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::dynamic {

/// Options of a Governor.
struct GovernorOptions {
    /// The share of images that must keep the budget's seconds while the machine does not change; between 0 and 1.
    double share = 0.995;
    /// The bound of an image's time as a multiple of the predicted time, while few times are measured; at least 1.
    double margin = 1.1;
    /// The share of the budgets of time, energy and power that a point must leave unused to be preferred to the present
    /// one; at least 0, below 1.
    double headroom = 0.03;
    /// The number of images for which another point must be better before the governor takes it. It doubles each time
    /// that such a change has to be taken back soon.
    std::size_t patience = 8;
    /// The number of images for which a core set that was left counts as slow as it last was, if the platform cannot
    /// tell its load.
    std::size_t memory = 200;
};

/// Chooses an operating point for each image. Of the points that can be used and are expected to keep the budget it
/// takes the one that the objective prefers; if none keeps it, the one that exceeds it least. Time is a deadline of
/// every image, and is compared with a bound that few images exceed. Energy and power are means.
///
/// The governor learns from measured times how much longer than predicted each core set takes. It answers a missed
/// deadline, lost cores, a cap of the frequency or a new budget at the next image; it takes a better point only after
/// some patience. Set-up may throw; decisions neither throw nor allocate. See docs/dynamic/governor.md.
template <Objective O = MostAccurate>
class Governor {
public:
    /// Throws error if there is no point, if a point's sub-network number is below 1 or its time is not positive and
    /// finite, if an option is out of its range, or if set_budget() would refuse the budget. Of joules and watts an
    /// unknown one is computed from the other.
    explicit Governor(std::vector<OperatingPoint> points, Budget const& budget = {},
                      GovernorOptions const& options = {}, O prefers = {})
        : points_(std::move(points)), options_(options), prefers_(std::move(prefers)), patience_(options.patience) {
        if (points_.empty()) fail("governor: there are no operating points");
        std::size_t core_sets = 0;
        for (std::size_t i = 0; i < points_.size(); ++i) {
            OperatingPoint& point = points_[i];
            if (point.configuration < 1) {
                fail("governor: operating point ", i, " has configuration ", point.configuration, "; the first is 1");
            }
            if (!(point.seconds > 0 && is_finite(point.seconds))) {
                fail("governor: operating point ", i, " has a time of ", point.seconds, " seconds");
            }
            if (is_nan(point.joules)) point.joules = point.watts * point.seconds;
            if (is_nan(point.watts)) point.watts = point.joules / point.seconds;
            core_sets = std::max(core_sets, point.core_set + 1);
        }
        if (is_nan(options.share) || !(options.share > 0 && options.share < 1))
            fail("governor: impossible share ", options.share);
        if (is_nan(options.margin) || !(options.margin >= 1 && is_finite(options.margin)))
            fail("governor: impossible margin ", options.margin);
        if (is_nan(options.headroom) || !(options.headroom >= 0 && options.headroom < 1))
            fail("governor: impossible headroom ", options.headroom);
        if (!set_budget(budget)) fail("governor: a budget is not positive");
        loads_.assign(core_sets, detail::CoreLoad(options.share, options.margin, options.memory));
        states_.assign(core_sets, CoreState{});
        factors_.assign(core_sets, 1.0);
    }

    /// Takes the budget from the next decision on. Returns false and changes nothing if a cost's budget is not positive
    /// or the accuracy is negative or NaN.
    bool set_budget(Budget const& budget) noexcept {
        if (is_nan(budget.seconds) || is_nan(budget.joules) || is_nan(budget.watts) || is_nan(budget.accuracy) ||
            !(budget.seconds > 0 && budget.joules > 0 && budget.watts > 0 && budget.accuracy >= 0))
            return false;
        budget_ = budget;
        patience_.reset();
        return true;
    }

    /// Returns the point for the next image. `states` has the state of each core set; core sets beyond its end cannot
    /// be used. Keeps the last point if none can be used, or returns the first if there was no image yet.
    OperatingPoint const& decide(std::span<const CoreState> states) noexcept {
        observe(states);
        switched_ = false;
        const Judged best = choose();
        if (best.point == none) {
            patience_.nothing_better();
        } else if (current_ == none) {
            move_to(best.point);
        } else if (must_leave(best)) {
            patience_.give_up();
            move_to(best.point);
        } else if (best.point == current_) {
            patience_.nothing_better();
        } else if (patience_.wait()) {
            patience_.take();
            move_to(best.point);
        }
        decided_ = budget_;
        const std::size_t point = current_ == none ? 0 : current_;
        expects_to_keep_ = can_use(point) && keeps(expected(point), budget_);
        return points_[point];
    }

    /// Learns from the image that ran at the last decided point: its seconds and joules. Ignores an image whose
    /// seconds, and energy whose joules, are not positive and finite.
    void measured(double seconds, double joules = OperatingPoint::unknown) noexcept {
        if (current_ == none || !is_amount(seconds)) return;
        OperatingPoint const& point = points_[current_];
        ++images_;
        patience_.image();
        missed_ = seconds > decided_.seconds;
        if (missed_) ++misses_;
        for (std::size_t i = 0; i < loads_.size(); ++i) {
            if (i == point.core_set)
                loads_[i].stay();
            else
                loads_[i].wait();
        }
        detail::CoreLoad& load = loads_[point.core_set];
        load.add_time(seconds / point.seconds, states_[point.core_set]);
        if (!is_amount(joules)) return;
        if (is_amount(point.joules)) load.add_energy(joules / point.joules);
        if (is_amount(point.watts)) load.add_power(joules / seconds / point.watts);
    }

    [[nodiscard]] std::span<const OperatingPoint> points() const noexcept { return points_; }
    [[nodiscard]] Budget const& budget() const noexcept { return budget_; }
    /// Point i with its costs as they are expected now: the seconds are the bound that is compared with the budget.
    [[nodiscard]] OperatingPoint expected(std::size_t i) const noexcept {
        OperatingPoint point = points_[i];
        point.seconds *= factors_[point.core_set];
        point.joules *= loads_[point.core_set].energy();
        point.watts *= loads_[point.core_set].power();
        return point;
    }
    /// Whether the last states allow point i: the core set has as many cores as the point has threads, and its level is
    /// not capped.
    [[nodiscard]] bool can_use(std::size_t i) const noexcept { return can_use(points_[i]); }

    /// Whether the last decision changed the point; whether the decided point is expected to keep the budget.
    [[nodiscard]] bool switched() const noexcept { return switched_; }
    [[nodiscard]] bool expects_to_keep() const noexcept { return expects_to_keep_; }
    /// Whether the last image took longer than the budget's seconds.
    [[nodiscard]] bool missed() const noexcept { return missed_; }
    [[nodiscard]] std::size_t images() const noexcept { return images_; }
    [[nodiscard]] std::size_t misses() const noexcept { return misses_; }
    [[nodiscard]] std::size_t switches() const noexcept { return switches_; }

private:
    static constexpr std::size_t none = static_cast<std::size_t>(-1);

    /// Within the budget with the headroom left unused, within it, or beyond it.
    enum class Standing { roomy, tight, beyond };
    struct Judged {
        std::size_t point = none;
        Standing standing = Standing::beyond;
        double over = Budget::unlimited;
    };

    [[nodiscard]] static bool is_amount(double value) noexcept { return value > 0 && is_finite(value); }
    [[nodiscard]] bool can_use(OperatingPoint const& point) const noexcept {
        CoreState const& state = states_[point.core_set];
        return state.cores >= std::max<std::size_t>(point.threads, 1) && point.level <= state.top;
    }

    void observe(std::span<const CoreState> states) noexcept {
        for (std::size_t i = 0; i < states_.size(); ++i) {
            const CoreState now = i < states.size() ? states[i] : CoreState{};
            if (now.cores != states_[i].cores || now.top != states_[i].top) patience_.reset();
            states_[i] = now;
            const bool here = current_ != none && points_[current_].core_set == i;
            factors_[i] = here ? loads_[i].here() : loads_[i].elsewhere(now);
        }
    }

    [[nodiscard]] Judged judge(std::size_t i) const noexcept {
        const OperatingPoint point = expected(i);
        const double over = excess(point, budget_);
        if (over > 1) return {i, Standing::beyond, over};
        // The headroom is for costs, which vary; accuracy does not.
        const Budget costs{budget_.seconds, budget_.joules, budget_.watts};
        const bool roomy = i == current_ || excess(point, costs) <= 1 - options_.headroom;
        return {i, roomy ? Standing::roomy : Standing::tight, over};
    }
    [[nodiscard]] bool is_better(Judged const& a, Judged const& b) const noexcept {
        if (a.standing != b.standing) return a.standing < b.standing;
        if (a.standing == Standing::beyond && a.over != b.over) return a.over < b.over;
        return prefers_(expected(a.point), expected(b.point));
    }
    [[nodiscard]] Judged choose() const noexcept {
        Judged best;
        for (std::size_t i = 0; i < points_.size(); ++i) {
            if (!can_use(i)) continue;
            const Judged choice = judge(i);
            if (best.point == none || is_better(choice, best)) best = choice;
        }
        return best;
    }
    [[nodiscard]] bool must_leave(Judged const& best) const noexcept {
        if (best.point == current_) return false;
        if (!can_use(current_)) return true;
        const Judged present = judge(current_);
        if (present.standing != Standing::beyond) return false;
        return best.standing != Standing::beyond || best.over < present.over * (1 - options_.headroom);
    }
    void move_to(std::size_t i) noexcept {
        const std::size_t core_set = points_[i].core_set;
        if (current_ == none || points_[current_].core_set != core_set) {
            loads_[core_set].arrive(states_[core_set]);
            factors_[core_set] = loads_[core_set].here();
        }
        current_ = i;
        switched_ = true;
        ++switches_;
    }

    std::vector<OperatingPoint> points_;
    GovernorOptions options_;
    O prefers_;
    Budget budget_, decided_;
    std::vector<detail::CoreLoad> loads_;
    std::vector<CoreState> states_;
    /// For each core set, the bound of an image's time as a multiple of the predicted time.
    std::vector<double> factors_;
    detail::Patience patience_;
    std::size_t current_ = none, images_ = 0, misses_ = 0, switches_ = 0;
    bool switched_ = false, missed_ = false, expects_to_keep_ = false;
};

}  // namespace primsel::inline PRIMSEL_ABI::dynamic
