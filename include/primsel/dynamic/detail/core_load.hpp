#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/dynamic/detail/recent_ratios.hpp>
#include <primsel/dynamic/platform.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::dynamic::detail {

/// The learned ratios of measured to predicted time, energy and power of a core set.
class CoreLoad {
public:
    /// `share` and `margin`: as in RecentRatios. `memory`: the number of images after the network left for which the
    /// last times are believed.
    CoreLoad(double share, double margin, std::size_t memory) noexcept
        : ratios_(share, margin), expected_(margin), memory_(memory) {}

    /// Adds the ratio of measured to predicted time of an image that ran on this core set.
    void add_time(double ratio, CoreState const& state) noexcept {
        since_return_ = std::min(since_return_ + 1, trial);
        if (ratios_.add(ratio)) {
            hold_ = since_return_ < trial ? std::min(2 * hold_, memory_) : first_hold;
            since_return_ = trial;
        }
        // The level without load. If the platform tells the load, it is divided out. If not, a faster image lowers the
        // level quickly, and a slower one, which may be due to load, raises it slowly.
        const bool told = state.slowdown >= 1;
        const double quiet = told ? ratio / state.slowdown : ratio;
        const double towards = std::min(quiet, 2 * quiet_) - quiet_;
        quiet_ += towards * (told ? 0.05 : towards < 0 ? 0.2 : 0.002);
    }
    void add_energy(double ratio) noexcept { follow(energy_, ratio); }
    void add_power(double ratio) noexcept { follow(power_, ratio); }

    /// Call before the network moves here. Old times are kept only if the platform cannot tell the load.
    void arrive(CoreState const& state) noexcept {
        const double now = elsewhere(state);
        if (is_nan(state.slowdown) && ratios_.size() > 0) return;
        ratios_.clear();
        expected_ = now;
    }
    /// Call after an image that ran on another core set. A single late image is soon forgiven; each time that this was
    /// wrong doubles the number of images until it is forgiven.
    void wait() noexcept {
        ++away_;
        if (ratios_.is_alarmed() && away_ >= hold_) ratios_.calm(), since_return_ = 0;
        if (away_ < memory_ || ratios_.size() == 0) return;
        ratios_.clear();
        expected_ = quiet_ * ratios_.spread();
    }
    void stay() noexcept { away_ = 0; }

    /// The bound of the next image's time ratio if the network stays on this core set.
    [[nodiscard]] double here() const noexcept { return ratios_.size() == 0 ? expected_ : ratios_.bound(); }
    /// The bound of the next image's time ratio if the network moves to this core set.
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
    /// The ratio of measured to predicted time without load.
    double quiet_ = 1;
    double energy_ = 1, power_ = 1;
    std::size_t memory_, away_ = 0, hold_ = first_hold, since_return_ = trial;
};

}  // namespace primsel::inline PRIMSEL_ABI::dynamic::detail
