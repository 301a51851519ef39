// The tiles of Winograd's minimal filtering: what F(m x m, r x r) is, whatever the width of its vectors.
#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/primitive/detail/cook_toom.hpp>
#include <primsel/primitive/detail/lanes.hpp>
#include <primsel/primitive/detail/panel.hpp>
#include <primsel/primitive/primitive.hpp>

#include <algorithm>
#include <type_traits>
#include <utility>

namespace primsel::inline PRIMSEL_ABI::detail {

/// The sum of matrix[row][j] * in[j * step] over j, leaving out what is zero and not multiplying by one.
template <auto const& matrix, std::size_t row, class V>
PRIMSEL_INLINE V combine(const V* in, int step) {
    constexpr auto factors = matrix[row];
    constexpr std::size_t first = [] {
        std::size_t j = 0;
        while (matrix[row][j] == 0.0) ++j;
        return j;
    }();
    V sum = in[static_cast<int>(first) * step];
    if constexpr (factors[first] != 1.0) sum = static_cast<float>(factors[first]) * sum;
    [&]<std::size_t... j>(std::index_sequence<j...>) {
        const auto add = [&]<std::size_t i>(std::integral_constant<std::size_t, i>) {
            constexpr auto factor = static_cast<float>(factors[i]);
            [[maybe_unused]] V const& term = in[static_cast<int>(i) * step];
            if constexpr (i <= first || factor == 0.0F)
                return;
            else if constexpr (factor == 1.0F)
                sum = sum + term;
            else if constexpr (factor == -1.0F)
                sum = sum - term;
            else
                sum = sum + factor * term;
        };
        (add(std::integral_constant<std::size_t, j>{}), ...);
    }(std::make_index_sequence<factors.size()>{});
    return sum;
}

/// out = matrix * in * matrix', for an `in` of as many rows and columns as the matrix has columns.
template <auto const& matrix, class V>
PRIMSEL_INLINE void sandwich(const V* in, V* out) {
    constexpr std::size_t rows = matrix.size();
    constexpr int height = static_cast<int>(rows), size = static_cast<int>(matrix[0].size());
    V half[rows * matrix[0].size()];
    [&]<std::size_t... i>(std::index_sequence<i...>) {
        for (int column = 0; column < size; ++column) {
            ((half[static_cast<int>(i) * size + column] = combine<matrix, i>(in + column, size)), ...);
        }
        for (int row = 0; row < height; ++row) {
            ((out[row * height + static_cast<int>(i)] = combine<matrix, i>(half + row * size, 1)), ...);
        }
    }(std::make_index_sequence<rows>{});
}

/// Floats between tiles: 16 more than whole cache lines, so that neighbours do not meet in one cache set.
[[nodiscard]] constexpr std::size_t tile_stride(int channels) {
    return round_up_floats(static_cast<std::size_t>(channels)) + 16;
}

/// Calls work(width, begin, end) for the channels that fill vectors of `vec`, and for the rest one by one.
template <int vec, class F>
PRIMSEL_INLINE void for_channels(std::size_t channels, F const& work) {
    const std::size_t whole = channels / vec * vec;
    if (whole > 0) work(std::integral_constant<int, vec>{}, std::size_t{0}, whole);
    if (whole < channels) work(std::integral_constant<int, 1>{}, whole, channels);
}

/// dst[to] = clamp(value + residual[to]); the bias is in `value` already.
template <class V>
PRIMSEL_INLINE void finish_pixel(ConvArgs const& args, V value, std::size_t to) {
    if (args.residual != nullptr) value = value + V::load(args.residual + to);
    value.clamped(args.clamp.low, args.clamp.high).store(args.dst + to);
}

/// A tile is (m + r - 1) squared pixels of the image, of which m squared of the output come.
template <int m, int r, class P>
struct WinogradTiles {
    static constexpr int size = m + r - 1, taps = size * size;
    static_assert(cook_toom<m, r, P>.is_convolution(), "two interpolation points are the same");

    [[nodiscard]] static constexpr int rows(ConvShape const& s) { return (s.out_h() + m - 1) / m; }
    [[nodiscard]] static constexpr int columns(ConvShape const& s) { return (s.out_w() + m - 1) / m; }

