#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/fixed_string.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/primitive/detail/tap.hpp>
#include <primsel/primitive/primitive.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

namespace primitive::detail {
[[nodiscard]] constexpr Support depthwise_gradient_supports(ConvShape const& s) {
    if (s.groups != s.c) return Support::no("needs as many groups as channels");
    return s.k == s.c ? Support::yes() : Support::no("needs one kernel a channel");
}
}  // namespace primitive::detail

/// The gradient of the input of a depthwise convolution in hwc, of any stride. Each pixel gathers from the pixels of
/// the result that depend on it, a vector of channels at a time.
struct DepthwiseInputGradient {
    static constexpr FixedString id = "input-gradient-depthwise";
    static constexpr Family family = Family::other;
    static constexpr Pass pass = Pass::input_gradient;
    using in_layout = hwc;
    using out_layout = hwc;
    static constexpr bool whole_batch = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) {
        if (s.taps() > most_taps) return Support::no("needs a kernel of at most 81 taps");
        return primitive::detail::depthwise_gradient_supports(s);
    }
    /// Packs the weights of all channels, tap after tap.
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        for (int tap = 0; tap < s.taps(); ++tap) {
            for (int c = 0; c < s.c; ++c) *dst++ = kernel[c * s.taps() + tap];
        }
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        const auto rows = static_cast<std::size_t>(args.images) * static_cast<std::size_t>(s.h);
        args.executor.parallel_for(rows, [&s, &args](std::size_t i, std::size_t) {
            const auto h = static_cast<std::size_t>(s.h), row = static_cast<std::size_t>(s.w * s.c);
            const Rows rows =
                find_rows(s, args.src + i / h * s.out_shape().size(), args.weights, static_cast<int>(i % h));
            for (int w = 0; w < s.w; ++w) {
                const Taps taps = find_taps(s, rows, w);
                float* dst = args.dst + i * row + static_cast<std::size_t>(w * s.c);
                if (s.c < lanes<Arch>) {
                    for (int c = 0; c < s.c; ++c) gather<float, Arch>(taps, c, dst);
                } else {
                    // The last vector overlaps the one before if the channels do not fill it.
                    for (int c = 0; c < s.c; c += lanes<Arch>) {
                        gather<Floats<Arch>, Arch>(taps, std::min(c, s.c - lanes<Arch>), dst);
                    }
                }
            }
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const double in = 4.0 * static_cast<double>(s.in_shape().size()),
                     out = 4.0 * static_cast<double>(s.out_shape().size());
        return Work{}.add({.rate = s.c < lanes<Arch> ? Rate::scalar : Rate::vector,
                           .operations = s.operations(),
                           .bytes = out * s.taps() + in,
                           .working_set = in + out});
    }

private:
    static constexpr int most_taps = 81;
    /// The pixels of the result that depend on an input pixel (or the first of each row of them), with their weights.
    struct Taps {
        int count = 0;
        const float* gradient[most_taps];
        const float* weights[most_taps];
    };
    using Rows = Taps;

    /// Returns the position in the result, along one axis, that an input position reaches by a tap; -1 if there is
    /// none. It divides only for strides above 1.
    [[nodiscard]] static constexpr int result_of(int at, int offset, int stride, int results) {
        int from = at - offset;
        if (from < 0) return -1;
        if (stride > 1) {
            if (from % stride != 0) return -1;
            from /= stride;
        }
        return from < results ? from : -1;
    }
    [[nodiscard]] static Rows find_rows(ConvShape const& s, const float* gradient, const float* weights,
                                        int h) noexcept {
        const auto channels = static_cast<std::size_t>(s.c);
        Rows rows;
        for (int fh = 0; fh < s.fh; ++fh) {
            const int oh = result_of(h, primitive::detail::tap_offset_h(s, fh), s.stride_h, s.out_h());
            if (oh < 0) continue;
            rows.gradient[rows.count] = gradient + static_cast<std::size_t>(oh * s.out_w()) * channels;
            rows.weights[rows.count++] = weights + static_cast<std::size_t>(fh * s.fw) * channels;
        }
        return rows;
    }
    [[nodiscard]] static Taps find_taps(ConvShape const& s, Rows const& rows, int w) noexcept {
        const auto channels = static_cast<std::size_t>(s.c);
        const int out_w = s.out_w();
        Taps taps;
        for (int fw = 0; fw < s.fw; ++fw) {
            const int ow = result_of(w, primitive::detail::tap_offset_w(s, fw), s.stride_w, out_w);
            for (int row = 0; row < rows.count && ow >= 0; ++row) {
                taps.gradient[taps.count] = rows.gradient[row] + static_cast<std::size_t>(ow) * channels;
                taps.weights[taps.count++] = rows.weights[row] + static_cast<std::size_t>(fw) * channels;
            }
        }
        return taps;
    }
    template <class V, class Arch>
    static void gather(Taps const& taps, int c, float* dst) noexcept {
        V sum(0.0F);
        for (int tap = 0; tap < taps.count; ++tap) {
            if constexpr (std::same_as<V, float>) {
                sum += taps.gradient[tap][c] * taps.weights[tap][c];
            } else {
                sum = fma<Arch>(load<Arch>(taps.gradient[tap] + c), load<Arch>(taps.weights[tap] + c), sum);
            }
        }
        if constexpr (std::same_as<V, float>)
            dst[c] = sum;
        else
            store<Arch>(dst + c, sum);
    }
};

