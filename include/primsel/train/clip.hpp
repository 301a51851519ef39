#pragma once

#include <primsel/core/config.hpp>
#include <primsel/core/finite.hpp>

#include <cmath>
#include <cstddef>
#include <span>

namespace primsel::inline PRIMSEL_ABI {

/// Returns the Euclidean norm of several gradients, taken as one vector.
[[nodiscard]] inline double global_norm(std::span<const std::span<const float>> gradients) noexcept {
    // Eight independent sums: with one, each addition waits for the one before it.
    constexpr std::size_t lanes = 8;
    double sums[lanes] = {};
    for (const std::span<const float> gradient : gradients) {
        const std::size_t whole = gradient.size() / lanes * lanes;
        for (std::size_t i = 0; i < whole; i += lanes) {
            for (std::size_t lane = 0; lane < lanes; ++lane) {
                const double value = gradient[i + lane];
                sums[lane] += value * value;
            }
        }
        for (std::size_t i = whole; i < gradient.size(); ++i) {
            sums[i - whole] += static_cast<double>(gradient[i]) * static_cast<double>(gradient[i]);
        }
    }
    double sum = 0;
    for (const double part : sums) sum += part;
    return std::sqrt(sum);
}

/// Returns min(1, most / (norm + 1e-6)), the factor that clips gradients of this norm to at most `most`, as PyTorch's
/// clip_grad_norm_ does (Pascanu et al., On the difficulty of training recurrent neural networks, 2013). Returns 1 if
/// the norm is not finite.
[[nodiscard]] inline double clip_factor(double norm, double most) noexcept {
    const double factor = most / (norm + 1e-6);
    return is_finite(norm) && factor < 1 ? factor : 1;
}

/// Multiplies every value by the factor, rounded to float.
inline void scale_gradient(std::span<float> values, double factor) noexcept {
    const auto times = static_cast<float>(factor);
    for (float& value : values) value *= times;
}

}  // namespace primsel::inline PRIMSEL_ABI
