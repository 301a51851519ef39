#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/core/timer.hpp>
#include <primsel/search/halving.hpp>
#include <primsel/search/sweep.hpp>
#include <primsel/version.hpp>

#include <cstddef>
#include <exception>
#include <map>
#include <string>

namespace primsel::inline PRIMSEL_ABI::search {

/// Does a trial. function(trial, goes_on) reads number, point and seed from `trial`, and adds metrics and the key of
/// the plan. After each step it may call goes_on(steps, metrics), and must end if that returns false. An exception
/// becomes the trial's failure.
template <class Function>
[[nodiscard]] Trial try_trial(Sweep const& sweep, TrialTask const& task, Function&& function) {
    Trial trial{.number = task.number, .point = task.point, .seed = task.seed, .version = PRIMSEL_VERSION};
    const SuccessiveHalving halving(sweep.early_terminate.value_or(HalvingOptions{}));
    const auto goes_on = [&](std::size_t steps, std::map<std::string, double> const& metrics) {
        if (!sweep.early_terminate || !halving.is_rung(steps)) return true;
        const double loss = halving_loss(sweep, metrics);
        const auto limit = task.limits.find(steps);
        if (is_finite(loss)) trial.rungs[steps] = loss;
        trial.stopped = !is_finite(loss) || (limit != task.limits.end() && loss > limit->second);
        return !trial.stopped;
    };
    const Timer timer;
    try {
        function(trial, goes_on);
    } catch (std::exception const& fault) {
        trial.failure = fault.what();
        if (trial.failure.empty()) trial.failure = "for no reason given";
    }
    trial.seconds = timer.seconds();
    return trial;
}

}  // namespace primsel::inline PRIMSEL_ABI::search
