#pragma once

#include <primsel/core/simd.hpp>

#include <algorithm>
#include <cstddef>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::primitive::detail {

/// Copies rows of an image with their padding, columns grouped by their remainder modulo the stride, so that every tap
/// reads neighbours. Copies end with whole vectors: the first floats of what follows may be overwritten by zeros.
template <class Arch>
struct PaddedRows {
    /// The columns of the image, the stride, and the columns of padding before the first.
    int columns, stride, padding;
    /// The floats in front of each group, so that its columns begin where stores are aligned.
    int lead;
    /// The floats of a group that are written, and those from one group to the next.
    std::ptrdiff_t length, part;

    PRIMSEL_INLINE void copy(const float* src, float* dst) const noexcept {
        if (stride == 1)
            copy_whole(src, dst);
        else if (stride == 2)
            halve(src, dst);
        else
            split(src, dst);
    }
    /// Stores a row of padding.
    PRIMSEL_INLINE void clear(float* dst) const noexcept {
        for (int group = 0; group < stride; ++group) store_zeros(dst + group * part, length);
    }

private:
    static constexpr int width = lanes<Arch>;

    /// Stores at least `count` zeros, in whole vectors.
    PRIMSEL_INLINE static void store_zeros(float* dst, std::ptrdiff_t count) noexcept {
        const Floats<Arch> zeros = in_register<Arch>(broadcast<Arch>(0.0F));  // or g++ calls memset
        for (std::ptrdiff_t i = 0; i < count; i += width) store<Arch>(dst + i, zeros);
    }
    /// Returns the first `count` floats at src, at most a vector, and zeros behind them.
    PRIMSEL_INLINE static Floats<Arch> load_part(const float* src, int count) noexcept {
        if (count >= width) return load<Arch>(src);
        return count > 0 ? FirstLanes<Arch>(count).load(src) : broadcast<Arch>(0.0F);
    }
    PRIMSEL_INLINE void copy_whole(const float* src, float* dst) const noexcept {
        const int begin = lead + padding;
        store_zeros(dst, begin);
        dst += begin;
        int w = 0;
        for (; w < columns; w += width) store<Arch>(dst + w, load_part(src + w, columns - w));
        store_zeros(dst + w, length - begin - w);
    }
    /// Even and odd columns of the padded row apart.
    PRIMSEL_INLINE void halve(const float* src, float* dst) const noexcept {
        using Register = typename Floats<Arch>::register_type;
        const int odd_pad = padding % 2, begin = lead + padding / 2;
        float *even = dst + odd_pad * part, *odd = dst + (1 - odd_pad) * part;
        store_zeros(even, begin), store_zeros(odd, begin + odd_pad);
        even += begin, odd += begin + odd_pad;
        int i = 0;
        for (; 2 * i < columns; i += width) {
            const Register low = load_part(src + 2 * i, columns - 2 * i),
                           high = load_part(src + 2 * i + width, columns - 2 * i - width);
            [&]<int... lane>(std::integer_sequence<int, lane...>) {
                store<Arch>(even + i, Floats<Arch>(Register(__builtin_shufflevector(low, high, (2 * lane)...))));
                store<Arch>(odd + i, Floats<Arch>(Register(__builtin_shufflevector(low, high, (2 * lane + 1)...))));
            }(std::make_integer_sequence<int, width>{});
        }
        store_zeros(even + i, length - begin - i);
        store_zeros(odd + i, length - begin - odd_pad - i);
    }
    void split(const float* src, float* dst) const noexcept {
        for (int group = 0; group < stride; ++group, dst += part) {
            // The first column of the image with this remainder, and the number of columns of padding before it.
            const int before = std::max(padding - group + stride - 1, 0) / stride,
                      from = group + before * stride - padding;
            std::fill_n(dst, length, 0.0F);
            float* to = dst + lead + before;
            for (int w = from; w < columns; w += stride) *to++ = src[w];
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::primitive::detail
