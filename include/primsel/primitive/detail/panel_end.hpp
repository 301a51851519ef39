#pragma once

#include <primsel/core/clamp.hpp>
#include <primsel/core/short_floats.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/gemm/bf16_rows.hpp>
#include <primsel/primitive/conv_args.hpp>
#include <primsel/primitive/conv_shape.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::primitive::detail {

/// Where the sums of a panel's columns are stored in layout To, and the bias, residual and bounds that they get.
template <class Arch, Layout To>
struct PanelEnd {
    static constexpr bool narrows = !std::same_as<element_of<To>, float>;
    static constexpr int vectors = gemm::dot_columns / lanes<Arch>;
    using V = Floats<Arch>;
    using Element = element_of<To>;

    ConvShape const& s;
    ConvArgs const& args;
    std::size_t step;  ///< the elements from a pixel to the next
    V low, high, summand_low, summand_high;
    // Those of a panel.
    Element* dst = nullptr;
    const Element* residual = nullptr;
    int columns = 0;  ///< those of outputs
    int stored = 0;   ///< those that a pixel of the result has
    V bias[vectors];

    PanelEnd(ConvShape const& shape, ConvArgs const& of)
        : s(shape), args(of), step(step_of(shape, of)), low(of.clamp.low), high(of.clamp.high) {}

    /// The next sums are those of columns from `first` on; their bias and bounds of a summand are multiplied by the
    /// factor.
    void begin(int first, float factor = 1) {
        summand_low = broadcast<Arch>(args.summand.low * factor);
        summand_high = broadcast<Arch>(args.summand.high * factor);
        dst = reinterpret_cast<Element*>(args.dst) + first;
        if (args.residual != nullptr) residual = reinterpret_cast<const Element*>(args.residual) + first;
        columns = std::min(gemm::dot_columns, s.k - first);
        // The rest of a pixel may be filled if it belongs to nobody else.
        const bool fills = narrows && args.dst_stride == 0;
        stored = fills ? std::min(gemm::dot_columns, static_cast<int>(step) - first) : columns;
        for (int v = 0; v < vectors; ++v) {
            const int column = v * lanes<Arch>, rest = columns - column;
            bias[v] = broadcast<Arch>(0.0F);
            if (args.bias == nullptr || rest <= 0) continue;
            const float* const from = args.bias + first + column;
            const V values = rest >= lanes<Arch> ? load<Arch>(from) : FirstLanes<Arch>(rest).load(from);
            bias[v] = rounded_product<Arch>(values, broadcast<Arch>(factor));
        }
    }

    /// Stores a pixel: value(v) for each vector of columns, and the residual, within the bounds. Zeros follow.
    template <class Value>
    PRIMSEL_INLINE void store_pixel(std::size_t at, Value const& value) const {
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) {
            const int column = v * lanes<Arch>, count = columns - column;
            if (count < lanes<Arch>) {
                if (column < stored)
                    store_rest(at + static_cast<std::size_t>(column), std::max(count, 0), stored - column, value(v));
                return;
            }
            Element* const to = dst + at + column;
            V result = value(v);
            if (residual != nullptr) result = summand(result) + load_of(residual + at + column);
            store_to(to, primsel::clamp<Arch>(result, low, high));
        }
    }

protected:
    [[nodiscard]] PRIMSEL_INLINE V summand(V const& value) const {
        return primsel::clamp<Arch>(value, summand_low, summand_high);
    }

private:
    static std::size_t step_of(ConvShape const& shape, ConvArgs const& of) {
        if constexpr (narrows) {
            return of.dst_stride != 0 ? of.dst_stride * sizeof(float) / sizeof(Element) : To::pixel(shape.k);
        } else {
            return of.pixel_stride(shape);
        }
    }
    PRIMSEL_INLINE static V load_of(const float* src) { return load<Arch>(src); }
    template <ShortFloat Short>
    PRIMSEL_INLINE static V load_of(const Short* src) {
        return load_wide<Arch>(src);
    }
    PRIMSEL_INLINE static void store_to(float* to, V const& value) { store<Arch>(to, value); }
    template <ShortFloat Short>
    PRIMSEL_INLINE static void store_to(Short* to, V const& value) {
        store_narrow<Arch>(to, value);
    }

    /// Stores the first `count` columns of a vector, and zeros up to `room`.
    PRIMSEL_NOINLINE void store_rest(std::size_t at, int count, int room, V value) const {
        Element some[lanes<Arch>]{};
        if (residual != nullptr) {
            std::copy_n(residual + at, count, some);
            value = summand(value) + load_of(some);
        }
        store_to(some, primsel::clamp<Arch>(value, low, high));
        std::copy_n(some, count, dst + at);
        std::fill_n(dst + at + count, room - count, Element{});
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::primitive::detail