/// The gradient of the weights of a depthwise convolution in hwc. It takes some rows of pixels at a time, so that they
/// are read in the order of memory. For each vector of channels it sums as many neighbouring taps as fit the registers.
struct DepthwiseWeightGradient {
    static constexpr FixedString id = "weight-gradient-depthwise";
    static constexpr Family family = Family::other;
    static constexpr Pass pass = Pass::weight_gradient;
    using in_layout = hwc;
    using out_layout = chw;
    static constexpr bool whole_batch = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) {
        return primitive::detail::depthwise_gradient_supports(s);
    }
    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        return workers * sums_floats<Arch>(s);
    }

    /// Parallel over ranges of channels, more than there are threads. A channel's sums do not depend on its range.
    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        const int threads = static_cast<int>(args.executor.concurrency()),
                  most = std::clamp(s.c / lanes<Arch> / threads, 1, most_vectors) * lanes<Arch>;
        // The last range has at least one vector, plus the remaining channels.
        const int parts = std::max(1, (s.c + most - lanes<Arch>) / most);
        args.executor.parallel_for(static_cast<std::size_t>(parts), [=, &s, &args](std::size_t i, std::size_t worker) {
            const int part = static_cast<int>(i), first = part * most,
                      channels = part + 1 == parts ? s.c - first : most;
            float* sums = args.scratch + worker * sums_floats<Arch>(s);
            if (s.c < lanes<Arch>) {
                sum_part<float, Arch>(s, args, first, channels, sums);
            } else {
                sum_part<Floats<Arch>, Arch>(s, args, first, channels, sums);
            }
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const double in = 4.0 * static_cast<double>(s.in_shape().size()),
                     out = 4.0 * static_cast<double>(s.out_shape().size());
        return Work{}.add({.rate = s.c < lanes<Arch> ? Rate::scalar : Rate::vector,
                           .operations = s.operations(),
                           .bytes = out * (s.taps() + 1),
                           .working_set = in + out});
    }

private:
    static constexpr int most_vectors = 8;
    /// The pixels of the result that one vector of channels sums before the next vector does.
    static constexpr int block_pixels = 64;
    /// Returns the floats of the sums: a vector for each tap of each vector of a range. The last range may have one
    /// vector more.
    template <class Arch>
    [[nodiscard]] static std::size_t sums_floats(ConvShape const& s) {
        return static_cast<std::size_t>((most_vectors + 1) * lanes<Arch> * s.taps());
    }

    /// Rows [begin, end) of the results of all images, which a vector of channels from c on sums up.
    struct Block {
        int c, begin, end;
        float* sums;  // tap after tap
    };

    template <class V, class Arch>
    static void sum_part(ConvShape const& s, ConvArgs const& args, int first, int channels, float* sums) noexcept {
        constexpr int width = std::same_as<V, float> ? 1 : lanes<Arch>;
        const int vectors = (channels + width - 1) / width, all = args.images * s.out_h(),
                  at_once = std::max(1, block_pixels / s.out_w());
        // The last vector overlaps the one before if the channels do not fill it; both write the same values.
        const auto channel = [&](int vector) { return std::min(first + vector * width, s.c - width); };
        std::fill_n(sums, vectors * s.taps() * width, 0.0F);
        for (int begin = 0; begin < all; begin += at_once) {
            for (int vector = 0; vector < vectors; ++vector) {
                sum_taps<V, Arch>(
                    s, args,
                    {channel(vector), begin, std::min(begin + at_once, all), sums + vector * s.taps() * width});
            }
        }
        for (int vector = 0; vector < vectors; ++vector) {
            float* dst = args.dst + channel(vector) * s.taps();
            for (int tap = 0; tap < s.taps(); ++tap) {
                for (int i = 0; i < width; ++i) dst[i * s.taps() + tap] = *sums++;
            }
        }
    }
    template <class V, class Arch>
    static void sum_taps(ConvShape const& s, ConvArgs const& args, Block const& block) noexcept {
        int fw = 0;
        for (; fw + 5 <= s.fw; fw += 5) sum_columns<registers<Arch> == 32 ? 5 : 2, 5, V, Arch>(s, args, block, fw);
        for (; fw + 3 <= s.fw; fw += 3) sum_columns<3, 3, V, Arch>(s, args, block, fw);
        for (; fw < s.fw; ++fw) sum_columns<3, 1, V, Arch>(s, args, block, fw);
    }
    /// Sums taps fw to fw + taps - 1 of all kernel rows, some rows at a time.
    template <int rows, int taps, class V, class Arch>
    static void sum_columns(ConvShape const& s, ConvArgs const& args, Block const& block, int fw) noexcept {
        int fh = 0;
        for (; fh + rows <= s.fh; fh += rows) sum<rows, taps, V, Arch>(s, args, block, fh, fw);
        for (; fh < s.fh; ++fh) sum<1, taps, V, Arch>(s, args, block, fh, fw);
    }

    template <class V, class Arch>
    PRIMSEL_INLINE static void add_product(const float* a, V const& b, V& sum) noexcept {
        if constexpr (std::same_as<V, float>)
            sum += *a * b;
        else
            sum = fma<Arch>(load<Arch>(a), b, sum);
    }
    template <class V, class Arch>
    [[nodiscard]] PRIMSEL_INLINE static V load_at(const float* src) noexcept {
        if constexpr (std::same_as<V, float>)
            return *src;
        else
            return load<Arch>(src);
    }
    template <class V, class Arch>
    PRIMSEL_INLINE static void store_at(float* dst, V const& value) noexcept {
        if constexpr (std::same_as<V, float>)
            *dst = value;
        else
            store<Arch>(dst, value);
    }

    /// Prefetches a cache line of each pixel of a row of the result and of its image rows, `rows` rows of the result
    /// ahead. One line of each pixel is no stream that hardware prefetchers recognise. Inline, because g++ removes
    /// calls of functions that only prefetch.
    PRIMSEL_INLINE static void prefetch(ConvShape const& s, std::ptrdiff_t out_w, const float* gradient,
                                        const float* src, std::ptrdiff_t rows) noexcept {
        const std::ptrdiff_t pixel = s.c, of_row = s.stride_h * s.w;
        gradient += rows * out_w * pixel, src += rows * of_row * pixel;
        for (std::ptrdiff_t i = 0; i < out_w; ++i) __builtin_prefetch(gradient + i * pixel, 0, 2);
        for (std::ptrdiff_t i = 0; i < of_row; ++i) __builtin_prefetch(src + i * pixel, 0, 2);
    }

    /// Sums taps (fh, fw) to (fh + height - 1, fw + width - 1).
    template <int height, int width, class V, class Arch>
    static void sum(ConvShape const& s, ConvArgs const& args, Block const& block, int fh, int fw) noexcept {
        constexpr int step = std::same_as<V, float> ? 1 : lanes<Arch>;
        const auto sum_at = [&](int i, int j) { return block.sums + ((fh + i) * s.fw + fw + j) * step; };
        V sums[height][width];
        const int out_h = s.out_h(), out_w = s.out_w();  // each call divides
        primitive::detail::Range rows[height], columns[width],
            all{0, out_w};  // the columns where each tap is inside, and the columns where all are
        for (int i = 0; i < height; ++i) {
            rows[i] = primitive::detail::tap_rows(s, fh + i);
            for (int j = 0; j < width; ++j) sums[i][j] = load_at<V, Arch>(sum_at(i, j));
        }
        for (int j = 0; j < width; ++j) {
            columns[j] = primitive::detail::tap_columns(s, fw + j);
            all.begin = std::max(all.begin, columns[j].begin), all.end = std::min(all.end, columns[j].end);
        }
        all.begin = std::min(all.begin, out_w);
        const std::ptrdiff_t pixel = s.c, right = s.dilation_w * pixel, down = s.dilation_h * s.w * pixel;
        int image = block.begin / out_h, oh = block.begin % out_h;
        for (int row = block.begin; row < block.end; ++row) {
            const float* const gradient = args.gradient + row * (out_w * pixel) + block.c;
            const float* const of_image = args.src + image * static_cast<std::ptrdiff_t>(s.in_shape().size()) + block.c;
            // The offset of the first tap, which may lie outside the image.
            const std::ptrdiff_t first = ((oh * s.stride_h + primitive::detail::tap_offset_h(s, fh)) * s.w +
                                          primitive::detail::tap_offset_w(s, fw)) *
                                         pixel;
            prefetch(s, out_w, gradient, of_image + oh * s.stride_h * s.w * pixel, block.end - block.begin);
            bool inside[height], whole = true;
            for (int i = 0; i < height; ++i) {
                inside[i] = oh >= rows[i].begin && oh < rows[i].end;
                whole = whole && inside[i];
            }
            // Always inline, so that the sums of whole windows stay in registers.
            const auto add = [&](int ow, auto is_row, auto is_column) PRIMSEL_INLINE_LAMBDA {
                const V of = load_at<V, Arch>(gradient + ow * pixel);
                const std::ptrdiff_t at = first + ow * s.stride_w * pixel;
                PRIMSEL_UNROLL
                for (int i = 0; i < height; ++i) {
                    PRIMSEL_UNROLL
                    for (int j = 0; j < width; ++j) {
                        if (!is_row(i) || !is_column(ow, j)) continue;
                        add_product<V, Arch>(of_image + (at + i * down + j * right), of, sums[i][j]);
                    }
                }
            };
            const auto some_rows = [&](int i) { return inside[i]; };
            const auto some_columns = [&](int ow, int j) { return ow >= columns[j].begin && ow < columns[j].end; };
            constexpr auto every_row = [](int) { return true; };
            constexpr auto every_column = [](int, int) { return true; };
            int ow = 0;
            for (; ow < all.begin; ++ow) add(ow, some_rows, some_columns);
            if (whole) {
                for (; ow < all.end; ++ow) add(ow, every_row, every_column);
            } else {
                for (; ow < all.end; ++ow) add(ow, some_rows, every_column);
            }
            for (; ow < out_w; ++ow) add(ow, some_rows, some_columns);
            if (++oh == out_h) oh = 0, ++image;
        }
        for (int i = 0; i < height; ++i) {
            for (int j = 0; j < width; ++j) store_at<V, Arch>(sum_at(i, j), sums[i][j]);
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
