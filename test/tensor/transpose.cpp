#include <primsel/tensor/transpose.hpp>

#include <doctest/doctest.h>

#include <cstddef>
#include <vector>

namespace ps = primsel;

namespace {

/// The elements that src[row][column] = 1 + row * columns + column gives to columns [first, last), with gaps in the
/// strides; -1 where nothing may be written.
void check(std::size_t rows, std::size_t columns, std::size_t first, std::size_t last, std::size_t gap) {
    CAPTURE(rows);
    CAPTURE(columns);
    CAPTURE(first);
    CAPTURE(last);
    CAPTURE(gap);
    const std::size_t src_stride = columns + gap, dst_stride = rows + gap;
    // The vectors end where reading ends: an access beyond is an error under the address sanitizer.
    std::vector<float> src((rows - 1) * src_stride + columns, 0.0F), dst(columns * dst_stride, -1.0F);
    std::vector<float> expected = dst;
    for (std::size_t row = 0; row < rows; ++row) {
        for (std::size_t column = 0; column < columns; ++column) {
            src[row * src_stride + column] = static_cast<float>(1 + row * columns + column);
            if (column >= first && column < last) {
                expected[column * dst_stride + row] = src[row * src_stride + column];
            }
        }
    }
    ps::transpose_columns(src.data(), src_stride, dst.data(), dst_stride, rows, first, last);
    CHECK(dst == expected);
}

}  // namespace

TEST_CASE("transpose_columns: every element lands in its place, and no other is written") {
    for (const std::size_t rows : {1U, 2U, 3U, 4U, 5U, 8U, 11U, 33U}) {
        for (const std::size_t columns : {1U, 2U, 3U, 4U, 5U, 15U, 16U, 17U, 37U}) {
            for (const std::size_t gap : {0U, 2U}) {
                check(rows, columns, 0, columns, gap);
                if (columns > 2) check(rows, columns, 1, columns - 1, gap);
            }
        }
    }
}

TEST_CASE("transpose_columns: matrices of several blocks") {
    for (const std::size_t rows : {255U, 256U, 258U, 515U}) {
        for (const std::size_t columns : {17U, 256U, 261U}) {
            check(rows, columns, 0, columns, 1);
            check(rows, columns, 3, columns - 1, 0);
        }
    }
    check(1024, 259, 0, 259, 0);
}
