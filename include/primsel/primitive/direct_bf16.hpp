#pragma once

#include <primsel/core/amx.hpp>
#include <primsel/core/fixed_string.hpp>
#include <primsel/core/short_floats.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/core/work.hpp>
#include <primsel/gemm/bf16_rows.hpp>
#include <primsel/primitive/conv_args.hpp>
#include <primsel/primitive/conv_shape.hpp>
#include <primsel/primitive/detail/direct_narrow.hpp>
#include <primsel/primitive/detail/panel_end.hpp>
#include <primsel/tensor/hwc_short_floats.hpp>
#include <primsel/tensor/layout.hpp>
#include <primsel/tensor/range.hpp>

#include <cstddef>
#include <limits>

namespace primsel::inline PRIMSEL_ABI {

namespace primitive::detail {

/// Numbers in bfloat16, with sums in floats. The figures are those of a Xeon with AVX-512 BF16.
struct Bf16Numbers {
    static constexpr FixedString name = "bf16";
    using Image = hwc_bf16;
    using Rows = gemm::Bf16Rows;
    static constexpr Precision precision = Precision::bf16;
    static constexpr Rate rate = Rate::bf16;
    static constexpr bool on_matrix_unit = true;
    /// Inputs, weights and the result are rounded.
    static constexpr double error_bound = 7.68 * bfloat16::rounding;
    static constexpr int deepest = std::numeric_limits<int>::max();
    static constexpr double end_of_product = 9, half_panel = 1.1;
    static constexpr std::size_t tail_floats = 0;
    static constexpr bool multiplies_fours = false;
    static constexpr double fours = 1;

    struct Narrow {
        bfloat16 zero{};
        explicit Narrow(TensorRange const&) {}
        void operator()(const float* src, std::size_t n, bfloat16* dst) const { narrow(src, n, dst); }
    };
    struct Output {
        Output(const float* /*kernel*/, std::size_t /*size*/) {}
        [[nodiscard]] static bfloat16 rounded(float weight) { return bfloat16::nearest(weight); }
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

template <Layout From, Layout To>
using DirectBf16 = DirectNarrow<Bf16Numbers, From, To>;

}  // namespace primitive::detail

/// The direct algorithm in bfloat16, on images in bfloat16 or in floats, with a result in either.
struct DirectBf16 : primitive::detail::DirectBf16<hwc_bf16, hwc_bf16> {};
struct DirectHwcBf16 : primitive::detail::DirectBf16<hwc, hwc_bf16> {};
struct DirectBf16Hwc : primitive::detail::DirectBf16<hwc_bf16, hwc> {};
struct DirectHwcBf16Hwc : primitive::detail::DirectBf16<hwc, hwc> {};

}  // namespace primsel::inline PRIMSEL_ABI
