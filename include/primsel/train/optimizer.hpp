#pragma once

#include <primsel/core/simd.hpp>

#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace primsel::inline PRIMSEL_ABI {

/// Updates weights from their gradient. `state` holds what the optimizer keeps per weight: state_per_weight() arrays of
/// weights.size() floats, one after another, zero at first. `step_number` counts from 1. The spans do not overlap. step
/// must not allocate; a training step calls it for any number of weights at once. See docs/train/optimizer.md.
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

namespace train::detail {

using Vector = Floats<default_arch>;

/// Calls visit(at, part) for each vector of so many floats, where `part` loads and stores what there is of it. Written
/// out, as few compilers vectorise at -O2, and an update moves as many bytes as anything in a step.
template <class Visit>
PRIMSEL_INLINE void for_vectors(std::size_t count, Visit const& visit) noexcept {
    constexpr auto width = static_cast<std::size_t>(lanes<default_arch>);
    std::size_t at = 0;
    for (; at + width <= count; at += width) visit(at, AllLanes<default_arch>{});
    if (at < count) visit(at, FirstLanes<default_arch>(static_cast<int>(count - at)));
}

}  // namespace train::detail

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
        using V = train::detail::Vector;
        float* const w = weights.data();
        const float* const g = gradient.data();
        const V rate(static_cast<float>(learning_rate)), decay(static_cast<float>(weight_decay));
        if (state_per_weight() == 0) {
            train::detail::for_vectors(weights.size(), [&](std::size_t at, auto part) {
                const V old = part.load(w + at);
                part.store(w + at, old - rate * (part.load(g + at) + decay * old));
            });
            return;
        }
        float* const velocities = state.data();
        const V keep(static_cast<float>(momentum)), take(static_cast<float>(step_number == 1 ? 1 : 1 - dampening));
        // Nesterov's looks one step of the momentum ahead.
        const V ahead(nesterov ? 1.0F : 0.0F), along = nesterov ? keep : V(1.0F);
        train::detail::for_vectors(weights.size(), [&](std::size_t at, auto part) {
            const V old = part.load(w + at), slope = part.load(g + at) + decay * old;
            const V velocity = keep * part.load(velocities + at) + take * slope;
            part.store(velocities + at, velocity);
            part.store(w + at, old - rate * (ahead * slope + along * velocity));
        });
    }
};

namespace train::detail {

/// The update of Adam, for Adam and AdamW.
struct AdamStep {
    double beta1, beta2, epsilon;

    /// `in_gradient` of the weights is added to the gradient; the weights are first multiplied by `shrink`.
    void operator()(std::span<float> weights, std::span<const float> gradient, std::span<float> state,
                    double learning_rate, std::int64_t step_number, float in_gradient, float shrink) const noexcept {
        const auto count = static_cast<double>(step_number);
        const Vector size(static_cast<float>(learning_rate / (1 - std::pow(beta1, count)))),
            scale(static_cast<float>(1 / std::sqrt(1 - std::pow(beta2, count)))), take1(static_cast<float>(1 - beta1)),
            keep2(static_cast<float>(beta2)), take2(static_cast<float>(1 - beta2)), small(static_cast<float>(epsilon)),
            decay(in_gradient), keep(shrink);
        float* const w = weights.data();
        const float* const g = gradient.data();
        float* const means = state.data();
        float* const squares = means + weights.size();
        for_vectors(weights.size(), [&](std::size_t at, auto part) {
            const Vector old = part.load(w + at), slope = part.load(g + at) + decay * old;
            Vector mean = part.load(means + at);
            mean = mean + take1 * (slope - mean);
            const Vector square = keep2 * part.load(squares + at) + take2 * slope * slope;
            part.store(means + at, mean);
            part.store(squares + at, square);
            part.store(w + at, keep * old - size * (mean / (square_root<default_arch>(square) * scale + small)));
        });
    }
};

}  // namespace train::detail

/// Adam (Kingma and Ba, Adam: a method for stochastic optimization, 2015). The arithmetic is that of PyTorch's Adam:
/// weight decay is added to the gradient.
struct Adam {
    double beta1 = 0.9, beta2 = 0.999, epsilon = 1e-8;

    [[nodiscard]] constexpr std::size_t state_per_weight() const noexcept { return 2; }
    void step(std::span<float> weights, std::span<const float> gradient, std::span<float> state, double learning_rate,
              std::int64_t step_number, double weight_decay) const noexcept {
        train::detail::AdamStep{beta1, beta2, epsilon}(weights, gradient, state, learning_rate, step_number,
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
        train::detail::AdamStep{beta1, beta2, epsilon}(weights, gradient, state, learning_rate, step_number, 0.0F,
                                                       static_cast<float>(1 - learning_rate * weight_decay));
    }
};

static_assert(Optimizer<Sgd> && Optimizer<Adam> && Optimizer<AdamW>);

}  // namespace primsel::inline PRIMSEL_ABI
