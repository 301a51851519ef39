#pragma once

#include <primsel/dynamic/governor.hpp>
#include <primsel/dynamic/operating_point.hpp>
#include <primsel/dynamic/platform.hpp>

#include <cstddef>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::dynamic {

/// The outcome of an image.
struct GovernedImage {
    OperatingPoint point;
    Budget budget;
    /// Seconds on the platform's clock: when the image began, and how long it took.
    double began = 0, seconds = 0;
    /// The difference of the platform's energy counter; NaN if the platform has none.
    double joules = OperatingPoint::unknown;
    /// missed: took longer than the budget's seconds. switched: the operating point changed before this image.
    bool missed = false, switched = false;
};

/// Runs a network under a governor on a platform; both must outlive it. Set-up allocates, run() does not. The
/// constructor throws error if a point names a core set that the platform has not.
template <Platform P, Objective O>
class Governed {
public:
    Governed(P& platform, Governor<O>& governor)
        : platform_(platform), governor_(governor), states_(platform.core_sets().size()) {
        for (OperatingPoint const& point : governor.points()) {
            if (point.core_set >= states_.size()) {
                fail("governor: core set ", point.core_set, " of ", states_.size(), " of the platform");
            }
        }
    }

    /// Runs one image: asks the governor for a point, moves the platform to it if it changed, calls `use(n)` if the
    /// number of the sub-network changed, then calls `run()`. Neither may throw. Measures time and energy of `run()`
    /// and tells the governor.
    template <class Use, class Run>
    GovernedImage run(Use&& use, Run&& run) noexcept {
        platform_.observe(states_);
        OperatingPoint const& point = governor_.decide(states_);
        if (governor_.switched()) platform_.apply(point);
        if (!any_ || point.configuration != configuration_) {
            configuration_ = point.configuration;
            use(configuration_);
        }
        any_ = true;
        GovernedImage image{.point = point, .budget = governor_.budget(), .switched = governor_.switched()};
        const double joules = platform_.joules();
        image.began = platform_.seconds();
        run();
        image.seconds = platform_.seconds() - image.began;
        image.joules = platform_.joules() - joules;
        governor_.measured(image.seconds, image.joules);
        image.missed = image.seconds > image.budget.seconds;
        return image;
    }

    /// The number of the last image's sub-network.
    [[nodiscard]] int configuration() const noexcept { return configuration_; }

private:
    P& platform_;
    Governor<O>& governor_;
    std::vector<CoreState> states_;
    int configuration_ = 1;
    bool any_ = false;
};

}  // namespace primsel::inline PRIMSEL_ABI::dynamic
