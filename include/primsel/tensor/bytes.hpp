// Floats and the bytes of tensors with a TensorRange.
#pragma once

#include <primsel/core/clamp.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/tensor/range.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace primsel::inline PRIMSEL_ABI {

/// How values become the bytes of a tensor: rint(min(max(value * factor, low), high)) + zero_point, where rint rounds
/// halves to the even neighbour. The bounds are those of bytes and those of the clamp. NaN becomes the lower bound.
struct ToBytes {
    float factor, low, high;
    std::int32_t zero_point;

    explicit ToBytes(TensorRange const& range, Clamp clamp = {})
        : factor(1.0F / range.scale), zero_point(range.zero_point) {
        const float least = -static_cast<float>(zero_point), most = 255.0F + least;
        low = std::clamp(clamp.low * factor, least, most), high = std::clamp(clamp.high * factor, least, most);
    }
};

/// Loads as many neighbours as a vector has lanes, as floats from 0 to 255.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> load_bytes(const std::uint8_t* src) {
#if defined(__AVX512F__)
    if constexpr (lanes<Arch> == 16) {
        const __m128i bytes = _mm_loadu_si128(reinterpret_cast<const __m128i*>(src));
        return Floats<Arch>(_mm512_cvtepi32_ps(_mm512_cvtepu8_epi32(bytes)));
    }
#endif
#if defined(__AVX2__)
    if constexpr (lanes<Arch> == 8) {
        const __m128i bytes = _mm_loadl_epi64(reinterpret_cast<const __m128i*>(src));
        return Floats<Arch>(_mm256_cvtepi32_ps(_mm256_cvtepu8_epi32(bytes)));
    }
#endif
    alignas(alignof(Floats<Arch>)) float all[lanes<Arch>];
    for (int i = 0; i < lanes<Arch>; ++i) all[i] = static_cast<float>(src[i]);
    return Floats<Arch>::load_aligned(all);
}

/// Loads as many neighbours as a vector has lanes, and subtracts a number of a byte from each.
template <class Arch>
class BytesWithout {
public:
    PRIMSEL_INLINE explicit BytesWithout(std::int32_t zero_point)
        : zero_(broadcast<Arch>(offset + static_cast<float>(zero_point))) {}
    PRIMSEL_INLINE Floats<Arch> operator()(const std::uint8_t* src) const {
#if defined(__AVX512BW__)
        if constexpr (joins) {
            // A byte is the last of the bits of the float that is larger by 2^23.
            const __m512i four = _mm512_broadcast_i32x4(_mm_loadu_si128(reinterpret_cast<const __m128i*>(src))),
                          places = _mm512_setr_epi32(0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15),
                          all = _mm512_mask_shuffle_epi8(_mm512_set1_epi32(0x4b00'0000), 0x1111'1111'1111'1111, four,
                                                         places);
            return Floats<Arch>(_mm512_castsi512_ps(all)) - zero_;
        }
#endif
        return load_bytes<Arch>(src) - zero_;
    }

private:
#if defined(__AVX512BW__)
    static constexpr bool joins = lanes<Arch> == 16;
#else
    static constexpr bool joins = false;
#endif
    static constexpr float offset = joins ? 0x1p23F : 0.0F;
    Floats<Arch> zero_;
};

/// Loads 32-bit integers as floats; larger ones than 2^24 are rounded.
template <class Arch>
PRIMSEL_INLINE Floats<Arch> load_integers(const std::int32_t* src) {
    using Register = typename Floats<Arch>::register_type;
    decltype(Register{} < Register{}) integers;
    std::memcpy(&integers, src, sizeof(integers));
    return Floats<Arch>(Register(__builtin_convertvector(integers, Register)));
}

/// Stores vectors of values that were multiplied by ToBytes::factor.
template <class Arch>
class ByteStore {
public:
    PRIMSEL_INLINE explicit ByteStore(ToBytes const& to)
        : low_(to.low),
          high_(to.high),
          zero_point_(Integers{} + (to.zero_point - bits_of_magic)),
          zero_word_(static_cast<std::int16_t>(to.zero_point)) {
        const auto byte = [&to](float bound) {
            const float rounded = bound + magic;
            std::int32_t bits = 0;
            std::memcpy(&bits, &rounded, sizeof(bits));
            return static_cast<std::uint8_t>(bits - bits_of_magic + to.zero_point);
        };
        low_byte_ = byte(to.low), high_byte_ = byte(to.high);
        bounds_ = low_byte_ != 0 || high_byte_ != 255;
    }

