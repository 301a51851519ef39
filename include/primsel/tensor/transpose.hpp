#pragma once

#include <primsel/core/simd.hpp>

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// dst[column][row] = src[row][column] of three rows, such as the planes of a colour image: four columns at a time,
/// each store's fourth float overwritten by the next.
inline void interleave_three(const float* PRIMSEL_RESTRICT src, std::size_t src_stride, float* PRIMSEL_RESTRICT dst,
                             std::size_t first, std::size_t last) {
    std::size_t column = first;
    for (; column + 4 < last; column += 4) {
        FourFloats r0 = FourFloats::load_unaligned(src + column);
        FourFloats r1 = FourFloats::load_unaligned(src + src_stride + column);
        FourFloats r2 = FourFloats::load_unaligned(src + 2 * src_stride + column);
        FourFloats r3 = r2;
        transpose(r0, r1, r2, r3);
        r0.store_unaligned(dst + 3 * column);
        r1.store_unaligned(dst + 3 * column + 3);
        r2.store_unaligned(dst + 3 * column + 6);
        r3.store_unaligned(dst + 3 * column + 9);
    }
    for (; column < last; ++column) {
        for (std::size_t row = 0; row < 3; ++row) dst[3 * column + row] = src[row * src_stride + column];
    }
}

/// The other way round: the planes of rows of three, four rows at a time, each load's fourth float the next row's
/// first.
inline void separate_three(const float* PRIMSEL_RESTRICT src, float* PRIMSEL_RESTRICT dst, std::size_t dst_stride,
                           std::size_t rows) {
    std::size_t row = 0;
    for (; row + 4 < rows; row += 4) {
        const float* const s = src + 3 * row;
        FourFloats r0 = FourFloats::load_unaligned(s), r1 = FourFloats::load_unaligned(s + 3),
                   r2 = FourFloats::load_unaligned(s + 6), r3 = FourFloats::load_unaligned(s + 9);
        transpose(r0, r1, r2, r3);
        r0.store_unaligned(dst + row);
        r1.store_unaligned(dst + dst_stride + row);
        r2.store_unaligned(dst + 2 * dst_stride + row);
    }
    for (; row < rows; ++row) {
        for (std::size_t column = 0; column < 3; ++column) dst[column * dst_stride + row] = src[3 * row + column];
    }
}

/// dst[column][row] = src[row][column] for columns [first, last): a matrix of `rows` rows, src_stride and dst_stride
/// floats apart. Four by four in registers; blocks of 16 columns, so that the lines of dst being written stay in L1. As
/// many streams as there are rows are more than processors fetch ahead by themselves: what is read two blocks later is
/// asked for, as weights that are packed come from memory.
inline void transpose_columns(const float* PRIMSEL_RESTRICT src, std::size_t src_stride, float* PRIMSEL_RESTRICT dst,
                              std::size_t dst_stride, std::size_t rows, std::size_t first, std::size_t last) {
    if (rows == 3 && dst_stride == 3) return interleave_three(src, src_stride, dst, first, last);
    if (src_stride == 3 && first == 0 && last == 3) return separate_three(src, dst, dst_stride, rows);
    constexpr std::size_t block = 16;
    for (std::size_t begin = first; begin < last; begin += block) {
        const std::size_t end = std::min(begin + block, last);
        std::size_t row = 0;
        for (; row + 4 <= rows; row += 4) {
            const float* s = src + row * src_stride;
            for (std::size_t i = 0; i < 4; ++i) __builtin_prefetch(s + i * src_stride + begin + 2 * block, 0, 2);
            std::size_t column = begin;
            for (; column + 4 <= end; column += 4) {
                FourFloats r0 = FourFloats::load_unaligned(s + column);
                FourFloats r1 = FourFloats::load_unaligned(s + src_stride + column);
                FourFloats r2 = FourFloats::load_unaligned(s + 2 * src_stride + column);
                FourFloats r3 = FourFloats::load_unaligned(s + 3 * src_stride + column);
                transpose(r0, r1, r2, r3);
                float* d = dst + column * dst_stride + row;
                r0.store_unaligned(d);
                r1.store_unaligned(d + dst_stride);
                r2.store_unaligned(d + 2 * dst_stride);
                r3.store_unaligned(d + 3 * dst_stride);
            }
            for (; column < end; ++column) {
                for (std::size_t i = 0; i < 4; ++i) dst[column * dst_stride + row + i] = s[i * src_stride + column];
            }
        }
        for (; row < rows; ++row) {
            for (std::size_t column = begin; column < end; ++column) {
                dst[column * dst_stride + row] = src[row * src_stride + column];
            }
        }
    }
}

}  // namespace primsel::inline PRIMSEL_ABI
