// Pooling of one channel whose columns are contiguous, by large windows: the work for one output hardly depends on the
// size of the window. Rows are reduced as in van Herk, "A fast algorithm for local minimum and maximum filters" (1992):
// a window consists of the end of one block of rows and the beginning of the next. Columns are reduced by doubling.
#pragma once

#include <primsel/op/detail/window.hpp>

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::op::detail {

/// The largest window along an axis: sums of more terms would need blocks.
inline constexpr std::ptrdiff_t longest_sliding = static_cast<std::ptrdiff_t>(block_terms);
/// The floats that are reduced at a time: three buffers of them stay in L1.
inline constexpr std::ptrdiff_t sliding_floats = 2560;

/// The columns of a row that pool_sliding deals to `outputs` results.
[[nodiscard]] constexpr std::ptrdiff_t dealt_columns(PoolAxis const& across, std::ptrdiff_t outputs) noexcept {
    return outputs + (across.size + across.step - 1) / across.step - 1;
}
/// The vectors that pool_sliding reads for each vector of results once the rows are reduced: it deals the columns,
/// reads two or three vectors for each bit of the window's size, and joins the results.
[[nodiscard]] constexpr std::ptrdiff_t sliding_columns(PoolAxis const& across) noexcept {
    std::ptrdiff_t vectors = across.step + 2;
    for (std::ptrdiff_t groups = across.size / across.step; groups > 1; groups /= 2) vectors += 2 + groups % 2;
    return vectors;
}

/// Returns whether pool_sliding takes these windows of a row of `outputs`, and reads less than pool_columns. That reads
/// each row of a window that the image has, and each column of a window. Sliding reads each row of the image twice and
/// the block's end once for an output, padding included.
template <class Arch>
[[nodiscard]] constexpr bool is_sliding(PoolAxis const& down, PoolAxis const& across, std::ptrdiff_t outputs) noexcept {
    if (down.size > longest_sliding || across.size > longest_sliding) return false;
    if (down.step > 3 || across.step > 3 || across.size < across.step) return false;
    constexpr std::ptrdiff_t width = lanes<Arch>;
    const auto vectors = [](std::ptrdiff_t floats) { return (floats + width - 1) / width; };
    const std::ptrdiff_t dealt = dealt_columns(across, outputs), pitch = dealt * across.step;
    const std::ptrdiff_t columns =
        std::min(down.size, down.in) * vectors(std::min(across.in, pitch)) + across.size * vectors(outputs);
    return width * (2 * down.step + 1) * vectors(pitch) + sliding_columns(across) * dealt < width * columns;
}

/// One channel of an image, and of the result.
struct PooledPlane {
    const float* src;
    std::size_t src_row;
    float* dst;
    std::size_t dst_row;
};

/// Reduces the rows of some windows for a few vectors of columns. row(y, v) loads vector v of row y of the image; row
/// `first` is the first of the first window. Results are stored `pitch` floats apart.
template <class Arch, class Reduction, std::size_t vectors, class Row>
PRIMSEL_INLINE void slide_down(PoolAxis const& down, std::ptrdiff_t first, std::ptrdiff_t windows, Row const& row,
                               float* to, std::ptrdiff_t pitch) {
    using V = Floats<Arch>;
    const std::ptrdiff_t size = down.size;
    const auto inside = [&](std::ptrdiff_t at) { return std::clamp(first + at, std::ptrdiff_t{0}, down.in) - first; };
    V ends[longest_sliding * vectors];
    for (std::ptrdiff_t window = 0, block = 0; window < windows; block += size) {
        const std::ptrdiff_t next = block + size, low = inside(block), high = inside(next), stop = inside(next + size);
        V end[vectors], begin[vectors];
        PRIMSEL_UNROLL
        for (std::size_t v = 0; v < vectors; ++v) end[v] = begin[v] = V(Reduction::identity);
        V* to_end = ends + size * static_cast<std::ptrdiff_t>(vectors);
        for (std::ptrdiff_t at = next - 1; at >= block; --at) {
            to_end -= vectors;
            const bool is_inside = at >= low && at < high;
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) {
                if (is_inside) end[v] = Reduction::template apply<Arch>(end[v], row(first + at, v));
                to_end[v] = end[v];
            }
        }
        for (std::ptrdiff_t done = inside(next); window < windows && window * down.step < next; ++window) {
            const std::ptrdiff_t at = window * down.step;
            for (const std::ptrdiff_t until = std::min(at + size, stop); done < until; ++done) {
                PRIMSEL_UNROLL
                for (std::size_t v = 0; v < vectors; ++v) {
                    begin[v] = Reduction::template apply<Arch>(begin[v], row(first + done, v));
                }
            }
            const V* const rest = ends + (at - block) * static_cast<std::ptrdiff_t>(vectors);
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) {
                store<Arch>(to + window * pitch + static_cast<std::ptrdiff_t>(v) * lanes<Arch>,
                            Reduction::template apply<Arch>(rest[v], begin[v]));
            }
        }
    }
}

/// Reduces each `count` neighbours of src[0, floats): dst[i] is the reduction of src[i], ..., src[i + count - 1].
/// Element i of dst is right if i + count <= floats; a vector's room is needed behind both.
template <class Arch, class Reduction>
PRIMSEL_INLINE const float* reduce_neighbours(const float* src, float* dst, std::ptrdiff_t floats,
                                              std::ptrdiff_t count) {
    constexpr std::ptrdiff_t width = lanes<Arch>;
    std::ptrdiff_t bit = 1;
    while (2 * bit <= count) bit *= 2;
    const float* from = src;
    for (std::ptrdiff_t done = 1; done < count;) {
        bit /= 2;
        const bool odd = (count & bit) != 0;
        // In place but for the first time: what is stored has been loaded before.
        for (std::ptrdiff_t i = 0; i + 2 * done + odd <= floats; i += width) {
            auto sum = Reduction::template apply<Arch>(load<Arch>(from + i), load<Arch>(from + i + done));
            if (odd) sum = Reduction::template apply<Arch>(sum, load<Arch>(src + i + 2 * done));
            store<Arch>(dst + i, sum);
        }
        from = dst;
        done = 2 * done + odd;
    }
    return from;
}

