#pragma once

#include <primsel/core/error.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The confusion matrix of a classifier, and the accuracies that follow from it. Samples whose target is not a class
/// (such as the -1 of padding) are ignored. Shares are 0 if nothing was counted.
class Metrics {
public:
    /// Throws error for fewer classes than 1, or more than 2^13.
    explicit Metrics(int classes) : classes_(static_cast<std::size_t>(classes)) {
        if (classes < 1 || classes > 1 << 13) fail("metrics: there cannot be ", classes, " classes");
        counts_.resize(classes_ * classes_);
    }

    /// Adds a batch. `result` holds one value per class for each sample, `target` the class of each sample. `mean_loss`
    /// is the mean over the samples that are counted.
    void add(std::span<const float> result, std::span<const float> target, double mean_loss = 0) noexcept {
        const std::int64_t before = samples_;
        const std::size_t samples = std::min(result.size() / classes_, target.size());
        for (std::size_t i = 0; i < samples; ++i) {
            const bool is_class = target[i] >= 0 && target[i] < static_cast<float>(classes_);
            if (!is_class) continue;
            const std::span<const float> values = result.subspan(i * classes_, classes_);
            const auto wanted = static_cast<std::size_t>(target[i]);
            const auto largest = static_cast<std::size_t>(std::ranges::max_element(values) - values.begin());
            const std::size_t rank = rank_of(values, wanted);
            ++counts_[wanted * classes_ + largest];
            ++samples_;
            first_ += rank < 1 ? 1 : 0;
            first_five_ += rank < 5 ? 1 : 0;
        }
        loss_ += mean_loss * static_cast<double>(samples_ - before);
    }

    [[nodiscard]] int classes() const { return static_cast<int>(classes_); }
    [[nodiscard]] std::int64_t samples() const { return samples_; }
    /// The mean loss of all samples.
    [[nodiscard]] double loss() const { return samples_ == 0 ? 0 : loss_ / static_cast<double>(samples_); }
    /// The share of samples whose class has the largest result; of equal ones the first counts as the largest. Where a
    /// result is not a number, the network is wrong.
    [[nodiscard]] double accuracy() const { return share(first_, samples_); }
    /// The share of samples whose class is among the five largest results.
    [[nodiscard]] double top5_accuracy() const { return share(first_five_, samples_); }
    /// The number of samples of class `wanted` whose largest result was that of class `largest`.
    [[nodiscard]] std::int64_t count(int wanted, int largest) const {
        return counts_[static_cast<std::size_t>(wanted) * classes_ + static_cast<std::size_t>(largest)];
    }
    /// The share of a class's samples for which it is the largest.
    [[nodiscard]] double class_accuracy(int wanted) const {
        std::int64_t all = 0;
        for (std::size_t k = 0; k < classes_; ++k) all += count(wanted, static_cast<int>(k));
        return share(count(wanted, wanted), all);
    }

private:
    [[nodiscard]] static double share(std::int64_t part, std::int64_t all) {
        return all == 0 ? 0 : static_cast<double>(part) / static_cast<double>(all);
    }
    /// How many come before it, from the largest down.
    [[nodiscard]] static std::size_t rank_of(std::span<const float> values, std::size_t wanted) noexcept {
        std::size_t before = 0;
        for (std::size_t k = 0; k < values.size(); ++k) {
            const bool after = values[k] < values[wanted] || (values[k] == values[wanted] && k >= wanted);
            before += after ? 0 : 1;
        }
        return before;
    }

    std::size_t classes_;
    std::vector<std::int64_t> counts_;
    std::int64_t samples_ = 0, first_ = 0, first_five_ = 0;
    double loss_ = 0;
};

}  // namespace primsel::inline PRIMSEL_ABI
