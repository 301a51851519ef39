#pragma once

#include <primsel/core/config.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>

namespace primsel::inline PRIMSEL_ABI::primitive::detail {

/// The weights of an output in 8 bits: weight / scale, the nearest from -127 to 127, where scale is max |weight| / 127.
class Int8Weights {
public:
    Int8Weights(const float* kernel, std::size_t size) {
        for (std::size_t i = 0; i < size; ++i) largest_ = std::max(largest_, std::abs(kernel[i]));
    }
    [[nodiscard]] float scale() const { return largest_ / 127; }
    /// The sum of all that were rounded.
    [[nodiscard]] std::int32_t sum() const { return sum_; }
    [[nodiscard]] std::int8_t rounded(float weight) {
        const double value = std::nearbyint(static_cast<double>(weight) * 127 / static_cast<double>(largest_));
        const auto result = static_cast<std::int8_t>(std::abs(value) <= 127 ? value : 0);
        sum_ += result;
        return result;
    }

private:
    float largest_ = 0;
    std::int32_t sum_ = 0;
};

}  // namespace primsel::inline PRIMSEL_ABI::primitive::detail
