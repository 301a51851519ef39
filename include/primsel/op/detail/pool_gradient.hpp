// The gradient of pooling: each window gives its gradient to its elements. A block takes all windows of some channels
// of an image, in their order.
#pragma once

#include <primsel/op/detail/vectors.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace primsel::inline PRIMSEL_ABI::op::detail {

/// The taps of a window that lie inside the image: their number and the position of the first.
struct GradientTaps {
    std::ptrdiff_t place, count;
};

/// The windows along one axis of an image, possibly dilated.
struct GradientAxis {
    std::ptrdiff_t in, size, step, dilation, before, after;

    [[nodiscard]] std::ptrdiff_t span() const { return (size - 1) * dilation + 1; }
    [[nodiscard]] std::ptrdiff_t at(std::ptrdiff_t out, std::ptrdiff_t tap) const {
        return out * step - before + tap * dilation;
    }
    [[nodiscard]] bool inside(std::ptrdiff_t place) const { return place >= 0 && place < in; }
    [[nodiscard]] GradientTaps taps(std::ptrdiff_t out) const {
        std::ptrdiff_t first = 0, last = size;
        while (first < last && at(out, first) < 0) ++first;
        while (first < last && at(out, last - 1) >= in) --last;
        return {first < last ? at(out, first) : 0, last - first};
    }
    /// Returns the divisor of an average.
    [[nodiscard]] std::ptrdiff_t counted(std::ptrdiff_t out, bool count_pad) const {
        std::ptrdiff_t counted = 0;
        for (std::ptrdiff_t tap = 0; tap < size; ++tap) {
            counted += count_pad ? at(out, tap) < in + after : inside(at(out, tap));
        }
        return counted;
    }
};

/// One channel, or several contiguous channels, of an image before and after pooling.
struct PoolPlane {
    const float *x, *y, *dy;  // x and y are used for a maximum only
    float* dx;
    /// The distances in floats between rows and between pixels: of x and dx, and of y and dy.
    std::size_t in_row, in_pixel, out_row, out_pixel;
    std::ptrdiff_t out_h, out_w;
    GradientAxis down, across;
    bool count_pad;
};

/// Gives the rest of a window's gradient to an element if that is the maximum; the first such element takes all. If the
/// maximum is NaN, the first element takes it. `part` loads and stores the valid lanes.
template <class Arch, bool max, class Part>
PRIMSEL_INLINE void give(Part const& part, const float* x, float* dx, Floats<Arch> const& y, Floats<Arch>& left) {
    using V = Floats<Arch>;
    const V before = part.load(dx);
    if constexpr (max) {
        const auto less = part.load(x) < y;
        part.store(dx, before + xsimd::select(less, V(0.0F), left));
        left = xsimd::select(less, left, V(0.0F));
    } else {
        part.store(dx, before + left);
    }
}

