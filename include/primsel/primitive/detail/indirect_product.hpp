// Products whose pixels are found through pointers.
#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/gemm/panel.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <type_traits>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::primitive::detail {

/// The rows of a tile whose rows are found through pointers: a pointer for each row must fit the general registers.
inline constexpr int indirect_rows = 6;

/// Computes C = A B for a few rows. Their depth is `taps` runs that begin at pointers[tap * rows + row] + offset. `t`
/// holds the other operands.
template <class Arch, int rows, int vectors>
void tile_indirect(gemm::TileArgs const& t, const float* const* pointers, int taps, std::size_t offset) noexcept {
    Floats<Arch> sums[rows][vectors];
    PRIMSEL_UNROLL
    for (int row = 0; row < rows; ++row) {
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) sums[row][v] = broadcast<Arch>(0.0F);
    }
    const float* b = t.b;
    for (int tap = 0; tap < taps; ++tap, pointers += rows) {
        const float* a[rows];
        PRIMSEL_UNROLL
        for (int row = 0; row < rows; ++row) a[row] = pointers[row] + offset;
        if constexpr (gemm::multiplies_by_lane<Arch>) {
            gemm::Fetch none{b, 0};
            gemm::add_neighbours<Arch>(sums, a, b, t.run, none);
            b += t.run * (vectors * lanes<Arch>);
            continue;
        }
        for (int step = 0; step < t.run; ++step) {
            Floats<Arch> row_of_b[vectors];
            PRIMSEL_UNROLL
            for (int v = 0; v < vectors; ++v) row_of_b[v] = load<Arch>(b + v * lanes<Arch>);
            b += vectors * lanes<Arch>;
            PRIMSEL_UNROLL
            for (int row = 0; row < rows; ++row) {
                const auto element = broadcast<Arch>(a[row][step]);
                PRIMSEL_UNROLL
                for (int v = 0; v < vectors; ++v) sums[row][v] = fma<Arch>(element, row_of_b[v], sums[row][v]);
            }
        }
    }
    finish<Arch>(t, sums);
}

using IndirectKernel = void (*)(gemm::TileArgs const&, const float* const*, int, std::size_t) noexcept;
/// The tile kernels of 1 to indirect_rows rows: entry [rows - 1].
template <class Arch, int vectors>
inline constexpr auto indirect_kernels = []<int... i>(std::integer_sequence<int, i...>) {
    return std::array<IndirectKernel, sizeof...(i)>{&tile_indirect<Arch, i + 1, vectors>...};
}(std::make_integer_sequence<int, indirect_rows>{});

/// The operands of C = clamp(A B + bias + residual) for `pixels` rows of A. Each row is `taps` runs of `run` floats
/// that begin `offset` floats behind a pointer. The pointers of indirect_rows neighbouring pixels form a block,
/// pointers[tap * count + pixel]; the block of the next pixels follows. B is packed in panels, `columns` wide.
struct IndirectProduct {
    const float* const* pointers = nullptr;
    int pixels = 0, taps = 0, run = 0, columns = 0;
    std::size_t offset = 0;
    const float* packed = nullptr;
    std::size_t c_stride = 0;
    const float* bias = nullptr;
    /// Added to the result, in the layout of C.
    const float* residual = nullptr;
    Clamp clamp{};
};

/// Computes the columns of one panel, which begin at c.
template <class Arch>
void multiply_indirect(IndirectProduct const& p, int panel, float* c) noexcept {
    const int column = panel * gemm::panel_width<Arch>, width = gemm::panel_columns<Arch>(column, p.columns);
    const auto at = static_cast<std::size_t>(column);
    const float* panel_of_b = p.packed + static_cast<std::size_t>(p.taps * p.run) * at;
    // The number of taps whose part of the panel stays in L2; the sums of the parts are added up in C.
    const int tap_floats = p.run * width, most_taps = std::max(1, gemm::part_floats / tap_floats);
    for (int tap = 0; tap < std::max(p.taps, 1); tap += most_taps) {
        const int taps = std::min(most_taps, p.taps - tap);
        const bool last_part = tap + taps == p.taps;
        gemm::TileArgs t{.run = p.run, .c_stride = p.c_stride, .accumulate = tap > 0};
        t.b = panel_of_b + static_cast<std::size_t>(tap) * static_cast<std::size_t>(tap_floats);
        t.columns = std::min(width, p.columns - column);
        if (last_part) t.clamp = p.clamp;
        if (last_part && p.bias != nullptr) t.column_bias = p.bias + at;
        for (int pixel = 0; pixel < p.pixels; pixel += indirect_rows) {
            const int count = std::min(indirect_rows, p.pixels - pixel);
            t.c = c + static_cast<std::size_t>(pixel) * p.c_stride;
            if (last_part && p.residual != nullptr) {
                t.residual = p.residual + static_cast<std::size_t>(pixel) * p.c_stride + at;
            }
            gemm::with_vectors<Arch>(width, [&]<int vectors>(std::integral_constant<int, vectors>) {
                if constexpr ((gemm::tile_set<Arch>.widths >> (vectors - 1) & 1) != 0) {
                    indirect_kernels<Arch, vectors>[static_cast<std::size_t>(count - 1)](
                        t, p.pointers + pixel * p.taps + tap * count, taps, p.offset);
                } else {
                    __builtin_trap();  // the widths of all panels are in the set
                }
            });
        }
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::primitive::detail
