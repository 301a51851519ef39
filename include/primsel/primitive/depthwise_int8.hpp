#pragma once

#include <primsel/core/fixed_string.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/primitive/detail/depthwise_blocks.hpp>
#include <primsel/primitive/detail/int8_weights.hpp>
#include <primsel/primitive/primitive.hpp>
#include <primsel/tensor/bytes.hpp>
#include <primsel/tensor/hwc_u8.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>

namespace primsel::inline PRIMSEL_ABI {

namespace primitive::detail {

/// Pixels of hwc_u8, for DepthwiseBlocks. Sums are those of integers: floats have those of 25 products.
struct U8Pixels {
    using Element = std::uint8_t;
    [[nodiscard]] static constexpr std::size_t size(int channels) { return hwc_u8::pixel(channels); }

    template <class Arch>
    struct Block {
        using V = Floats<Arch>;
        ConvArgs const& args;
        std::size_t at;
        int channels;
        V zero = broadcast<Arch>(static_cast<float>(args.src_range.zero_point));

        [[nodiscard]] PRIMSEL_INLINE V load(const Element* src) const {
            return in_register<Arch>(load_bytes<Arch>(src) - zero);
        }
        [[nodiscard]] PRIMSEL_INLINE V start() const { return broadcast<Arch>(0.0F); }

        struct End {
            V factor, bias, residual_factor, residual_zero;
            ByteStore<Arch> bytes;
            [[nodiscard]] PRIMSEL_INLINE V of(V const& sum) const { return rounded_product<Arch>(sum, factor) + bias; }
            [[nodiscard]] PRIMSEL_INLINE V residual(const Element* src) const {
                return rounded_product<Arch>(load_bytes<Arch>(src) - residual_zero, residual_factor);
            }
            PRIMSEL_INLINE void store(Element* dst, V const& value) const { bytes(dst, value); }
        };
        /// `scales` are those of the weights.
        [[nodiscard]] PRIMSEL_INLINE End end(const float* scales) const {
            const float over_scale = 1.0F / args.dst_range.scale;
            const int rest = channels - static_cast<int>(at);
            V bias = broadcast<Arch>(0.0F);
            if (args.bias != nullptr && rest > 0) {
                const float* const from = args.bias + at;
                bias = rounded_product<Arch>(
                    rest >= lanes<Arch> ? primsel::load<Arch>(from) : FirstLanes<Arch>(rest).load(from),
                    broadcast<Arch>(over_scale));
            }
            return {primsel::load<Arch>(scales + at) * broadcast<Arch>(args.src_range.scale * over_scale), bias,
                    broadcast<Arch>(args.residual_range.scale * over_scale),
                    broadcast<Arch>(static_cast<float>(args.residual_range.zero_point)),
                    ByteStore<Arch>(ToBytes(args.dst_range, args.clamp))};
        }
    };
};

}  // namespace primitive::detail

/// Depthwise convolution of images in bytes by 3x3 and 5x5 kernels, with weights in 8 bits: the same bits as
/// DirectInt8's formula.
struct DepthwiseInt8 {
    static constexpr FixedString id = "depthwise-int8";
    static constexpr Family family = Family::other;
    using in_layout = hwc_u8;
    using out_layout = hwc_u8;
    static constexpr bool fuses_epilogue = true;
    static constexpr Precision precision = Precision::int8;
    static constexpr double error_bound = 0.1;
    using Blocks = primitive::detail::DepthwiseBlocks<primitive::detail::U8Pixels>;

    [[nodiscard]] static Support supports(ConvShape const& s) { return Blocks::supports_whole_vectors(s); }
    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        return static_cast<std::size_t>(s.taps() + 1) * hwc_u8::pixel(s.k);
    }
    /// Writes each tap's integers as floats, then the scales.
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        const auto taps = static_cast<std::size_t>(s.taps()), pixel = hwc_u8::pixel(s.k);
        std::fill_n(dst, packed_floats<Arch>(s), 0.0F);
        for (std::size_t i = 0; i < static_cast<std::size_t>(s.k); ++i, kernel += taps) {
            primitive::detail::Int8Weights weights(kernel, taps);
            for (std::size_t tap = 0; tap < taps; ++tap) {
                dst[tap * pixel + i] = static_cast<float>(weights.rounded(kernel[tap]));
            }
            dst[taps * pixel + i] = weights.scale();
        }
    }
    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        Blocks::run<Arch>(s, args, reinterpret_cast<const std::uint8_t*>(args.src));
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        ConvShape padded = s;
        padded.k = padded.c = padded.groups = static_cast<int>(hwc_u8::pixel(s.k));
        const double image = static_cast<double>(s.in_pixels()) * padded.k,
                     out = static_cast<double>(s.out_pixels()) * padded.k;
        // Three instructions make floats of an input, which serves about as many outputs as a third of the taps.
        const double taps = s.taps(), conversions = (2 * taps + 5) / (taps + 5);
        return Work{}.add({.rate = Rate::gemm,
                           .operations = conversions * Blocks::operations<Arch>(padded),
                           .bytes = image + 2 * out,
                           .working_set = image + out});
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
