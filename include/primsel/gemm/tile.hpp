// The register tile: the kernel of every product in this room.
#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/clamp.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/gemm/tile_set.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::gemm {

/// Computes C = A B for rows of A and one panel of B, then the epilogue.
///
/// Rows of A lie a_stride apart. Every row_length rows, the length of an image's output row, the next group begins
/// row_step after the begin of the last one. The depth is walked as outer x inner x run, so that A may be an image in
/// place. `run` floats are neighbours; the next tap of a kernel row follows inner_step floats on; the next kernel row
/// follows outer_step floats on. B is a panel: each step of the depth holds as many floats as the panel is wide, padded
/// with zeros to whole vectors.
struct TileArgs {
    const float* a = nullptr;
    /// The distance in floats between rows of A; if A is stored transposed, between its columns.
    std::size_t a_stride = 0;
    int row_length = std::numeric_limits<int>::max();
    std::size_t row_step = 0;
    int outer = 1, inner = 1, run = 0;
    std::size_t outer_step = 0, inner_step = 0;
    /// The rows of B that are passed over after each kernel row.
    int skipped_of_b = 0;
    /// The distance of each step of the depth from the beginning of a row of A; or null, if the walk above describes
    /// them.
    const std::ptrdiff_t* places = nullptr;
    const float* b = nullptr;
    /// The distance of each row of B from b, if B is no panel but rows of an image, and A one run; or null.
    const std::ptrdiff_t* places_of_b = nullptr;
    /// The end of the memory behind b that later products read. It is prefetched into L2 during this one. Null: no
    /// prefetch.
    const float* fetch_end = nullptr;
    /// Floats that later products read, such as the next rows of A. They are prefetched into L2 during this one, behind
    /// what fetch_end asks for.
    const float* later = nullptr;
    std::size_t later_floats = 0;
    /// Whether the parts of a deep panel stay in L1 (l1_holds_parts), not only in L2. For a product that is one run in
    /// whichever rows it is computed.
    bool near_parts = false;
    float* c = nullptr;
    std::size_t c_stride = 0;
    /// The number of columns of C that exist: at most the width of the panel.
    int columns = 0;
    bool accumulate = false;
    const float* row_bias = nullptr;
    const float* column_bias = nullptr;
    /// Added to the result, in the layout of C; or null.
    const float* residual = nullptr;
    Clamp clamp{};
};

/// Whether a multiply-add takes one lane of a vector as a factor, as NEON's does: four elements of a row of A are one
/// load.
template <class Arch>
inline constexpr bool multiplies_by_lane = registers<Arch> == 32 && lanes<Arch> == 4;

/// The number of vectors side by side in a full panel.
template <class Arch>
inline constexpr int panel_vectors = multiplies_by_lane<Arch> ? 3
                                     : registers<Arch> == 32  ? 4
                                                              : 2;
template <class Arch>
inline constexpr int panel_width = panel_vectors<Arch> * lanes<Arch>;

/// The rows of the largest tile that is `vectors` wide. Its accumulators, a row of B and an element of A fit the vector
/// registers; a pointer for each row fits the general ones. The other criterion is the number of loads for each
/// multiply-add: 10 loads for 24 in a tile of 6 x 4 vectors, 16 for 28 in one of 14 x 2; 18 for 72 in one of 6 x 3
/// where four elements of A are one load.
template <class Arch, int vectors>
inline constexpr int most_rows = vectors == panel_vectors<Arch> ? 6 : 8;
template <class Arch>
inline constexpr int tile_rows = most_rows<Arch, panel_vectors<Arch>>;

