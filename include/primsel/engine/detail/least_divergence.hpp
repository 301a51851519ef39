// Chooses the range of bytes by the Kullback-Leibler divergence.
#pragma once

#include <primsel/core/config.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::engine::detail {

/// Returns the number of bins of magnitudes, from 0 on, to which `levels` levels should reach: that whose divergence
///     sum of p * log(p / q)
/// is least, and of equal ones the largest (Migacz, 8-bit inference with TensorRT, GTC 2017; NVIDIA's
/// pytorch-quantization 2.1). p are the counts of those bins, what lies beyond added to the last; q the same counts
/// without it, each level's spread evenly over its bins that are not empty. Both are divided by their sums. Bin 0
/// counts as bin 1 does: the zeros of a ReLU are exact whatever the scale. There are more bins than levels.
[[nodiscard]] inline std::size_t least_divergence(std::span<const std::uint64_t> bins, std::size_t levels) {
    // Sums over all bins before each: counts, those that are not empty, and count * log(count).
    std::vector<double> counts{0}, logs{0};
    std::vector<std::size_t> filled{0};
    const auto times_log = [](double count) { return count > 0 ? count * std::log(count) : 0; };
    const auto count_of = [&](std::size_t i) { return static_cast<double>(bins[i == 0 ? 1 : i]); };
    for (std::size_t i = 0; i < bins.size(); ++i) {
        counts.push_back(counts.back() + count_of(i));
        logs.push_back(logs.back() + times_log(count_of(i)));
        filled.push_back(filled.back() + (count_of(i) > 0 ? 1U : 0U));
    }
    const double all = counts.back();
    constexpr double rounding = 1e-13;  // of divergences that are equal but for the rounding of their terms
    std::size_t best = bins.size();
    double least = std::numeric_limits<double>::infinity();
    for (std::size_t reach = levels; reach <= bins.size(); ++reach) {
        const double inside = counts[reach], beyond = all - inside, last = count_of(reach - 1);
        // An empty bin would stand for what lies beyond.
        if (inside == 0 || (last == 0 && beyond > 0)) continue;
        double sum = logs[reach - 1] + times_log(last + beyond) - all * std::log(all / inside);
        for (std::size_t level = 0, first = 0; level < levels; ++level) {
            const std::size_t end = ((level + 1) * reach + levels - 1) / levels;
            const double count = counts[end] - counts[first];
            if (count > 0) {
                const double own = level + 1 == levels ? count + beyond : count;
                sum -= own * std::log(count / static_cast<double>(filled[end] - filled[first]));
            }
            first = end;
        }
        if (sum > least + rounding * all) continue;
        least = std::min(least, sum), best = reach;
    }
    return best;
}

}  // namespace primsel::inline PRIMSEL_ABI::engine::detail
