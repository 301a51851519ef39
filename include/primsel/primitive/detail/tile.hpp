// The register tile: what every fast multiplication in this room comes down to.
#pragma once

#include <primsel/core/clamp.hpp>
#include <primsel/core/simd.hpp>

#include <array>
#include <cstddef>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::detail {

/// C = A B for a few rows of A and one panel of B, then the epilogue.
///
/// The depth is walked as outer x inner x run, so that A may be an image in place: `run` neighbours, then inner_step
/// floats on to the next tap of a kernel row, then outer_step floats on to the next kernel row. B is a panel: for each
/// step of the depth, as many floats as the panel is wide, padded with zeros to whole vectors.
struct TileArgs {
    const float* a = nullptr;
    /// Floats between rows of A, where its columns are neighbours; between columns, where its rows are (transposed).
    std::size_t a_stride = 0;
    int outer = 1, inner = 1, run = 0;
    std::size_t outer_step = 0, inner_step = 0;
    const float* b = nullptr;
    float* c = nullptr;
    std::size_t c_stride = 0;
    /// Columns of C that exist: at most the width of the panel.
    int columns = 0;
    bool accumulate = false;
    const float* row_bias = nullptr;
    const float* column_bias = nullptr;
    /// Laid out as C.
    const float* residual = nullptr;
    Clamp clamp{};
};

/// Vectors side by side in a full panel.
inline constexpr int panel_vectors = 2;
template <class Arch>
inline constexpr int panel_width = panel_vectors * lanes<Arch>;

/// Rows of the largest tile: its accumulators, a row of B and an element of A fill the registers.
template <class Arch>
inline constexpr int tile_rows = registers<Arch> == 32 ? 14 : 6;

/// The epilogue of a tile at the right edge of C, element by element: the same operations in the same order as the
/// vectors', so that the bits do not depend on where a column lies. Not inlined: once is enough for all tiles.
PRIMSEL_NOINLINE inline void finish_edge(TileArgs const& t, const float* sums, int rows, int width) noexcept {
    for (int row = 0; row < rows; ++row) {
        float* c = t.c + static_cast<std::size_t>(row) * t.c_stride;
        for (int column = 0; column < t.columns; ++column) {
            float value = sums[row * width + column];
            if (t.accumulate) value += c[column];
            if (t.row_bias != nullptr) value += t.row_bias[row];
            if (t.column_bias != nullptr) value += t.column_bias[column];
            if (t.residual != nullptr) {
                value += t.residual[static_cast<std::size_t>(row) * t.c_stride + static_cast<std::size_t>(column)];
            }
            c[column] = primsel::clamp(value, t.clamp.low, t.clamp.high);
        }
    }
}

template <class Arch, int rows, int vectors>
PRIMSEL_INLINE void finish(TileArgs const& t, Floats<Arch> (&sums)[rows][vectors]) noexcept {
    constexpr int width = vectors * lanes<Arch>;
    if (t.columns != width) {
        alignas(64) float buffer[rows * width];
        PRIMSEL_UNROLL
        for (int row = 0; row < rows; ++row) {
            PRIMSEL_UNROLL
            for (int v = 0; v < vectors; ++v) store<Arch>(buffer + row * width + v * lanes<Arch>, sums[row][v]);
        }
        finish_edge(t, buffer, rows, width);
        return;
    }
    // One pass over the tile for each part that there is: a test within the passes would multiply the code.
    const auto each = [&](auto const& change) {
        PRIMSEL_UNROLL
        for (int row = 0; row < rows; ++row) {
            PRIMSEL_UNROLL
            for (int v = 0; v < vectors; ++v) {
                change(sums[row][v], row, static_cast<std::size_t>(row) * t.c_stride, v * lanes<Arch>);
            }
        }
    };
    using V = Floats<Arch>;
    if (t.accumulate) each([&](V& sum, int, std::size_t offset, int at) { sum += load<Arch>(t.c + offset + at); });
    if (t.row_bias != nullptr)
        each([&](V& sum, int row, std::size_t, int) { sum += broadcast<Arch>(t.row_bias[row]); });
    if (t.column_bias != nullptr)
        each([&](V& sum, int, std::size_t, int at) { sum += load<Arch>(t.column_bias + at); });
    if (t.residual != nullptr) {
        each([&](V& sum, int, std::size_t offset, int at) { sum += load<Arch>(t.residual + offset + at); });
    }
    const auto low = broadcast<Arch>(t.clamp.low), high = broadcast<Arch>(t.clamp.high);
    each([&](V& sum, int, std::size_t offset, int at) { store<Arch>(t.c + offset + at, clamp<Arch>(sum, low, high)); });
}

