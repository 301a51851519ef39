#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/fixed_string.hpp>
#include <primsel/primitive/detail/tap.hpp>
#include <primsel/primitive/primitive.hpp>

#include <algorithm>
#include <concepts>
#include <cstring>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

[[nodiscard]] constexpr Support depthwise_supports(ConvShape const& s) {
    return s.groups != s.c ? Support::no("needs as many groups as channels") : Support::yes();
}

/// dst = clamp(sum + bias + residual) for the vector or float at `at`; null for what there is not.
template <class Arch>
PRIMSEL_INLINE void finish_depthwise(ConvArgs const& args, Floats<Arch> sum, const float* bias, std::size_t at) {
    if (bias != nullptr) sum += load<Arch>(bias);
    if (args.residual != nullptr) sum += load<Arch>(args.residual + at);
    store<Arch>(args.dst + at, clamp<Arch>(sum, broadcast<Arch>(args.clamp.low), broadcast<Arch>(args.clamp.high)));
}
PRIMSEL_INLINE void finish_depthwise(ConvArgs const& args, float sum, float bias, std::size_t at) {
    sum += bias;
    if (args.residual != nullptr) sum += args.residual[at];
    args.dst[at] = clamp(sum, args.clamp.low, args.clamp.high);
}

}  // namespace detail

