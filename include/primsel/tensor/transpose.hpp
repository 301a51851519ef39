#pragma once

#include <primsel/core/simd.hpp>
#include <primsel/core/work.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// Interleaves three rows, such as the planes of a colour image: dst[column][row] = src[row][column]. It stores four
/// floats for each column; the next store overwrites the fourth.
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

/// Separates interleaved triples into three planes: the inverse of interleave_three. It loads four floats for each row;
/// the fourth is the first of the next row and is not used.
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

/// Transposes 4 x 4 floats.
PRIMSEL_INLINE void transpose_tile(const float* src, std::size_t src_stride, float* dst, std::size_t dst_stride) {
    FourFloats r0 = FourFloats::load_unaligned(src);
    FourFloats r1 = FourFloats::load_unaligned(src + src_stride);
    FourFloats r2 = FourFloats::load_unaligned(src + 2 * src_stride);
    FourFloats r3 = FourFloats::load_unaligned(src + 3 * src_stride);
    transpose(r0, r1, r2, r3);
    r0.store_unaligned(dst);
    r1.store_unaligned(dst + dst_stride);
    r2.store_unaligned(dst + 2 * dst_stride);
    r3.store_unaligned(dst + 3 * dst_stride);
}

namespace tensor {
/// transpose_columns, of up to three rows or columns.
inline void transpose_elements(const float* PRIMSEL_RESTRICT src, std::size_t src_stride, float* PRIMSEL_RESTRICT dst,
                               std::size_t dst_stride, std::size_t rows, std::size_t first, std::size_t last) {
    for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t column = first; column < last; ++column) {
            dst[column * dst_stride + row] = src[row * src_stride + column];
        }
    }
}
/// transpose_columns, of four rows. Of at least four columns, the last tile overlaps the one before it.
PRIMSEL_INLINE void transpose_four_rows(const float* src, std::size_t src_stride, float* dst, std::size_t dst_stride,
                                        std::size_t first, std::size_t last) {
    for (std::size_t column = first; column < last; column += 4) {
        const std::size_t at = column + 4 <= last ? column : last - 4;
        transpose_tile(src + at, src_stride, dst + at * dst_stride, dst_stride);
    }
}
/// transpose_columns, of some rows, at least four, and of at least four columns. It works on 4 x 4 floats in registers,
/// of which the last overlap those before them. Blocks of 16 columns keep the cache lines of dst that are being written
/// in L1. If these lines are multiples of 4 KiB apart, they share a set of L1, which holds fewer than 16: then each
/// four are filled before the next. There are more streams of rows than a hardware prefetcher follows, and the source
/// often lies in memory, as weights that are packed do. So the source is prefetched two blocks ahead.
inline void transpose_rows(const float* PRIMSEL_RESTRICT src, std::size_t src_stride, float* PRIMSEL_RESTRICT dst,
                           std::size_t dst_stride, std::size_t rows, std::size_t first, std::size_t last) {
    constexpr std::size_t block = 16, page = 1024;
    const std::size_t filled = dst_stride % page == 0 ? rows / block * block : 0;
    for (std::size_t begin = first; begin < last; begin += block) {
        const std::size_t end = std::min(begin + block, last);
        std::size_t row = 0;
        for (; row < filled; row += block) {
            for (std::size_t column = begin; column < end; column += 4) {
                const std::size_t at = column + 4 <= last ? column : last - 4;
                const float* const from = src + row * src_stride + at;
                float* const to = dst + at * dst_stride + row;
                PRIMSEL_UNROLL
                for (std::size_t i = 0; i < block; i += 4) {
                    transpose_tile(from + i * src_stride, src_stride, to + i, dst_stride);
                }
            }
        }
        for (; row < rows; row += 4) {
            const std::size_t top = std::min(row, rows - 4);
            const float* const s = src + top * src_stride;
            for (std::size_t i = 0; i < 4; ++i) __builtin_prefetch(s + i * src_stride + begin + 2 * block, 0, 2);
            transpose_four_rows(s, src_stride, dst + top, dst_stride, begin, end);
        }
    }
}

}  // namespace tensor

/// Transposes columns [first, last) of a matrix of `rows` rows: dst[column][row] = src[row][column]. Rows of src are
/// src_stride floats apart, rows of dst dst_stride floats. Of large matrices, it takes blocks of 256 x 256: they have
/// fewer pages than a TLB has entries, and L2 keeps their cache lines until all 16 floats are used.
inline void transpose_columns(const float* PRIMSEL_RESTRICT src, std::size_t src_stride, float* PRIMSEL_RESTRICT dst,
                              std::size_t dst_stride, std::size_t rows, std::size_t first, std::size_t last) {
    if (rows == 3 && dst_stride == 3) return interleave_three(src, src_stride, dst, first, last);
    if (src_stride == 3 && first == 0 && last == 3) return separate_three(src, dst, dst_stride, rows);
    constexpr std::size_t block = 256, few = 32;
    const std::size_t columns = last - first;
    if (rows < 4 || columns < 4) return tensor::transpose_elements(src, src_stride, dst, dst_stride, rows, first, last);
    if (rows <= few && columns <= few) {
        for (std::size_t row = 0; row < rows; row += 4) {
            const std::size_t top = std::min(row, rows - 4);
            tensor::transpose_four_rows(src + top * src_stride, src_stride, dst + top, dst_stride, first, last);
        }
        return;
    }
    for (std::size_t begin = first; begin < last; begin += block) {
        for (std::size_t row = 0; row < rows; row += block) {
            // A last block of fewer than four rows or columns overlaps the one before.
            const std::size_t left = std::min(begin, last - 4), top = std::min(row, rows - 4);
            tensor::transpose_rows(src + top * src_stride, src_stride, dst + top, dst_stride,
                                   std::min(block, rows - top), left, std::min(begin + block, last));
        }
    }
}

/// The names of a transpose's forms, for cost models.
struct TransposeForms {
    /// `aliased` is for rows of dst that lie in the same few sets of an L1 cache, which repeat after 4096 bytes.
    /// `far` is for matrices that have more pages than a TLB has entries.
    std::string_view near, aliased, far;
};
/// Returns the counts of `matrices` transposes of that size by transpose_columns: blocks of 4 x 4 floats, or
/// one by one. Rows of dst are dst_stride floats apart.
[[nodiscard]] constexpr OpCounts transpose_counts(std::size_t matrices, std::size_t rows, std::size_t columns,
                                                  std::size_t dst_stride, TransposeForms const& forms) {
    constexpr std::size_t page = 4096, pages = 2048;
    const std::size_t size = matrices * rows * columns;
    const bool has_tiles = rows >= 4 && columns >= 4;
    const std::size_t in_tiles = has_tiles ? matrices * ((rows + 3) / 4 * 4) * ((columns + 3) / 4 * 4) : 0;
    const bool is_far = 2 * size / matrices * sizeof(float) > pages * page,
               is_aliased = dst_stride % (page / sizeof(float)) == 0;
    return {.operations = static_cast<double>(in_tiles),
            .scalars = has_tiles ? 0 : static_cast<double>(size),
            .rows = static_cast<double>(matrices * ((rows + 3) / 4) * ((columns + 15) / 16)),
            .bytes = 8 * static_cast<double>(size),
            .form = is_far       ? forms.far
                    : is_aliased ? forms.aliased
                                 : forms.near};
}

}  // namespace primsel::inline PRIMSEL_ABI
