#pragma once

#include <primsel/core/config.hpp>

#include <limits>

namespace primsel::inline PRIMSEL_ABI {

/// The bounds that a layer applies to its result before storing it. ReLU has [0, inf), ReLU6 [0, 6]. Without an
/// activation both bounds are infinite and values pass unchanged.
struct Clamp {
    float low = -std::numeric_limits<float>::infinity();
    float high = std::numeric_limits<float>::infinity();
    /// Returns whether one of the bounds is finite.
    [[nodiscard]] constexpr bool bounded() const { return *this != Clamp{}; }
    friend constexpr bool operator==(Clamp const&, Clamp const&) = default;
};
inline constexpr Clamp relu_clamp{0.0F, std::numeric_limits<float>::infinity()};
inline constexpr Clamp relu6_clamp{0.0F, 6.0F};

}  // namespace primsel::inline PRIMSEL_ABI
