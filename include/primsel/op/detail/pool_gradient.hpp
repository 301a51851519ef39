// The gradient of pooling: each window gives its gradient to its elements. A block takes all windows of some channels
// of an image, in their order.
#pragma once

#include <primsel/op/detail/vectors.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace primsel::inline PRIMSEL_ABI::detail {

/// The windows along one axis of an image, which may have gaps.
struct GradientAxis {
    std::ptrdiff_t in, size, step, dilation, before, after;

    [[nodiscard]] std::ptrdiff_t span() const { return (size - 1) * dilation + 1; }
    [[nodiscard]] std::ptrdiff_t at(std::ptrdiff_t out, std::ptrdiff_t tap) const {
        return out * step - before + tap * dilation;
    }
    [[nodiscard]] bool inside(std::ptrdiff_t place) const { return place >= 0 && place < in; }
    /// What an average divides by.
    [[nodiscard]] std::ptrdiff_t counted(std::ptrdiff_t out, bool count_pad) const {
        std::ptrdiff_t counted = 0;
        for (std::ptrdiff_t tap = 0; tap < size; ++tap) {
            counted += count_pad ? at(out, tap) < in + after : inside(at(out, tap));
        }
        return counted;
    }
};

/// One channel, or neighbouring channels, of an image before and after pooling.
struct PoolPlane {
    const float *x, *y, *dy;  // x and y of a maximum only
    float* dx;
    /// Floats from row to row of x and dx, and of y and dy.
    std::size_t in_row, out_row;
    std::ptrdiff_t out_h, out_w;
    GradientAxis down, across;
    bool count_pad;
};

/// Gives what is left of a window's gradient to an element, if that is the maximum: the first that is takes all. Where
/// the maximum is NaN the first element is taken for it.
template <class Arch, bool max>
PRIMSEL_INLINE void give(const float* x, float* dx, Floats<Arch> const& y, Floats<Arch>& left, std::size_t n) {
    using V = Floats<Arch>;
    const V before = load_up_to<Arch>(dx, n);
    if constexpr (max) {
        const auto less = load_up_to<Arch>(x, n) < y;
        store_up_to<Arch>(dx, before + xsimd::select(less, V(0.0F), left), n);
        left = xsimd::select(less, left, V(0.0F));
    } else {
        store_up_to<Arch>(dx, before + left, n);
    }
}

/// Up to a group of channels that are neighbours, their pixels `pixel` floats apart.
template <class Arch, bool max>
void pool_gradient_pixels(PoolPlane const& plane, std::size_t pixel, std::size_t channels) noexcept {
    using V = Floats<Arch>;
    constexpr std::size_t width = lanes<Arch>;
    const GradientAxis &down = plane.down, &across = plane.across;
    std::ptrdiff_t cleared = 0;
    const auto clear = [&](std::ptrdiff_t rows) {
        for (; cleared < rows; ++cleared) {
            float* row = plane.dx + static_cast<std::size_t>(cleared) * plane.in_row;
            for (std::ptrdiff_t w = 0; w < across.in; ++w, row += pixel) {
                for (std::size_t c = 0; c < channels; c += width) store_up_to<Arch>(row + c, V(0.0F), channels - c);
            }
        }
    };
    for (std::ptrdiff_t oh = 0; oh < plane.out_h; ++oh) {
        clear(std::min(down.at(oh, down.size - 1) + 1, down.in));
        const auto rows = static_cast<float>(max ? 1 : down.counted(oh, plane.count_pad));
        for (std::ptrdiff_t ow = 0; ow < plane.out_w; ++ow) {
            const std::size_t out = static_cast<std::size_t>(oh) * plane.out_row + static_cast<std::size_t>(ow) * pixel;
            const auto counted = rows * static_cast<float>(max ? 1 : across.counted(ow, plane.count_pad));
            for (std::size_t c = 0; c < channels; c += width) {
                const std::size_t n = channels - c;
                V left = load_up_to<Arch>(plane.dy + out + c, n), y(0.0F);
                if constexpr (max) {
                    y = load_up_to<Arch>(plane.y + out + c, n);
                } else {
                    left = left / V(counted);
                }
                for (std::ptrdiff_t i = 0; i < down.size; ++i) {
                    const std::ptrdiff_t h = down.at(oh, i);
                    if (!down.inside(h)) continue;
                    for (std::ptrdiff_t j = 0; j < across.size; ++j) {
                        const std::ptrdiff_t w = across.at(ow, j);
                        if (!across.inside(w)) continue;
                        const std::size_t in =
                            static_cast<std::size_t>(h) * plane.in_row + static_cast<std::size_t>(w) * pixel + c;
                        give<Arch, max>(max ? plane.x + in : nullptr, plane.dx + in, y, left, n);
                    }
                }
            }
        }
    }
    clear(down.in);
}

