#pragma once

#include <primsel/core/simd.hpp>

#include <type_traits>

namespace primsel::inline PRIMSEL_ABI::primitive::detail {

/// n floats computed on side by side: one float, one vector where the instruction set has that width, otherwise two
/// halves.
template <int n>
struct Lanes {
    using batch = xsimd::make_sized_batch_t<float, n == 1 ? 4 : static_cast<std::size_t>(n)>;
    static constexpr bool scalar = n == 1, whole = !scalar && !std::is_void_v<batch>;
    struct Halves {
        Lanes<n == 1 ? 1 : n / 2> low, high;
    };
    static constexpr auto kind() {
        if constexpr (scalar)
            return std::type_identity<float>{};
        else if constexpr (whole)
            return std::type_identity<batch>{};
        else
            return std::type_identity<Halves>{};
    }
    typename decltype(kind())::type value;

    [[nodiscard]] PRIMSEL_INLINE static Lanes load(const float* src) {
        if constexpr (scalar)
            return {*src};
        else if constexpr (whole)
            return {batch::load_unaligned(src)};
        else
            return {{Lanes<n / 2>::load(src), Lanes<n / 2>::load(src + n / 2)}};
    }
    [[nodiscard]] PRIMSEL_INLINE static Lanes all(float x) {
        if constexpr (scalar)
            return {x};
        else if constexpr (whole)
            return {batch(x)};
        else
            return {{Lanes<n / 2>::all(x), Lanes<n / 2>::all(x)}};
    }
    /// Loads, or stores, and advances the address by `step` floats.
    [[nodiscard]] PRIMSEL_INLINE static Lanes load_and_advance(const float*& src, std::size_t step) {
        if constexpr (on_arm && whole) {
            return {primsel::load_and_advance<typename batch::arch_type>(src, static_cast<std::ptrdiff_t>(step))};
        } else {
            const Lanes value = load(src);
            src += step;
            return value;
        }
    }
    PRIMSEL_INLINE void store_and_advance(float*& dst, std::size_t step) const {
        if constexpr (on_arm && whole) {
            primsel::store_and_advance<typename batch::arch_type>(dst, value, static_cast<std::ptrdiff_t>(step));
        } else {
            store(dst);
            dst += step;
        }
    }
    [[nodiscard]] PRIMSEL_INLINE Lanes in_order() const {
        if constexpr (on_arm && whole) {
            return {primsel::in_order<typename batch::arch_type>(value)};
        } else {
            return *this;
        }
    }
    PRIMSEL_INLINE void store(float* dst) const {
        if constexpr (scalar) {
            *dst = value;
        } else if constexpr (whole) {
            value.store_unaligned(dst);
        } else {
            value.low.store(dst);
            value.high.store(dst + n / 2);
        }
    }
    [[nodiscard]] friend PRIMSEL_INLINE Lanes operator+(Lanes const& a, Lanes const& b) {
        if constexpr (scalar || whole)
            return {a.value + b.value};
        else
            return {{a.value.low + b.value.low, a.value.high + b.value.high}};
    }
    [[nodiscard]] friend PRIMSEL_INLINE Lanes operator-(Lanes const& a, Lanes const& b) {
        if constexpr (scalar || whole)
            return {a.value - b.value};
        else
            return {{a.value.low - b.value.low, a.value.high - b.value.high}};
    }
    [[nodiscard]] friend PRIMSEL_INLINE Lanes operator*(float a, Lanes const& b) {
        if constexpr (scalar)
            return {a * b.value};
        else if constexpr (whole)
            return {batch(a) * b.value};
        else
            return {{a * b.value.low, a * b.value.high}};
    }
    /// Returns a * b + c.
    [[nodiscard]] friend PRIMSEL_INLINE Lanes fma(float a, Lanes const& b, Lanes const& c) {
        if constexpr (scalar) {
            return {a * b.value + c.value};
        } else if constexpr (whole) {
            using arch = typename batch::arch_type;
            return {primsel::fma<arch>(batch(a), b.value, c.value)};
        } else {
            return {{fma(a, b.value.low, c.value.low), fma(a, b.value.high, c.value.high)}};
        }
    }
    /// Returns the value limited to [low, high]; NaN stays NaN.
    [[nodiscard]] PRIMSEL_INLINE Lanes clamped(float low, float high) const {
        if constexpr (scalar) {
            return {primsel::clamp(value, low, high)};
        } else if constexpr (whole) {
            using arch = typename batch::arch_type;
            return {primsel::clamp<arch>(value, batch(low), batch(high))};
        } else {
            return {{value.low.clamped(low, high), value.high.clamped(low, high)}};
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::primitive::detail
