// Pooling of one row of windows.
#pragma once

#include <primsel/op/detail/long_sums.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <span>

namespace primsel::inline PRIMSEL_ABI::op::detail {

/// The windows along one axis of an image.
struct PoolAxis {
    std::ptrdiff_t in, size, step, before, after;
    bool count_pad;

    [[nodiscard]] std::ptrdiff_t begin(std::ptrdiff_t out) const { return out * step - before; }
    /// Returns the part of a window inside the image: [first, last).
    [[nodiscard]] std::ptrdiff_t first(std::ptrdiff_t out) const { return std::max(begin(out), std::ptrdiff_t{0}); }
    [[nodiscard]] std::ptrdiff_t last(std::ptrdiff_t out) const { return std::min(begin(out) + size, in); }
    /// Returns the outputs whose windows lie inside the image: [first_whole(outputs), last_whole(outputs)).
    [[nodiscard]] std::ptrdiff_t first_whole(std::ptrdiff_t outputs) const {
        return std::min((before + step - 1) / step, outputs);
    }
    [[nodiscard]] std::ptrdiff_t last_whole(std::ptrdiff_t outputs) const {
        const std::ptrdiff_t room = in - size + before;
        return std::max(room < 0 ? 0 : std::min(room / step + 1, outputs), first_whole(outputs));
    }
    /// Returns the divisor of an average.
    [[nodiscard]] std::ptrdiff_t counted(std::ptrdiff_t out) const {
        return count_pad ? std::min(begin(out) + size, in + after) - begin(out) : last(out) - first(out);
    }
    /// Returns how many elements of the image the windows of so many outputs have together, but for a few at borders.
    [[nodiscard]] double elements(std::ptrdiff_t outputs) const {
        const auto missing = [this](std::ptrdiff_t over) {
            return over <= 0 ? 0 : static_cast<double>(over * (over + step)) / static_cast<double>(2 * step);
        };
        const auto count = static_cast<double>(outputs), most = count * static_cast<double>(std::min(size, in));
        // The first window has no fewer.
        const double least =
            count * static_cast<double>(std::clamp(size - before, std::ptrdiff_t{1}, std::min(size, in)));
        const double all =
            count * static_cast<double>(size) - missing(before) - missing(begin(outputs - 1) + size - in);
        return std::clamp(all, least, most);
    }
    /// Returns the divisors of outputs out, out + 1, ... as floats, in which they are exact.
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

/// The rows of a window: `count` rows, stride floats apart.
struct WindowRows {
    const float* src;
    std::size_t count, stride;
    [[nodiscard]] const float* operator[](std::size_t row) const { return src + row * stride; }
};

/// Reduces rows of one channel with contiguous columns to one number; an average is divided by the divisor.
template <class Arch, class Reduction>
float reduce_rows(WindowRows rows, std::size_t columns, double divisor) noexcept {
    constexpr std::size_t several = 4, step = several * lanes<Arch>;
    return with_reduction<Arch, Reduction, several>(rows.count * ((columns + step - 1) / step),
                                                    [&](auto& reduction) PRIMSEL_INLINE_LAMBDA {
                                                        for (std::size_t y = 0; y < rows.count; ++y)
                                                            reduction.add_row(rows[y], columns);
                                                        return reduction.all(divisor);
                                                    });
}

/// Reduces windows that begin at columns at, at + step, ... to one vector, of which n lanes are valid.
template <class Arch, class Reduction>
PRIMSEL_INLINE Floats<Arch> reduce_columns(PoolAxis const& axis, const float* at, std::ptrdiff_t n) {
    using V = Floats<Arch>;
    const auto taps = static_cast<std::size_t>(axis.size);
    if (axis.step == 1) {
        return reduce_terms<Arch, Reduction>(taps, [at](std::size_t j) { return load<Arch>(at + j); });
    }
    if (axis.step == 2) {
        return reduce_terms<Arch, Reduction>((taps + 1) / 2, [at, taps](std::size_t pair) {
            const std::size_t j = 2 * pair;
            V even = load<Arch>(at + j), odd = load<Arch>(at + j + static_cast<std::size_t>(lanes<Arch>));
            split_even_odd<Arch>(even, odd);
            return j + 1 < taps ? Reduction::template apply<Arch>(even, odd) : even;
        });
    }
    if (axis.step == 3) {
        return reduce_terms<Arch, Reduction>((taps + 2) / 3, [at, taps](std::size_t group) {
            V phases[3];
            deal<Arch>(at + 3 * group, phases);
            V sum = phases[0];
            for (std::size_t j = 1; j < 3 && 3 * group + j < taps; ++j) {
                sum = Reduction::template apply<Arch>(sum, phases[j]);
            }
            return sum;
        });
    }
    return reduce_terms<Arch, Reduction>(taps, [&axis, at, n](std::size_t j) {
        constexpr std::ptrdiff_t width = lanes<Arch>;
        alignas(64) float lane[width];
        for (std::ptrdiff_t i = 0; i < width; ++i)
            lane[i] = i < n ? at[i * axis.step + static_cast<std::ptrdiff_t>(j)] : Reduction::identity;
        return load<Arch>(lane);
    });
}

/// A row of outputs and the input rows of its windows.
struct OutputRow {
    WindowRows window;
    /// The divisor of an average along the other axis.
    float counted;
    float* dst;
};

/// Computes a row of outputs one by one, for windows of any width.
template <class Arch, class Reduction>
void pool_wide_columns(PoolAxis const& axis, OutputRow const& row, std::ptrdiff_t outputs) noexcept {
    for (std::ptrdiff_t out = 0; out < outputs; ++out) {
        const WindowRows window{row.window.src + axis.first(out), row.window.count, row.window.stride};
        const auto columns = static_cast<std::size_t>(axis.last(out) - axis.first(out));
        const double counted = static_cast<double>(row.counted) * static_cast<double>(axis.counted(out));
        row.dst[out] = reduce_rows<Arch, Reduction>(window, columns, counted);
    }
}

/// Computes rows of outputs where columns are contiguous.
template <class Arch, class Reduction>
void pool_columns(PoolAxis const& axis, std::span<const OutputRow> all, std::ptrdiff_t outputs) noexcept {
    using V = Floats<Arch>;
    constexpr std::ptrdiff_t width = lanes<Arch>, room = 2048;
    const std::ptrdiff_t piece = std::min((room - axis.size) / axis.step + 1, outputs);
    if (axis.size > room / 2) {
        for (OutputRow const& row : all) pool_wide_columns<Arch, Reduction>(axis, row, outputs);
        return;
    }
    // The input rows of each window are reduced to one row with padding; then its columns are reduced. Several rows are
    // taken at a time, since data just stored cannot be loaded at once at another alignment.
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
                    store<Arch>(to + (x - begin),
                                reduce_terms<Arch, Reduction>(window.count, [window, x, n](std::size_t y) {
                                    return load_up_to<Arch>(window[y] + x, n, Reduction::identity);
                                }));
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
                    if constexpr (Reduction::averages)
                        sum = quotient<Arch>(sum, V(row.counted) * axis.counted_from<Arch>(out + i));
                    store_up_to<Arch>(row.dst + out + i, sum, static_cast<std::size_t>(count - i));
                }
                from += pitch;
            }
        }
    }
}

