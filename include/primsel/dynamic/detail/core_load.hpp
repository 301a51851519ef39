#pragma once

#include <primsel/dynamic/detail/recent_ratios.hpp>
#include <primsel/dynamic/platform.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::detail {

/// What was learned of a core set: how many times the predicted time, energy and power it takes.
class CoreLoad {
public:
    /// `memory`: for how many images the last times are believed after the last of them.
    CoreLoad(double share, double margin, std::size_t memory) noexcept
        : ratios_(share, margin), expected_(margin), margin_(margin), memory_(memory) {}

    /// A ratio of measured to predicted time, of an image that ran here.
    void add_time(double ratio, CoreState const& state) noexcept {
        ratios_.add(ratio);
        if (ratios_.size() >= enough) spread_ = std::min(ratios_.spread(), most_spread);
        // The level of quiet times: what is faster shows it at once, what is slower may be load.
        const double towards = std::min(ratio, 2 * quiet_) - quiet_;
        quiet_ += towards * (towards < 0 ? 0.2 : state.slowdown < 1.02 ? 0.05 : 0.002);
    }
    void add_energy(double ratio) noexcept { follow(energy_, ratio); }
    void add_power(double ratio) noexcept { follow(power_, ratio); }

    /// Before the network moves here. Old times count only where nothing better is known.
    void arrive(CoreState const& state) noexcept {
        const double now = elsewhere(state);
        if (std::isnan(state.slowdown) && ratios_.size() > 0) return;
        ratios_.clear();
        expected_ = now;
    }
    /// After an image that ran on another core set.
    void wait() noexcept {
        if (++away_ < memory_ || ratios_.size() == 0) return;
        ratios_.clear();
        expected_ = quiet_ * std::max(spread_, margin_);
    }
    void stay() noexcept { away_ = 0; }

    /// A bound for the next image that runs here, as the network does already.
    [[nodiscard]] double here() const noexcept { return ratios_.size() == 0 ? expected_ : ratios_.bound(); }
    /// A bound for the next image if the network were to move here.
    [[nodiscard]] double elsewhere(CoreState const& state) const noexcept {
        if (std::isnan(state.slowdown)) return here();
        return quiet_ * std::max(state.slowdown, 1.0) * spread_or_margin();
    }
    [[nodiscard]] double energy() const noexcept { return energy_; }
    [[nodiscard]] double power() const noexcept { return power_; }

private:
    static constexpr std::size_t enough = 32;
    static constexpr double most_spread = 2;

    [[nodiscard]] double spread_or_margin() const noexcept { return spread_ > 0 ? spread_ : margin_; }
    static void follow(double& mean, double ratio) noexcept {
        mean += 0.05 * (std::clamp(ratio, mean / 4, mean * 4) - mean);
    }

    RecentRatios ratios_;
    /// The bound while there are no ratios.
    double expected_;
    double margin_, quiet_ = 1, spread_ = 0, energy_ = 1, power_ = 1;
    std::size_t memory_, away_ = 0;
};

}  // namespace primsel::inline PRIMSEL_ABI::detail