/// Applies the epilogue to columns [first, t.columns) of a tile, fewer than a vector. The operations and their order
/// are those of whole vectors, so that the bits do not depend on a column's position. It is not inlined, to keep one
/// copy for all tiles.
template <class Arch>
PRIMSEL_NOINLINE void finish_edge(TileArgs const& t, const float* sums, int rows, int first) noexcept {
    constexpr int line = static_cast<int>(alignment / sizeof(float));
    const FirstLanes<Arch> part(t.columns - first);
    const auto low = broadcast<Arch>(t.clamp.low), high = broadcast<Arch>(t.clamp.high);
    auto bias = broadcast<Arch>(0.0F);
    if (t.column_bias != nullptr) bias = part.load(t.column_bias + first);
    for (int row = 0; row < rows; ++row, sums += line) {
        const std::size_t at = static_cast<std::size_t>(row) * t.c_stride + static_cast<std::size_t>(first);
        auto value = load<Arch>(sums);
        if (t.accumulate) value += part.load(t.c + at);
        if (t.row_bias != nullptr) value += broadcast<Arch>(t.row_bias[row]);
        if (t.column_bias != nullptr) value += bias;
        if (t.residual != nullptr) value += part.load(t.residual + at);
        if (t.clamp.bounded()) value = clamp<Arch>(value, low, high);
        part.store(t.c + at, value);
    }
}

/// Applies the epilogue to a tile and stores it. If `half`, columns are in the lower half of the last vector only.
template <class Arch, bool half = false, int rows, int vectors>
PRIMSEL_INLINE void finish(TileArgs const& t, Floats<Arch> (&sums)[rows][vectors]) noexcept {
    const int whole = t.columns / lanes<Arch>;
    const bool low = half && t.columns == vectors * lanes<Arch> - lanes<Arch> / 2;
    if (whole < vectors && t.columns > whole * lanes<Arch> && !low) {
        constexpr int line = static_cast<int>(alignment / sizeof(float));
        alignas(alignment) float buffer[rows * line];
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) {
            if (v != whole) continue;
            PRIMSEL_UNROLL
            for (int row = 0; row < rows; ++row) store<Arch>(buffer + row * line, sums[row][v]);
        }
        finish_edge<Arch>(t, buffer, rows, whole * lanes<Arch>);
    }
    // One pass over the tile for each part of the epilogue: tests within one pass would multiply the code. A pass goes
    // row by row, so that neighbouring lines of C are written one after the other. Pointers advance by increments,
    // since computing each address takes longer than a pass.
    using V = Floats<Arch>;
    const auto each = [&, stride = t.c_stride](auto* data, auto const& change) {
        PRIMSEL_UNROLL
        for (int row = 0; row < rows; ++row, data += stride) {
            PRIMSEL_UNROLL
            for (int v = 0; v < vectors - half; ++v) {
                if (v < whole) change(sums[row][v], data + v * lanes<Arch>, AllLanes<Arch>{});
            }
            if (low) change(sums[row][vectors - 1], data + (vectors - 1) * lanes<Arch>, LowLanes<Arch>{});
        }
    };
    const auto add = [](V& sum, const float* at, auto const& of) { sum += of.load(at); };
    if (t.accumulate) each(t.c, add);
    if (tile_set<Arch>.row_bias && t.row_bias != nullptr) {
        PRIMSEL_UNROLL
        for (int row = 0; row < rows; ++row) {
            const V bias = broadcast<Arch>(t.row_bias[row]);
            PRIMSEL_UNROLL
            for (int v = 0; v < vectors; ++v) sums[row][v] += bias;
        }
    }
    if (t.column_bias != nullptr) {
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) {
            if (v >= whole && !(low && v + 1 == vectors)) continue;
            const float* const at = t.column_bias + v * lanes<Arch>;
            const V bias = half && v + 1 == vectors ? LowLanes<Arch>{}.load(at) : load<Arch>(at);
            PRIMSEL_UNROLL
            for (int row = 0; row < rows; ++row) sums[row][v] += bias;
        }
    }
    if (tile_set<Arch>.residual && t.residual != nullptr) each(t.residual, add);
    const auto bound = [&sums](auto const& bounded) {
        PRIMSEL_UNROLL
        for (int row = 0; row < rows; ++row) {
            PRIMSEL_UNROLL
            for (int v = 0; v < vectors; ++v) sums[row][v] = bounded(sums[row][v]);
        }
    };
    // An infinite bound changes no value. ReLU has one.
    if (t.clamp.low > -std::numeric_limits<float>::infinity()) {
        bound([low = broadcast<Arch>(t.clamp.low)](V const& sum) { return max<Arch>(low, sum); });
    }
    if (t.clamp.high < std::numeric_limits<float>::infinity()) {
        bound([high = broadcast<Arch>(t.clamp.high)](V const& sum) { return min<Arch>(high, sum); });
    }
    each(t.c, [](V const& sum, float* at, auto const& of) { of.store(at, sum); });
}

