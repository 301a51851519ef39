// Weights in 8 bits with a scale for each output.
#pragma once

#include <primsel/core/config.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace primsel::inline PRIMSEL_ABI::gemm {

/// The scale of an output whose largest |weight| is given.
[[nodiscard]] inline float int8_scale(float largest) { return largest / 127; }
/// Returns weight / int8_scale(largest), the nearest from -127 to 127; 0 if there is none.
[[nodiscard]] inline std::int8_t int8_weight(float weight, float largest) {
    const double value = std::nearbyint(static_cast<double>(weight) * 127 / static_cast<double>(largest));
    return static_cast<std::int8_t>(std::abs(value) <= 127 ? value : 0);
}

/// The weights of an output.
class Int8Weights {
public:
    Int8Weights(const float* kernel, std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) largest_ = std::max(largest_, std::abs(kernel[i]));
    }
    [[nodiscard]] float scale() const { return int8_scale(largest_); }
    /// The sum of all that were rounded.
    [[nodiscard]] std::int32_t sum() const { return sum_; }
    [[nodiscard]] std::int8_t rounded(float weight) {
        const std::int8_t result = int8_weight(weight, largest_);
        sum_ += result;
        return result;
    }

private:
    float largest_ = 0;
    std::int32_t sum_ = 0;
};

}  // namespace primsel::inline PRIMSEL_ABI::gemm
