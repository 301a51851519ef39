#pragma once

#include <primsel/core/config.hpp>

#include <cmath>
#include <random>

namespace primsel::inline PRIMSEL_ABI::core {

/// Draws standard normal numbers (the polar method of Marsaglia and Bray, 1964). They are the same with every standard
/// library and instruction set, unlike those of std::normal_distribution.
class Normal {
public:
    [[nodiscard]] float operator()(std::mt19937& bits) {
        if (has_second_) {
            has_second_ = false;
            return second_;
        }
        // Products of floats are exact in double, so that it does not matter whether sums are fused with them.
        double x = 0, y = 0, square = 0;
        do {
            x = uniform(bits), y = uniform(bits);
            square = x * x + y * y;
        } while (square > 1 || square == 0);
        const double scale = std::sqrt(-2 * std::log(square) / square);
        second_ = static_cast<float>(x * scale), has_second_ = true;
        return static_cast<float>(y * scale);
    }

private:
    /// From -1 to less than 1, a float.
    [[nodiscard]] static double uniform(std::mt19937& bits) {
        constexpr float below_one = 0x1.fffffep-1F;
        const float part = static_cast<float>(bits()) * 0x1p-32F;
        return static_cast<float>(2.0 * static_cast<double>(part < 1 ? part : below_one) - 1.0);
    }

    float second_ = 0;
    bool has_second_ = false;
};

}  // namespace primsel::inline PRIMSEL_ABI::core
