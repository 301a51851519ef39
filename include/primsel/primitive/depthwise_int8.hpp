#pragma once

#include <primsel/core/fixed_string.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/gemm/int8_weights.hpp>
#include <primsel/primitive/detail/depthwise_blocks.hpp>
#include <primsel/primitive/detail/depthwise_bytes.hpp>
#include <primsel/primitive/detail/depthwise_pixels.hpp>
#include <primsel/primitive/primitive.hpp>
#include <primsel/tensor/bytes.hpp>
#include <primsel/tensor/hwc_u8.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <type_traits>

namespace primsel::inline PRIMSEL_ABI {

namespace primitive::detail {

/// Pixels of hwc_u8, for DepthwiseBlocks. Sums are those of integers.
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

/// Depthwise convolution of images in bytes with weights in 8 bits: the same bits as DirectInt8's formula.
struct DepthwiseInt8 {
    static constexpr FixedString id = "depthwise-int8";
    static constexpr Family family = Family::other;
    using in_layout = hwc_u8;
    using out_layout = hwc_u8;
    static constexpr bool fuses_epilogue = true, packs_for_any_size = true;
    static constexpr Precision precision = Precision::int8;
    static constexpr double error_bound = 0.1;
    using Pixels = primitive::detail::DepthwisePixels<primitive::detail::U8Pixels>;
    /// Floats hold the sums of so many products.
    static constexpr int most_taps = (1 << 24) / (255 * 127);

    [[nodiscard]] static Support supports(ConvShape const& s) {
        return s.taps() > most_taps ? Support::no("sums of so many products overflow") : Pixels::supports(s);
    }
    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        std::size_t floats = static_cast<std::size_t>(s.taps() + 1) * hwc_u8::pixel(s.k);
        with_vectors<Arch>(s, [&]<int bytes>(std::integral_constant<int, bytes>) {
            floats = hwc_u8::pixel(s.k) / bytes * primitive::detail::DepthwiseBytes<bytes>::packed_floats(s.fw);
        });
        return floats;
    }
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        std::fill_n(dst, packed_floats<Arch>(s), 0.0F);
        if (with_vectors<Arch>(s, [&]<int bytes>(std::integral_constant<int, bytes>) {
                using Bytes = primitive::detail::DepthwiseBytes<bytes>;
                for (int first = 0; first < s.k; first += bytes, dst += Bytes::packed_floats(s.fw)) {
                    Bytes::pack(kernel, s.fw, first, s.k, dst);
                }
            })) {
            return;
        }
        // Each tap's integers as floats, then the scales.
        const auto taps = static_cast<std::size_t>(s.taps()), pixel = hwc_u8::pixel(s.k);
        for (std::size_t i = 0; i < static_cast<std::size_t>(s.k); ++i, kernel += taps) {
            gemm::Int8Weights weights(kernel, taps);
            for (std::size_t tap = 0; tap < taps; ++tap) {
                dst[tap * pixel + i] = static_cast<float>(weights.rounded(kernel[tap]));
            }
            dst[taps * pixel + i] = weights.scale();
        }
    }
    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        if (!with_vectors<Arch>(s, [&]<int bytes>(std::integral_constant<int, bytes>) { run_bytes<bytes>(s, args); })) {
            Pixels::run<Arch>(s, args, reinterpret_cast<const std::uint8_t*>(args.src));
        }
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const auto image = static_cast<double>(hwc_u8::size(s.in_shape())),
                   out = static_cast<double>(hwc_u8::size(s.out_shape()));
        Phase phase{.bytes = image + 2 * out, .working_set = image + out, .loops = 1};
        if (!with_vectors<Arch>(s, [&]<int bytes>(std::integral_constant<int, bytes>) {
                phase.rate = Rate::registers;
                phase.operations = primitive::detail::DepthwiseBytes<bytes>::operations(s);
                phase.narrow = 4.0 * lanes<Arch> / bytes;
                phase.blocks = 1.0 * row_blocks(s) * vectors<bytes>(s);
            })) {
            // Three instructions make floats of an input, which serves about as many outputs as a third of the taps.
            const double taps = s.taps(), conversions = (2 * taps + 5) / (taps + 5);
            phase.rate = Rate::gemm, phase.operations = conversions * Pixels::operations<Arch>(s);
            phase.blocks = Pixels::blocks<Arch>(s);
        }
        return Work{}.add(phase);
    }

private:
    /// Calls use(integral_constant) with the number of channels that are computed together, if there are loops for the
    /// kernel and such pixels.
    template <class Arch, class Use>
    static bool with_vectors([[maybe_unused]] ConvShape const& s, [[maybe_unused]] Use const& use) {
#if defined(__AVX2__)
        if (!primitive::detail::has_byte_loops(s)) return false;
        constexpr int widest = std::min(primitive::detail::widest_bytes, 4 * lanes<Arch>);
        const auto pixel = static_cast<int>(hwc_u8::pixel(s.k));
        if constexpr (widest > 32) {
            if (pixel >= widest) return use(std::integral_constant<int, widest>{}), true;
        }
        if constexpr (widest >= 32) {
            if (pixel >= 32) return use(std::integral_constant<int, 32>{}), true;
        }
#endif
        return false;
    }
    /// The rows of a block: preparing the weights of a vector of channels takes as long as some pixels.
    [[nodiscard]] static int rows_each(ConvShape const& s) { return std::max(1, 96 / s.out_w()); }
    [[nodiscard]] static int row_blocks(ConvShape const& s) { return (s.out_h() + rows_each(s) - 1) / rows_each(s); }
    template <int bytes>
    [[nodiscard]] static int vectors(ConvShape const& s) {
        return static_cast<int>(hwc_u8::pixel(s.k)) / bytes;
    }
    template <int bytes>
    static void run_bytes(ConvShape const& s, ConvArgs const& args) noexcept {
        using Bytes = primitive::detail::DepthwiseBytes<bytes>;
        const int across = vectors<bytes>(s), rows = rows_each(s);
        const std::size_t packed = Bytes::packed_floats(s.fw);
        args.executor.parallel_for(
            static_cast<std::size_t>(row_blocks(s) * across), [&, across, rows, packed](std::size_t item, std::size_t) {
                const int first = static_cast<int>(item) / across * rows, vector = static_cast<int>(item) % across;
                Bytes::run(s, args, args.weights + static_cast<std::size_t>(vector) * packed, vector * bytes, first,
                           std::min(first + rows, s.out_h()));
            });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
