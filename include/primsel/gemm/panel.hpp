// Matrices packed into panels, the order in which a register tile reads them.
#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/gemm/gemm.hpp>
#include <primsel/gemm/multiply_panel.hpp>
#include <primsel/gemm/tile.hpp>
#include <primsel/tensor/transpose.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>

namespace primsel::inline PRIMSEL_ABI::gemm {

/// Returns n rounded up to whole vectors.
template <class Arch>
[[nodiscard]] constexpr int padded_columns(int n) {
    return (n + lanes<Arch> - 1) / lanes<Arch> * lanes<Arch>;
}
/// Returns the width of the panel that starts at column `first` of n: the full width, or for the last panel the
/// remaining columns rounded up to whole vectors.
template <class Arch>
[[nodiscard]] constexpr int panel_columns(int first, int n) {
    return std::min(panel_width<Arch>, padded_columns<Arch>(n - first));
}
template <class Arch>
[[nodiscard]] constexpr int panel_count(int n) {
    return (n + panel_width<Arch> - 1) / panel_width<Arch>;
}
/// Returns the number of floats of a k x n matrix packed into panels.
template <class Arch>
[[nodiscard]] constexpr std::size_t packed_size(int k, int n) {
    return static_cast<std::size_t>(k) * static_cast<std::size_t>(padded_columns<Arch>(n));
}

/// Returns the work of a product of `rows` rows, n columns and that depth in register tiles, as operations at the FMA
/// peak. It counts two for each multiply-add, padding of panels included. It adds the operations that a tile with few
/// independent sums loses to latency, about twenty for the start and the end of each tile, and sixteen for each row
/// whose last columns fill no whole vector.
template <class Arch>
[[nodiscard]] constexpr double tile_operations(double rows, int n, double depth) {
    constexpr double in_flight = 8, around_a_tile = 20, around_an_edge = 16;
    const auto of_panel = [&](int vectors) {
        const int most = vectors == panel_vectors<Arch> ? most_rows<Arch, panel_vectors<Arch>> : most_rows<Arch, 1>;
        const double tiles = static_cast<double>((static_cast<long long>(rows) + most - 1) / most);
        return std::max(rows * vectors, tiles * in_flight) * depth + tiles * around_a_tile;
    };
    const int rest = n % panel_width<Arch>;
    double sum = n / panel_width<Arch> * of_panel(panel_vectors<Arch>);
    if (rest > 0) sum += of_panel((rest + lanes<Arch> - 1) / lanes<Arch>);
    if (n % lanes<Arch> != 0) sum += rows * around_an_edge;
    return 2 * lanes<Arch> * sum;
}

/// Packs `columns` columns of b, from column `first`, into a panel of `width` columns: dst[row][column], with zeros in
/// the remaining columns.
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

/// Packs all of b, k x n, panel after panel; dst has packed_size floats.
template <class Arch>
void pack_panels(MatrixView const& b, int k, int n, float* dst) noexcept {
    for (int first = 0; first < n; first += panel_width<Arch>) {
        const int width = panel_columns<Arch>(first, n);
        pack_panel(b, k, first, std::min(width, n - first), width, dst);
        dst += static_cast<std::size_t>(k) * static_cast<std::size_t>(width);
    }
}

/// Computes rows [first_row, last_row) of C in the columns of panel `panel`, from a packed B. `whole` describes A, C
/// and the epilogue of the whole product; its b and columns are set here.
template <class Arch>
void multiply_one_panel(TileArgs const& whole, int first_row, int last_row, int n, const float* packed,
                        int panel) noexcept {
    const int first = panel * panel_width<Arch>, width = panel_columns<Arch>(first, n);
    TileArgs t = whole;
    t.b = packed + static_cast<std::size_t>(whole.outer * whole.inner * whole.run) * static_cast<std::size_t>(first);
    t.c += first;
    t.columns = std::min(width, n - first);
    if (t.column_bias != nullptr) t.column_bias += first;
    if (t.residual != nullptr) t.residual += first;
    multiply_panel<Arch>(t, first_row, last_row, width);
}
template <class Arch>
void multiply_panels(TileArgs const& whole, int first_row, int last_row, int n, const float* packed) noexcept {
    for (int panel = 0; panel < panel_count<Arch>(n); ++panel) {
        multiply_one_panel<Arch>(whole, first_row, last_row, n, packed, panel);
    }
}

/// The number of rows of A multiplied with every panel before the next rows: they fit L2 and are whole tiles.
template <class Arch>
inline constexpr int block_rows = 96 / tile_rows<Arch> * tile_rows<Arch>;

}  // namespace primsel::inline PRIMSEL_ABI::gemm
