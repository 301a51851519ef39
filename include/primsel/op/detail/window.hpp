// Pooling one row of windows.
#pragma once

#include <primsel/op/detail/vectors.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <limits>
#include <span>

namespace primsel::inline PRIMSEL_ABI::detail {

struct Maximum {
    static constexpr bool averages = false;
    static constexpr float identity = -std::numeric_limits<float>::infinity();
    template <class Arch>
    static PRIMSEL_INLINE Floats<Arch> apply(Floats<Arch> const& a, Floats<Arch> const& b) {
        return max_or_nan<Arch>(a, b);
    }
    static float apply(float a, float b) { return a > b || a != a ? a : b; }
};

/// The sum, which whoever knows the number of elements divides by it.
struct Average {
    static constexpr bool averages = true;
    static constexpr float identity = 0.0F;
    template <class Arch>
    static PRIMSEL_INLINE Floats<Arch> apply(Floats<Arch> const& a, Floats<Arch> const& b) {
        return a + b;
    }
    static float apply(float a, float b) { return a + b; }
};

/// The windows along one axis of an image.
struct PoolAxis {
    std::ptrdiff_t in, size, step, before, after;
    bool count_pad;

    [[nodiscard]] std::ptrdiff_t begin(std::ptrdiff_t out) const { return out * step - before; }
    /// The part inside the image: [first, last).
    [[nodiscard]] std::ptrdiff_t first(std::ptrdiff_t out) const { return std::max(begin(out), std::ptrdiff_t{0}); }
    [[nodiscard]] std::ptrdiff_t last(std::ptrdiff_t out) const { return std::min(begin(out) + size, in); }
    /// What an average divides by.
    [[nodiscard]] std::ptrdiff_t counted(std::ptrdiff_t out) const {
        return count_pad ? std::min(begin(out) + size, in + after) - begin(out) : last(out) - first(out);
    }
    /// The same for outputs out, out + 1, ..., in floats, which are exact here.
    template <class Arch>
    [[nodiscard]] PRIMSEL_INLINE Floats<Arch> counted_from(std::ptrdiff_t out) const {
        using V = Floats<Arch>;
        const V start =
            fma<Arch>(first_integers<Arch>(), V(static_cast<float>(step)), V(static_cast<float>(begin(out))));
        const V stop =
            min<Arch>(start + V(static_cast<float>(size)), V(static_cast<float>(count_pad ? in + after : in)));
        return stop - (count_pad ? start : max<Arch>(start, V(0.0F)));
    }
};

/// The rows of a window: `count` of them, stride floats apart.
struct WindowRows {
    const float* src;
    std::size_t count, stride;
    [[nodiscard]] const float* operator[](std::size_t row) const { return src + row * stride; }
};

/// Rows of one channel whose columns are neighbours, as one number; the sum of an average.
template <class Arch, class Reduction>
float reduce_rows(WindowRows rows, std::size_t columns) noexcept {
    using V = Floats<Arch>;
    constexpr std::size_t width = lanes<Arch>, several = 4;
    V sum[several] = {V(Reduction::identity), V(Reduction::identity), V(Reduction::identity), V(Reduction::identity)};
    for (std::size_t y = 0; y < rows.count; ++y) {
        const float* row = rows[y];
        std::size_t x = 0;
        for (; x + several * width <= columns; x += several * width) {
            PRIMSEL_UNROLL
            for (std::size_t i = 0; i < several; ++i) {
                sum[i] = Reduction::template apply<Arch>(sum[i], load<Arch>(row + x + i * width));
            }
        }
        for (; x < columns; x += width) {
            const V rest = load_up_to<Arch>(row + x, columns - x, Reduction::identity);
            sum[0] = Reduction::template apply<Arch>(sum[0], rest);
        }
    }
    sum[0] = Reduction::template apply<Arch>(sum[0], sum[1]);
    sum[2] = Reduction::template apply<Arch>(sum[2], sum[3]);
    return fold_lanes<Arch>(Reduction::template apply<Arch>(sum[0], sum[2]),
                            [](float a, float b) { return Reduction::apply(a, b); });
}

/// Windows of columns at, at + step, ... as one vector, of which n lanes count.
template <class Arch, class Reduction>
PRIMSEL_INLINE Floats<Arch> reduce_columns(PoolAxis const& axis, const float* at, std::ptrdiff_t n) {
    using V = Floats<Arch>;
    constexpr std::ptrdiff_t width = lanes<Arch>;
    V sum(Reduction::identity);
    if (axis.step == 1) {
        for (std::ptrdiff_t j = 0; j < axis.size; ++j) sum = Reduction::template apply<Arch>(sum, load<Arch>(at + j));
    } else if (axis.step == 2) {
        for (std::ptrdiff_t j = 0; j < axis.size; j += 2) {
            V even = load<Arch>(at + j), odd = load<Arch>(at + j + width);
            split_even_odd<Arch>(even, odd);
            sum = Reduction::template apply<Arch>(sum, even);
            if (j + 1 < axis.size) sum = Reduction::template apply<Arch>(sum, odd);
        }
    } else {
        for (std::ptrdiff_t j = 0; j < axis.size; ++j) {
            alignas(64) float lane[width];
            for (std::ptrdiff_t i = 0; i < width; ++i) lane[i] = i < n ? at[i * axis.step + j] : Reduction::identity;
            sum = Reduction::template apply<Arch>(sum, load<Arch>(lane));
        }
    }
    return sum;
}

/// A row of outputs and the input rows of its windows.
struct OutputRow {
    WindowRows window;
    /// What an average divides by, along the other axis.
    float counted;
    float* dst;
};

/// One row of outputs, one by one: for windows of any width.
template <class Arch, class Reduction>
void pool_wide_columns(PoolAxis const& axis, OutputRow const& row, std::ptrdiff_t outputs) noexcept {
    for (std::ptrdiff_t out = 0; out < outputs; ++out) {
        const WindowRows window{row.window.src + axis.first(out), row.window.count, row.window.stride};
        const auto columns = static_cast<std::size_t>(axis.last(out) - axis.first(out));
        const float sum = reduce_rows<Arch, Reduction>(window, columns);
        row.dst[out] = Reduction::averages ? sum / (row.counted * static_cast<float>(axis.counted(out))) : sum;
    }
}

/// Rows of outputs where columns are neighbours.
template <class Arch, class Reduction>
void pool_columns(PoolAxis const& axis, std::span<const OutputRow> all, std::ptrdiff_t outputs) noexcept {
    using V = Floats<Arch>;
    constexpr std::ptrdiff_t width = lanes<Arch>, room = 2048;
    const std::ptrdiff_t piece = std::min((room - axis.size) / axis.step + 1, outputs);
    if (axis.size > room / 2) {
        for (OutputRow const& row : all) pool_wide_columns<Arch, Reduction>(axis, row, outputs);
        return;
    }
    // First the input rows of each window become one, with the padding around it; then its columns. Several rows at a
    // time: what was just stored cannot be loaded elsewhere at once.
    alignas(64) float combined[room + 5 * width];
    for (std::ptrdiff_t out = 0; out < outputs; out += piece) {
        const std::ptrdiff_t count = std::min(piece, outputs - out);
        const std::ptrdiff_t begin = axis.begin(out), end = axis.begin(out + count - 1) + axis.size;
        const std::ptrdiff_t first = axis.first(out), last = std::min(end, axis.in), pitch = end - begin;
        const auto several = static_cast<std::size_t>(room / pitch);
        for (std::span<const OutputRow> rest = all; !rest.empty();) {
            const std::span<const OutputRow> rows = rest.first(std::min(several, rest.size()));
            rest = rest.subspan(rows.size());
            float* to = combined;
            for (OutputRow const& row : rows) {
                for (std::ptrdiff_t x = begin; x < first; x += width) {
                    store<Arch>(to + (x - begin), V(Reduction::identity));
                }
                const WindowRows window = row.window;
                for (std::ptrdiff_t x = first; x < last; x += width) {
                    const auto n = static_cast<std::size_t>(last - x);
                    const float* src = window.src + x;
                    V sum = load_up_to<Arch>(src, n, Reduction::identity);
                    for (std::size_t y = 1; y < window.count; ++y) {
                        src += window.stride;
                        sum = Reduction::template apply<Arch>(sum, load_up_to<Arch>(src, n, Reduction::identity));
                    }
                    store<Arch>(to + (x - begin), sum);
                }
                for (std::ptrdiff_t x = last; x < end; x += width) {
                    store<Arch>(to + (x - begin), V(Reduction::identity));
                }
                to += pitch;
            }
            for (std::ptrdiff_t i = 0; i < 4; ++i) store<Arch>(to + i * width, V(Reduction::identity));
            const float* from = combined;
            for (OutputRow const& row : rows) {
                for (std::ptrdiff_t i = 0; i < count; i += width) {
                    V sum = reduce_columns<Arch, Reduction>(axis, from + i * axis.step, count - i);
                    if constexpr (Reduction::averages) sum = sum / (V(row.counted) * axis.counted_from<Arch>(out + i));
                    store_up_to<Arch>(row.dst + out + i, sum, static_cast<std::size_t>(count - i));
                }
                from += pitch;
            }
        }
    }
}

/// Windows of so many taps, none of them outside the image, where channels are neighbours: those of `outputs` pixels,
/// each tap `step` floats and each result `pixel` floats after that of the one before.
template <class Arch, class Reduction, std::size_t taps>
void pool_whole(std::array<const float*, taps> at, std::size_t step, float* to, std::size_t pixel, std::size_t channels,
                std::ptrdiff_t outputs, float divide_by) noexcept {
    using V = Floats<Arch>;
    constexpr std::size_t width = lanes<Arch>;
    const V divisor(divide_by);
    const auto reduce = [&](auto const& load_at, std::size_t c) {
        V sum = load_at(at[0] + c);
        PRIMSEL_UNROLL
        for (std::size_t tap = 1; tap < taps; ++tap) {
            sum = Reduction::template apply<Arch>(sum, load_at(at[tap] + c));
        }
        if constexpr (Reduction::averages) sum = sum / divisor;
        return sum;
    };
    for (; outputs > 0; --outputs, to += pixel) {
        std::size_t c = 0;
        for (; c + width <= channels; c += width) {
            store<Arch>(to + c, reduce([](const float* from) { return load<Arch>(from); }, c));
        }
        if (const std::size_t rest = channels - c; rest > 0) {
            store_up_to<Arch>(to + c, reduce([rest](const float* from) { return load_up_to<Arch>(from, rest); }, c),
                              rest);
        }
        for (const float*& tap : at) tap += step;
    }
}

/// One row of outputs where channels are neighbours, and pixels `pixel` floats apart in src and dst.
template <class Arch, class Reduction>
void pool_pixels(PoolAxis const& axis, OutputRow const& row, std::size_t pixel, std::size_t channels,
                 std::ptrdiff_t outputs) noexcept {
    using V = Floats<Arch>;
    constexpr std::size_t width = lanes<Arch>, several = 4;
    // Those in the middle whose windows are 2x2 or 3x3.
    const auto whole = [&]<std::size_t size>(std::ptrdiff_t out) {
        std::ptrdiff_t count = 0;
        while (out + count < outputs && axis.begin(out + count) + axis.size <= axis.in) ++count;
        std::array<const float*, size * size> at;
        for (std::size_t tap = 0; tap < at.size(); ++tap) {
            at[tap] = row.window[tap / size] + (static_cast<std::size_t>(axis.begin(out)) + tap % size) * pixel;
        }
        pool_whole<Arch, Reduction>(at, static_cast<std::size_t>(axis.step) * pixel,
                                    row.dst + static_cast<std::size_t>(out) * pixel, pixel, channels, count,
                                    row.counted * static_cast<float>(axis.counted(out)));
        return count;
    };
    for (std::ptrdiff_t out = 0; out < outputs; ++out) {
        if (axis.begin(out) >= 0 && static_cast<std::size_t>(axis.size) == row.window.count) {
            if (axis.size == 2) out += whole.template operator()<2>(out);
            if (axis.size == 3) out += whole.template operator()<3>(out);
            if (out >= outputs) break;
        }
        const auto first = static_cast<std::size_t>(axis.first(out)), last = static_cast<std::size_t>(axis.last(out));
        float* to = row.dst + static_cast<std::size_t>(out) * pixel;
        const V divisor(row.counted * static_cast<float>(axis.counted(out)));
        const auto finish = [&](V const& sum) {
            if constexpr (Reduction::averages) return sum / divisor;
            return sum;
        };
        std::size_t c = 0;
        for (; c + several * width <= channels; c += several * width) {
            V sum[several] = {V(Reduction::identity), V(Reduction::identity), V(Reduction::identity),
                              V(Reduction::identity)};
            for (std::size_t y = 0; y < row.window.count; ++y) {
                for (std::size_t x = first; x < last; ++x) {
                    const float* src = row.window[y] + x * pixel + c;
                    PRIMSEL_UNROLL
                    for (std::size_t i = 0; i < several; ++i) {
                        sum[i] = Reduction::template apply<Arch>(sum[i], load<Arch>(src + i * width));
                    }
                }
            }
            PRIMSEL_UNROLL
            for (std::size_t i = 0; i < several; ++i) store<Arch>(to + c + i * width, finish(sum[i]));
        }
        for (; c < channels; c += width) {
            V sum(Reduction::identity);
            for (std::size_t y = 0; y < row.window.count; ++y) {
                for (std::size_t x = first; x < last; ++x) {
                    const V value = load_up_to<Arch>(row.window[y] + x * pixel + c, channels - c);
                    sum = Reduction::template apply<Arch>(sum, value);
                }
            }
            store_up_to<Arch>(to + c, finish(sum), channels - c);
        }
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::detail
