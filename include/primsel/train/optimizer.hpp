#pragma once

#include <primsel/core/config.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace primsel::inline PRIMSEL_ABI {

/// Changes weights along their gradient. What it remembers of each weight is `state`: state_per_weight() runs of as
/// many floats as there are weights, zero at first. `step_number` counts from 1. The spans do not overlap. It may not
/// allocate: a training step calls it, for any number of weights at once. See docs/train/optimizer.md.
///
/// A minimal model:
///     struct Mine {
///         std::size_t state_per_weight() const noexcept { return 0; }
///         void step(std::span<float> weights, std::span<const float> gradient, std::span<float>, double learning_rate,
///                   std::int64_t, double weight_decay) const noexcept {
///             for (std::size_t i = 0; i < weights.size(); ++i) {
///                 const double slope = gradient[i] + weight_decay * weights[i];
///                 weights[i] -= static_cast<float>(learning_rate * slope);
///             }
///         }
///     };
template <class O>
concept Optimizer = requires(O const& optimizer, std::span<float> values, std::span<const float> gradient,
                             double learning_rate, std::int64_t step_number, double weight_decay) {
    { optimizer.state_per_weight() } noexcept -> std::convertible_to<std::size_t>;
    { optimizer.step(values, gradient, values, learning_rate, step_number, weight_decay) } noexcept;
};

/// Gradient descent with momentum (Sutskever et al., On the importance of initialization and momentum in deep learning,
/// 2013). The arithmetic is that of PyTorch's SGD: weight decay is added to the gradient, and the learning rate
/// multiplies what the momentum gives.
struct Sgd {
    double momentum = 0;
    bool nesterov = false;
    /// How much less of the gradient the momentum takes up, 0 to 1; not in the first step.
    double dampening = 0;

    [[nodiscard]] constexpr std::size_t state_per_weight() const noexcept { return momentum != 0 ? 1 : 0; }
    void step(std::span<float> weights, std::span<const float> gradient, std::span<float> state, double learning_rate,
              std::int64_t step_number, double weight_decay) const noexcept {
        float* PRIMSEL_RESTRICT w = weights.data();
        const float* PRIMSEL_RESTRICT g = gradient.data();
        const auto rate = static_cast<float>(learning_rate), decay = static_cast<float>(weight_decay);
        if (state_per_weight() == 0) {
            for (std::size_t i = 0; i < weights.size(); ++i) w[i] -= rate * (g[i] + decay * w[i]);
            return;
        }
        float* PRIMSEL_RESTRICT velocity = state.data();
        const auto keep = static_cast<float>(momentum), take = static_cast<float>(step_number == 1 ? 1 : 1 - dampening);
        // Nesterov's looks one step of the momentum ahead.
        const float ahead = nesterov ? 1.0F : 0.0F, along = nesterov ? keep : 1.0F;
        for (std::size_t i = 0; i < weights.size(); ++i) {
            const float slope = g[i] + decay * w[i];
            velocity[i] = keep * velocity[i] + take * slope;
            w[i] -= rate * (ahead * slope + along * velocity[i]);
        }
    }
};

namespace detail {

/// What Adam and AdamW share.
struct AdamStep {
    double beta1, beta2, epsilon;

    /// `in_gradient` of the weights is added to the gradient; the weights are first multiplied by `shrink`.
    void operator()(std::span<float> weights, std::span<const float> gradient, std::span<float> state,
                    double learning_rate, std::int64_t step_number, float in_gradient, float shrink) const noexcept {
        const auto count = static_cast<double>(step_number);
        const auto size = static_cast<float>(learning_rate / (1 - std::pow(beta1, count)));
        const auto scale = static_cast<float>(1 / std::sqrt(1 - std::pow(beta2, count)));
        const auto take1 = static_cast<float>(1 - beta1), keep2 = static_cast<float>(beta2),
                   take2 = static_cast<float>(1 - beta2), small = static_cast<float>(epsilon);
        // std::sqrt may set errno, which keeps a loop from being vectorised: it has one of its own.
        constexpr std::size_t block = 256;
        std::array<float, block> buffer;  // NOLINT(cppcoreguidelines-pro-type-member-init): written before it is read
        float* PRIMSEL_RESTRICT roots = buffer.data();
        for (std::size_t begin = 0; begin < weights.size(); begin += block) {
            const std::size_t length = std::min(block, weights.size() - begin);
            float* PRIMSEL_RESTRICT w = weights.data() + begin;
            const float* PRIMSEL_RESTRICT g = gradient.data() + begin;
            float* PRIMSEL_RESTRICT mean = state.data() + begin;
            float* PRIMSEL_RESTRICT square = state.data() + weights.size() + begin;
            for (std::size_t i = 0; i < length; ++i) {
                const float slope = g[i] + in_gradient * w[i];
                mean[i] += take1 * (slope - mean[i]);
                square[i] = keep2 * square[i] + take2 * slope * slope;
            }
            for (std::size_t i = 0; i < length; ++i) roots[i] = std::sqrt(square[i]);
            for (std::size_t i = 0; i < length; ++i) {
                w[i] = shrink * w[i] - size * (mean[i] / (roots[i] * scale + small));
            }
        }
    }
};

}  // namespace detail

/// Adam (Kingma and Ba, Adam: a method for stochastic optimization, 2015). The arithmetic is that of PyTorch's Adam:
/// weight decay is added to the gradient.
struct Adam {
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;

    [[nodiscard]] constexpr std::size_t state_per_weight() const noexcept { return 2; }
    void step(std::span<float> weights, std::span<const float> gradient, std::span<float> state, double learning_rate,
              std::int64_t step_number, double weight_decay) const noexcept {
        detail::AdamStep{beta1, beta2, epsilon}(weights, gradient, state, learning_rate, step_number,
                                                static_cast<float>(weight_decay), 1.0F);
    }
};

/// Adam with weight decay apart from the gradient (Loshchilov and Hutter, Decoupled weight decay regularization, 2019).
/// The arithmetic is that of PyTorch's AdamW: weights shrink by learning rate times weight decay, then Adam's step.
struct AdamW {
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;

    [[nodiscard]] constexpr std::size_t state_per_weight() const noexcept { return 2; }
    void step(std::span<float> weights, std::span<const float> gradient, std::span<float> state, double learning_rate,
              std::int64_t step_number, double weight_decay) const noexcept {
        detail::AdamStep{beta1, beta2, epsilon}(weights, gradient, state, learning_rate, step_number, 0.0F,
                                                static_cast<float>(1 - learning_rate * weight_decay));
    }
};

static_assert(Optimizer<Sgd> && Optimizer<Adam> && Optimizer<AdamW>);

}  // namespace primsel::inline PRIMSEL_ABI