/// Depthwise convolution in hwc: a vector of channels at a time over a few neighbouring output pixels, read in place.
/// With several kernels a channel, every channel is first repeated as often.
struct DepthwiseHwc {
    static constexpr FixedString id = "depthwise-hwc";
    static constexpr Family family = Family::other;
    using in_layout = hwc;
    using out_layout = hwc;
    static constexpr bool fuses_epilogue = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) { return detail::depthwise_supports(s); }

    /// Tap after tap, the weights of all kernels.
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        for (int tap = 0; tap < s.taps(); ++tap) {
            for (int k = 0; k < s.k; ++k) *dst++ = kernel[k * s.taps() + tap];
        }
    }
    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t) {
        return s.k == s.c ? 0 : s.in_pixels() * static_cast<std::size_t>(s.k);
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        const float* src = args.src;
        if (s.k != s.c) {
            repeat_channels(s, args);
            src = args.scratch;
        }
        if (has_blocks<Arch>(s)) {
            if (s.stride_w == 1) {
                run_blocks<Arch, 1>(s, args, src);
            } else {
                run_blocks<Arch, 2>(s, args, src);
            }
            return;
        }
        args.executor.parallel_for(static_cast<std::size_t>(s.out_h()), [&s, &args, src](std::size_t row, std::size_t) {
            const int channels = s.k, width = lanes<Arch>;
            if (channels < width) {
                for (int k = 0; k < channels; ++k) run_row<1, float, Arch>(s, args, src, static_cast<int>(row), k);
                return;
            }
            // The last vector overlaps its neighbour where the channels do not fill it.
            for (int k = 0; k < channels; k += width) {
                run_row<pixels_at_once, Floats<Arch>, Arch>(s, args, src, static_cast<int>(row),
                                                            std::min(k, channels - width));
            }
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const double image = 4.0 * static_cast<double>(s.in_pixels()) * s.k,
                     out = 4.0 * static_cast<double>(s.out_pixels()) * s.k;
        Work work;
        if (s.k != s.c)
            work.add({.rate = Rate::scalar, .operations = image / 4, .bytes = 2 * image, .working_set = image});
        // Blocks reach about a third of the peak on cached data.
        if (has_blocks<Arch>(s)) {
            return work.add({.rate = Rate::gemm,
                             .operations = 3 * s.operations(),
                             .bytes = image + 2 * out,
                             .working_set = image + out});
        }
        return work.add({.rate = s.k < lanes<Arch> ? Rate::scalar : Rate::vector,
                         .operations = s.operations(),
                         .bytes = out * s.taps(),
                         .working_set = image + out});
    }

private:
    static constexpr int pixels_at_once = 8;

    /// Outputs of a block of the 3x3 kernel: its sums, the nine weights and an input fit the registers. Each input is
    /// loaded once for all the outputs that it goes into.
    template <class Arch>
    static constexpr int block_rows = registers<Arch> == 32 ? 2 : 1;
    template <class Arch>
    static constexpr int block_columns = registers<Arch> == 32 ? 7 : 4;

    template <class Arch>
    [[nodiscard]] static bool has_blocks(ConvShape const& s) {
        const bool square = s.fh == 3 && s.fw == 3 && s.stride_h == s.stride_w && s.stride_w <= 2 && !s.dilated();
        const bool narrow =
            s.pad_left <= 1 && s.pad_top <= 1 && (s.out_w() - 1) * s.stride_w + s.fw - 1 - s.pad_left <= s.w;
        return square && narrow && s.k >= lanes<Arch> && s.out_w() >= block_columns<Arch>;
    }

    template <class Arch, int stride>
    static void run_blocks(ConvShape const& s, ConvArgs const& args, const float* src) noexcept {
        // Parts of eight vectors of channels; the last has at least one, and the rest.
        constexpr int rows = block_rows<Arch>, channels = 8 * lanes<Arch>;
        const int parts = std::max(1, (s.k + channels - lanes<Arch>) / channels);
        const auto items = static_cast<std::size_t>((s.out_h() + rows - 1) / rows * parts);
        args.executor.parallel_for(items, [&s, &args, src, parts](std::size_t item, std::size_t) {
            const int first = static_cast<int>(item) / parts * rows, part = static_cast<int>(item) % parts,
                      begin = part * channels, end = part + 1 == parts ? s.k : begin + channels;
            if (first + rows <= s.out_h()) {
                run_block_row<Arch, rows, stride>(s, args, src, first, begin, end);
            } else {
                run_block_row<Arch, 1, stride>(s, args, src, first, begin, end);
            }
        });
    }

    /// `rows` output rows of channels [begin, end), a vector at least; the last block and the last channels overlap
    /// their neighbours where they do not fill theirs.
    template <class Arch, int rows, int stride>
    static void run_block_row(ConvShape const& s, ConvArgs const& args, const float* src, int first, int begin,
                              int end) noexcept {
        constexpr int columns = block_columns<Arch>, in_rows = (rows - 1) * stride + 3;
        const auto channels = static_cast<std::size_t>(s.k);
        const float* lines[in_rows];
        for (int i = 0; i < in_rows; ++i) {
            const int h = first * stride - s.pad_top + i;
            lines[i] = h >= 0 && h < s.h ? src + static_cast<std::size_t>(h * s.w) * channels : nullptr;
        }
        for (int column = 0; column < s.out_w(); column += columns) {
            const int ow = std::min(column, s.out_w() - columns);
            for (int k = begin; k < end; k += lanes<Arch>) {
                run_block<Arch, rows, stride>(s, args, lines, first, ow,
                                              static_cast<std::size_t>(std::min(k, end - lanes<Arch>)));
            }
        }
    }

    template <class Arch, int rows, int stride>
    PRIMSEL_INLINE static void run_block(ConvShape const& s, ConvArgs const& args, const float* const* lines, int oh,
                                         int ow, std::size_t at) noexcept {
        constexpr int columns = block_columns<Arch>, in_rows = (rows - 1) * stride + 3,
                      in_columns = (columns - 1) * stride + 3;
        const auto channels = static_cast<std::ptrdiff_t>(s.k);
        const int first = ow * stride - s.pad_left;
        const bool skip_first = first<0, skip_last = first + in_columns> s.w;
        const std::size_t to = static_cast<std::size_t>(oh * s.out_w() + ow) * static_cast<std::size_t>(s.k) + at,
                          row = static_cast<std::size_t>(s.out_w()) * static_cast<std::size_t>(s.k);
        Floats<Arch> weights[9];
        PRIMSEL_UNROLL
        for (std::ptrdiff_t tap = 0; tap < 9; ++tap) weights[tap] = load<Arch>(args.weights + tap * channels + at);
        const Floats<Arch> bias = args.bias == nullptr ? broadcast<Arch>(0.0F) : load<Arch>(args.bias + at);
        Floats<Arch> sums[rows][columns];
        PRIMSEL_UNROLL
        for (int r = 0; r < rows; ++r) {
            PRIMSEL_UNROLL
            for (int c = 0; c < columns; ++c) sums[r][c] = bias;
        }
        PRIMSEL_UNROLL
        for (int i = 0; i < in_rows; ++i) {
            if (lines[i] == nullptr) continue;
            auto pixel = first * channels + static_cast<std::ptrdiff_t>(at);  // before the line where it is skipped
            PRIMSEL_UNROLL
            for (int j = 0; j < in_columns; ++j, pixel += channels) {
                if ((j == 0 && skip_first) || (j == in_columns - 1 && skip_last)) continue;
                const Floats<Arch> x = load<Arch>(lines[i] + pixel);
                PRIMSEL_UNROLL
                for (int r = 0; r < rows; ++r) {
                    PRIMSEL_UNROLL
                    for (int c = 0; c < columns; ++c) {
                        const int fh = i - r * stride, fw = j - c * stride;
                        if (fh < 0 || fh > 2 || fw < 0 || fw > 2) continue;
                        sums[r][c] = fma<Arch>(weights[fh * 3 + fw], x, sums[r][c]);
                    }
                }
            }
        }
        const Floats<Arch> low = broadcast<Arch>(args.clamp.low), high = broadcast<Arch>(args.clamp.high);
        const float* const residual = args.residual;
        float* const dst = args.dst + to;
        if (residual != nullptr) {
            PRIMSEL_UNROLL
            for (int r = 0; r < rows; ++r) {
                PRIMSEL_UNROLL
                for (int c = 0; c < columns; ++c) {
                    sums[r][c] += load<Arch>(residual + to + static_cast<std::size_t>(r) * row + c * channels);
                }
            }
        }
        PRIMSEL_UNROLL
        for (int r = 0; r < rows; ++r) {
            PRIMSEL_UNROLL
            for (int c = 0; c < columns; ++c) {
                store<Arch>(dst + static_cast<std::size_t>(r) * row + c * channels, clamp<Arch>(sums[r][c], low, high));
            }
        }
    }

    static void repeat_channels(ConvShape const& s, ConvArgs const& args) noexcept {
        args.executor.parallel_for(static_cast<std::size_t>(s.h), [&](std::size_t row, std::size_t) {
            const std::size_t values = static_cast<std::size_t>(s.w) * static_cast<std::size_t>(s.c),
                              times = static_cast<std::size_t>(s.k / s.c);
            const float* from = args.src + row * values;
            float* to = args.scratch + row * values * times;
            for (std::size_t i = 0; i < values; ++i) std::fill_n(to + i * times, times, from[i]);
        });
    }

    /// One output row of the channels from k on that V holds: the pixels whose taps all lie inside `pixels` at a time,
    /// those at the borders one by one.
    template <int pixels, class V, class Arch>
    static void run_row(ConvShape const& s, ConvArgs const& args, const float* src, int oh, int k) noexcept {
        const detail::Range first = detail::tap_columns(s, 0), last = detail::tap_columns(s, s.fw - 1);
        const int inner_begin = std::clamp(first.begin, 0, s.out_w()),
                  inner_end = std::clamp(std::min(first.end, last.end), inner_begin, s.out_w());
        int ow = 0;
        while (ow < s.out_w()) {
            const bool inner = ow >= inner_begin && ow < inner_end;
            if (inner && ow + pixels <= inner_end) {
                run_pixels<pixels, V, Arch>(s, args, src, oh, ow, 0, s.fw, k);
                ow += pixels;
                continue;
            }
            int begin = 0, end = s.fw;
            while (begin < s.fw && ow * s.stride_w + detail::tap_offset_w(s, begin) < 0) ++begin;
            while (end > begin && ow * s.stride_w + detail::tap_offset_w(s, end - 1) >= s.w) --end;
            run_pixels<1, V, Arch>(s, args, src, oh, ow, begin, end, k);
            ++ow;
        }
    }

    /// `pixels` neighbouring outputs, over the kernel columns [begin, end).
    template <int pixels, class V, class Arch>
    PRIMSEL_INLINE static void run_pixels(ConvShape const& s, ConvArgs const& args, const float* src, int oh, int ow,
                                          int begin, int end, int k) noexcept {
        const auto channels = static_cast<std::size_t>(s.k), at = static_cast<std::size_t>(k);
        const std::size_t step = static_cast<std::size_t>(s.stride_w) * channels;
        V sums[pixels];
        PRIMSEL_UNROLL
        for (int p = 0; p < pixels; ++p) sums[p] = V(0.0F);
        for (int fh = 0; fh < s.fh; ++fh) {
            const int h = oh * s.stride_h + detail::tap_offset_h(s, fh);
            if (h < 0 || h >= s.h) continue;
            for (int fw = begin; fw < end; ++fw) {
                const int w = ow * s.stride_w + detail::tap_offset_w(s, fw);
                const float* pixel = src + static_cast<std::size_t>(h * s.w + w) * channels + at;
                const float* weight = args.weights + static_cast<std::size_t>(fh * s.fw + fw) * channels + at;
                if constexpr (std::same_as<V, float>) {
                    sums[0] += *weight * *pixel;
                } else {
                    const V factor = load<Arch>(weight);
                    PRIMSEL_UNROLL
                    for (int p = 0; p < pixels; ++p) {
                        sums[p] = fma<Arch>(factor, load<Arch>(pixel + static_cast<std::size_t>(p) * step), sums[p]);
                    }
                }
            }
        }
        const std::size_t out = static_cast<std::size_t>(oh * s.out_w() + ow) * channels + at;
        if constexpr (std::same_as<V, float>) {
            detail::finish_depthwise(args, sums[0], args.bias == nullptr ? 0.0F : args.bias[at], out);
        } else {
            const float* bias = args.bias == nullptr ? nullptr : args.bias + at;
            PRIMSEL_UNROLL
            for (int p = 0; p < pixels; ++p) {
                detail::finish_depthwise<Arch>(args, sums[p], bias, out + static_cast<std::size_t>(p) * channels);
            }
        }
    }
};

/// Depthwise convolution in chw: each plane is copied with its padding, its columns dealt out by their remainder to the
/// stride, so that every tap reads neighbours; then vectors of output columns.
struct DepthwiseChw {
    static constexpr FixedString id = "depthwise-chw";
    static constexpr Family family = Family::other;
    using in_layout = chw;
    using out_layout = chw;
    static constexpr bool fuses_epilogue = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) { return detail::depthwise_supports(s); }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        return workers * plane_floats<Arch>(s);
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        args.executor.parallel_for(static_cast<std::size_t>(s.c), [&](std::size_t c, std::size_t worker) {
            float* plane = args.scratch + worker * plane_floats<Arch>(s);
            copy_plane<Arch>(s, args.src + c * s.in_pixels(), plane);
            const int times = s.k / s.c;
            for (int i = 0; i < times; ++i) run_kernel<Arch>(s, args, plane, static_cast<int>(c) * times + i);
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const double plane = 4.0 * static_cast<double>(plane_floats<Arch>(s)),
                     out = 4.0 * static_cast<double>(s.out_pixels());
        const double columns = (s.out_w() + lanes<Arch> - 1) / lanes<Arch> * lanes<Arch>;
        return Work{}
            .add({.rate = s.stride_w == 1 ? Rate::vector : Rate::scalar,
                  .operations = s.stride_w == 1 ? 0.0 : static_cast<double>(s.in_pixels()) * s.c,
                  .bytes = 2 * plane * s.c,
                  .working_set = plane * s.c})
            .add({.rate = Rate::vector,
                  .operations = 2.0 * s.out_h() * columns * s.taps() * s.k,
                  .bytes = out * s.taps() * s.k,
                  .working_set = plane + out});
    }

private:
    static constexpr int most_vectors = 4;

    /// Columns of the padded plane with the same remainder to the stride, and room for the last vector to read on.
    template <class Arch>
    [[nodiscard]] static constexpr std::size_t part_floats(ConvShape const& s) {
        const int columns = std::max(s.padded_w() / s.stride_w + 1, s.out_w() + s.span_w() / s.stride_w + 1);
        return static_cast<std::size_t>(columns + most_vectors * lanes<Arch>);
    }
    template <class Arch>
    [[nodiscard]] static constexpr std::size_t plane_floats(ConvShape const& s) {
        return round_up_floats(part_floats<Arch>(s) * static_cast<std::size_t>(s.stride_w) *
                               static_cast<std::size_t>(s.padded_h()));
    }

    template <class Arch>
    static void copy_plane(ConvShape const& s, const float* src, float* dst) noexcept {
        const std::size_t part = part_floats<Arch>(s), row = part * static_cast<std::size_t>(s.stride_w);
        std::fill_n(dst, row * static_cast<std::size_t>(s.padded_h()), 0.0F);
        for (int h = 0; h < s.h; ++h, src += s.w) {
            float* to = dst + static_cast<std::size_t>(h + s.pad_top) * row;
            if (s.stride_w == 1) {
                std::memcpy(to + s.pad_left, src, static_cast<std::size_t>(s.w) * sizeof(float));
                continue;
            }
            for (int w = 0; w < s.w; ++w) {
                const int column = w + s.pad_left;
                to[static_cast<std::size_t>(column % s.stride_w) * part +
                   static_cast<std::size_t>(column / s.stride_w)] = src[w];
            }
        }
    }

    template <class Arch>
    static void run_kernel(ConvShape const& s, ConvArgs const& args, const float* plane, int k) noexcept {
        const std::size_t part = part_floats<Arch>(s), row = part * static_cast<std::size_t>(s.stride_w);
        const float* weights = args.weights + k * s.taps();
        const float bias = args.bias == nullptr ? 0.0F : args.bias[k];
        for (int oh = 0; oh < s.out_h(); ++oh) {
            const float* rows = plane + static_cast<std::size_t>(oh * s.stride_h) * row;
            const std::size_t out =
                (static_cast<std::size_t>(k) * static_cast<std::size_t>(s.out_h()) + static_cast<std::size_t>(oh)) *
                static_cast<std::size_t>(s.out_w());
            for (int ow = 0; ow < s.out_w();) {
                const int rest = s.out_w() - ow;
                const auto columns = [&]<int count>(std::integral_constant<int, count>) {
                    run_columns<Arch, count>(s, args, rows, weights, bias, ow, out + static_cast<std::size_t>(ow));
                    ow += count * lanes<Arch>;
                };
                if (rest > 2 * lanes<Arch>) {
                    columns(std::integral_constant<int, 4>{});
                } else if (rest > lanes<Arch>) {
                    columns(std::integral_constant<int, 2>{});
                } else {
                    columns(std::integral_constant<int, 1>{});
                }
            }
        }
    }

    /// `vectors` vectors of output columns from ow on, those beyond the row left out; `at` is where they go.
    template <class Arch, int vectors>
    static void run_columns(ConvShape const& s, ConvArgs const& args, const float* rows, const float* weights,
                            float bias, int ow, std::size_t at) noexcept {
        const std::size_t part = part_floats<Arch>(s), row = part * static_cast<std::size_t>(s.stride_w);
        Floats<Arch> sums[vectors];
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) sums[v] = broadcast<Arch>(0.0F);
        for (int fh = 0; fh < s.fh; ++fh) {
            for (int fw = 0; fw < s.fw; ++fw) {
                const int column = fw * s.dilation_w;
                const float* from = rows + static_cast<std::size_t>(fh * s.dilation_h) * row +
                                    static_cast<std::size_t>(column % s.stride_w) * part +
                                    static_cast<std::size_t>(column / s.stride_w + ow);
                const auto weight = broadcast<Arch>(weights[fh * s.fw + fw]);
                PRIMSEL_UNROLL
                for (int v = 0; v < vectors; ++v) {
                    sums[v] = fma<Arch>(weight, load<Arch>(from + v * lanes<Arch>), sums[v]);
                }
            }
        }
        finish_columns<Arch>(args, sums, bias, at, std::min(s.out_w() - ow, vectors * lanes<Arch>));
    }

    /// Writes the first `count` columns of the sums.
    template <class Arch>
    PRIMSEL_INLINE static void finish_columns(ConvArgs const& args, const Floats<Arch>* sums, float bias,
                                              std::size_t at, int count) noexcept {
        constexpr int width = lanes<Arch>;
        for (int v = 0; v * width < count; ++v) {
            const std::size_t to = at + static_cast<std::size_t>(v * width);
            if (count - v * width >= width) {
                detail::finish_depthwise<Arch>(args, sums[v] + broadcast<Arch>(bias), nullptr, to);
                continue;
            }
            alignas(64) float rest[width];
            store<Arch>(rest, sums[v]);
            for (int i = 0; i < count - v * width; ++i) {
                detail::finish_depthwise(args, rest[i], bias, to + static_cast<std::size_t>(i));
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
