#pragma once

#include <primsel/core/config.hpp>

#include <limits>

namespace primsel::inline PRIMSEL_ABI {

/// Bounds between which a layer holds its result before storing it. ReLU is [0, inf), ReLU6 [0, 6];
/// without an activation the bounds are infinite and the value passes unchanged.
struct Clamp {
    float low = -std::numeric_limits<float>::infinity();
    float high = std::numeric_limits<float>::infinity();
    /// Whether it changes anything.
    [[nodiscard]] constexpr bool bounded() const { return *this != Clamp{}; }
    friend constexpr bool operator==(Clamp const&, Clamp const&) = default;
};
inline constexpr Clamp relu_clamp{0.0F, std::numeric_limits<float>::infinity()};
inline constexpr Clamp relu6_clamp{0.0F, 6.0F};

}  // namespace primsel::inline PRIMSEL_ABI
