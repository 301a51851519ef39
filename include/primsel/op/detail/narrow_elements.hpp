// Elements smaller than floats, as ops load, store and copy them.
#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/short_floats.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/op/op_args.hpp>
#include <primsel/tensor/bytes.hpp>
#include <primsel/tensor/hwc_short_floats.hpp>
#include <primsel/tensor/hwc_u8.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <iterator>
#include <span>

namespace primsel::inline PRIMSEL_ABI::op::detail {

/// Loads and stores n elements, or as many as a vector has.
template <class Arch, ShortFloat Short>
PRIMSEL_INLINE Floats<Arch> load_some(const Short* src, std::size_t n) {
    if (n >= lanes<Arch>) return load_wide<Arch>(src);
    Short all[lanes<Arch>]{};
    std::copy_n(src, n, all);
    return load_wide<Arch>(all);
}
template <class Arch, ShortFloat Short>
PRIMSEL_INLINE void store_some(Short* dst, Floats<Arch> const& value, std::size_t n) {
    if (n >= lanes<Arch>) return store_narrow<Arch>(dst, value);
    Short all[lanes<Arch>];
    store_narrow<Arch>(all, value);
    std::copy_n(all, n, dst);
}
template <class Arch>
PRIMSEL_INLINE Floats<Arch> load_some(const std::uint8_t* src, std::size_t n) {
    if (n >= lanes<Arch>) return load_bytes<Arch>(src);
    std::uint8_t all[lanes<Arch>]{};
    std::copy_n(src, n, all);
    return load_bytes<Arch>(all);
}
template <class Arch>
PRIMSEL_INLINE void store_some(ByteStore<Arch> const& store, std::uint8_t* dst, Floats<Arch> const& value,
                               std::size_t n) {
    if (n >= lanes<Arch>) return store(dst, value);
    std::uint8_t all[lanes<Arch>];
    store(all, value);
    std::copy_n(all, n, dst);
}

/// As FloatElements.
template <class Arch, ShortFloat Short>
struct ShortFloatElements {
    using element = Short;
    using Vector = Floats<Arch>;

    PRIMSEL_INLINE static Vector load(std::size_t, const Short* src, std::size_t n) { return load_some<Arch>(src, n); }
    PRIMSEL_INLINE static Vector broadcast(std::size_t, const Short* src) { return Vector(to_float(*src)); }
    PRIMSEL_INLINE static void store(Short* dst, Vector const& value, std::size_t n) {
        store_some<Arch>(dst, value, n);
    }
    PRIMSEL_INLINE static Vector product(Vector const& a, Vector const& b) { return a * b; }
    PRIMSEL_INLINE static Vector fma(Vector const& a, Vector const& b, Vector const& c) {
        return primsel::fma<Arch>(a, b, c);
    }
};

/// Bytes less their zero points, as FloatElements; stored values are first multiplied by a factor. Products are
/// rounded, so that bits are the same on every instruction set.
template <class Arch>
class ByteElements {
public:
    using element = std::uint8_t;
    using Vector = Floats<Arch>;

    /// For one or two inputs.
    ByteElements(std::span<const TensorRange> src, ToBytes const& to, float factor)
        : zero_{Vector(static_cast<float>(src.front().zero_point)), Vector(static_cast<float>(src.back().zero_point))},
          factor_(factor),
          store_(to) {}
    [[nodiscard]] PRIMSEL_INLINE Vector load(std::size_t input, const std::uint8_t* src, std::size_t n) const {
        return load_some<Arch>(src, n) - zero_[input];
    }
    [[nodiscard]] PRIMSEL_INLINE Vector broadcast(std::size_t input, const std::uint8_t* src) const {
        return Vector(static_cast<float>(*src)) - zero_[input];
    }
    PRIMSEL_INLINE void store(std::uint8_t* dst, Vector const& value, std::size_t n) const {
        store_some<Arch>(store_, dst, value * factor_, n);
    }
    static constexpr std::size_t vectors_at_once = ByteStore<Arch>::vectors;
    PRIMSEL_INLINE void store_all(std::uint8_t* dst, Vector const (&values)[vectors_at_once]) const {
        Vector scaled[vectors_at_once];
        PRIMSEL_UNROLL
        for (std::size_t v = 0; v < vectors_at_once; ++v) scaled[v] = values[v] * factor_;
        std::uint8_t* runs[ByteStore<Arch>::runs];
        for (int i = 0; i < ByteStore<Arch>::runs; ++i) runs[i] = dst + i * ByteStore<Arch>::run;
        store_.bound(scaled);
        store_.store_runs(scaled, runs, ByteStore<Arch>::run);
    }
    PRIMSEL_INLINE static Vector product(Vector const& a, Vector const& b) { return rounded_product<Arch>(a, b); }
    PRIMSEL_INLINE static Vector fma(Vector const& a, Vector const& b, Vector const& c) {
        return rounded_product<Arch>(a, b) + c;
    }

private:
    Vector zero_[2], factor_;
    ByteStore<Arch> store_;
};

/// Converts n neighbours from one range to another.
inline void change_range(const std::uint8_t* src, std::size_t n, TensorRange const& from, TensorRange const& to,
                         std::uint8_t* dst) noexcept {
    const ToBytes bytes(to);
    alignas(alignment) float values[64];
    for (std::size_t at = 0; at < n; at += std::size(values)) {
        const std::size_t some = std::min(std::size(values), n - at);
        from_bytes(src + at, some, from, values);
        to_bytes(values, some, bytes, dst + at);
    }
}

/// Copies n neighbouring elements of an input to the result, in whose range they then are. They may be in their place.
template <class Element>
void copy_elements(OpArgs const& args, std::size_t input, const Element* src, std::size_t n, Element* dst) noexcept {
    if constexpr (std::same_as<Element, std::uint8_t>) {
        TensorRange const& from = args.src_range[input];
        if (from != args.dst_range) return change_range(src, n, from, args.dst_range, dst);
    }
    if (src == dst) return;
    // Copies of constant size need no call, which pixels are often too short for.
    std::size_t at = 0;
    const auto copy = [&]<std::size_t some>() {
        for (; n - at >= some; at += some) std::memcpy(dst + at, src + at, some * sizeof(Element));
    };
    copy.template operator()<32>();
    copy.template operator()<8>();
    copy.template operator()<1>();
}

/// The element that stands for a value.
template <ShortFloat Short>
void store_value(float value, OpArgs const&, Short& dst) noexcept {
    dst = Short::nearest(value);
}
inline void store_value(float value, OpArgs const& args, std::uint8_t& dst) noexcept {
    to_bytes(&value, 1, ToBytes(args.dst_range), &dst);
}

/// The elements of an op in a layout; a factor is that of stored bytes.
template <class Arch>
[[nodiscard]] ShortFloatElements<Arch, bfloat16> elements_in(hwc_bf16, OpArgs const&, float) {
    return {};
}
template <class Arch>
[[nodiscard]] ByteElements<Arch> elements_in(hwc_u8, OpArgs const& args, float factor) {
    return {args.src_range, ToBytes(args.dst_range), factor};
}

}  // namespace primsel::inline PRIMSEL_ABI::op::detail
