#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/dynamic/detail/recent_ratios.hpp>
#include <primsel/dynamic/platform.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::dynamic::detail {

/// Learned factors of a core set on predicted time, energy and power.
class CoreLoad {
public:
    /// `memory`: for how many images the last times are believed after the last of them.
    CoreLoad(double share, double margin, std::size_t memory) noexcept
        : ratios_(share, margin), expected_(margin), memory_(memory) {}

    /// A ratio of measured to predicted time, of an image that ran here.
    void add_time(double ratio, CoreState const& state) noexcept {
        since_return_ = std::min(since_return_ + 1, trial);
        if (ratios_.add(ratio)) {
            hold_ = since_return_ < trial ? std::min(2 * hold_, memory_) : first_hold;
            since_return_ = trial;
        }
        // The level of quiet times. Where load is not told, what is faster shows it at once, what is slower may be
        // load.
        const bool told = state.slowdown >= 1;
        const double quiet = told ? ratio / state.slowdown : ratio;
        const double towards = std::min(quiet, 2 * quiet_) - quiet_;
        quiet_ += towards * (told ? 0.05 : towards < 0 ? 0.2 : 0.002);
    }
    void add_energy(double ratio) noexcept { follow(energy_, ratio); }
    void add_power(double ratio) noexcept { follow(power_, ratio); }

    /// Before the network moves here. Old times count only where nothing better is known.
    void arrive(CoreState const& state) noexcept {
        const double now = elsewhere(state);
        if (is_nan(state.slowdown) && ratios_.size() > 0) return;
        ratios_.clear();
        expected_ = now;
    }
    /// After an image that ran on another core set. A single time that was too long is soon taken for an exception, and
    /// less soon each time that it was none.
    void wait() noexcept {
        ++away_;
        if (ratios_.is_alarmed() && away_ >= hold_) ratios_.calm(), since_return_ = 0;
        if (away_ < memory_ || ratios_.size() == 0) return;
        ratios_.clear();
        expected_ = quiet_ * ratios_.spread();
    }
    void stay() noexcept { away_ = 0; }

    /// A bound for the next image that runs here, as the network does already.
    [[nodiscard]] double here() const noexcept { return ratios_.size() == 0 ? expected_ : ratios_.bound(); }
    /// A bound for the next image if the network were to move here.
    [[nodiscard]] double elsewhere(CoreState const& state) const noexcept {
        if (is_nan(state.slowdown)) return here();
        return quiet_ * std::max(state.slowdown, 1.0) * ratios_.spread();
    }
    [[nodiscard]] double energy() const noexcept { return energy_; }
    [[nodiscard]] double power() const noexcept { return power_; }

private:
    static constexpr std::size_t first_hold = 8, trial = 8;

    static void follow(double& mean, double ratio) noexcept {
        mean += 0.05 * (std::clamp(ratio, mean / 4, mean * 4) - mean);
    }

    RecentRatios ratios_;
    /// The bound while there are no ratios.
    double expected_;
    /// The level of quiet times.
    double quiet_ = 1;
    double energy_ = 1, power_ = 1;
    std::size_t memory_, away_ = 0, hold_ = first_hold, since_return_ = trial;
};

}  // namespace primsel::inline PRIMSEL_ABI::dynamic::detail
