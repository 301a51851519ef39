// The terms that gates of one number are made of, in the function and in its gradient.
#pragma once

#include <primsel/core/simd.hpp>

namespace primsel::inline PRIMSEL_ABI::op::detail {

inline constexpr float root_of_half = 0.70710678F;
inline constexpr float density_at_zero = 0.39894228F;  // of the normal distribution

/// Returns n such that tanh(log(1 + exp(x))) is n / (n + 2). From x = 20 on the quotient is 1 in float, and n is held.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> mish_term(Floats<Arch> const& x) {
    using V = Floats<Arch>;
    const V e = exp<Arch>(min<Arch>(V(20.0F), x));
    return e * (e + V(2.0F));
}

/// Returns u such that gelu_tanh(x) is x * sigmoid(u): 2 * sqrt(2 / pi) * (x + 0.044715 * x^3).
template <class Arch>
PRIMSEL_INLINE Floats<Arch> gelu_tanh_exponent(Floats<Arch> const& x) {
    using V = Floats<Arch>;
    return x * fma<Arch>(x * x, V(0.071354816F), V(1.5957691F));
}

/// Returns the slope of x * sigmoid(u), where u has the given slope.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> gate_slope(Floats<Arch> const& x, Floats<Arch> const& u, Floats<Arch> const& slope) {
    using V = Floats<Arch>;
    const V gate = V(1.0F) / (V(1.0F) + exp<Arch>(-u));
    return gate * fma<Arch>(x * slope, V(1.0F) - gate, V(1.0F));
}

}  // namespace primsel::inline PRIMSEL_ABI::op::detail
