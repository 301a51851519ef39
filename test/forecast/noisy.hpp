// Factors near 1, the same in each run.
#pragma once

#include <cstdint>

namespace tests {

class Noise {
public:
    explicit Noise(double most) : most_(most) {}
    /// From 1 - most to 1 + most.
    double operator()() {
        bits_ = bits_ * 1664525 + 1013904223;
        return 1 + most_ * (static_cast<double>(bits_ >> 16U) / 32768 - 1);
    }

private:
    double most_;
    std::uint32_t bits_ = 1;
};

}  // namespace tests
