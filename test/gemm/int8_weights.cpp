#include <primsel/gemm/int8_weights.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <limits>
#include <vector>

namespace int8_weights_tests {

namespace ps = primsel;

TEST_CASE("weights in 8 bits are the nearest multiples of the scale") {
    for (const float largest : {1.0F, 0.37F, 12.5F, 1e-30F}) {
        const float scale = ps::gemm::int8_scale(largest);
        for (int i = -1000; i <= 1000; ++i) {
            const float weight = largest * static_cast<float>(i) / 1000;
            const int rounded = ps::gemm::int8_weight(weight, largest);
            CHECK(std::abs(rounded) <= 127);
            CHECK(std::abs(static_cast<double>(weight) / static_cast<double>(scale) - rounded) <= 0.5 + 1e-4);
        }
        CHECK(ps::gemm::int8_weight(largest, largest) == 127);
        CHECK(ps::gemm::int8_weight(-largest, largest) == -127);
    }
    CHECK(ps::gemm::int8_weight(0, 0) == 0);
    CHECK(ps::gemm::int8_weight(std::numeric_limits<float>::quiet_NaN(), 1) == 0);
}

TEST_CASE("the weights of an output have a scale and a sum") {
    const std::vector<float> kernel{0.5F, -2.0F, 1.0F};
    ps::gemm::Int8Weights weights(kernel.data(), kernel.size());
    int sum = 0;
    for (const float weight : kernel) sum += weights.rounded(weight);
    CHECK(weights.scale() == 2.0F / 127);
    CHECK(weights.sum() == sum);
    CHECK(sum == 32 - 127 + 64);  // halves to the even one
}

}  // namespace int8_weights_tests