    /// The values of a run of 32 neighbours, or of the two runs that vectors of 16 lanes store together.
    static constexpr int run = 32, runs = lanes<Arch> == 16 ? 2 : 1, vectors = runs * run / lanes<Arch>;

    /// store_runs takes values up to this one.
    static constexpr float largest = 0x1p30F;
    /// Brings larger values within the upper bound.
    PRIMSEL_INLINE void bound(Floats<Arch> (&scaled)[vectors]) const {
        PRIMSEL_UNROLL
        for (auto& value : scaled) value = min<Arch>(high_, value);
    }

    /// Stores the first `count` bytes of each run. Values are at most `largest`; NaN becomes the lower bound.
    PRIMSEL_INLINE void store_runs(Floats<Arch> const (&scaled)[vectors], std::uint8_t* const (&dst)[runs],
                                   int count) const {
        // Integers saturate to bytes. Values below the least integer, and NaN, become the least integer.
#if defined(__AVX512BW__) && defined(__AVX512VL__)
        if constexpr (lanes<Arch> == 16) {
            const auto rounded = [](Floats<Arch> const& value) { return _mm512_maskz_cvtps_epi32(0xffff, value); };
            __m512i first = _mm512_packs_epi32(rounded(scaled[0]), rounded(scaled[1])),
                    second = _mm512_packs_epi32(rounded(scaled[2]), rounded(scaled[3]));
            if (zero_word_ != 0) {
                const __m512i zero = _mm512_set1_epi16(zero_word_);
                first = _mm512_adds_epi16(first, zero), second = _mm512_adds_epi16(second, zero);
            }
            __m512i bytes = _mm512_packus_epi16(first, second);
            if (bounds_) {
                bytes = _mm512_min_epu8(_mm512_max_epu8(bytes, _mm512_set1_epi8(static_cast<char>(low_byte_))),
                                        _mm512_set1_epi8(static_cast<char>(high_byte_)));
            }
            // Each 128 bits hold four bytes of each vector.
            const __m512i order = _mm512_setr_epi32(0, 4, 8, 12, 1, 5, 9, 13, 2, 6, 10, 14, 3, 7, 11, 15),
                          all = _mm512_maskz_permutexvar_epi32(0xffff, order, bytes);
            const __m256i low = _mm512_castsi512_si256(all), high = _mm512_maskz_extracti64x4_epi64(0xff, all, 1);
            if (count == run) {
                _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst[0]), low);
                _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst[1]), high);
            } else {
                const auto some = (__mmask32{1} << static_cast<unsigned>(count)) - 1;
                _mm256_mask_storeu_epi8(dst[0], some, low);
                _mm256_mask_storeu_epi8(dst[1], some, high);
            }
            return;
        }
#endif
#if defined(__AVX2__)
        if constexpr (lanes<Arch> == 8) {
            const auto rounded = [](Floats<Arch> const& value) { return _mm256_cvtps_epi32(value); };
            __m256i first = _mm256_packs_epi32(rounded(scaled[0]), rounded(scaled[1])),
                    second = _mm256_packs_epi32(rounded(scaled[2]), rounded(scaled[3]));
            if (zero_word_ != 0) {
                const __m256i zero = _mm256_set1_epi16(zero_word_);
                first = _mm256_adds_epi16(first, zero), second = _mm256_adds_epi16(second, zero);
            }
            __m256i bytes = _mm256_packus_epi16(first, second);
            if (bounds_) {
                bytes = _mm256_min_epu8(_mm256_max_epu8(bytes, _mm256_set1_epi8(static_cast<char>(low_byte_))),
                                        _mm256_set1_epi8(static_cast<char>(high_byte_)));
            }
            const __m256i all = _mm256_permutevar8x32_epi32(bytes, _mm256_setr_epi32(0, 4, 1, 5, 2, 6, 3, 7));
            if (count == run) return _mm256_storeu_si256(reinterpret_cast<__m256i*>(dst[0]), all);
            std::memcpy(dst[0], &all, static_cast<std::size_t>(count));
            return;
        }
