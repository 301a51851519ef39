// Functions of one number, and the terms that gates are made of in the function and in its gradient.
#pragma once

#include <primsel/op/detail/vectors.hpp>

#include <cmath>

namespace primsel::inline PRIMSEL_ABI::op::detail {

inline constexpr float root_of_half = 0.70710678F;
inline constexpr float density_at_zero = 0.39894228F;  // of the normal distribution

/// Returns log(1 + e^x), written so that exp cannot overflow and small terms are not lost.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> softplus(Floats<Arch> const& x) {
    using V = Floats<Arch>;
    const V e = exp<Arch, false>(-xsimd::abs(x));
    // log(1 + e) = 2 artanh(s) with s = e / (2 + e) <= 1 / 3. The rest of the series is below 2e-9 of it. 2 s is
    // computed first, as it may be the smallest number.
    const V twice = quotient<Arch>(e, fma<Arch>(e, V(0.5F), V(1.0F))), square = V(0.25F) * twice * twice;
    V series(1.0F / 15);
    for (const int n : {13, 11, 9, 7, 5, 3}) series = fma<Arch>(series, square, V(1.0F / static_cast<float>(n)));
    return max<Arch>(V(0.0F), x) + fma<Arch>(series * square, twice, twice);
}

/// Returns tanh(x) within 4 ulps.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> hyperbolic_tangent(Floats<Arch> const& x) {
    using V = Floats<Arch>;
    if constexpr (lanes<Arch> != 16) {
        return xsimd::tanh(x);
    } else {
        // (e^2x - 1) / (e^2x + 1); from 10 on it is 1 in float.
        const V n = exp_minus_one<Arch>(min<Arch>(V(20.0F), xsimd::abs(x + x))),
                result = quotient<Arch>(n, n + V(2.0F));
        return xsimd::select(x < V(0.0F), -result, result);
    }
}

/// Returns erf(x) within 4e-7 of it, for all x: x P(x^2) / Q(x^2), a fit of the relative error by least squares with
/// repeated weights on [0, 3.93]. Beyond, the quotient grows past 1, and is held.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> error_function(Floats<Arch> const& x) {
    using V = Floats<Arch>;
    const V held = smaller<Arch>(V(4.25F), larger<Arch>(V(-4.25F), x)), square = held * held, fourth = square * square;
    // By pairs of terms: chains are short, and ARM copies fewer constants, which its multiply-adds overwrite.
    const auto polynomial = [&](float a, float b, float c, float d, float e, float f) PRIMSEL_INLINE_LAMBDA {
        const V low = fma<Arch>(square, V(b), V(a)), middle = fma<Arch>(square, V(d), V(c)),
                high = fma<Arch>(square, V(f), V(e));
        return fma<Arch>(fma<Arch>(high, fourth, middle), fourth, low);
    };
    const V above =
        polynomial(1.12837915F, 1.90780963e-1F, 5.27899012e-2F, 3.77948356e-3F, 2.84805359e-4F, 2.04198815e-6F);
    const V below = polynomial(1.0F, 5.02407947e-1F, 1.14256332e-1F, 1.49971877e-2F, 1.16518137e-3F, 3.80040833e-5F);
    return smaller<Arch>(V(1.0F), larger<Arch>(V(-1.0F), quotient<Arch>(held * above, below)));
}

/// Returns sin(x + quarters * pi / 2), so cos(x) for one quarter, within 2 ulps.
template <class Arch, int quarters>
PRIMSEL_INLINE Floats<Arch> sine(Floats<Arch> const& x) {
    using V = Floats<Arch>;
    static_assert(quarters == 0 || quarters == 1);
    // Up to here the remainder of a division by pi / 2 is right, if products are not rounded before sums.
#if defined(__FMA__) || defined(__aarch64__)
    constexpr float largest = 1e5F;
#else
    constexpr float largest = lanes<Arch> == 16 ? 1e5F : -1.0F;
#endif
    if (xsimd::any(xsimd::abs(x) > V(largest))) {
        return lane_by_lane<Arch>(x, x, [](float one, float) { return quarters == 0 ? std::sin(one) : std::cos(one); });
    }
    // x = quarter * pi / 2 + r with |r| <= pi / 4; the polynomials are those of Cephes.
    const V quarter = nearest_integer<Arch>(x * V(0x1.45f306p-1F));
    const V r = fma<Arch>(quarter, V(0x1.ee59dap-50F),
                          fma<Arch>(quarter, V(0x1.777a5cp-25F), fma<Arch>(quarter, V(-0x1.921fb6p+0F), x)));
    const V square = r * r;
    const V odd_terms =
        fma<Arch>(fma<Arch>(V(-1.9515295891e-4F), square, V(8.3321608736e-3F)), square, V(-1.6666654611e-1F));
    const V even_terms =
        fma<Arch>(fma<Arch>(V(2.443315711809948e-5F), square, V(-1.388731625493765e-3F)), square, V(4.16666456e-2F));
    const V of_sine = fma<Arch>(odd_terms * square, r, r),
            of_cosine = fma<Arch>(even_terms * square, square, fma<Arch>(V(-0.5F), square, V(1.0F)));
    const V at = quarter + V(static_cast<float>(quarters)), half = xsimd::floor(at * V(0.5F));
    const V result = xsimd::select(at == half + half, of_sine, of_cosine);
    return xsimd::select(half == V(2.0F) * xsimd::floor(half * V(0.5F)), result, -result);
}

/// Returns n such that tanh(log(1 + exp(x))) is n / (n + 2). From x = 20 on the quotient is 1 in float, and n is held.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> mish_term(Floats<Arch> const& x) {
    using V = Floats<Arch>;
    const V e = exp<Arch, false>(min<Arch>(V(20.0F), x));
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
    const V gate = quotient<Arch>(V(1.0F), V(1.0F) + exp<Arch>(-u));
    return gate * fma<Arch>(x * slope, V(1.0F) - gate, V(1.0F));
}

}  // namespace primsel::inline PRIMSEL_ABI::op::detail
