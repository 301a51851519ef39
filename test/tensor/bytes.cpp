#include <primsel/tensor/bytes.hpp>

#include <doctest/doctest.h>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <vector>

namespace ps = primsel;

namespace bytes_tests {

/// The definition.
int byte_of(float value, ps::TensorRange const& range, ps::Clamp clamp) {
    const float factor = 1.0F / range.scale;
    const auto zero = static_cast<float>(range.zero_point);
    const auto bounded = [&](float bound) { return std::fmin(std::fmax(bound * factor, -zero), 255.0F - zero); };
    const float scaled = value * factor, low = bounded(clamp.low), high = bounded(clamp.high);
    if (std::isnan(scaled) || scaled < low) return static_cast<int>(std::nearbyint(low)) + range.zero_point;
    return static_cast<int>(std::nearbyint(scaled > high ? high : scaled)) + range.zero_point;
}

TEST_CASE("floats become the nearest byte, halves the even one, and what is outside the nearest bound") {
    const float infinity = std::numeric_limits<float>::infinity();
    std::vector<float> values{infinity, -infinity, std::numeric_limits<float>::quiet_NaN(), 3e38F, -3e38F, -0.0F};
    for (int i = -700; i < 700; ++i) values.push_back(static_cast<float>(i) / 4);
    for (const ps::TensorRange range : {ps::TensorRange{1, 0}, ps::TensorRange{1, 255}, ps::TensorRange{0.5F, 101},
                                        ps::TensorRange{0.3F, 128}, ps::TensorRange{2e-38F, 7}}) {
        for (const ps::Clamp clamp : {ps::Clamp{}, ps::relu_clamp, ps::relu6_clamp, ps::Clamp{1000, 2000}}) {
            const ps::ToBytes to(range, clamp);
            std::size_t wrong = 0;
            for (const std::size_t n : {std::size_t{1}, std::size_t{5}, std::size_t{16}, values.size()}) {
                std::vector<std::uint8_t> bytes(n + 1, 99);
                ps::to_bytes(values.data(), n, to, bytes.data());
                for (std::size_t i = 0; i < n; ++i) wrong += bytes[i] == byte_of(values[i], range, clamp) ? 0U : 1U;
                wrong += bytes[n] == 99 ? 0U : 1U;
            }
            CAPTURE(range.scale);
            CHECK(wrong == 0);
        }
    }
}

TEST_CASE("bytes become floats, and these the same bytes again") {
    std::vector<std::uint8_t> bytes(256), again(256);
    for (std::size_t i = 0; i < bytes.size(); ++i) bytes[i] = static_cast<std::uint8_t>(i);
    for (const ps::TensorRange range :
         {ps::TensorRange{1, 0}, ps::TensorRange{0.37F, 90}, ps::TensorRange{3e-9F, 255}}) {
        for (const std::size_t n : {std::size_t{3}, std::size_t{17}, std::size_t{256}}) {
            std::vector<float> floats(n + 1, 99);
            ps::from_bytes(bytes.data(), n, range, floats.data());
            for (std::size_t i = 0; i < n; ++i) {
                CHECK(floats[i] == static_cast<float>(static_cast<int>(i) - range.zero_point) * range.scale);
            }
            CHECK(floats[n] == 99);
            ps::to_bytes(floats.data(), n, ps::ToBytes(range), again.data());
            for (std::size_t i = 0; i < n; ++i) CHECK(again[i] == bytes[i]);
        }
    }
}

}  // namespace bytes_tests