/// Computes some outputs of a row by pool_pixels, from `first` on. Their windows have size x size taps, all inside the
/// image.
template <class Arch, class Reduction, std::size_t size>
void pool_whole(PoolAxis const& axis, OutputRow const& row, std::size_t pixel, std::size_t channels,
                std::ptrdiff_t first, std::ptrdiff_t outputs) noexcept {
    using V = Floats<Arch>;
    constexpr std::size_t width = lanes<Arch>, taps = size * size;
    const std::size_t step = static_cast<std::size_t>(axis.step) * pixel;
    std::array<const float*, taps> at;
    for (std::size_t tap = 0; tap < taps; ++tap) {
        at[tap] = row.window[tap / size] + (static_cast<std::size_t>(axis.begin(first)) + tap % size) * pixel;
    }
    float* to = row.dst + static_cast<std::size_t>(first) * pixel;
    [[maybe_unused]] const V divisor(row.counted * static_cast<float>(size));
    const auto reduce = [&](auto const& load_at, std::size_t c) {
        V sum = load_at(at[0] + c);
        PRIMSEL_UNROLL
        for (std::size_t tap = 1; tap < taps; ++tap) {
            sum = Reduction::template apply<Arch>(sum, load_at(at[tap] + c));
        }
        if constexpr (Reduction::averages) sum = quotient<Arch>(sum, divisor);
        return sum;
    };
    std::size_t done = 0;
    // ARM takes four vectors of channels, a cache line, of all outputs, then the next four.
    for (; on_arm && done + 4 * width <= channels; done += 4 * width) {
        std::array<const float*, taps> from = at;
        for (const float*& tap : from) tap += done;
        float* dst = to + done;
        const auto add = [&](std::size_t tap, V(&sums)[4]) PRIMSEL_INLINE_LAMBDA {
            V next[4];
            load_four<Arch>(from[tap], next);
            from[tap] += step;
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < 4; ++v) sums[v] = Reduction::template apply<Arch>(sums[v], next[v]);
        };
        if constexpr (size == 3 && !Reduction::averages) {
            if (axis.step == 2) {  // a window's last column is the first of the next window
                V shared[4];
                load_four<Arch>(from[0], shared);
                add(3, shared), add(6, shared);
                for (std::ptrdiff_t out = 0; out < outputs; ++out, dst += pixel) {
                    V last[4];
                    load_four<Arch>(from[2], last);
                    from[2] += step;
                    add(1, shared), add(4, shared), add(7, shared);
                    add(5, last), add(8, last);
                    PRIMSEL_UNROLL
                    for (std::size_t v = 0; v < 4; ++v) {  // g++ would copy four vectors to one another's neighbours
                        store<Arch>(dst + v * width, Reduction::template apply<Arch>(shared[v], last[v]));
                        shared[v] = last[v];
                    }
                }
                continue;
            }
        }
        for (std::ptrdiff_t out = 0; out < outputs; ++out, dst += pixel) {
            V sums[4];
            load_four<Arch>(from[0], sums);
            from[0] += step;
            PRIMSEL_UNROLL
            for (std::size_t tap = 1; tap < taps; ++tap) add(tap, sums);
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < 4; ++v) {
                if constexpr (Reduction::averages) sums[v] = quotient<Arch>(sums[v], divisor);
            }
            store_four<Arch>(dst, sums);
        }
    }
    if (on_arm && done == channels) return;
    for (; outputs > 0; --outputs, to += pixel) {
        std::size_t c = done;
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

/// The most taps of a window that are summed as one block.
inline constexpr std::size_t longest_short_window = 64;

/// Computes outputs [begin, end) of a row by pool_pixels.
template <class Arch, class Reduction>
void pool_any_pixels(PoolAxis const& axis, OutputRow const& row, std::size_t pixel, std::size_t channels,
                     std::ptrdiff_t begin, std::ptrdiff_t end) noexcept {
    using V = Floats<Arch>;
    constexpr std::size_t width = lanes<Arch>, several = 4;
    for (std::ptrdiff_t out = begin; out < end; ++out) {
        const auto first = static_cast<std::size_t>(axis.first(out)), last = static_cast<std::size_t>(axis.last(out));
        float* to = row.dst + static_cast<std::size_t>(out) * pixel;
        const double divisor = static_cast<double>(row.counted) * static_cast<double>(axis.counted(out));
        const std::size_t columns = last - first;
        const auto reduce = [&]<std::size_t vectors>(V(&result)[vectors], auto const& load_at) PRIMSEL_INLINE_LAMBDA {
            const auto window = [&](auto& reduction) PRIMSEL_INLINE_LAMBDA {
                for (std::size_t y = 0; y < row.window.count; ++y) {
                    const float* src = row.window[y] + first * pixel;
                    reduction.add(columns, [&](std::size_t x, std::size_t v)
                                               PRIMSEL_INLINE_LAMBDA { return load_at(src + x * pixel, v); });
                }
                reduction.finish(divisor, result);
            };
            with_reduction<Arch, Reduction, vectors>(row.window.count * columns, window, longest_short_window);
        };
        std::size_t c = 0;
        for (; c + several * width <= channels; c += several * width) {
            V result[several];
            reduce(result, [c](const float* src, std::size_t v) { return load<Arch>(src + c + v * width); });
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < several; ++v) store<Arch>(to + c + v * width, result[v]);
        }
        for (; c < channels; c += width) {
            V result[1];
            reduce(result,
                   [c, n = channels - c](const float* src, std::size_t) { return load_up_to<Arch>(src + c, n); });
            store_up_to<Arch>(to + c, result[0], channels - c);
        }
    }
}

/// Computes rows of outputs where channels are contiguous and pixels are `pixel` floats apart in src and dst.
template <class Arch, class Reduction>
void pool_pixels(PoolAxis const& axis, std::span<const OutputRow> rows, std::size_t pixel, std::size_t channels,
                 std::ptrdiff_t outputs) noexcept {
    const std::ptrdiff_t first = axis.first_whole(outputs), last = axis.last_whole(outputs);
    for (OutputRow const& row : rows) {
        const bool short_window = axis.size == 2 || axis.size == 3;
        if (!short_window || row.window.count != static_cast<std::size_t>(axis.size) || first == last) {
            pool_any_pixels<Arch, Reduction>(axis, row, pixel, channels, 0, outputs);
            continue;
        }
        if (first > 0) pool_any_pixels<Arch, Reduction>(axis, row, pixel, channels, 0, first);
        if (axis.size == 2) {
            pool_whole<Arch, Reduction, 2>(axis, row, pixel, channels, first, last - first);
        } else {
            pool_whole<Arch, Reduction, 3>(axis, row, pixel, channels, first, last - first);
        }
        if (last < outputs) pool_any_pixels<Arch, Reduction>(axis, row, pixel, channels, last, outputs);
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::op::detail
