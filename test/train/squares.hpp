// A smooth loss, and numbers to try it on.
#pragma once

#include <cstddef>
#include <random>
#include <span>
#include <vector>

namespace squares {

/// Half the sum of squares of what the result is beyond its target, over the batch.
struct Squares {
    double operator()(std::span<const float> result, std::span<const float> target, std::span<float> gradient,
                      int batch) const noexcept {
        double sum = 0;
        for (std::size_t i = 0; i < result.size(); ++i) {
            const double apart = static_cast<double>(result[i]) - static_cast<double>(target[i]);
            sum += 0.5 * apart * apart / batch;
            gradient[i] = static_cast<float>(apart / batch);
        }
        return sum;
    }
};

inline std::vector<float> numbers(std::size_t count, unsigned seed) {
    std::mt19937 bits(seed);
    std::normal_distribution<float> normal;
    std::vector<float> values(count);
    for (float& value : values) value = normal(bits);
    return values;
}

}  // namespace squares