/// Memory to prefetch into L2, and the number of floats for each step of the depth.
struct Fetch {
    const float* at;
    std::size_t step;
};

/// Adds the products of one column of A and one row of B. element(row) returns the column's element in all lanes.
template <class Arch, bool half = false, int rows, int vectors, class Element>
PRIMSEL_INLINE void add_product(Floats<Arch> (&sums)[rows][vectors], const float* b, Element const& element) noexcept {
    Floats<Arch> row_of_b[vectors];
    PRIMSEL_UNROLL
    for (int v = 0; v < vectors; ++v) row_of_b[v] = load<Arch>(b + v * lanes<Arch>);
    PRIMSEL_UNROLL
    for (int row = 0; row < rows; ++row) {
        const Floats<Arch> of_a = element(row);
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors - half; ++v) sums[row][v] = fma<Arch>(of_a, row_of_b[v], sums[row][v]);
        if constexpr (half) add_low_product<Arch>(sums[row][vectors - 1], of_a, row_of_b[vectors - 1]);
    }
}

/// Loads a row of B.
template <class Arch, int vectors>
PRIMSEL_INLINE void load_row(Floats<Arch> (&row_of_b)[vectors], const float* b) noexcept {
    PRIMSEL_UNROLL
    for (int v = 0; v < vectors; ++v) row_of_b[v] = load_alone<Arch>(b + v * lanes<Arch>);
}
/// Adds the products of one lane of a vector and a row of B.
template <class Arch, int lane, int vectors>
PRIMSEL_INLINE void add_lane_product(Floats<Arch> (&sums)[vectors], Floats<Arch> const& of_a,
                                     Floats<Arch> const (&row_of_b)[vectors]) noexcept {
    PRIMSEL_UNROLL
    for (int v = 0; v < vectors; ++v) add_product_of_lane<Arch, lane>(sums[v], row_of_b[v], of_a);
}
/// Adds the products of a column of A, one lane of a vector for each row, and one row of B.
template <class Arch, int lane, int rows, int vectors>
PRIMSEL_INLINE void add_lane_products(Floats<Arch> (&sums)[rows][vectors], const float* b,
                                      Floats<Arch> const (&of_a)[rows]) noexcept {
    Floats<Arch> row_of_b[vectors];
    load_row<Arch>(row_of_b, b);
    PRIMSEL_UNROLL
    for (int row = 0; row < rows; ++row) add_lane_product<Arch, lane>(sums[row], of_a[row], row_of_b);
}
/// Loads four neighbouring elements of each row of A.
template <class Arch, int rows>
PRIMSEL_INLINE void load_neighbours(Floats<Arch> (&of_a)[rows], const float* const (&a)[rows],
                                    std::ptrdiff_t at) noexcept {
    PRIMSEL_UNROLL
    for (int row = 0; row < rows; ++row) of_a[row] = load<Arch>(a[row] + at);
}

/// The row in the first lane if four neighbouring rows of A are lanes of a vector, the last of which ends at the last
/// row.
template <int rows>
[[nodiscard]] constexpr int first_of_lanes(int row) {
    return std::min(row / 4 * 4, rows - 4);
}
/// Adds the products of neighbouring rows of a column of A and one row of B.
template <class Arch, int row = 0, int rows, int vectors, int count>
PRIMSEL_INLINE void add_column(Floats<Arch> (&sums)[rows][vectors], Floats<Arch> const (&of_a)[count],
                               Floats<Arch> const (&row_of_b)[vectors]) noexcept {
    add_lane_product<Arch, row - first_of_lanes<rows>(row)>(sums[row], of_a[row / 4], row_of_b);
    if constexpr (row + 1 < rows) add_column<Arch, row + 1>(sums, of_a, row_of_b);
}

/// Adds the products of some columns of A with as many rows of a panel B. next(step) returns the offset of a column in
/// the rows of A.
template <class Arch, bool half, int rows, int vectors, class Next>
PRIMSEL_INLINE void add_products(Floats<Arch> (&sums)[rows][vectors], const float* const (&a)[rows], const float* b,
                                 std::ptrdiff_t steps, Next next) noexcept {
    PRIMSEL_UNROLL_TWICE
    for (std::ptrdiff_t step = 0; step < steps; ++step) {
        const std::ptrdiff_t at = next(step);
        add_product<Arch, half>(sums, b, [&a, at](int row) { return broadcast<Arch>(a[row][at]); });
        b += vectors * lanes<Arch>;
    }
}

