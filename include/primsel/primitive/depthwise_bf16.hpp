#pragma once

#include <primsel/core/fixed_string.hpp>
#include <primsel/core/short_floats.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/core/support.hpp>
#include <primsel/core/work.hpp>
#include <primsel/primitive/detail/depthwise_blocks.hpp>
#include <primsel/primitive/detail/depthwise_pixels.hpp>
#include <primsel/primitive/primitive.hpp>
#include <primsel/tensor/hwc_short_floats.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

namespace primitive::detail {

/// Pixels in bfloat16, for DepthwiseBlocks.
struct Bf16Pixels {
    using Element = bfloat16;
    template <class Arch>
    using Block = FloatSums<Arch, Bf16Pixels>;
    [[nodiscard]] static constexpr std::size_t size(int channels) { return hwc_bf16::pixel(channels); }
    template <class Arch>
    PRIMSEL_INLINE static Floats<Arch> load(const Element* src) {
        return in_register<Arch>(load_wide<Arch>(src));
    }
    template <class Arch>
    PRIMSEL_INLINE static void store(Element* dst, Floats<Arch> const& value) {
        store_narrow<Arch>(dst, value);
    }
    template <class Arch>
    PRIMSEL_INLINE static Floats<Arch> bias(const float* all, std::size_t at, int channels) {
        const int rest = channels - static_cast<int>(at);
        if (rest >= lanes<Arch>) return primsel::load<Arch>(all + at);
        return rest > 0 ? FirstLanes<Arch>(rest).load(all + at) : broadcast<Arch>(0.0F);
    }
};

}  // namespace primitive::detail

/// Depthwise convolution of images in bfloat16. Weights and sums are floats.
struct DepthwiseBf16 {
    static constexpr FixedString id = "depthwise-bf16";
    static constexpr Family family = Family::other;
    using in_layout = hwc_bf16;
    using out_layout = hwc_bf16;
    static constexpr bool fuses_epilogue = true, packs_for_any_size = true;
    static constexpr Precision precision = Precision::bf16;
    static constexpr double error_bound = 7.68 * bfloat16::rounding;

    [[nodiscard]] static Support supports(ConvShape const& s) { return Pixels::supports(s); }
    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        return static_cast<std::size_t>(s.taps()) * hwc_bf16::pixel(s.k);
    }
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        const auto taps = static_cast<std::size_t>(s.taps()), k = static_cast<std::size_t>(s.k);
        std::fill_n(dst, packed_floats<Arch>(s), 0.0F);
        for (std::size_t tap = 0; tap < taps; ++tap, dst += hwc_bf16::pixel(s.k)) {
            for (std::size_t i = 0; i < k; ++i) dst[i] = kernel[i * taps + tap];
        }
    }
    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        Pixels::template run<Arch>(s, args, reinterpret_cast<const bfloat16*>(args.src));
        if (args.clamp.low <= 0 && args.clamp.high >= 0) return;  // zeros stayed zeros behind the channels
        const std::size_t pixel = hwc_bf16::pixel(s.k), channels = static_cast<std::size_t>(s.k);
        auto* dst = reinterpret_cast<bfloat16*>(args.dst);
        for (std::size_t i = 0; i < s.out_pixels(); ++i, dst += pixel) {
            std::fill_n(dst + channels, pixel - channels, bfloat16{});
        }
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const double image = 2.0 * static_cast<double>(hwc_bf16::size(s.in_shape())),
                     out = 2.0 * static_cast<double>(hwc_bf16::size(s.out_shape()));
        return Work{}.add({.rate = Rate::gemm,
                           .operations = Pixels::template operations<Arch>(s),
                           .bytes = image + 2 * out,
                           .working_set = image + out,
                           .blocks = Pixels::template blocks<Arch>(s),
                           .loops = 1});
    }

private:
    using Pixels = primitive::detail::DepthwisePixels<primitive::detail::Bf16Pixels>;
};

}  // namespace primsel::inline PRIMSEL_ABI
