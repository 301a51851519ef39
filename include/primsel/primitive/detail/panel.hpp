// Matrices packed into the panels that a register tile reads.
#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/primitive/detail/tile.hpp>
#include <primsel/primitive/gemm.hpp>
#include <primsel/tensor/transpose.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace primsel::inline PRIMSEL_ABI::detail {

/// Columns of the panel that starts at column `first` of n: the full width, or one vector where that is enough.
template <class Arch>
[[nodiscard]] constexpr int panel_columns(int first, int n) {
    return n - first <= lanes<Arch> ? lanes<Arch> : panel_width<Arch>;
}
/// n rounded up to what its panels hold.
template <class Arch>
[[nodiscard]] constexpr int padded_columns(int n) {
    const int last = (n - 1) / panel_width<Arch> * panel_width<Arch>;
    return last + panel_columns<Arch>(last, n);
}
template <class Arch>
[[nodiscard]] constexpr int panel_count(int n) {
    return (n + panel_width<Arch> - 1) / panel_width<Arch>;
}
/// Floats of a k x n matrix in panels.
template <class Arch>
[[nodiscard]] constexpr std::size_t packed_size(int k, int n) {
    return static_cast<std::size_t>(k) * static_cast<std::size_t>(padded_columns<Arch>(n));
}

/// Packs `columns` columns of b, from column `first`, into a panel of `width`: dst[row][column], zeros beyond.
inline void pack_panel(MatrixView const& b, int k, int first, int columns, int width, float* dst) noexcept {
    const auto rows = static_cast<std::size_t>(k), count = static_cast<std::size_t>(columns),
               step = static_cast<std::size_t>(width);
    const float* src = b.data + static_cast<std::size_t>(first) * b.column_stride;
    if (b.column_stride == 1) {
        for (std::size_t row = 0; row < rows; ++row) {
            std::memcpy(dst + row * step, src + row * b.row_stride, count * sizeof(float));
        }
    } else {
        transpose_columns(src, b.column_stride, dst, step, count, 0, rows);
    }
    if (columns < width) {
        for (std::size_t row = 0; row < rows; ++row) std::fill(dst + row * step + count, dst + (row + 1) * step, 0.0F);
    }
}

/// All of b, k x n, panel after panel: packed_size floats.
template <class Arch>
void pack_panels(MatrixView const& b, int k, int n, float* dst) noexcept {
    for (int first = 0; first < n; first += panel_width<Arch>) {
        const int width = panel_columns<Arch>(first, n);
        pack_panel(b, k, first, std::min(width, n - first), width, dst);
        dst += static_cast<std::size_t>(k) * static_cast<std::size_t>(width);
    }
}

/// Rows [first_row, last_row) of C for a B packed in panels. `t` holds A, C and the epilogue of the whole product, and
/// how A's depth is walked; its b, columns and clamp are filled in here.
template <class Arch>
void multiply_panels(TileArgs const& whole, int first_row, int last_row, int n, const float* packed) noexcept {
    const int depth = whole.outer * whole.inner * whole.run;
    const auto row = static_cast<std::size_t>(first_row);
    for (int first = 0; first < n; first += panel_width<Arch>) {
        const int width = panel_columns<Arch>(first, n);
        const auto column = static_cast<std::size_t>(first);
        TileArgs t = whole;
        t.a += row * whole.a_stride;
        t.b = packed + static_cast<std::size_t>(depth) * column;
        t.c += row * whole.c_stride + column;
        t.columns = std::min(width, n - first);
        if (t.row_bias != nullptr) t.row_bias += row;
        if (t.column_bias != nullptr) t.column_bias += column;
        if (t.residual != nullptr) t.residual += row * whole.c_stride + column;
        multiply_panel<Arch>(t, last_row - first_row, width);
    }
}

/// Rows of A that are multiplied with every panel before the next rows: few enough for L2, a multiple of the tile.
template <class Arch>
inline constexpr int block_rows = 112 / tile_rows<Arch> * tile_rows<Arch>;

}  // namespace primsel::inline PRIMSEL_ABI::detail