/// Adds the products of neighbouring columns of A with as many rows of a panel B, and prefetches.
template <class Arch, bool half = false, int rows, int vectors>
PRIMSEL_INLINE void add_neighbours(Floats<Arch> (&sums)[rows][vectors], const float* const (&a)[rows], const float* b,
                                   std::ptrdiff_t steps, Fetch& fetch) noexcept {
    constexpr int width = vectors * lanes<Arch>, together = multiplies_by_lane<Arch> ? lanes<Arch> : 1;
    constexpr auto line = static_cast<int>(alignment / sizeof(float));
    const float* next = fetch.at;
    std::ptrdiff_t first = 0;
    if constexpr (together > 1) {
        Floats<Arch> of_a[rows];
        // The compiler does not see that pointers advance by equal steps. It would advance one for each row, and add to
        // that of B what its last loads are away: ARM's loads from before a pointer are fewer operations.
        const auto advance = [&](std::ptrdiff_t count) {
            first += count;
            b += count * width;
            asm("" : "+r"(b), "+r"(first));
        };
        for (std::ptrdiff_t left = steps / together; left > 0; --left) {
            __builtin_prefetch(next, 0, 2);
            next += together * fetch.step;
            load_neighbours<Arch>(of_a, a, first);
            advance(together);
            add_lane_products<Arch, 0>(sums, b - 4 * width, of_a);
            add_lane_products<Arch, 1>(sums, b - 3 * width, of_a);
            add_lane_products<Arch, 2>(sums, b - 2 * width, of_a);
            add_lane_products<Arch, 3>(sums, b - width, of_a);
        }
        if (const std::ptrdiff_t rest = steps - first; rest > 0 && first > 0) {
            // The last four elements, of which the first are done.
            load_neighbours<Arch>(of_a, a, steps - together);
            next += static_cast<std::size_t>(rest) * fetch.step;
            advance(rest);
            if (rest == 3) add_lane_products<Arch, 1>(sums, b - 3 * width, of_a);
            if (rest >= 2) add_lane_products<Arch, 2>(sums, b - 2 * width, of_a);
            add_lane_products<Arch, 3>(sums, b - width, of_a);
        }
    }
    add_products<Arch, half>(sums, a, b, steps - first, [&next, first, step = fetch.step](std::ptrdiff_t at) {
        __builtin_prefetch(next, 0, 2);
        if constexpr (width > line) {  // a test in the loop costs tiles of AVX2 a sixth
            for (std::size_t more = line; more < step; more += line) __builtin_prefetch(next + more, 0, 2);
        }
        next += step;
        return first + at;
    });
    fetch.at = next;
}