#endif
        std::uint8_t all[runs * run];
        for (int v = 0; v < vectors; ++v) (*this)(all + v * lanes<Arch>, scaled[v]);
        for (int i = 0; i < runs; ++i) std::memcpy(dst[i], all + i * run, static_cast<std::size_t>(count));
    }

    PRIMSEL_INLINE void operator()(std::uint8_t* dst, Floats<Arch> const& scaled) const {
        // The addition rounds to integers, which are the lowest bits of the sum.
        const Register sum = min<Arch>(max<Arch>(scaled, low_), high_) + Floats<Arch>(magic);
        const Integers bytes = reinterpret_cast<Integers>(sum) + zero_point_;
#if defined(__AVX512F__)
        if constexpr (lanes<Arch> == 16) {
            return _mm_storeu_si128(reinterpret_cast<__m128i*>(dst),
                                    _mm512_cvtepi32_epi8(reinterpret_cast<__m512i>(bytes)));
        }
#endif
#if defined(__AVX2__)
        if constexpr (lanes<Arch> == 8) {
            const auto all = reinterpret_cast<__m256i>(bytes);
            const __m128i words = _mm_packs_epi32(_mm256_castsi256_si128(all), _mm256_extracti128_si256(all, 1));
            return _mm_storel_epi64(reinterpret_cast<__m128i*>(dst), _mm_packus_epi16(words, words));
        }
#endif
        for (int i = 0; i < lanes<Arch>; ++i) dst[i] = static_cast<std::uint8_t>(bytes[i]);
    }

private:
    using Register = typename Floats<Arch>::register_type;
    using Integers = decltype(Register{} < Register{});  // g++ forgets the attribute of a constant vector
    /// Floats of this size are integers.
    static constexpr float magic = 0x1.8p23F;
    static constexpr std::int32_t bits_of_magic = 0x4b40'0000;

    Floats<Arch> low_, high_;
    Integers zero_point_;
    std::int16_t zero_word_;
    std::uint8_t low_byte_, high_byte_;
    bool bounds_;
};

/// Converts n neighbours.
inline void to_bytes(const float* src, std::size_t n, ToBytes const& to, std::uint8_t* dst) noexcept {
    using Arch = default_arch;
    constexpr std::size_t width = lanes<Arch>;
    const ByteStore<Arch> store(to);
    const auto factor = broadcast<Arch>(to.factor);
    std::size_t i = 0;
    for (; i + width <= n; i += width) store(dst + i, load<Arch>(src + i) * factor);
    if (i == n) return;
    std::uint8_t some[width];
    store(some, FirstLanes<Arch>(static_cast<int>(n - i)).load(src + i) * factor);
    std::copy_n(some, n - i, dst + i);
}
/// Converts n neighbours: scale * (byte - zero_point).
inline void from_bytes(const std::uint8_t* src, std::size_t n, TensorRange const& range, float* dst) noexcept {
    using Arch = default_arch;
    constexpr std::size_t width = lanes<Arch>;
    const auto scale = broadcast<Arch>(range.scale), zero = broadcast<Arch>(static_cast<float>(range.zero_point));
    std::size_t i = 0;
    for (; i + width <= n; i += width) store<Arch>(dst + i, (load_bytes<Arch>(src + i) - zero) * scale);
    if (i == n) return;
    std::uint8_t some[width]{};
    std::copy_n(src + i, n - i, some);
    FirstLanes<Arch>(static_cast<int>(n - i)).store(dst + i, (load_bytes<Arch>(some) - zero) * scale);
}

}  // namespace primsel::inline PRIMSEL_ABI