/// Calls f(run, i, place) for the places [first, last) of a row that is dealt out to `step` runs: place i * step + run is
/// element i of the run. fixed: the step where it is known, for the compiler's vectors.
template <int fixed, class F>
PRIMSEL_INLINE void for_dealt(std::ptrdiff_t any_step, std::ptrdiff_t first, std::ptrdiff_t last, F const& f) {
    const std::ptrdiff_t step = fixed > 0 ? fixed : any_step;
    const std::ptrdiff_t begin = std::min((first + step - 1) / step, last / step), end = last / step;
    std::ptrdiff_t place = first;
    for (; place < std::min(begin * step, last); ++place) f(place % step, place / step, place);
    for (std::ptrdiff_t i = begin; i < end; ++i) {
        for (std::ptrdiff_t run = 0; run < step; ++run) f(run, i, i * step + run);
    }
    for (place = std::max(place, end * step); place < last; ++place) f(place % step, place / step, place);
}

/// One channel whose columns are neighbours. The columns of a row are dealt out by the windows' step, so that a tap
/// of neighbouring windows meets neighbours.
template <class Arch, bool max, int fixed>
void pool_gradient_columns(PoolPlane const& plane) noexcept {
    using V = Floats<Arch>;
    constexpr std::ptrdiff_t width = lanes<Arch>, room = 1024;
    const GradientAxis &down = plane.down, &across = plane.across;
    const std::ptrdiff_t span = across.span();
    if (span > room / 2) return pool_gradient_pixels<Arch, max>(plane, 1, 1);
    alignas(64) float x[2 * room], dx[2 * room], left[room], columns[room];
    std::ptrdiff_t cleared = 0;
    const auto clear = [&](std::ptrdiff_t rows) {
        for (; cleared < rows; ++cleared) {
            std::fill_n(plane.dx + static_cast<std::size_t>(cleared) * plane.in_row, across.in, 0.0F);
        }
    };
    const std::ptrdiff_t piece = std::min((room - span) / across.step + 1, plane.out_w);
    for (std::ptrdiff_t out = 0; out < plane.out_w; out += piece) {
        const std::ptrdiff_t count = std::min(piece, plane.out_w - out), begin = across.at(out, 0);
        const std::ptrdiff_t places = (count - 1) * across.step + span, step = std::min(across.step, places);
        const std::ptrdiff_t run = (places + step - 1) / step;
        const std::ptrdiff_t first = std::max(-begin, std::ptrdiff_t{0}), last = std::min(places, across.in - begin);
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
            const float rows = max ? 1.0F : static_cast<float>(down.counted(oh, plane.count_pad));
            for (std::ptrdiff_t i = 0; i < count; ++i) {
                left[i] = max ? plane.dy[from + static_cast<std::size_t>(i)]
                              : plane.dy[from + static_cast<std::size_t>(i)] / (rows * columns[i]);
            }
            for (std::ptrdiff_t tap = 0; tap < down.size; ++tap) {
                const std::ptrdiff_t h = down.at(oh, tap);
                if (!down.inside(h)) continue;
                // Places count from the first window's first, which may be in the padding.
                const std::ptrdiff_t row = h * static_cast<std::ptrdiff_t>(plane.in_row) + begin;
                if constexpr (max) {
                    for_dealt<fixed>(step, first, last,
                                     [&x, run, row, src = plane.x](std::ptrdiff_t r, std::ptrdiff_t i,
                                                                   std::ptrdiff_t place) {
                                         x[r * run + i] = src[row + place];
                                     });
                }
                std::fill_n(dx, run * step, 0.0F);
                for (std::ptrdiff_t j = 0; j < across.size; ++j) {
                    const std::ptrdiff_t offset = j * across.dilation, at = offset % step * run + offset / step;
                    for (std::ptrdiff_t i = 0; i < count; i += width) {
                        const auto n = static_cast<std::size_t>(count - i);
                        V rest = load_up_to<Arch>(left + i, n), y(0.0F);
                        if constexpr (max) y = load_up_to<Arch>(plane.y + from + i, n);
                        give<Arch, max>(x + at + i, dx + at + i, y, rest, n);
                        if constexpr (max) store_up_to<Arch>(left + i, rest, n);
                    }
                }
                for_dealt<fixed>(step, first, last,
                                 [&dx, run, row, dst = plane.dx](std::ptrdiff_t r, std::ptrdiff_t i,
                                                                 std::ptrdiff_t place) {
                                     dst[row + place] += dx[r * run + i];
                                 });
            }
        }
    }
    clear(down.in);
}

}  // namespace primsel::inline PRIMSEL_ABI::detail
