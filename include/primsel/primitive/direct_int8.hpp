#pragma once

#include <primsel/core/fixed_string.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/gemm/int8_weights.hpp>
#include <primsel/gemm/u8s8_rows.hpp>
#include <primsel/primitive/detail/direct_narrow.hpp>
#include <primsel/primitive/detail/panel_end.hpp>
#include <primsel/primitive/primitive.hpp>
#include <primsel/tensor/bytes.hpp>
#include <primsel/tensor/hwc_u8.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace primsel::inline PRIMSEL_ABI {

namespace primitive::detail {

/// Bytes of a tensor's range by weights in 8 bits, with a scale for each output. With integers i in the sum over all
/// taps, padding included as zero_point, and all other operations in floats, each rounded:
///   i = sum (src - src_zero) * weight
///   result = i * factor + bias                        in floats, where factor = src_scale * weight_scale
///   result = rint(clamp(i * factor + bias)) + dst_zero, all over dst_scale: see ToBytes.
/// A residual is added after the bias, and after the bounds of a summand, over dst_scale.
struct Int8Numbers {
    static constexpr FixedString name = "int8";
    using Image = hwc_u8;
    using Rows = gemm::U8S8Rows;
    static constexpr Precision precision = Precision::int8;
    static constexpr Rate rate = Rate::int8;
    static constexpr bool on_matrix_unit = true;
    static constexpr double error_bound = 0.1;
    /// Sums of this many products, and of as many with the zero point, fit 32 bits.
    static constexpr int deepest = 32768;
    /// On a Xeon with AVX-512 VNNI.
    static constexpr double end_of_product = 12;
    /// A weight's scale and the sum of the weights.
    static constexpr std::size_t tail_floats = 2;

    struct Narrow {
        std::uint8_t zero;
        ToBytes to;
        explicit Narrow(TensorRange const& range) : zero(static_cast<std::uint8_t>(range.zero_point)), to(range) {}
        void operator()(const float* src, std::size_t n, std::uint8_t* dst) const { to_bytes(src, n, to, dst); }
    };
    struct Output : gemm::Int8Weights {
        using Int8Weights::Int8Weights;
        void write_tail(float* dst, std::size_t outputs) const {
            *dst = scale();
            const std::int32_t all = sum();
            std::memcpy(dst + outputs, &all, sizeof(all));
        }
    };
    /// Sums start from what the zero point adds to them, negated.
    struct Start {
        alignas(64) std::int32_t values[gemm::dot_columns];
        const std::int32_t* operator()(ConvArgs const& args, const float* sums_of_weights) {
            std::memcpy(values, sums_of_weights, sizeof(values));
            for (std::int32_t& value : values) value *= -args.src_range.zero_point;
            return values;
        }
    };

    template <class Arch>
    static void multiply(Rows const& rows, int count, core::AmxTiles tiles, std::int32_t* sums) noexcept {
        gemm::multiply<Arch>(rows, count, tiles, sums);
    }

    /// On a Xeon with AVX-512 VNNI.
    static constexpr double half_panel = 1.5, fours = 3.3;
    static constexpr bool multiplies_fours = gemm::multiplies_fours;
    static void multiply_fours(Rows const& rows, int count, std::int32_t* sums) noexcept {
        gemm::multiply_fours(rows, count, sums);
    }

    template <class Arch, Layout To>
    struct Finish : PanelEnd<Arch, To> {
        using End = PanelEnd<Arch, To>;
        using End::args, End::bias, End::dst, End::narrows, End::residual, End::step, End::stored, End::vectors;
        using typename End::Element, typename End::V;

        const float* tail;
        float over_scale;
        V residual_factor;
        BytesWithout<Arch> residual_bytes;
        ByteStore<Arch> bytes;
        V factor[vectors];   ///< that of a panel
        bool small = false;  ///< whether a panel's results need no bound before they are rounded

        Finish(ConvShape const& shape, ConvArgs const& of, const float* scales)
            : End(shape, of),
              tail(scales),
              over_scale(narrows ? 1.0F / args.dst_range.scale : 1.0F),
              residual_factor(args.residual_range.scale * over_scale),
              residual_bytes(args.residual_range.zero_point),
              bytes(to_bytes_of(args)) {}