/// A's columns are neighbours. A pointer for every three rows: x86 adds a register once and twice for free.
template <class Arch, int rows, int vectors>
void tile(TileArgs const& t) noexcept {
    constexpr int groups = (rows + 2) / 3, width = vectors * lanes<Arch>;
    Floats<Arch> sums[rows][vectors];
    PRIMSEL_UNROLL
    for (int row = 0; row < rows; ++row) {
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) sums[row][v] = broadcast<Arch>(0.0F);
    }
    const std::size_t stride = t.a_stride;
    const float* b = t.b;
    for (int outer = 0; outer < t.outer; ++outer) {
        for (int inner = 0; inner < t.inner; ++inner) {
            const float* first =
                t.a + static_cast<std::size_t>(outer) * t.outer_step + static_cast<std::size_t>(inner) * t.inner_step;
            const float* a[groups];
            PRIMSEL_UNROLL
            for (int g = 0; g < groups; ++g) a[g] = first + static_cast<std::size_t>(3 * g) * stride;
            for (int step = 0; step < t.run; ++step) {
                Floats<Arch> row_of_b[vectors];
                PRIMSEL_UNROLL
                for (int v = 0; v < vectors; ++v) row_of_b[v] = load<Arch>(b + v * lanes<Arch>);
                b += width;
                PRIMSEL_UNROLL
                for (int row = 0; row < rows; ++row) {
                    const auto element = broadcast<Arch>(a[row / 3][static_cast<std::size_t>(row % 3) * stride]);
                    PRIMSEL_UNROLL
                    for (int v = 0; v < vectors; ++v) sums[row][v] = fma<Arch>(element, row_of_b[v], sums[row][v]);
                }
                PRIMSEL_UNROLL
                for (int g = 0; g < groups; ++g) ++a[g];
            }
        }
    }
    finish<Arch>(t, sums);
}

/// A is stored transposed: its rows are neighbours.
template <class Arch, int rows, int vectors>
void tile_transposed(TileArgs const& t) noexcept {
    constexpr int width = vectors * lanes<Arch>;
    Floats<Arch> sums[rows][vectors];
    PRIMSEL_UNROLL
    for (int row = 0; row < rows; ++row) {
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) sums[row][v] = broadcast<Arch>(0.0F);
    }
    const float* a = t.a;
    const float* b = t.b;
    for (int step = 0; step < t.run; ++step) {
        Floats<Arch> row_of_b[vectors];
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) row_of_b[v] = load<Arch>(b + v * lanes<Arch>);
        b += width;
        PRIMSEL_UNROLL
        for (int row = 0; row < rows; ++row) {
            const auto element = broadcast<Arch>(a[row]);
            PRIMSEL_UNROLL
            for (int v = 0; v < vectors; ++v) sums[row][v] = fma<Arch>(element, row_of_b[v], sums[row][v]);
        }
        a += t.a_stride;
    }
    finish<Arch>(t, sums);
}

using TileKernel = void (*)(TileArgs const&) noexcept;

/// kernel[rows - 1], for 1 to tile_rows rows.
template <class Arch, int vectors>
inline constexpr auto tile_kernels = []<int... i>(std::integer_sequence<int, i...>) {
    return std::array<TileKernel, sizeof...(i)>{&tile<Arch, i + 1, vectors>...};
}(std::make_integer_sequence<int, tile_rows<Arch>>{});

/// Multiplies all `rows` rows of A with one panel that is `width` floats wide, in tiles as even as they can be: a small
/// image of 49 rows is 13 + 12 + 12 + 12, not 3 x 14 + 7.
template <class Arch>
void multiply_panel(TileArgs t, int rows, int width) noexcept {
    constexpr int most = tile_rows<Arch>;
    auto const& kernels = width == lanes<Arch> ? tile_kernels<Arch, 1> : tile_kernels<Arch, panel_vectors>;
    const int tiles = (rows + most - 1) / most;
    for (int i = 0; i < tiles; ++i) {
        const int count = rows / tiles + (i < rows % tiles ? 1 : 0);
        kernels[static_cast<std::size_t>(count - 1)](t);
        t.a += static_cast<std::size_t>(count) * t.a_stride;
        t.c += static_cast<std::size_t>(count) * t.c_stride;
        if (t.row_bias != nullptr) t.row_bias += count;
        if (t.residual != nullptr) t.residual += static_cast<std::size_t>(count) * t.c_stride;
    }
}

/// The same for an A that is stored transposed. Fewer kernels: full tiles, then halves, pairs and single rows.
template <class Arch>
void multiply_panel_transposed(TileArgs t, int rows, int width) noexcept {
    constexpr int most = tile_rows<Arch>;
    const auto run = [&]<int count>(std::integral_constant<int, count>) {
        for (; rows >= count; rows -= count) {
            if (width == lanes<Arch>) {
                tile_transposed<Arch, count, 1>(t);
            } else {
                tile_transposed<Arch, count, panel_vectors>(t);
            }
            t.a += count;
            t.c += static_cast<std::size_t>(count) * t.c_stride;
            if (t.row_bias != nullptr) t.row_bias += count;
            if (t.residual != nullptr) t.residual += static_cast<std::size_t>(count) * t.c_stride;
        }
    };
    run(std::integral_constant<int, most>{});
    run(std::integral_constant<int, most / 2>{});
    run(std::integral_constant<int, 2>{});
    run(std::integral_constant<int, 1>{});
}

}  // namespace primsel::inline PRIMSEL_ABI::detail