/// Computes a tile for an A whose columns are neighbours; rows_of_a points to its rows. A single run, as in 1x1
/// convolutions, and runs short enough to have `places` have paths of their own: setting up the loops would take a
/// third as long as the products.
template <class Arch, int rows, int vectors, bool half = false>
void tile(TileArgs const& t, const float* const* rows_of_a, Fetch fetch) noexcept {
    Floats<Arch> sums[rows][vectors];
    PRIMSEL_UNROLL
    for (int row = 0; row < rows; ++row) {
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) sums[row][v] = broadcast<Arch>(0.0F);
    }
    const float* a[rows];
    const auto begin_rows = [&](std::size_t offset) {
        PRIMSEL_UNROLL
        for (int row = 0; row < rows; ++row) a[row] = rows_of_a[row] + offset;
    };
    if (tile_set<Arch>.places_of_b && t.places_of_b != nullptr) {
        begin_rows(0);
        std::ptrdiff_t first = 0;
        if constexpr (multiplies_by_lane<Arch>) {
            constexpr int width = vectors * lanes<Arch>;
            for (; first + 4 <= t.run; first += 4) {
                Floats<Arch> of_a[rows];
                load_neighbours<Arch>(of_a, a, first);
                const float* b[4];
                PRIMSEL_UNROLL
                for (int i = 0; i < 4; ++i) {
                    b[i] = t.b + width + t.places_of_b[first + i];
                    asm("" : "+r"(b[i]));
                }
                add_lane_products<Arch, 0>(sums, b[0] - width, of_a);
                add_lane_products<Arch, 1>(sums, b[1] - width, of_a);
                add_lane_products<Arch, 2>(sums, b[2] - width, of_a);
                add_lane_products<Arch, 3>(sums, b[3] - width, of_a);
            }
        }
        for (std::ptrdiff_t step = first; step < t.run; ++step) {
            add_product<Arch, half>(sums, t.b + t.places_of_b[step],
                                    [&a, step](int row) { return broadcast<Arch>(a[row][step]); });
        }
    } else if (tile_set<Arch>.places && t.places != nullptr) {
        begin_rows(0);
        add_products<Arch, half>(sums, a, t.b, t.outer * t.inner * t.run,
                                 [place = t.places](std::ptrdiff_t) mutable { return *place++; });
    } else if (!tile_set<Arch>.walks || (t.outer == 1 && t.inner == 1)) {
        begin_rows(0);
        add_neighbours<Arch, half>(sums, a, t.b, t.run, fetch);
    } else {
        const std::ptrdiff_t run = t.run;
        const float* b = t.b;
        for (int outer = 0; outer < t.outer; ++outer) {
            for (int inner = 0; inner < t.inner; ++inner) {
                begin_rows(static_cast<std::size_t>(outer) * t.outer_step +
                           static_cast<std::size_t>(inner) * t.inner_step);
                add_neighbours<Arch, half>(sums, a, b, run, fetch);
                b += run * (vectors * lanes<Arch>);
            }
            b += static_cast<std::ptrdiff_t>(t.skipped_of_b) * (vectors * lanes<Arch>);
        }
    }
    finish<Arch, half>(t, sums);
}

/// Computes a tile for an A that is stored transposed: its rows are neighbours. The steps of the depth may be too long
/// for the processor to prefetch, so the lines of the next rows are fetched here, which counts where A is not in L2.
template <class Arch, int rows, int vectors>
void tile_transposed(TileArgs const& t) noexcept {
    constexpr int width = vectors * lanes<Arch>, line = static_cast<int>(alignment / sizeof(float));
    Floats<Arch> sums[rows][vectors];
    PRIMSEL_UNROLL
    for (int row = 0; row < rows; ++row) {
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) sums[row][v] = broadcast<Arch>(0.0F);
    }
    const float* a = t.a;
    const float* b = t.b;
    if constexpr (multiplies_by_lane<Arch> && rows >= 4) {
        a += rows;
        for (int step = 0; step < t.run; ++step) {
            b += width;
            asm("" : "+r"(a), "+r"(b));
            __builtin_prefetch(a + line - rows, 0, 2);
            Floats<Arch> of_a[(rows + 3) / 4], row_of_b[vectors];
            PRIMSEL_UNROLL
            for (int i = 0; i < (rows + 3) / 4; ++i) {
                of_a[i] = load_alone<Arch>(a - rows + first_of_lanes<rows>(4 * i));
            }
            load_row<Arch>(row_of_b, b - width);
            add_column<Arch>(sums, of_a, row_of_b);
            a += t.a_stride;
        }
    } else {
        for (int step = 0; step < t.run; ++step) {
            __builtin_prefetch(a + line, 0, 2);
            add_product<Arch>(sums, b, [a](int row) { return broadcast<Arch>(a[row]); });
            b += width;
            a += t.a_stride;
        }
    }
    finish<Arch>(t, sums);
}

using TileKernel = void (*)(TileArgs const&, const float* const*, Fetch) noexcept;

/// The tile kernels of 1 to most_rows rows: entry [rows - 1].
template <class Arch, int vectors, bool half = false>
inline constexpr auto tile_kernels = []<int... i>(std::integer_sequence<int, i...>) {
    return std::array<TileKernel, sizeof...(i)>{&tile<Arch, i + 1, vectors, half>...};
}(std::make_integer_sequence<int, most_rows<Arch, vectors>>{});

}  // namespace primsel::inline PRIMSEL_ABI::gemm
