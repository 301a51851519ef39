// The register tile: the kernel of every product in this room.
#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/cache_sizes.hpp>
#include <primsel/core/clamp.hpp>
#include <primsel/core/simd.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <type_traits>
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
    /// Floats that later products read, such as the next rows of A. They are prefetched into L2 during this one where
    /// fetch_end asks for nothing.
    const float* later = nullptr;
    std::size_t later_floats = 0;
    /// Whether the parts of a deep panel stay in L1, not only in L2: otherwise each tile reads them from L2, and few
    /// prefetched lines arrive meanwhile. For a product that is one run in whichever rows it is computed.
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

template <class Arch, int rows, int vectors>
PRIMSEL_INLINE void finish(TileArgs const& t, Floats<Arch> (&sums)[rows][vectors]) noexcept {
    const int whole = t.columns / lanes<Arch>;
    if (whole < vectors && t.columns > whole * lanes<Arch>) {
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
    const auto each = [&sums, whole, stride = t.c_stride](auto* data, auto const& change) {
        PRIMSEL_UNROLL
        for (int row = 0; row < rows; ++row, data += stride) {
            PRIMSEL_UNROLL
            for (int v = 0; v < vectors; ++v) {
                if (v < whole) change(sums[row][v], data + v * lanes<Arch>);
            }
        }
    };
    const auto add = [](V& sum, const float* at) { sum += load<Arch>(at); };
    if (t.accumulate) each(t.c, add);
    if (t.row_bias != nullptr) {
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
            if (v >= whole) continue;
            const V bias = load<Arch>(t.column_bias + v * lanes<Arch>);
            PRIMSEL_UNROLL
            for (int row = 0; row < rows; ++row) sums[row][v] += bias;
        }
    }
    if (t.residual != nullptr) each(t.residual, add);
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
    each(t.c, [](V const& sum, float* at) { store<Arch>(at, sum); });
}

/// Memory to prefetch into L2, and the number of floats for each step of the depth.
struct Fetch {
    const float* at;
    std::size_t step;
};

/// Adds the products of one column of A and one row of B. element(row) returns the column's element in all lanes.
template <class Arch, int rows, int vectors, class Element>
PRIMSEL_INLINE void add_product(Floats<Arch> (&sums)[rows][vectors], const float* b, Element const& element) noexcept {
    Floats<Arch> row_of_b[vectors];
    PRIMSEL_UNROLL
    for (int v = 0; v < vectors; ++v) row_of_b[v] = load<Arch>(b + v * lanes<Arch>);
    PRIMSEL_UNROLL
    for (int row = 0; row < rows; ++row) {
        const Floats<Arch> of_a = element(row);
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) sums[row][v] = fma<Arch>(of_a, row_of_b[v], sums[row][v]);
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
template <class Arch, int rows, int vectors, class Next>
PRIMSEL_INLINE void add_products(Floats<Arch> (&sums)[rows][vectors], const float* const (&a)[rows], const float* b,
                                 std::ptrdiff_t steps, Next next) noexcept {
    PRIMSEL_UNROLL_TWICE
    for (std::ptrdiff_t step = 0; step < steps; ++step) {
        const std::ptrdiff_t at = next(step);
        add_product<Arch>(sums, b, [&a, at](int row) { return broadcast<Arch>(a[row][at]); });
        b += vectors * lanes<Arch>;
    }
}

/// Adds the products of neighbouring columns of A with as many rows of a panel B, and prefetches.
template <class Arch, int rows, int vectors>
PRIMSEL_INLINE void add_neighbours(Floats<Arch> (&sums)[rows][vectors], const float* const (&a)[rows], const float* b,
                                   std::ptrdiff_t steps, Fetch& fetch) noexcept {
    constexpr int width = vectors * lanes<Arch>, together = multiplies_by_lane<Arch> ? lanes<Arch> : 1;
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
    add_products<Arch>(sums, a, b, steps - first, [&next, first, step = fetch.step](std::ptrdiff_t at) {
        __builtin_prefetch(next, 0, 2);
        next += step;
        return first + at;
    });
    fetch.at = next;
}

/// Computes a tile for an A whose columns are neighbours; rows_of_a points to its rows. A single run, as in 1x1
/// convolutions, and runs short enough to have `places` have paths of their own: setting up the loops would take a
/// third as long as the products.
template <class Arch, int rows, int vectors>
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
    if (t.places_of_b != nullptr) {
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
            add_product<Arch>(sums, t.b + t.places_of_b[step],
                              [&a, step](int row) { return broadcast<Arch>(a[row][step]); });
        }
    } else if (t.places != nullptr) {
        begin_rows(0);
        add_products<Arch>(sums, a, t.b, t.outer * t.inner * t.run,
                           [place = t.places](std::ptrdiff_t) mutable { return *place++; });
    } else if (t.outer == 1 && t.inner == 1) {
        begin_rows(0);
        add_neighbours<Arch>(sums, a, t.b, t.run, fetch);
    } else {
        const std::ptrdiff_t run = t.run;
        const float* b = t.b;
        for (int outer = 0; outer < t.outer; ++outer) {
            for (int inner = 0; inner < t.inner; ++inner) {
                begin_rows(static_cast<std::size_t>(outer) * t.outer_step +
                           static_cast<std::size_t>(inner) * t.inner_step);
                add_neighbours<Arch>(sums, a, b, run, fetch);
                b += run * (vectors * lanes<Arch>);
            }
            b += static_cast<std::ptrdiff_t>(t.skipped_of_b) * (vectors * lanes<Arch>);
        }
    }
    finish<Arch>(t, sums);
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
template <class Arch, int vectors>
inline constexpr auto tile_kernels = []<int... i>(std::integer_sequence<int, i...>) {
    return std::array<TileKernel, sizeof...(i)>{&tile<Arch, i + 1, vectors>...};
}(std::make_integer_sequence<int, most_rows<Arch, vectors>>{});

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