/// Reduces each `step` neighbours in place, and the first `rest` of them to `partly`.
template <class Arch, class Reduction, std::size_t step>
PRIMSEL_INLINE void deal_columns(float* combined, float* partly, std::ptrdiff_t floats, std::ptrdiff_t rest) {
    using V = Floats<Arch>;
    for (std::ptrdiff_t i = 0; i < floats; i += lanes<Arch>) {
        V phases[step];
        deal<Arch>(combined + i * static_cast<std::ptrdiff_t>(step), phases);
        V sum = phases[0];
        if (rest == 1) store<Arch>(partly + i, sum);
        PRIMSEL_UNROLL
        for (std::size_t phase = 1; phase < step; ++phase) {
            sum = Reduction::template apply<Arch>(sum, phases[phase]);
            if (phase == 1 && rest == 2) store<Arch>(partly + i, sum);
        }
        store<Arch>(combined + i, sum);
    }
}

/// Computes rows [0, rows) and columns [0, outputs) of the result for windows that are is_sliding.
template <class Arch, class Reduction>
PRIMSEL_NOINLINE void pool_sliding(PoolAxis const& down, PoolAxis const& across, PooledPlane const& plane,
                                   std::ptrdiff_t rows, std::ptrdiff_t outputs) noexcept {
    using V = Floats<Arch>;
    constexpr std::ptrdiff_t width = lanes<Arch>, room = sliding_floats + 4 * width;
    alignas(64) float combined[room], partly[room], reduced[room];
    const std::ptrdiff_t step = across.step, groups = across.size / step, rest = across.size % step;
    // A row of `pitch` columns becomes one of `dealt`, each the reduction of `step` columns.
    const std::ptrdiff_t more = dealt_columns(across, 0);
    const std::ptrdiff_t piece = std::min(std::max(sliding_floats / (16 * step), 4 * more), outputs);
    alignas(64) float counts[sliding_floats / 16 + width];
    for (std::ptrdiff_t out = 0; out < outputs; out += piece) {
        const std::ptrdiff_t count = std::min(piece, outputs - out), begin = across.begin(out);
        if constexpr (Reduction::averages) {
            for (std::ptrdiff_t x = 0; x < count; x += width) {
                store<Arch>(counts + x, across.counted_from<Arch>(out + x));
            }
        }
        const std::ptrdiff_t dealt = count + more, pitch = dealt * step;
        const std::ptrdiff_t several = std::max(sliding_floats / pitch, std::ptrdiff_t{1});
        for (std::ptrdiff_t top = 0; top < rows; top += several) {
            const std::ptrdiff_t windows = std::min(several, rows - top), first = down.begin(top);
            // From right to left, as the last vector reaches into the next row.
            for (std::ptrdiff_t x = (pitch - 1) / (2 * width) * 2 * width; x >= 0; x -= 2 * width) {
                const std::ptrdiff_t at = begin + x;
                const auto slide = [&]<std::size_t vectors>(auto const& load_from) {
                    const auto row = [=, src = plane.src, stride = plane.src_row](std::ptrdiff_t y, std::size_t v) {
                        return load_from(src + static_cast<std::size_t>(y) * stride,
                                         at + static_cast<std::ptrdiff_t>(v) * width);
                    };
                    slide_down<Arch, Reduction, vectors>(down, first, windows, row, combined + x, pitch);
                };
                const auto inner = [](const float* row, std::ptrdiff_t column) {
                    __builtin_prefetch(row + column - 2 * width);  // for the next columns
                    return load<Arch>(row + column);
                };
                const auto outer = [in = across.in](const float* row, std::ptrdiff_t column) {
                    return load_around<Arch>(row, column, in, Reduction::identity);
                };
                if (x + width >= pitch) {
                    slide.template operator()<1>(outer);
                } else if (at >= 0 && at + 2 * width <= across.in) {
                    slide.template operator()<2>(inner);
                } else {
                    slide.template operator()<2>(outer);
                }
            }
            const std::ptrdiff_t floats = windows * dealt;
            if (step == 2) deal_columns<Arch, Reduction, 2>(combined, partly, floats, rest);
            if (step == 3) deal_columns<Arch, Reduction, 3>(combined, partly, floats, rest);
            const float* const whole = reduce_neighbours<Arch, Reduction>(combined, reduced, floats, groups);
            for (std::ptrdiff_t i = 0; i < windows; ++i) {
                float* const to = plane.dst + static_cast<std::size_t>(top + i) * plane.dst_row + out;
                const V counted(static_cast<float>(down.counted(top + i)));
                for (std::ptrdiff_t x = 0; x < count; x += width) {
                    V sum = load<Arch>(whole + i * dealt + x);
                    if (rest > 0) {
                        sum = Reduction::template apply<Arch>(sum, load<Arch>(partly + i * dealt + x + groups));
                    }
                    if constexpr (Reduction::averages) sum = quotient<Arch>(sum, counted * load<Arch>(counts + x));
                    store_up_to<Arch>(to + x, sum, static_cast<std::size_t>(count - x));
                }
            }
        }
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::op::detail
