#pragma once

#include <primsel/core/config.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <numbers>
#include <random>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::search::detail {

/// Random numbers that are the same with every standard library.
class Draw {
public:
    /// Each pair of seed and `round` gives other numbers.
    Draw(std::uint64_t seed, std::uint64_t round) {
        // A seed sequence makes neighbouring seeds and rounds independent.
        std::seed_seq parts{seed & 0xffffffffU, seed >> 32U, round & 0xffffffffU, round >> 32U};
        generator_.seed(parts);
    }
    /// From 0 to less than 1.
    double uniform() { return static_cast<double>(generator_() >> 11U) * 0x1p-53; }
    [[nodiscard]] std::size_t below(std::size_t count) { return static_cast<std::size_t>(generator_() % count); }
    /// Standard normal (Box and Muller 1958).
    double normal() {
        const double radius = std::sqrt(-2 * std::log(1 - uniform()));
        return radius * std::cos(2 * std::numbers::pi * uniform());
    }

private:
    std::mt19937_64 generator_;
};

/// Points that fill the unit cube evenly, whatever their number: multiples of the powers of a generalised golden ratio
/// (Roberts 2018), from a random start.
class EvenPoints {
public:
    EvenPoints(std::size_t dimensions, Draw& draw) {
        const auto d = static_cast<double>(dimensions);
        double ratio = 1.5;  // the root of x^(d+1) = x + 1
        for (int i = 0; i < 60; ++i) ratio = std::pow(1 + ratio, 1 / (d + 1));
        for (std::size_t i = 0; i < dimensions; ++i) {
            steps_.push_back(std::pow(1 / ratio, static_cast<double>(i + 1)));
            start_.push_back(draw.uniform());
        }
    }
    [[nodiscard]] std::vector<double> at(std::size_t number) const {
        std::vector<double> point;
        for (std::size_t i = 0; i < steps_.size(); ++i) {
            const double place = start_[i] + static_cast<double>(number + 1) * steps_[i];
            point.push_back(place - std::floor(place));
        }
        return point;
    }

private:
    std::vector<double> steps_, start_;
};

}  // namespace primsel::inline PRIMSEL_ABI::search::detail
