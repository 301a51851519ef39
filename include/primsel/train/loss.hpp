#pragma once

#include <primsel/core/config.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <span>

namespace primsel::inline PRIMSEL_ABI {

/// A loss function. `result` holds the results of the batch, image after image; `target` holds the targets. The call
/// returns the mean loss and writes its derivative with respect to each result to `gradient`, which is as long as
/// `result`. It must not allocate, because every training step calls it. See docs/train/loss.md.
///
/// A minimal model:
///     struct Mine {
///         double operator()(std::span<const float> result, std::span<const float> target, std::span<float> gradient,
///                           int batch) const noexcept {
///             double sum = 0;
///             for (std::size_t i = 0; i < result.size(); ++i) {
///                 sum += std::abs(result[i] - target[i]) / batch;
///                 gradient[i] = (result[i] < target[i] ? -1.0F : 1.0F) / static_cast<float>(batch);
///             }
///             return sum;
///         }
///     };
template <class L>
concept Loss = requires(L const& loss, std::span<const float> values, std::span<float> gradient, int batch) {
    { loss(values, values, gradient, batch) } noexcept -> std::same_as<double>;
};

/// Cross-entropy of the softmax of the results with the classes that the targets name, one a sample. The mean is over
/// the samples whose target is one of the classes; others, as the -1 of padding, are passed over. `label_smoothing` of
/// the wanted probability, 0 to 1, is spread evenly over all classes (Szegedy et al., Rethinking the Inception
/// architecture for computer vision, 2016, section 7). The same as PyTorch's CrossEntropyLoss.
struct SoftmaxCrossEntropy {
    float label_smoothing = 0;

    double operator()(std::span<const float> result, std::span<const float> target, std::span<float> gradient,
                      int batch) const noexcept {
        const auto samples = static_cast<std::size_t>(batch);
        if (samples == 0) return 0;
        const std::size_t classes = result.size() / samples;
        const auto counts = [&](std::size_t i) { return target[i] >= 0 && target[i] < static_cast<float>(classes); };
        std::size_t counted = 0;
        for (std::size_t i = 0; i < samples; ++i) counted += counts(i) ? 1 : 0;
        double sum = 0;
        for (std::size_t i = 0; i < samples; ++i) {
            const std::span<float> slopes = gradient.subspan(i * classes, classes);
            if (counts(i)) {
                sum += of_one(result.subspan(i * classes, classes), static_cast<std::size_t>(target[i]), slopes,
                              1.0 / static_cast<double>(counted));
            } else {
                std::ranges::fill(slopes, 0.0F);
            }
        }
        return counted == 0 ? 0 : sum / static_cast<double>(counted);
    }

private:
    /// The loss of one sample; its gradient, scaled.
    [[nodiscard]] double of_one(std::span<const float> result, std::size_t wanted, std::span<float> gradient,
                                double scale) const noexcept {
        // The largest result is subtracted, so exp does not overflow and the sum is at least 1.
        const double largest = *std::ranges::max_element(result), classes = static_cast<double>(result.size());
        double exponentials = 0, mean = 0;
        for (const float value : result) {
            exponentials += std::exp(value - largest);
            mean += (value - largest) / classes;
        }
        const double log_of_sum = std::log(exponentials), smoothing = label_smoothing;
        for (std::size_t k = 0; k < result.size(); ++k) {
            const double probability = std::exp(result[k] - largest) / exponentials;
            const double aim = smoothing / classes + (k == wanted ? 1 - smoothing : 0);
            gradient[k] = static_cast<float>((probability - aim) * scale);
        }
        return log_of_sum - (1 - smoothing) * (result[wanted] - largest) - smoothing * mean;
    }
};

/// The mean of (result - target)^2 over all results of all samples. There are as many targets as results. The same as
/// PyTorch's MSELoss.
struct MeanSquaredError {
    double operator()(std::span<const float> result, std::span<const float> target, std::span<float> gradient,
                      int /*batch*/) const noexcept {
        double sum = 0;
        const auto count = static_cast<double>(result.size());
        for (std::size_t i = 0; i < result.size(); ++i) {
            const double apart = static_cast<double>(result[i]) - static_cast<double>(target[i]);
            sum += apart * apart;
            gradient[i] = static_cast<float>(2 * apart / count);
        }
        return result.empty() ? 0 : sum / count;
    }
};

/// The mean cross-entropy of sigmoid(result) and its target, a probability, over all results of all samples. There are
/// as many targets as results. The same as PyTorch's BCEWithLogitsLoss.
struct BinaryCrossEntropy {
    double operator()(std::span<const float> result, std::span<const float> target, std::span<float> gradient,
                      int /*batch*/) const noexcept {
        double sum = 0;
        const auto count = static_cast<double>(result.size());
        for (std::size_t i = 0; i < result.size(); ++i) {
            const double x = result[i], wanted = target[i];
            const double small = std::exp(-std::abs(x));  // at most 1
            sum += std::max(x, 0.0) - x * wanted + std::log1p(small);
            const double sigmoid = (x < 0 ? small : 1.0) / (1 + small);
            gradient[i] = static_cast<float>((sigmoid - wanted) / count);
        }
        return result.empty() ? 0 : sum / count;
    }
};

static_assert(Loss<SoftmaxCrossEntropy> && Loss<MeanSquaredError> && Loss<BinaryCrossEntropy>);

}  // namespace primsel::inline PRIMSEL_ABI