/// Handles one channel or up to a group of contiguous channels, at any distance between pixels.
template <class Arch, bool max>
void pool_gradient_pixels(PoolPlane const& plane, std::size_t channels) noexcept {
    using V = Floats<Arch>;
    constexpr std::size_t width = lanes<Arch>;
    const GradientAxis down = plane.down, across = plane.across;
    const std::size_t row = plane.in_row * static_cast<std::size_t>(down.dilation),
                      pixel = plane.in_pixel * static_cast<std::size_t>(across.dilation);
    std::ptrdiff_t cleared = 0;
    const auto clear = [&](std::ptrdiff_t rows) {
        for (; cleared < rows; ++cleared) {
            float* to = plane.dx + static_cast<std::size_t>(cleared) * plane.in_row;
            for (std::ptrdiff_t w = 0; w < across.in; ++w, to += plane.in_pixel) {
                for (std::size_t c = 0; c < channels; c += width) store_up_to<Arch>(to + c, V(0.0F), channels - c);
            }
        }
    };
    for (std::ptrdiff_t oh = 0; oh < plane.out_h; ++oh) {
        clear(std::min(down.at(oh, down.size - 1) + 1, down.in));
        const GradientTaps rows = down.taps(oh);
        const auto rows_counted = static_cast<float>(max ? 1 : down.counted(oh, plane.count_pad));
        // The rows that the next windows are the first to reach.
        const std::ptrdiff_t next_row = std::max(down.at(oh, down.size - 1) + 1, std::ptrdiff_t{0}),
                             next_rows = std::min(down.at(oh + 1, down.size - 1) + 1, down.in);
        for (std::ptrdiff_t ow = 0; ow < plane.out_w; ++ow) {
            const GradientTaps columns = across.taps(ow);
            const std::size_t in = static_cast<std::size_t>(rows.place) * plane.in_row +
                                   static_cast<std::size_t>(columns.place) * plane.in_pixel;
            const std::size_t out =
                static_cast<std::size_t>(oh) * plane.out_row + static_cast<std::size_t>(ow) * plane.out_pixel;
            const float* const x = max ? plane.x + in : nullptr;
            const float* const y = max ? plane.y + out : nullptr;
            const float* const dy = plane.dy + out;
            float* const dx = plane.dx + in;
            const std::ptrdiff_t next_column = std::max(across.at(ow, 0), std::ptrdiff_t{0}),
                                 next_columns = std::min(across.at(ow + 1, 0), across.in);
            const V counted(rows_counted * static_cast<float>(max ? 1 : across.counted(ow, plane.count_pad)));
            const auto window = [&](std::size_t c, auto part) {
                V left = part.load(dy + c), largest(0.0F);
                if constexpr (max) {
                    largest = part.load(y + c);
                } else {
                    left = quotient<Arch>(left, counted);
                }
                std::size_t of_row = c;
                for (std::ptrdiff_t i = 0; i < rows.count; ++i, of_row += row) {
                    std::size_t at = of_row;
                    for (std::ptrdiff_t j = 0; j < columns.count; ++j, at += pixel) {
                        give<Arch, max>(part, max ? x + at : nullptr, dx + at, largest, left);
                    }
                }
                for (std::ptrdiff_t h = next_row; h < next_rows; ++h) {
                    for (std::ptrdiff_t w = next_column; w < next_columns; ++w) {
                        const std::size_t at = static_cast<std::size_t>(h) * plane.in_row +
                                               static_cast<std::size_t>(w) * plane.in_pixel + c;
                        if constexpr (max) __builtin_prefetch(plane.x + at, 0, 2);
                        __builtin_prefetch(plane.dx + at, 1, 2);
                    }
                }
            };
            std::size_t c = 0;
            for (; c + width <= channels; c += width) window(c, AllLanes<Arch>{});
            if (c < channels) window(c, FirstLanes<Arch>(static_cast<int>(channels - c)));
        }
    }
    clear(down.in);
}

/// A row whose columns are distributed over `step` runs of `run` floats: position i * step + r is element i of run r. A
/// tap of neighbouring windows then reads neighbours. fixed: the step where it is 1 or 2, for which there is vector
/// code. Behind each run there is room for a vector.
template <class Arch, int fixed>
struct DealtRow {
    using V = Floats<Arch>;
    static constexpr std::ptrdiff_t width = lanes<Arch>;
    std::ptrdiff_t step, run;
    /// The positions inside the image: [first, last).
    std::ptrdiff_t first, last;

    /// Distributes a row; src[0] is the first position inside. Positions beyond the last one get -infinity, which no
    /// maximum is below.
    void deal(const float* src, float* runs) const {
        constexpr float lowest = -std::numeric_limits<float>::infinity();
        const std::ptrdiff_t count = last - first;
        if constexpr (fixed == 1) {
            for (std::ptrdiff_t i = 0; i < count; i += width) {
                store<Arch>(runs + first + i, load_up_to<Arch>(src + i, static_cast<std::size_t>(count - i), lowest));
            }
        } else if constexpr (fixed == 2) {
            for (std::ptrdiff_t i = 0; i < count; i += 2 * width) {
                const std::ptrdiff_t rest = std::max(count - i - width, std::ptrdiff_t{0});
                V one = load_up_to<Arch>(src + i, static_cast<std::size_t>(count - i), lowest);
                V other = load_up_to<Arch>(src + (count - rest), static_cast<std::size_t>(rest), lowest);
                split_even_odd<Arch>(one, other);
                store<Arch>(at(runs, first + i), one);
                store<Arch>(at(runs, first + i + 1), other);
            }
        } else {
            for (std::ptrdiff_t place = first; place < last; ++place) *at(runs, place) = src[place - first];
        }
    }
    void add_to(float* dst, float* runs) const {
        const std::ptrdiff_t count = last - first;
        const auto add = [](float* to, V const& more, std::size_t n) {
            store_up_to<Arch>(to, load_up_to<Arch>(to, n) + more, n);
        };
        if constexpr (fixed == 1) {
            for (std::ptrdiff_t i = 0; i < count; i += width) {
                add(dst + i, load<Arch>(runs + first + i), static_cast<std::size_t>(count - i));
            }
        } else if constexpr (fixed == 2) {
            for (std::ptrdiff_t i = 0; i < count; i += 2 * width) {
                V one = load<Arch>(at(runs, first + i)), other = load<Arch>(at(runs, first + i + 1));
                join_even_odd<Arch>(one, other);
                add(dst + i, one, static_cast<std::size_t>(count - i));
                if (count - i > width) add(dst + i + width, other, static_cast<std::size_t>(count - i - width));
            }
        } else {
            for (std::ptrdiff_t place = first; place < last; ++place) dst[place - first] += *at(runs, place);
        }
    }
    [[nodiscard]] float* at(float* runs, std::ptrdiff_t place) const {
        if constexpr (fixed == 1) return runs + place;
        if constexpr (fixed == 2) return runs + (place & 1) * run + (place >> 1);
        return runs + place % step * run + place / step;
    }
};