/// Multiplies rows [first, last) of A with one panel, in tiles of nearly equal height: 49 rows are 4 x 6 + 5 x 5
/// instead of 8 x 6 + 1.
template <class Arch, int vectors>
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
    // Each tile prefetches its share of the floats that the product reads.
    const std::size_t depth = static_cast<std::size_t>(t.outer * t.inner * t.run);
    const float* const end = t.b + depth * static_cast<std::size_t>(vectors * lanes<Arch>);
    Fetch fetch{t.b, 0};
    if (t.fetch_end > end) {
        const std::size_t width = std::min(static_cast<std::size_t>(t.fetch_end - end) / depth,
                                           static_cast<std::size_t>(vectors * lanes<Arch>));
        fetch = {end, width / static_cast<std::size_t>(tiles)};
    } else if (t.later_floats > 0) {
        const std::size_t steps = depth * static_cast<std::size_t>(tiles);
        fetch = {t.later, (t.later_floats + steps - 1) / steps};
    }
    Places places;
    if (Places::pay<Arch>(t, tiles)) t.places = places.of(t);
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
        tile_kernels<Arch, vectors>[static_cast<std::size_t>(count - 1)](t, rows_of_a, fetch);
        fetch.at += fetch.step * depth;
        t.c += static_cast<std::size_t>(count) * t.c_stride;
        if (t.row_bias != nullptr) t.row_bias += count;
        if (t.residual != nullptr) t.residual += static_cast<std::size_t>(count) * t.c_stride;
    }
}

/// The floats of a panel that stay in L2 beside as many prefetched ones.
inline constexpr int part_floats = l2_floats / 16 * 3;
/// Those that stay in L1 beside rows of A.
inline constexpr int near_part_floats = 8 << 10;

/// Multiplies rows [first, last) of A with one panel that is `width` floats wide. A panel too large for L2 is taken in
/// parts, whose sums are added up in C. The parts do not depend on the number of rows, so that the bits do not depend
/// on how rows are divided among threads.
template <class Arch>
void multiply_panel(TileArgs const& t, int first, int last, int width) noexcept {
    with_vectors<Arch>(width, [&]<int vectors>(std::integral_constant<int, vectors>) {
        const int depth = t.outer * t.inner * t.run, most = t.near_parts ? near_part_floats : part_floats,
                  parts = (depth * width + most - 1) / most;
        if (parts < 2) return multiply_rows<Arch, vectors>(t, first, last);
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
            multiply_rows<Arch, vectors>(part, first, last);
            part.b += static_cast<std::size_t>(part.outer * (part.inner * part.run + part.skipped_of_b)) *
                      static_cast<std::size_t>(width);
            if (part.later_floats > 0) part.later += part.later_floats;
        }
    });
}

/// Multiplies a transposed A with one panel. It needs fewer kernels: full tiles, then halves, pairs and single rows.
template <class Arch>
void multiply_panel_transposed(TileArgs t, int rows, int width) noexcept {
    with_vectors<Arch>(width, [&]<int vectors>(std::integral_constant<int, vectors>) {
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
    });
}

}  // namespace primsel::inline PRIMSEL_ABI::gemm
