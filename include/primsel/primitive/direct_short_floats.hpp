#pragma once

#include <primsel/core/amx.hpp>
#include <primsel/core/fixed_string.hpp>
#include <primsel/core/short_floats.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/core/work.hpp>
#include <primsel/gemm/bf16_rows.hpp>
#include <primsel/gemm/f16_rows.hpp>
#include <primsel/primitive/conv_args.hpp>
#include <primsel/primitive/conv_shape.hpp>
#include <primsel/primitive/detail/direct_narrow.hpp>
#include <primsel/primitive/detail/panel_end.hpp>
#include <primsel/primitive/primitive.hpp>
#include <primsel/tensor/hwc_short_floats.hpp>
#include <primsel/tensor/layout.hpp>
#include <primsel/tensor/range.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>
#include <type_traits>

namespace primsel::inline PRIMSEL_ABI {

namespace primitive::detail {

/// The part of DirectNarrow's Numbers that all floats with 16 bits have. Sums are floats.
template <ShortFloatLayout L, class R>
struct ShortFloatNumbers {
    using Image = L;
    using Rows = R;
    using Weight = std::remove_cvref_t<decltype(*Rows{}.b)>;
    using Factor = std::remove_cvref_t<decltype(*Rows{}.a)>;
    static constexpr Precision precision = L::precision;
    /// Inputs, weights and the result are rounded.
    static constexpr double error_bound = 7.68 * element_of<L>::rounding;
    static constexpr int deepest = std::numeric_limits<int>::max();
    static constexpr std::size_t tail_floats = 0;
    static constexpr bool multiplies_fours = false;
    static constexpr double fours = 1;

    /// Floats of an image are rounded to the factors of products, or these are floats as well.
    struct Narrow {
        Factor zero{};
        explicit Narrow(TensorRange const&) {}
        void operator()(const float* src, std::size_t n, Factor* dst) const {
            if constexpr (ShortFloat<Factor>) {
                narrow(src, n, dst);
            } else {
                std::copy_n(src, n, dst);
            }
        }
    };
    struct Output {
        Output(const float* /*kernel*/, std::size_t /*size*/) {}
        [[nodiscard]] static Weight rounded(float weight) { return Weight::nearest(weight); }
        static void write_tail(float*, std::size_t) {}
    };
    struct Start {
        const float* operator()(ConvArgs const&, const float*) const { return nullptr; }
    };
    template <class Arch>
    static void multiply(Rows const& rows, int count, core::AmxTiles tiles, float* sums) noexcept {
        gemm::multiply<Arch>(rows, count, tiles, sums);
    }

    template <class Arch, Layout To>
    struct Finish : PanelEnd<Arch, To> {
        using End = PanelEnd<Arch, To>;
        Finish(ConvShape const& s, ConvArgs const& args, const float* /*tail*/) : End(s, args) {}

        /// The panel's sums end as those of `count` pixels from `pixel` on.
        PRIMSEL_INLINE void operator()(const float* sums, std::size_t pixel, int count) const {
            for (int i = 0; i < count; ++i, ++pixel, sums += gemm::dot_columns) {
                End::store_pixel(pixel * End::step,
                                 [this, sums](int v) { return load<Arch>(sums + v * lanes<Arch>) + End::bias[v]; });
            }
        }
    };
};

/// Numbers in bfloat16. The figures are those of a Xeon with AVX-512 BF16.
struct Bf16Numbers : ShortFloatNumbers<hwc_bf16, gemm::Bf16Rows> {
    static constexpr Rate rate = Rate::bf16;
    static constexpr bool on_matrix_unit = true;
    static constexpr double end_of_product = 9, half_panel = 1.1;
};

template <Layout From, Layout To>
using DirectBf16 = DirectNarrow<Bf16Numbers, From, To>;

/// Numbers in float16 as storage: products are those of floats.
struct F16Numbers : ShortFloatNumbers<hwc_f16, gemm::F16Rows> {
    static constexpr Rate rate = Rate::gemm;
    static constexpr bool on_matrix_unit = false;
    static constexpr double end_of_product = 9, half_panel = 1.1;
};

template <Layout From, Layout To>
using DirectF16 = DirectNarrow<F16Numbers, From, To>;

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

/// The direct algorithm with weights in float16, on images in float16 or in floats, with a result in either. Products
/// and sums are floats.
struct DirectF16 : primitive::detail::DirectF16<hwc_f16, hwc_f16> {
    static constexpr FixedString id = "direct-f16";
};
struct DirectHwcF16 : primitive::detail::DirectF16<hwc, hwc_f16> {
    static constexpr FixedString id = "direct-f16-from-hwc";
};
struct DirectF16Hwc : primitive::detail::DirectF16<hwc_f16, hwc> {
    static constexpr FixedString id = "direct-f16-to-hwc";
};
struct DirectHwcF16Hwc : primitive::detail::DirectF16<hwc, hwc> {
    static constexpr FixedString id = "direct-f16-within-hwc";
};

}  // namespace primsel::inline PRIMSEL_ABI
