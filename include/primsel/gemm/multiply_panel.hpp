// Products of many rows with one panel, tile after tile.
#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/cache_sizes.hpp>
#include <primsel/core/clamp.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/gemm/tile.hpp>
#include <primsel/gemm/tile_set.hpp>

#include <algorithm>
#include <atomic>
#include <cstddef>
#include <limits>
#include <type_traits>

namespace primsel::inline PRIMSEL_ABI::gemm {

/// Calls work(integral_constant) with the number of vectors in a panel of `width` floats.
template <class Arch, int vectors = panel_vectors<Arch>, class Work>
PRIMSEL_INLINE void with_vectors(int width, Work const& work) {
    if constexpr (vectors == 1) {
        work(std::integral_constant<int, 1>{});
    } else {
        if (width == vectors * lanes<Arch>) return work(std::integral_constant<int, vectors>{});
        with_vectors<Arch, vectors - 1>(width, work);
    }
}

/// The offsets of a walk of short runs, such as the taps of an image of three channels.
class Places {
public:
    /// Returns whether computing the offsets pays: the runs are short, and enough tiles share the offsets.
    template <class Arch>
    [[nodiscard]] static bool pay(TileArgs const& t, int tiles) {
        constexpr int short_run = multiplies_by_lane<Arch> ? 4 : 32;
        return t.outer * t.inner > 1 && t.skipped_of_b == 0 && t.run < short_run && t.outer * t.inner * t.run <= most &&
               tiles >= 4;
    }
    [[nodiscard]] const std::ptrdiff_t* of(TileArgs const& t) {
        std::ptrdiff_t* to = places_;
        for (int outer = 0; outer < t.outer; ++outer) {
            for (int inner = 0; inner < t.inner; ++inner) {
                const auto first = static_cast<std::ptrdiff_t>(static_cast<std::size_t>(outer) * t.outer_step +
                                                               static_cast<std::size_t>(inner) * t.inner_step);
                for (int i = 0; i < t.run; ++i) *to++ = first + i;
            }
        }
        return places_;
    }

private:
    static constexpr int most = 192;
    std::ptrdiff_t places_[most];
};

/// Prefetches into L1 the residual of a tile, and what it writes: a few lines of each row, which a processor does not
/// foresee. It pays for deep tiles (256 to 1024 channels at 14x14 1.02 to 1.05, 64 to 256 at 56x56 0.99).
PRIMSEL_INLINE void fetch_ends(TileArgs const& t, int rows) noexcept {
    constexpr int line = static_cast<int>(alignment / sizeof(float));
    std::size_t at = 0;
    for (int row = 0; row < rows; ++row, at += t.c_stride) {
        for (int column = 0; column < t.columns; column += line) {
            __builtin_prefetch(t.residual + at + column, 0, 3);
            __builtin_prefetch(t.c + at + column, 1, 3);
        }
    }
}

/// Multiplies rows [first, last) of A with one panel, in tiles of nearly equal height: 49 rows are 4 x 6 + 5 x 5
/// instead of 8 x 6 + 1.
template <class Arch, int vectors, bool half>
void multiply_rows(TileArgs t, int first, int last) noexcept {
    constexpr int most = most_rows<Arch, vectors>;
    const int rows = last - first, tiles = (rows + most - 1) / most;
    t.c += static_cast<std::size_t>(first) * t.c_stride;
    if (t.row_bias != nullptr) t.row_bias += first;
    if (t.residual != nullptr) t.residual += static_cast<std::size_t>(first) * t.c_stride;
    // Rows at equal distances throughout: the end of an image's row is no exception.
    if (t.row_step == static_cast<std::size_t>(t.row_length) * t.a_stride) {
        t.row_length = std::numeric_limits<int>::max();
    }
    int column = first % t.row_length;
    const float* row_of_image = t.a + static_cast<std::size_t>(first / t.row_length) * t.row_step;
    const float* next = row_of_image + static_cast<std::size_t>(column) * t.a_stride;
    const float* rows_of_a[most];
    // Each tile prefetches its share of what later products read: as many floats of B as this one reads, then t.later.
    const std::size_t depth = static_cast<std::size_t>(t.outer * t.inner * t.run),
                      panel = depth * static_cast<std::size_t>(vectors * lanes<Arch>),
                      steps = depth * static_cast<std::size_t>(tiles);
    const float* const end = t.b + panel;
    std::size_t of_b = t.fetch_end > end ? std::min(static_cast<std::size_t>(t.fetch_end - end), panel) : 0;
    Fetch fetch{of_b > 0 ? end : t.b, 0};
    if (of_b + t.later_floats > 0) fetch.step = (of_b + t.later_floats + steps - 1) / steps;
    if (of_b == 0 && t.later_floats > 0) fetch.at = t.later;
    const bool fetches_ends = t.residual != nullptr && depth >= 256;
    Places places;
    if (tile_set<Arch>.places && Places::pay<Arch>(t, tiles)) t.places = places.of(t);
    for (int i = 0; i < tiles; ++i) {
        const int count = rows / tiles + (i < rows % tiles ? 1 : 0);
        for (int row = 0; row < count; ++row) {
            rows_of_a[row] = next;
            next += t.a_stride;
            if (++column == t.row_length) {
                row_of_image += t.row_step;
                next = row_of_image;
                column = 0;
            }
        }
        if (fetches_ends) fetch_ends(t, count);
        tile_kernels<Arch, vectors, half>[static_cast<std::size_t>(count - 1)](t, rows_of_a, fetch);
        const std::size_t fetched = fetch.step * depth;
        fetch.at += fetched;
        if (of_b > 0 && fetched >= of_b && t.later_floats > 0) fetch.at = t.later;
        of_b -= std::min(of_b, fetched);
        t.c += static_cast<std::size_t>(count) * t.c_stride;
        if (t.row_bias != nullptr) t.row_bias += count;
        if (t.residual != nullptr) t.residual += static_cast<std::size_t>(count) * t.c_stride;
    }
}

/// The floats of a panel that stay in L2 beside as many prefetched ones.
inline constexpr int part_floats = l2_floats / 16 * 3;
/// Those that stay in an L1 of 48 kB beside rows of A.
inline constexpr int near_part_floats = 8 << 10;

/// Returns whether L1 holds parts of near_part_floats, or its size is unknown. While tiles read a panel from L2, few
/// prefetched lines arrive. An L1 of 32 kB holds no such part, and smaller parts lose more than they save. As the parts
/// decide the bits of deep sums, these differ between processors with such an L1 and others.
[[nodiscard]] inline bool l1_holds_parts() noexcept {
    // Not initialised at its first use, which takes a lock of the C++ library: programs of frozen networks may lack it.
    static constinit std::atomic<int> answer = -1;
    if (const int known = answer.load(std::memory_order_relaxed); known >= 0) return known != 0;
    const std::size_t bytes = core::cache_bytes(1);
    const bool holds = bytes == 0 || bytes > near_part_floats * sizeof(float);
    answer.store(holds ? 1 : 0, std::memory_order_relaxed);
    return holds;
}

/// Computes rows [first, last) of C as multiply_rows does, with the same bits, but without a tile: for the rare product
/// that the TileSet of the Arch leaves out. `width`: of the panel, in floats. The strides are the
/// distances between rows and columns of A.
template <class Arch>
PRIMSEL_NOINLINE void multiply_rows_slowly(TileArgs const& t, int first, int last, int width, std::size_t row_stride,
                                           std::size_t column_stride) noexcept {
    alignas(alignment) float sums[alignment / sizeof(float)];
    for (int row = first; row < last; ++row) {
        TileArgs of_row = t;
        const auto down = static_cast<std::size_t>(row);
        of_row.c += down * t.c_stride;
        if (t.row_bias != nullptr) of_row.row_bias += down;
        if (t.residual != nullptr) of_row.residual += down * t.c_stride;
        const float* const a = t.a + static_cast<std::size_t>(row / t.row_length) * t.row_step +
                               static_cast<std::size_t>(row % t.row_length) * row_stride;
        for (int column = 0; column < t.columns; column += lanes<Arch>) {
            auto sum = broadcast<Arch>(0.0F);
            const float* b = t.b + column;
            for (int outer = 0; outer < t.outer; ++outer) {
                for (int inner = 0; inner < t.inner; ++inner) {
                    const float* from = a + static_cast<std::size_t>(outer) * t.outer_step +
                                        static_cast<std::size_t>(inner) * t.inner_step;
                    for (int i = 0; i < t.run; ++i, b += width, from += column_stride) {
                        sum = fma<Arch>(broadcast<Arch>(*from), load<Arch>(b), sum);
                    }
                }
                b += t.skipped_of_b * width;
            }
            store<Arch>(sums, sum);
            of_row.columns = std::min(column + lanes<Arch>, t.columns);
            finish_edge<Arch>(of_row, sums, 1, column);
        }
    }
}

/// Multiplies rows [first, last) of A with one panel that is `width` floats wide and fits the caches.
template <class Arch>
void multiply_part(TileArgs const& t, int first, int last, int width) noexcept {
    constexpr TileSet set = tile_set<Arch>;
    if ((!set.row_bias && t.row_bias != nullptr) || (!set.residual && t.residual != nullptr) ||
        (!set.walks && (t.outer != 1 || t.inner != 1))) {
        return multiply_rows_slowly<Arch>(t, first, last, width, t.a_stride, 1);
    }
    with_vectors<Arch>(width, [&]<int vectors>(std::integral_constant<int, vectors>) {
        if constexpr ((set.widths >> (vectors - 1) & 1) != 0) {
            // Halves of single vectors gain little, those of full panels are rare.
            if constexpr (set.halves && has_halves<Arch> && vectors > 1 && vectors < panel_vectors<Arch>) {
                if (t.columns <= vectors * lanes<Arch> - lanes<Arch> / 2) {
                    return multiply_rows<Arch, vectors, true>(t, first, last);
                }
            }
            multiply_rows<Arch, vectors, false>(t, first, last);
        } else {
            multiply_rows_slowly<Arch>(t, first, last, width, t.a_stride, 1);
        }
    });
}

/// Multiplies rows [first, last) of A with one panel that is `width` floats wide. A panel too large for L2 is taken in
/// parts, whose sums are added up in C. The parts do not depend on the number of rows, so that the bits do not depend
/// on how rows are divided among threads.
template <class Arch>
void multiply_panel(TileArgs const& t, int first, int last, int width) noexcept {
    const int depth = t.outer * t.inner * t.run, most = t.near_parts ? near_part_floats : part_floats,
              parts = (depth * width + most - 1) / most;
    if (parts < 2) return multiply_part<Arch>(t, first, last, width);
    TileArgs part = t;
    int* const split = t.outer > 1 ? &part.outer : t.inner > 1 ? &part.inner : &part.run;
    const std::size_t step = t.outer > 1 ? t.outer_step : t.inner > 1 ? t.inner_step : 1;
    // Nothing is passed over within a kernel row.
    if (t.outer == 1) part.skipped_of_b = 0;
    const int whole = *split, size = (whole + parts - 1) / parts;
    part.later_floats = t.later_floats / static_cast<std::size_t>(parts);
    for (int begin = 0; begin < whole; begin += size) {
        const bool last_part = begin + size >= whole;
        *split = last_part ? whole - begin : size;
        part.a = t.a + static_cast<std::size_t>(begin) * step;
        part.accumulate = t.accumulate || begin > 0;
        part.row_bias = last_part ? t.row_bias : nullptr;
        part.column_bias = last_part ? t.column_bias : nullptr;
        part.residual = last_part ? t.residual : nullptr;
        part.clamp = last_part ? t.clamp : Clamp{};
        multiply_part<Arch>(part, first, last, width);
        part.b += static_cast<std::size_t>(part.outer * (part.inner * part.run + part.skipped_of_b)) *
                  static_cast<std::size_t>(width);
        if (part.later_floats > 0) part.later += part.later_floats;
    }
}

/// Multiplies a transposed A with one panel. It needs fewer kernels: full tiles, then halves, pairs and single rows.
template <class Arch>
void multiply_panel_transposed(TileArgs t, int rows, int width) noexcept {
    constexpr TileSet set = tile_set<Arch>;
    if ((!set.row_bias && t.row_bias != nullptr) || (!set.residual && t.residual != nullptr)) {
        return multiply_rows_slowly<Arch>(t, 0, rows, width, 1, t.a_stride);
    }
    with_vectors<Arch>(width, [&]<int vectors>(std::integral_constant<int, vectors>) {
        if constexpr (!set.transposed || (set.widths >> (vectors - 1) & 1) == 0) {
            multiply_rows_slowly<Arch>(t, 0, rows, width, 1, t.a_stride);
        } else {
            constexpr int most = most_rows<Arch, vectors>;
            const auto run = [&]<int count>(std::integral_constant<int, count>) {
                for (; rows >= count; rows -= count) {
                    tile_transposed<Arch, count, vectors>(t);
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
    });
}

}  // namespace primsel::inline PRIMSEL_ABI::gemm
