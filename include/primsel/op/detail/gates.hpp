// Functions of one number, and the terms that gates are made of in the function and in its gradient.
#pragma once

#include <primsel/core/simd.hpp>

namespace primsel::inline PRIMSEL_ABI::op::detail {

inline constexpr float root_of_half = 0.70710678F;
inline constexpr float density_at_zero = 0.39894228F;  // of the normal distribution

/// Returns log(1 + e^x), written so that exp cannot overflow and small terms are not lost.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> softplus(Floats<Arch> const& x) {
    using V = Floats<Arch>;
    const V e = exp<Arch>(-xsimd::abs(x));
    // log(1 + e) = 2 artanh(s) with s = e / (2 + e) <= 1 / 3. The rest of the series is below 2e-9 of it. 2 s is
    // computed first, as it may be the smallest number.
    const V twice = e / fma<Arch>(e, V(0.5F), V(1.0F)), square = V(0.25F) * twice * twice;
    V series(1.0F / 15);
    for (const int n : {13, 11, 9, 7, 5, 3}) series = fma<Arch>(series, square, V(1.0F / static_cast<float>(n)));
    return max<Arch>(V(0.0F), x) + fma<Arch>(series * square, twice, twice);
}

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
