// Pooling one row of windows.
#pragma once

#include <primsel/op/detail/vectors.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>

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
};

/// The rows of a window: `count` of them, stride floats apart.
struct WindowRows {
    const float* src;
    std::size_t count, stride;
    [[nodiscard]] const float* operator[](std::size_t row) const { return src + row * stride; }
};

/// One row of outputs where columns are neighbours. counted: what an average divides by, along the other axis.
template <class Arch, class Reduction>
void pool_columns(PoolAxis const& axis, WindowRows rows, float counted, float* dst, std::ptrdiff_t outputs) noexcept {
    using V = Floats<Arch>;
    constexpr std::ptrdiff_t width = lanes<Arch>;
    // The rows become one, of columns at, at + 1, ...
    const auto columns = [&](std::ptrdiff_t at) {
        V sum(Reduction::identity);
        if (at >= 0 && at + width <= axis.in) {
            for (std::size_t y = 0; y < rows.count; ++y) {
                sum = Reduction::template apply<Arch>(sum, load<Arch>(rows[y] + at));
            }
        } else {
            for (std::size_t y = 0; y < rows.count; ++y) {
                sum =
                    Reduction::template apply<Arch>(sum, load_around<Arch>(rows[y], at, axis.in, Reduction::identity));
            }
        }
        return sum;
    };
    // As above, of columns at, at + step, ...
    const auto spread_columns = [&](std::ptrdiff_t at) {
        V sum(Reduction::identity);
        for (std::size_t y = 0; y < rows.count; ++y) {
            alignas(64) float lane[width];
            for (std::ptrdiff_t i = 0, x = at; i < width; ++i, x += axis.step) {
                lane[i] = x >= 0 && x < axis.in ? rows[y][x] : Reduction::identity;
            }
            sum = Reduction::template apply<Arch>(sum, load<Arch>(lane));
        }
        return sum;
    };
    for (std::ptrdiff_t out = 0; out < outputs; out += width) {
        const std::ptrdiff_t begin = axis.begin(out), last = std::min(out + width, outputs) - 1;
        V sum(Reduction::identity);
        if (axis.step == 1) {
            for (std::ptrdiff_t j = 0; j < axis.size; ++j) {
                sum = Reduction::template apply<Arch>(sum, columns(begin + j));
            }
        } else if (axis.step == 2) {
            for (std::ptrdiff_t j = 0; j < axis.size; j += 2) {
                V even = columns(begin + j), odd = columns(begin + j + width);
                split_even_odd<Arch>(even, odd);
                sum = Reduction::template apply<Arch>(sum, even);
                if (j + 1 < axis.size) sum = Reduction::template apply<Arch>(sum, odd);
            }
        } else {
            for (std::ptrdiff_t j = 0; j < axis.size; ++j) {
                sum = Reduction::template apply<Arch>(sum, spread_columns(begin + j));
            }
        }
        if constexpr (Reduction::averages) {
            V divisor(counted * static_cast<float>(axis.size));
            if (axis.counted(out) != axis.size || axis.counted(last) != axis.size) {
                alignas(64) float each[width];
                for (std::ptrdiff_t i = 0; i < width; ++i) {
                    each[i] = counted * static_cast<float>(axis.counted(std::min(out + i, last)));
                }
                divisor = load<Arch>(each);
            }
            sum = sum / divisor;
        }
        store_up_to<Arch>(dst + out, sum, static_cast<std::size_t>(outputs - out));
    }
}

/// One row of outputs where channels are neighbours, and pixels `pixel` floats apart in src and dst.
template <class Arch, class Reduction>
void pool_pixels(PoolAxis const& axis, WindowRows rows, float counted, std::size_t pixel, std::size_t channels,
                 float* dst, std::ptrdiff_t outputs) noexcept {
    using V = Floats<Arch>;
    constexpr std::size_t width = lanes<Arch>, several = 4;
    for (std::ptrdiff_t out = 0; out < outputs; ++out) {
        const auto first = static_cast<std::size_t>(axis.first(out)), last = static_cast<std::size_t>(axis.last(out));
        float* to = dst + static_cast<std::size_t>(out) * pixel;
        const V divisor(counted * static_cast<float>(axis.counted(out)));
        const auto finish = [&](V const& sum) {
            if constexpr (Reduction::averages) return sum / divisor;
            return sum;
        };
        std::size_t c = 0;
        for (; c + several * width <= channels; c += several * width) {
            V sum[several] = {V(Reduction::identity), V(Reduction::identity), V(Reduction::identity),
                              V(Reduction::identity)};
            for (std::size_t y = 0; y < rows.count; ++y) {
                for (std::size_t x = first; x < last; ++x) {
                    const float* src = rows[y] + x * pixel + c;
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
            for (std::size_t y = 0; y < rows.count; ++y) {
                for (std::size_t x = first; x < last; ++x) {
                    const V value = load_up_to<Arch>(rows[y] + x * pixel + c, channels - c);
                    sum = Reduction::template apply<Arch>(sum, value);
                }
            }
            store_up_to<Arch>(to + c, finish(sum), channels - c);
        }
    }
}

}  // namespace primsel::inline PRIMSEL_ABI::detail
