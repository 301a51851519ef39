// Small networks, and images that they learn.
#pragma once

#include <primsel/network/network.hpp>
#include <primsel/network/weights.hpp>
#include <primsel/train/policies.hpp>
#include <primsel/train/random.hpp>

#include <cstddef>
#include <vector>

namespace training {

namespace ps = primsel;
using namespace ps::layer;  // NOLINT(google-build-using-namespace): layers, as networks are written

struct Plain : ps::Network<Input<1, 8, 8>, Named<"a", Conv<8, 3>>, Relu, MaxPool<2>, Named<"b", Conv<8, 3>>, Relu,
                           Flatten, Named<"fc", Dense<3>>> {};
struct Normalised : ps::Network<Input<1, 8, 8>, Named<"a", Conv<8, 3, NoBias>>, Named<"n", BatchNorm>, Relu, Dropout,
                                GlobalAvgPool, Named<"fc", Dense<3>>> {};

struct Recipe : ps::DefaultTraining {
    using learning_rate = ps::Constant;
};

/// Bars across, bars down, and neither; the same on every machine.
struct Bars {
    [[nodiscard]] std::size_t size() const { return 192; }
    [[nodiscard]] ps::Shape shape() const { return {1, 8, 8}; }
    [[nodiscard]] int classes() const { return 3; }
    [[nodiscard]] int label(std::size_t i) const { return static_cast<int>(i % 3); }
    void read(std::size_t i, float* dst) const {
        ps::Random random(11, i);
        for (std::size_t at = 0; at < 64; ++at) {
            const std::size_t place = i % 3 == 0 ? at / 8 : at % 8;
            const float bar = i % 3 == 2 ? 0.5F : (place + i / 3) % 4 < 2 ? 1.0F : 0.0F;
            dst[at] = bar + 0.2F * static_cast<float>(random.uniform());
        }
    }
};

inline std::vector<float> all_values(ps::Weights const& weights) {
    std::vector<float> values;
    for (auto const& tensor : weights) {
        values.insert(values.end(), tensor.second.values.begin(), tensor.second.values.end());
    }
    return values;
}

}  // namespace training