        /// The next sums are those of columns from `first` on.
        void begin(int first) {
            End::begin(first, over_scale);
            // A sum is below 2^31.
            constexpr float part = ByteStore<Arch>::largest / 4;
            const V most = broadcast<Arch>(part);
            small = args.residual_range.scale * over_scale * 255 <= part && args.summand.low * over_scale <= part;
            for (int v = 0; v < vectors; ++v) {
                factor[v] =
                    load<Arch>(tail + first + v * lanes<Arch>) * broadcast<Arch>(args.src_range.scale * over_scale);
                small = small && xsimd::all(factor[v] * broadcast<Arch>(0x1p31F) <= most && bias[v] <= most);
            }
        }

        /// The panel's sums end as those of `count` pixels from `pixel` on.
        PRIMSEL_INLINE void operator()(const std::int32_t* sums, std::size_t pixel, int count) const {
            if constexpr (narrows) {
                if (residual == nullptr) return store_bytes<false, false>(sums, pixel, count);
                args.summand.bounded() ? store_bytes<true, true>(sums, pixel, count)
                                       : store_bytes<true, false>(sums, pixel, count);
            } else {
                for (int i = 0; i < count; ++i, ++pixel, sums += gemm::dot_columns) {
                    End::store_pixel(pixel * step, [this, sums](int v) { return value(sums + v * lanes<Arch>, v); });
                }
            }
        }

    private:
        static ToBytes to_bytes_of(ConvArgs const& args) {
            return narrows ? ToBytes(args.dst_range, args.clamp) : ToBytes(TensorRange{.scale = 1});
        }
        PRIMSEL_INLINE V value(const std::int32_t* sums, int v) const {
            return rounded_product<Arch>(load_integers<Arch>(sums), factor[v]) + bias[v];
        }
        template <bool adds, bool bounds>
        PRIMSEL_INLINE void store_bytes(const std::int32_t* sums, std::size_t pixel, int count) const {
            // Copies stay in registers: stores of bytes may change members.
            constexpr int runs = ByteStore<Arch>::runs;
            const ByteStore<Arch> store = bytes;
            const BytesWithout<Arch> added_bytes = residual_bytes;
            const V by = residual_factor, low = End::summand_low, high = End::summand_high;
            const int run_bytes = stored;
            const bool fits = small;
            V factors[vectors], biases[vectors];
            PRIMSEL_UNROLL
            for (int v = 0; v < vectors; ++v) factors[v] = factor[v], biases[v] = bias[v];
            std::size_t at = pixel * step;
            for (int i = 0; i < count; i += runs) {
                V values[runs * vectors];
                Element* to[runs];
                PRIMSEL_UNROLL
                for (int run = 0; run < runs; ++run) {
                    // The last pixel may be stored twice.
                    if (run == 0 || i + run < count) {
                        to[run] = dst + at, at += step;
                    } else {
                        to[run] = to[run - 1], sums -= gemm::dot_columns;
                    }
                    const Element* added = adds ? residual + (to[run] - dst) : nullptr;
                    Element some[gemm::dot_columns];
                    if (adds && run_bytes < gemm::dot_columns) {
                        std::copy_n(added, run_bytes, some);
                        added = some;
                    }
                    PRIMSEL_UNROLL
                    for (int v = 0; v < vectors; ++v, sums += lanes<Arch>) {
                        V& result = values[run * vectors + v];
                        result = rounded_product<Arch>(load_integers<Arch>(sums), factors[v]) + biases[v];
                        if (bounds) result = clamp<Arch>(result, low, high);
                        if (adds) result += rounded_product<Arch>(added_bytes(added + v * lanes<Arch>), by);
                    }
                }
                if (!fits) store.bound(values);
                store.store_runs(values, to, run_bytes);
            }
        }
    };
};

template <Layout From, Layout To>
using DirectInt8 = DirectNarrow<Int8Numbers, From, To>;

}  // namespace primitive::detail

/// The direct algorithm in 8 bits, on images in bytes or in floats of a known range, with a result in either.
struct DirectInt8 : primitive::detail::DirectInt8<hwc_u8, hwc_u8> {};
struct DirectHwcInt8 : primitive::detail::DirectInt8<hwc, hwc_u8> {};
struct DirectInt8Hwc : primitive::detail::DirectInt8<hwc_u8, hwc> {};
struct DirectHwcInt8Hwc : primitive::detail::DirectInt8<hwc, hwc> {};

}  // namespace primsel::inline PRIMSEL_ABI
