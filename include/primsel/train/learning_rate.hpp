#pragma once

#include <primsel/core/config.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <numbers>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The learning rate of a step, counted from 0: what becomes of the rate that the user gave (`base`) by then.
/// `steps_total` is how many steps the training has, `steps_per_epoch` how many go once through the data; both are at
/// least 1. See docs/train/learning_rate.md.
///
/// A minimal model:
///     struct Mine {
///         double operator()(double base, std::int64_t step, std::int64_t steps_total, std::int64_t) const {
///             return base * static_cast<double>(steps_total - step) / static_cast<double>(steps_total);
///         }
///     };
template <class R>
concept LearningRate = requires(R const& rate, double base, std::int64_t steps) {
    { rate(base, steps, steps, steps) } -> std::convertible_to<double>;
};

/// Always the same.
struct Constant {
    double operator()(double base, std::int64_t, std::int64_t, std::int64_t) const noexcept { return base; }
};

/// Multiplied by the factor every so many epochs. As PyTorch's StepLR.
struct StepDecay {
    std::int64_t epochs = 30;
    double factor = 0.1;

    double operator()(double base, std::int64_t step, std::int64_t, std::int64_t steps_per_epoch) const noexcept {
        const std::int64_t times = step / steps_per_epoch / std::max<std::int64_t>(epochs, 1);
        return base * std::pow(factor, static_cast<double>(times));
    }
};

/// Multiplied by the factor when each of these epochs, counted from 0, begins. As PyTorch's MultiStepLR.
struct MultiStep {
    std::vector<std::int64_t> epochs = {};
    double factor = 0.1;

    double operator()(double base, std::int64_t step, std::int64_t, std::int64_t steps_per_epoch) const noexcept {
        const std::int64_t epoch = step / steps_per_epoch;
        const auto times = std::ranges::count_if(epochs, [epoch](std::int64_t begin) { return begin <= epoch; });
        return base * std::pow(factor, static_cast<double>(times));
    }
};

/// Multiplied by the factor after every epoch. As PyTorch's ExponentialLR.
struct Exponential {
    double factor = 0.95;

    double operator()(double base, std::int64_t step, std::int64_t, std::int64_t steps_per_epoch) const noexcept {
        const std::int64_t epoch = step / steps_per_epoch;
        return base * std::pow(factor, static_cast<double>(epoch));
    }
};

/// Half a cosine from the base in the first step to the floor after the last (Loshchilov and Hutter, SGDR: stochastic
/// gradient descent with warm restarts, 2017, without restarts).
struct Cosine {
    double floor = 0;

    double operator()(double base, std::int64_t step, std::int64_t steps_total, std::int64_t) const noexcept {
        const double done = static_cast<double>(std::min(step, steps_total)) / static_cast<double>(steps_total);
        return floor + (base - floor) * (1 + std::cos(std::numbers::pi * done)) / 2;
    }
};

/// Another schedule, whose rate is reached in even parts over the first steps, or epochs where no steps are given
/// (Goyal et al., Accurate, large minibatch SGD: training ImageNet in 1 hour, 2017, section 2.2).
template <LearningRate Schedule = Constant>
struct Warmup {
    Schedule schedule = {};
    std::int64_t steps = 0;
    double epochs = 0;

    double operator()(double base, std::int64_t step, std::int64_t steps_total, std::int64_t steps_per_epoch) const {
        const double full = schedule(base, step, steps_total, steps_per_epoch);
        const double most = steps > 0 ? static_cast<double>(steps) : epochs * static_cast<double>(steps_per_epoch);
        return static_cast<double>(step) + 1 < most ? full * (static_cast<double>(step) + 1) / most : full;
    }
};

static_assert(LearningRate<Constant> && LearningRate<StepDecay> && LearningRate<MultiStep>);
static_assert(LearningRate<Exponential> && LearningRate<Cosine> && LearningRate<Warmup<Cosine>>);

}  // namespace primsel::inline PRIMSEL_ABI