    /// Tap after tap, the transformed kernel as a matrix c x k, packed in panels.
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        constexpr auto& g = kernel_matrix<m, r, P>;
        const auto c = static_cast<std::size_t>(s.c), k = static_cast<std::size_t>(s.k);
        const std::size_t matrix = packed_size<Arch>(s.c, s.k);
        // Straight into the panels, panel after panel: each tap's is written from its beginning to its end.
        for (int first = 0; first < s.k; first += panel_width<Arch>) {
            const auto width = static_cast<std::size_t>(panel_columns<Arch>(first, s.k));
            float* panel = dst + c * static_cast<std::size_t>(first);
            for (std::size_t column = 0; column < c; ++column, panel += width) {
                for (std::size_t n = 0; n < width; ++n) {
                    const std::size_t row = static_cast<std::size_t>(first) + n;
                    if (row >= k) {
                        for (std::size_t tap = 0; tap < taps; ++tap) panel[tap * matrix + n] = 0;
                        continue;
                    }
                    const float* taps_of = kernel + (row * c + column) * (r * r);
                    double half[size][r];
                    for (std::size_t i = 0; i < size; ++i) {
                        for (std::size_t j = 0; j < r; ++j) {
                            half[i][j] = 0;
                            for (std::size_t t = 0; t < r; ++t)
                                half[i][j] += g[i][t] * static_cast<double>(taps_of[t * r + j]);
                        }
                    }
                    for (std::size_t i = 0; i < size; ++i) {
                        for (std::size_t j = 0; j < size; ++j) {
                            double sum = 0;
                            for (std::size_t t = 0; t < r; ++t) sum += half[i][t] * g[j][t];
                            panel[(i * size + j) * matrix + n] = static_cast<float>(sum);
                        }
                    }
                }
            }
        }
    }

    /// One tile of the image, all channels: dst[tap * tap_stride + c].
    template <int vec>
    static void transform_input(ConvShape const& s, const float* src, int tile, float* dst,
                                std::size_t tap_stride) noexcept {
        const int h0 = tile / columns(s) * m - s.pad_top, w0 = tile % columns(s) * m - s.pad_left;
        const auto c = static_cast<std::size_t>(s.c);
        const float* pixels[taps];
        for (int i = 0; i < taps; ++i) {
            const int h = h0 + i / size, w = w0 + i % size;
            const bool in = h >= 0 && h < s.h && w >= 0 && w < s.w;
            pixels[i] = in ? src + static_cast<std::size_t>(h * s.w + w) * c : nullptr;
        }
        for_channels<vec>(c, [&]<int n>(std::integral_constant<int, n>, std::size_t begin, std::size_t end) {
            transform_channels<n>(pixels, begin, end, dst, tap_stride);
        });
    }

    template <int vec>
    static void transform_output(ConvShape const& s, ConvArgs const& args, int tile, const float* src,
                                 std::size_t tap_stride) noexcept {
        const int h0 = tile / columns(s) * m, w0 = tile % columns(s) * m;
        const Target target{static_cast<std::size_t>(h0 * s.out_w() + w0), static_cast<std::size_t>(s.out_w()),
                            static_cast<std::size_t>(s.k), std::min(m, s.out_h() - h0), std::min(m, s.out_w() - w0)};
        for_channels<vec>(target.channels,
                          [&]<int n>(std::integral_constant<int, n>, std::size_t begin, std::size_t end) {
                              finish_channels<n>(args, target, begin, end, src, tap_stride);
                          });
    }

private:
    /// Functions of their own: one for each width, not for each pair of a width and its rest.
    template <int n>
    PRIMSEL_NOINLINE static void transform_channels(const float* const* pixels, std::size_t begin, std::size_t end,
                                                    float* dst, std::size_t tap_stride) noexcept {
        using V = Lanes<n>;
        for (std::size_t at = begin; at < end; at += n) {
            V in[taps], out[taps];
            for (int i = 0; i < taps; ++i) in[i] = pixels[i] != nullptr ? V::load(pixels[i] + at) : V::all(0.0F);
            sandwich<input_matrix<m, r, P>>(in, out);
            for (std::size_t i = 0; i < taps; ++i) out[i].store(dst + i * tap_stride + at);
        }
    }

    /// Where a tile's outputs go: the first pixel, pixels to a row, and how many of the m squared there are.
    struct Target {
        std::size_t first, row, channels;
        int height, width;
    };
    template <int n>
    PRIMSEL_NOINLINE static void finish_channels(ConvArgs const& args, Target const& target, std::size_t begin,
                                                 std::size_t end, const float* src, std::size_t tap_stride) noexcept {
        using V = Lanes<n>;
        for (std::size_t at = begin; at < end; at += n) {
            V in[taps], out[m * m];
            for (std::size_t i = 0; i < taps; ++i) in[i] = V::load(src + i * tap_stride + at);
            sandwich<output_matrix<m, r, P>>(in, out);
            const V bias = args.bias == nullptr ? V::all(0.0F) : V::load(args.bias + at);
            for (int row = 0; row < target.height; ++row) {
                for (int column = 0; column < target.width; ++column) {
                    const std::size_t pixel =
                        target.first + static_cast<std::size_t>(row) * target.row + static_cast<std::size_t>(column);
                    finish_pixel(args, out[row * m + column] + bias, pixel * target.channels + at);
                }
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::detail
