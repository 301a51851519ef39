#pragma once

#include <primsel/core/bfloat16.hpp>
#include <primsel/core/fixed_string.hpp>
#include <primsel/gemm/bf16_rows.hpp>
#include <primsel/primitive/detail/direct_narrow.hpp>
#include <primsel/primitive/primitive.hpp>
#include <primsel/tensor/hwc_bf16.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <limits>

namespace primsel::inline PRIMSEL_ABI {

namespace primitive::detail {

/// Numbers in bfloat16, with sums in floats.
struct Bf16Numbers {
    using Image = hwc_bf16;
    using Rows = gemm::Bf16Rows;
    static constexpr Precision precision = Precision::bf16;
    static constexpr Rate rate = Rate::bf16;
    /// Inputs and weights have 8 bits; so has the result in bfloat16.
    static constexpr double error_bound = 0.03;
    static constexpr int deepest = std::numeric_limits<int>::max();
    /// On a Xeon with AVX-512 BF16.
    static constexpr double end_of_product = 9;
    static constexpr std::size_t tail_floats = 0;

    struct Narrow {
        bfloat16 zero{};
        explicit Narrow(TensorRange const&) {}
        void operator()(const float* src, std::size_t n, bfloat16* dst) const { narrow(src, n, dst); }
    };
    struct Output {
        Output(const float* /*kernel*/, std::size_t /*size*/) {}
        [[nodiscard]] static bfloat16 rounded(float weight) { return to_bfloat16(weight); }
        static void write_tail(float*, std::size_t) {}
    };
    struct Start {
        const float* operator()(ConvArgs const&, const float*) const { return nullptr; }
    };
    template <class Arch>
    static void multiply(Rows const& rows, int count, core::AmxTiles tiles, float* sums) noexcept {
        gemm::multiply<Arch>(rows, count, tiles, sums);
    }

    /// The end of a product: bias, residual and bounds for 32 columns from `first` on.
    template <class Arch, Layout To>
    struct Finish {
        static constexpr bool narrows = std::same_as<To, hwc_bf16>;
        static constexpr int vectors = gemm::dot_columns / lanes<Arch>;
        using V = Floats<Arch>;
        using Element = element_of<To>;

        ConvShape const& s;
        ConvArgs const& args;
        std::size_t step;
        V low, high;
        // Those of a panel.
        Element* dst = nullptr;
        const Element* residual = nullptr;
        int columns = 0, whole = 0, stored = 0;
        V bias[vectors];

        Finish(ConvShape const& shape, ConvArgs const& of, const float* /*tail*/)
            : s(shape),
              args(of),
              step(narrows ? hwc_bf16::pixel(s.k) : args.pixel_stride(s)),
              low(args.clamp.low),
              high(args.clamp.high) {}

        /// The next sums are those of columns from `first` on.
        void begin(int first) {
            dst = reinterpret_cast<Element*>(args.dst) + first;
            if (args.residual != nullptr) residual = reinterpret_cast<const Element*>(args.residual) + first;
            columns = std::min(gemm::dot_columns, s.k - first), whole = columns / lanes<Arch>;
            stored = narrows ? std::min(gemm::dot_columns, static_cast<int>(step) - first) : columns;
            for (int v = 0; v < vectors; ++v) {
                bias[v] = broadcast<Arch>(0.0F);
                if (args.bias == nullptr) continue;
                if (v < whole) bias[v] = load<Arch>(args.bias + first + v * lanes<Arch>);
                if (v == whole && columns % lanes<Arch> != 0) {
                    bias[v] = FirstLanes<Arch>(columns % lanes<Arch>).load(args.bias + first + v * lanes<Arch>);
                }
            }
        }

        PRIMSEL_INLINE static V load_of(const Element* at) {
            if constexpr (narrows) {
                return load_wide<Arch>(at);
            } else {
                return load<Arch>(at);
            }
        }
        PRIMSEL_INLINE static void store_to(Element* at, V const& value) {
            if constexpr (narrows) {
                store_narrow<Arch>(at, value);
            } else {
                store<Arch>(at, value);
            }
        }
        /// The panel's sums end as those of `count` pixels from `pixel` on.
        PRIMSEL_INLINE void operator()(const float* sums, std::size_t pixel, int count) const {
            for (int i = 0; i < count; ++i, ++pixel, sums += gemm::dot_columns) one(sums, pixel * step);
        }
        PRIMSEL_INLINE void one(const float* sums, std::size_t at) const {
            PRIMSEL_UNROLL
            for (int v = 0; v < vectors; ++v) {
                if (v >= whole) break;
                const int column = v * lanes<Arch>;
                V value = load<Arch>(sums + column) + bias[v];
                if (residual != nullptr) value += load_of(residual + at + column);
                store_to(dst + at + column, clamp<Arch>(value, low, high));
            }
            if (whole * lanes<Arch> < stored) rest(sums, at);
        }
        /// The columns that do not fill a vector, and the zeros after them.
        PRIMSEL_NOINLINE void rest(const float* sums, std::size_t at) const {
            const int column = whole * lanes<Arch>, count = columns - column;
            if (count > 0) {
                Element some[lanes<Arch>]{};
                V value = FirstLanes<Arch>(count).load(sums + column) + bias[whole];
                if (residual != nullptr) {
                    std::copy_n(residual + at + column, count, some);
                    value += load_of(some);
                }
                store_to(some, clamp<Arch>(value, low, high));
                std::copy_n(some, count, dst + at + column);
            }
            std::fill_n(dst + at + columns, stored - columns, Element{});
        }
    };
};

template <Layout From, Layout To>
using DirectBf16 = DirectNarrow<Bf16Numbers, From, To>;

}  // namespace primitive::detail

/// The direct algorithm in bfloat16, on images in bfloat16 or in floats, with a result in either.
struct DirectBf16 : primitive::detail::DirectBf16<hwc_bf16, hwc_bf16> {
    static constexpr FixedString id = "direct-bf16";
};
struct DirectHwcBf16 : primitive::detail::DirectBf16<hwc, hwc_bf16> {
    static constexpr FixedString id = "direct-bf16-from-hwc";
};
struct DirectBf16Hwc : primitive::detail::DirectBf16<hwc_bf16, hwc> {
    static constexpr FixedString id = "direct-bf16-to-hwc";
};
struct DirectHwcBf16Hwc : primitive::detail::DirectBf16<hwc, hwc> {
    static constexpr FixedString id = "direct-bf16-within-hwc";
};

}  // namespace primsel::inline PRIMSEL_ABI