/// Handles one channel whose columns are contiguous.
template <class Arch, bool max, int fixed>
void pool_gradient_columns(PoolPlane const& plane) noexcept {
    using V = Floats<Arch>;
    constexpr std::ptrdiff_t width = lanes<Arch>, room = 1024;
    const GradientAxis &down = plane.down, &across = plane.across;
    const std::ptrdiff_t span = across.span();
    if (span > room / 2) return pool_gradient_pixels<Arch, max>(plane, 1);
    // One more run than there are positions; with two runs, a vector's room behind each.
    alignas(64) float x[2 * room + 4 * width], dx[2 * room + 4 * width], left[room + width], columns[room];
    std::ptrdiff_t cleared = 0;
    const auto clear = [&](std::ptrdiff_t rows) {
        for (; cleared < rows; ++cleared) {
            float* row = plane.dx + static_cast<std::size_t>(cleared) * plane.in_row;
            for (std::ptrdiff_t i = 0; i < across.in; i += width) {
                store_up_to<Arch>(row + i, V(0.0F), static_cast<std::size_t>(across.in - i));
            }
        }
    };
    const std::ptrdiff_t piece = std::min((room - span) / across.step + 1, plane.out_w);
    for (std::ptrdiff_t out = 0; out < plane.out_w; out += piece) {
        const std::ptrdiff_t count = std::min(piece, plane.out_w - out), begin = across.at(out, 0);
        const std::ptrdiff_t places = (count - 1) * across.step + span;
        const std::ptrdiff_t step = fixed > 0 ? fixed : std::min(across.step, places);
        const std::ptrdiff_t run = (places + step - 1) / step + (fixed > 0 ? width : 0);
        const DealtRow<Arch, fixed> dealt{step, run, std::max(-begin, std::ptrdiff_t{0}),
                                          std::min(places, across.in - begin)};
        if constexpr (max) {
            std::fill_n(x, run * step, -std::numeric_limits<float>::infinity());
        } else {
            for (std::ptrdiff_t i = 0; i < count; ++i) {
                columns[i] = static_cast<float>(across.counted(out + i, plane.count_pad));
            }
        }
        for (std::ptrdiff_t oh = 0; oh < plane.out_h; ++oh) {
            clear(std::min(down.at(oh, down.size - 1) + 1, down.in));
            const std::size_t from = static_cast<std::size_t>(oh) * plane.out_row + static_cast<std::size_t>(out);
            const V rows(max ? 1.0F : static_cast<float>(down.counted(oh, plane.count_pad)));
            for (std::ptrdiff_t i = 0; i < count; i += width) {
                const auto n = static_cast<std::size_t>(count - i);
                V all = load_up_to<Arch>(plane.dy + from + i, n);
                if constexpr (!max) all = quotient<Arch>(all, rows * load_up_to<Arch>(columns + i, n, 1.0F));
                store<Arch>(left + i, all);
            }
            for (std::ptrdiff_t tap = 0; tap < down.size; ++tap) {
                const std::ptrdiff_t h = down.at(oh, tap);
                if (!down.inside(h)) continue;
                const std::size_t row = static_cast<std::size_t>(h) * plane.in_row +
                                        static_cast<std::size_t>(std::max(begin, std::ptrdiff_t{0}));
                if constexpr (max) dealt.deal(plane.x + row, x);
                for (std::ptrdiff_t i = 0; i < run * step; i += width) store<Arch>(dx + i, V(0.0F));
                for (std::ptrdiff_t j = 0; j < across.size; ++j) {
                    const std::ptrdiff_t at = dealt.at(dx, j * across.dilation) - dx;
                    for (std::ptrdiff_t i = 0; i < count; i += width) {
                        const std::ptrdiff_t n = count - i;
                        V rest = load<Arch>(left + i), y(0.0F);
                        if constexpr (max) y = load_up_to<Arch>(plane.y + from + i, static_cast<std::size_t>(n));
                        const auto to = [&](auto part) { give<Arch, max>(part, x + at + i, dx + at + i, y, rest); };
                        n >= width ? to(AllLanes<Arch>{}) : to(FirstLanes<Arch>(static_cast<int>(n)));
                        if constexpr (max) store<Arch>(left + i, rest);
                    }
                }
                dealt.add_to(plane.dx + row, dx);
            }
        }
    }
    clear(down.in);
}

}  // namespace primsel::inline PRIMSEL_ABI::op::detail
