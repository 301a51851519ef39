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

/// Pixels of floats with 16 bits, for DepthwiseBlocks.
template <ShortFloatLayout L>
struct ShortFloatPixels {
    using Element = element_of<L>;
    template <class Arch>
    using Block = FloatSums<Arch, ShortFloatPixels>;
    [[nodiscard]] static constexpr std::size_t size(int channels) { return L::pixel(channels); }
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

/// Depthwise convolution of images of floats with 16 bits. Weights and sums are floats.
template <ShortFloatLayout L>
struct DepthwiseShortFloats {
    static constexpr Family family = Family::other;
    using in_layout = L;
    using out_layout = L;
    static constexpr bool fuses_epilogue = true;
    static constexpr Precision precision = L::precision;
    static constexpr double error_bound = 7.68 * element_of<L>::rounding;
    using Pixels = DepthwisePixels<ShortFloatPixels<L>>;

    [[nodiscard]] static Support supports(ConvShape const& s) { return Pixels::supports(s); }
    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        return static_cast<std::size_t>(s.taps()) * L::pixel(s.k);
    }
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        const auto taps = static_cast<std::size_t>(s.taps()), k = static_cast<std::size_t>(s.k);
        std::fill_n(dst, packed_floats<Arch>(s), 0.0F);
        for (std::size_t tap = 0; tap < taps; ++tap, dst += L::pixel(s.k)) {
            for (std::size_t i = 0; i < k; ++i) dst[i] = kernel[i * taps + tap];
        }
    }
    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        Pixels::template run<Arch>(s, args, reinterpret_cast<const element_of<L>*>(args.src));
        if (args.clamp.low <= 0 && args.clamp.high >= 0) return;  // zeros stayed zeros behind the channels
        const std::size_t pixel = L::pixel(s.k), channels = static_cast<std::size_t>(s.k);
        auto* dst = reinterpret_cast<element_of<L>*>(args.dst);
        for (std::size_t i = 0; i < s.out_pixels(); ++i, dst += pixel) {
            std::fill_n(dst + channels, pixel - channels, element_of<L>{});
        }
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const double image = 2.0 * static_cast<double>(L::size(s.in_shape())),
                     out = 2.0 * static_cast<double>(L::size(s.out_shape()));
        return Work{}.add({.rate = Rate::gemm,
                           .operations = Pixels::template operations<Arch>(s),
                           .bytes = image + 2 * out,
                           .working_set = image + out});
    }
};

}  // namespace primitive::detail

/// Depthwise convolution of images in bfloat16 or float16. Weights and sums are floats.
struct DepthwiseBf16 : primitive::detail::DepthwiseShortFloats<hwc_bf16> {
    static constexpr FixedString id = "depthwise-bf16";
};
struct DepthwiseF16 : primitive::detail::DepthwiseShortFloats<hwc_f16> {
    static constexpr FixedString id = "depthwise-f16";
};

}  // namespace primsel::inline PRIMSEL_ABI
