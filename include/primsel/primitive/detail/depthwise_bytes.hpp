// Depthwise convolution of bytes by dot products down the columns of a kernel.
#pragma once

#include <primsel/core/simd.hpp>
#include <primsel/gemm/int8_weights.hpp>
#include <primsel/primitive/conv_args.hpp>
#include <primsel/primitive/conv_shape.hpp>
#include <primsel/tensor/bytes.hpp>
#include <primsel/tensor/hwc_u8.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::primitive::detail {

/// Only with AVX2.
template <int bytes>
struct DepthwiseBytes;

#if defined(__AVX2__)
/// Vectors of so many bytes. Unpacking and packing work on each 16 of them; a dot product of four adds to each 32-bit
/// integer the products of its four bytes.
template <int bytes>
struct ByteVectors;

template <>
struct ByteVectors<32> {
    using Integers = __m256i;
    using Floats = __m256;
    PRIMSEL_INLINE static Integers load(const void* src) {
        return _mm256_loadu_si256(static_cast<const Integers*>(src));
    }
    PRIMSEL_INLINE static void store(void* dst, Integers a) { _mm256_storeu_si256(static_cast<Integers*>(dst), a); }
    PRIMSEL_INLINE static Integers broadcast(std::int32_t a) { return _mm256_set1_epi32(a); }
    PRIMSEL_INLINE static Integers low_bytes(Integers a, Integers b) { return _mm256_unpacklo_epi8(a, b); }
    PRIMSEL_INLINE static Integers high_bytes(Integers a, Integers b) { return _mm256_unpackhi_epi8(a, b); }
    PRIMSEL_INLINE static Integers low_words(Integers a, Integers b) { return _mm256_unpacklo_epi16(a, b); }
    PRIMSEL_INLINE static Integers high_words(Integers a, Integers b) { return _mm256_unpackhi_epi16(a, b); }
    PRIMSEL_INLINE static Integers pack_words(Integers a, Integers b) { return _mm256_packs_epi32(a, b); }
    PRIMSEL_INLINE static Integers pack_bytes(Integers a, Integers b) { return _mm256_packus_epi16(a, b); }
    PRIMSEL_INLINE static Integers add_words(Integers a, Integers b) { return _mm256_adds_epi16(a, b); }
    PRIMSEL_INLINE static Integers larger_bytes(Integers a, Integers b) { return _mm256_max_epu8(a, b); }
    PRIMSEL_INLINE static Integers even_bytes(Integers a) { return _mm256_and_si256(a, broadcast(0xff'00ff)); }
    PRIMSEL_INLINE static Integers odd_bytes(Integers a) { return _mm256_srli_epi16(a, 8); }
    PRIMSEL_INLINE static Integers dot_2(Integers sum, Integers a, Integers b) {
        return _mm256_add_epi32(sum, _mm256_madd_epi16(a, b));
    }
#if defined(__AVX512VNNI__) && defined(__AVX512VL__)
    PRIMSEL_INLINE static Integers dot_4(Integers sum, Integers a, Integers b) {
        return _mm256_dpbusd_epi32(sum, a, b);
    }
#elif defined(__AVXVNNI__)
    PRIMSEL_INLINE static Integers dot_4(Integers sum, Integers a, Integers b) {
        return _mm256_dpbusd_avx_epi32(sum, a, b);
    }
#endif
    PRIMSEL_INLINE static Integers rounded(Floats a) { return _mm256_cvtps_epi32(a); }
    PRIMSEL_INLINE static Floats floats(Integers a) { return _mm256_cvtepi32_ps(a); }
    PRIMSEL_INLINE static Floats load_floats(const float* src) { return _mm256_loadu_ps(src); }
    PRIMSEL_INLINE static Floats broadcast(float a) { return _mm256_set1_ps(a); }
    PRIMSEL_INLINE static Floats smaller(Floats a, Floats b) { return _mm256_min_ps(a, b); }
};
#if defined(__AVX512BW__) && defined(__AVX512VL__)
template <>
struct ByteVectors<64> {
    using Integers = __m512i;
    using Floats = __m512;
    PRIMSEL_INLINE static Integers load(const void* src) { return _mm512_loadu_si512(src); }
    PRIMSEL_INLINE static void store(void* dst, Integers a) { _mm512_storeu_si512(dst, a); }
    PRIMSEL_INLINE static Integers broadcast(std::int32_t a) { return _mm512_set1_epi32(a); }
    PRIMSEL_INLINE static Integers low_bytes(Integers a, Integers b) { return _mm512_unpacklo_epi8(a, b); }
    PRIMSEL_INLINE static Integers high_bytes(Integers a, Integers b) { return _mm512_unpackhi_epi8(a, b); }
    PRIMSEL_INLINE static Integers low_words(Integers a, Integers b) { return _mm512_unpacklo_epi16(a, b); }
    PRIMSEL_INLINE static Integers high_words(Integers a, Integers b) { return _mm512_unpackhi_epi16(a, b); }
    PRIMSEL_INLINE static Integers pack_words(Integers a, Integers b) { return _mm512_packs_epi32(a, b); }
    PRIMSEL_INLINE static Integers pack_bytes(Integers a, Integers b) { return _mm512_packus_epi16(a, b); }
    PRIMSEL_INLINE static Integers add_words(Integers a, Integers b) { return _mm512_adds_epi16(a, b); }
    PRIMSEL_INLINE static Integers larger_bytes(Integers a, Integers b) { return _mm512_max_epu8(a, b); }
    PRIMSEL_INLINE static Integers even_bytes(Integers a) { return _mm512_and_si512(a, broadcast(0xff'00ff)); }
    PRIMSEL_INLINE static Integers odd_bytes(Integers a) { return _mm512_srli_epi16(a, 8); }
    PRIMSEL_INLINE static Integers dot_2(Integers sum, Integers a, Integers b) {
        return _mm512_add_epi32(sum, _mm512_madd_epi16(a, b));
    }
#if defined(__AVX512VNNI__)
    PRIMSEL_INLINE static Integers dot_4(Integers sum, Integers a, Integers b) {
        return _mm512_dpbusd_epi32(sum, a, b);
    }
#endif
    // The unmasked intrinsics make g++ 12 warn of an uninitialised value.
    PRIMSEL_INLINE static Integers rounded(Floats a) { return _mm512_maskz_cvtps_epi32(0xffff, a); }
    PRIMSEL_INLINE static Floats floats(Integers a) { return _mm512_maskz_cvtepi32_ps(0xffff, a); }
    PRIMSEL_INLINE static Floats load_floats(const float* src) { return _mm512_loadu_ps(src); }
    PRIMSEL_INLINE static Floats broadcast(float a) { return _mm512_set1_ps(a); }
    PRIMSEL_INLINE static Floats smaller(Floats a, Floats b) { return _mm512_maskz_min_ps(0xffff, a, b); }
};
inline constexpr int widest_bytes = 64;
#else
inline constexpr int widest_bytes = 32;
#endif

template <class V>
concept DotsFour = requires(typename V::Integers v) { V::dot_4(v, v, v); };

[[nodiscard]] constexpr bool has_byte_loops(ConvShape const& s) {
    const bool square = s.fh == s.fw && (s.fw == 3 || s.fw == 5 || s.fw == 7);
    return square && s.stride_h == s.stride_w && s.stride_w <= 2 && !s.dilated();
}

/// Depthwise convolution of hwc_u8 by 3x3, 5x5 and 7x7 kernels of stride 1 or 2, `bytes` channels at a time. Four rows
/// of an image column are interleaved, so that each 32-bit integer holds a channel's bytes; one dot product then adds
/// four taps. Interleaved, the channels of a vector form four groups: group g has channels 4 g to 4 g + 3 of each 16.
///
/// Packed weights of a vector of channels are, for each four kernel rows, each kernel column and each group, bytes or
/// pairs of 16-bit numbers; then their scales and sums in the order of the groups.
template <int bytes>
struct DepthwiseBytes {
    using V = ByteVectors<bytes>;
    using Integers = typename V::Integers;
    using Floats = typename V::Floats;
    static constexpr bool four = DotsFour<V>;
    static constexpr int groups = 4, lanes = bytes / 4;
    /// The bytes of a group's weights.
    static constexpr int group_bytes = four ? bytes : 2 * bytes;

    /// The floats of a vector of channels.
    [[nodiscard]] static constexpr std::size_t packed_floats(int size) {
        return static_cast<std::size_t>(fours(size) * size * groups * group_bytes / 4 + 2 * bytes);
    }
    /// Packs channels [first, first + bytes) of k.
    static void pack(const float* kernel, int size, int first, int k, float* dst) {
        const auto taps = static_cast<std::size_t>(size * size);
        auto* const weights = reinterpret_cast<std::int8_t*>(dst);
        float* const scales = dst + fours(size) * size * groups * group_bytes / 4;
        for (int i = 0; i < std::min(bytes, k - first); ++i) {
            const float* const of_channel = kernel + static_cast<std::size_t>(first + i) * taps;
            gemm::Int8Weights channel(of_channel, taps);
            const int group = i % 16 / 4, lane = i / 16 * 4 + i % 4;
            for (int h = 0; h < size; ++h) {
                for (int w = 0; w < size; ++w) {
                    const std::int8_t weight = channel.rounded(of_channel[h * size + w]);
                    std::int8_t* const to = weights + ((h / 4 * size + w) * groups + group) * group_bytes;
                    if constexpr (four) {
                        to[4 * lane + h % 4] = weight;
                    } else {
                        const std::int16_t wide = weight;
                        std::memcpy(to + h % 2 * bytes + 4 * lane + h % 4 / 2 * 2, &wide, sizeof(wide));
                    }
                }
            }
            scales[group * lanes + lane] = channel.scale();
            const std::int32_t sum = channel.sum();
            std::memcpy(scales + bytes + group * lanes + lane, &sum, sizeof(sum));
        }
    }

    /// Returns the instructions on vectors of 32-bit numbers, times their lanes: eight interleave a column of the image
    /// under an output row, dot products, and 25 end four groups. They wait for each other: on a Xeon with AVX-512 they
    /// take 1.5 times as long (median over 75 layers drawn at random, 1.3 to 2.2).
    [[nodiscard]] static double operations(ConvShape const& s) {
        const double columns = (s.out_w() - 1) * s.stride_w + s.fw, dots = four ? 1 : 4,
                     of_column = 8 + groups * (dots * s.fw / s.stride_w + (four ? 0 : 2));
        return 1.5 * s.out_h() * static_cast<double>(hwc_u8::pixel(s.k)) / groups *
               (fours(s.fh) * of_column * columns + 25.0 * s.out_w());
    }

    /// Computes output rows [first, last) of the channels from `at` on.
    static void run(ConvShape const& s, ConvArgs const& args, const float* packed, int at, int first,
                    int last) noexcept {
        if (s.fw == 3) {
            s.stride_w == 1 ? run<3, 1>(s, args, packed, at, first, last) : run<3, 2>(s, args, packed, at, first, last);
        } else if (s.fw == 7) {
            s.stride_w == 1 ? run<7, 1>(s, args, packed, at, first, last) : run<7, 2>(s, args, packed, at, first, last);
        } else {
            s.stride_w == 1 ? run<5, 1>(s, args, packed, at, first, last) : run<5, 2>(s, args, packed, at, first, last);
        }
    }

private:
    [[nodiscard]] static constexpr int fours(int size) { return (size + 3) / 4; }

    template <int size, int stride>
    PRIMSEL_NOINLINE static void run(ConvShape const& s, ConvArgs const& args, const float* packed, int at, int first,
                                     int last) noexcept {
        Rows<size, stride> rows(s, args, packed, at);
        for (int row = first; row < last; ++row) rows.compute(row);
    }

    template <int size, int stride>
    struct Rows {
        /// The neighbouring outputs that a column of the image adds to, and the columns until their sums change places
        /// in the same way again.
        static constexpr int live = (size + stride - 1) / stride, period = live * stride;
        static constexpr int rows_of_four = fours(size);

        ConvShape const& s;
        const std::uint8_t* image;
        const std::uint8_t* residual = nullptr;
        std::uint8_t* dst;
        const std::int8_t* weights;
        std::ptrdiff_t pixel;
        Floats residual_factor, high;
        Integers residual_zero, zero_word, low_byte, zero_point;
        alignas(64) float factor[groups * lanes], bias[groups * lanes];
        alignas(64) std::int32_t start[groups * lanes];

        Rows(ConvShape const& shape, ConvArgs const& args, const float* packed, int at)
            : s(shape),
              image(reinterpret_cast<const std::uint8_t*>(args.src) + at),
              dst(reinterpret_cast<std::uint8_t*>(args.dst) + at),
              weights(reinterpret_cast<const std::int8_t*>(packed)),
              pixel(static_cast<std::ptrdiff_t>(hwc_u8::pixel(shape.k))) {
            const float* const scales = packed + fours(size) * size * groups * group_bytes / 4;
            const float over_scale = 1.0F / args.dst_range.scale, scale = args.src_range.scale * over_scale;
            std::memcpy(start, scales + bytes, sizeof(start));
            for (int i = 0; i < bytes; ++i) factor[i] = scales[i] * scale, start[i] *= -args.src_range.zero_point;
            std::fill_n(bias, bytes, 0.0F);
            for (int i = 0; args.bias != nullptr && i < bytes; i += 4) {
                // Some of the channels from here on.
                const int count = std::clamp(s.k - at - i, 0, 4);
                float* const to = bias + i % 16 / 4 * lanes + i / 16 * 4;
                for (int j = 0; j < count; ++j) to[j] = args.bias[at + i + j] * over_scale;
            }
            const ToBytes to(args.dst_range, args.clamp);
            high = V::broadcast(to.high);
            const auto low = static_cast<int>(std::nearbyint(to.low)) + to.zero_point;
            low_byte = V::broadcast(static_cast<std::int32_t>(static_cast<std::uint32_t>(low) * 0x0101'0101U));
            zero_word = V::broadcast(to.zero_point * 0x1'0001);
            zero_point = V::broadcast(
                static_cast<std::int32_t>(static_cast<std::uint32_t>(args.src_range.zero_point) * 0x0101'0101U));
            if (args.residual != nullptr) residual = reinterpret_cast<const std::uint8_t*>(args.residual) + at;
            residual_factor = V::broadcast(args.residual_range.scale * over_scale);
            residual_zero = V::broadcast(args.residual_range.zero_point);
        }

        void compute(int row) {
            const std::uint8_t* lines[size];
            for (int i = 0; i < size; ++i) {
                const int h = row * stride - s.pad_top + i;
                lines[i] = h >= 0 && h < s.h ? image + static_cast<std::ptrdiff_t>(h) * s.w * pixel : nullptr;
            }
            Integers sums[live][groups];
            PRIMSEL_UNROLL
            for (int i = 0; i < live; ++i) {
                PRIMSEL_UNROLL
                for (int group = 0; group < groups; ++group) sums[i][group] = V::load(start + group * lanes);
            }
            const int out_w = s.out_w(), columns = (out_w - 1) * stride + size;
            std::ptrdiff_t to = static_cast<std::ptrdiff_t>(row) * out_w * pixel;
            for (int column = 0; column < columns; column += period) {
                [&]<int... phase>(std::integer_sequence<int, phase...>) {
                    (step<phase>(lines, sums, column + phase, columns, to), ...);
                }(std::make_integer_sequence<int, period>{});
            }
        }

        /// Adds a column of the image, counted from the first one under the kernel, to the sums of all outputs that
        /// read it, and stores the output that reads no further one.
        template <int phase>
        PRIMSEL_INLINE void step(const std::uint8_t* const (&lines)[size], Integers (&sums)[live][groups], int column,
                                 int columns, std::ptrdiff_t& to) const {
            if (column >= columns) return;
            const int w = column - s.pad_left;
            const bool inside = w >= 0 && w < s.w;
            PRIMSEL_UNROLL
            for (int four_rows = 0; four_rows < rows_of_four; ++four_rows) {
                Integers x[4];
                PRIMSEL_UNROLL
                for (int i = 0; i < 4; ++i) {
                    // The weights of further rows are zeros.
                    if (4 * four_rows + i >= size) {
                        x[i] = x[i - 1];
                        continue;
                    }
                    const std::uint8_t* const line = lines[4 * four_rows + i];
                    x[i] = inside && line != nullptr ? V::load(line + w * pixel) : zero_point;
                }
                const Integers low_01 = V::low_bytes(x[0], x[1]), high_01 = V::high_bytes(x[0], x[1]),
                               low_23 = V::low_bytes(x[2], x[3]), high_23 = V::high_bytes(x[2], x[3]);
                const Integers interleaved[groups]{V::low_words(low_01, low_23), V::high_words(low_01, low_23),
                                                   V::low_words(high_01, high_23), V::high_words(high_01, high_23)};
                PRIMSEL_UNROLL
                for (int group = 0; group < groups; ++group) {
                    add<phase>(sums, group, interleaved[group],
                               weights + (four_rows * size * groups + group) * group_bytes);
                }
            }
            if constexpr ((period + phase - (size - 1)) % stride == 0) {
                constexpr int done = (2 * period + phase - (size - 1)) / stride % live;
                if (column >= size - 1) {
                    store(sums[done], to);
                    to += pixel;
                }
                PRIMSEL_UNROLL
                for (int group = 0; group < groups; ++group) sums[done][group] = V::load(start + group * lanes);
            }
        }
        template <int phase>
        PRIMSEL_INLINE static void add(Integers (&sums)[live][groups], int group, Integers x, const std::int8_t* w) {
            PRIMSEL_UNROLL
            for (int tap = phase % stride; tap < size; tap += stride) {
                Integers& sum = sums[(2 * period + phase - tap) / stride % live][group];
                const std::int8_t* const of_tap = w + tap * groups * group_bytes;
                if constexpr (four) {
                    sum = V::dot_4(sum, x, V::load(of_tap));
                } else {
                    sum = V::dot_2(sum, V::even_bytes(x), V::load(of_tap));
                    sum = V::dot_2(sum, V::odd_bytes(x), V::load(of_tap + bytes));
                }
            }
        }

        /// The sums end as in DirectInt8.
        PRIMSEL_INLINE void store(Integers const (&sums)[groups], std::ptrdiff_t to) const {
            Floats values[groups];
            PRIMSEL_UNROLL
            for (int group = 0; group < groups; ++group) {
                values[group] = rounded_product(V::floats(sums[group]), V::load_floats(factor + group * lanes)) +
                                V::load_floats(bias + group * lanes);
            }
            if (residual != nullptr) {
                const Integers x = V::load(residual + to), zeros = V::broadcast(0), low = V::low_bytes(x, zeros),
                               high_half = V::high_bytes(x, zeros);
                const Integers integers[groups]{V::low_words(low, zeros), V::high_words(low, zeros),
                                                V::low_words(high_half, zeros), V::high_words(high_half, zeros)};
                PRIMSEL_UNROLL
                for (int group = 0; group < groups; ++group) {
                    values[group] +=
                        rounded_product(V::floats(integers[group]) - V::floats(residual_zero), residual_factor);
                }
            }
            // Values below the lower bound, and NaN, become the least integers, which saturate.
            Integers rounded[groups];
            PRIMSEL_UNROLL
            for (int group = 0; group < groups; ++group) rounded[group] = V::rounded(V::smaller(high, values[group]));
            const Integers first = V::add_words(V::pack_words(rounded[0], rounded[1]), zero_word),
                           second = V::add_words(V::pack_words(rounded[2], rounded[3]), zero_word);
            V::store(dst + to, V::larger_bytes(V::pack_bytes(first, second), low_byte));
        }
        /// No compiler fuses the product with a sum.
        PRIMSEL_INLINE static Floats rounded_product(Floats a, Floats b) {
            Floats product = a * b;
            asm("" : "+v"(product));
            return product;
        }
    };
};
#endif

}  // namespace primsel::inline PRIMSEL_ABI::primitive::detail
