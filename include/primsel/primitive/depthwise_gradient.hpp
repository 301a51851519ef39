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

namespace detail {
[[nodiscard]] constexpr Support depthwise_gradient_supports(ConvShape const& s) {
    if (s.groups != s.c) return Support::no("needs as many groups as channels");
    return s.k == s.c ? Support::yes() : Support::no("needs one kernel a channel");
}
}  // namespace detail

/// The gradient of the input of a depthwise convolution in hwc, of any stride: each pixel gathers what it went into, a
/// vector of channels at a time.
struct DepthwiseInputGradient {
    static constexpr FixedString id = "input-gradient-depthwise";
    static constexpr Family family = Family::other;
    static constexpr Pass pass = Pass::input_gradient;
    using in_layout = hwc;
    using out_layout = hwc;
    static constexpr bool whole_batch = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) {
        if (s.taps() > most_taps) return Support::no("needs a kernel of at most 81 taps");
        return detail::depthwise_gradient_supports(s);
    }
    /// Tap after tap, the weights of all channels.
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
            const float* gradient = args.src + i / h * s.out_shape().size();
            for (int w = 0; w < s.w; ++w) {
                const Taps taps = find_taps(s, gradient, args.weights, static_cast<int>(i % h), w);
                float* dst = args.dst + i * row + static_cast<std::size_t>(w * s.c);
                if (s.c < lanes<Arch>) {
                    for (int c = 0; c < s.c; ++c) gather<float, Arch>(taps, c, dst);
                } else {
                    // The last vector overlaps its neighbour where the channels do not fill it.
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
    /// The pixels of the result that a pixel went into, and the weights by which.
    struct Taps {
        int count = 0;
        const float* gradient[most_taps];
        const float* weights[most_taps];
    };

    /// What the pixel of an axis went into by a tap: a place of the result, or -1.
    [[nodiscard]] static constexpr int result_of(int at, int offset, int stride, int results) {
        const int from = at - offset;
        return from < 0 || from % stride != 0 || from / stride >= results ? -1 : from / stride;
    }
    [[nodiscard]] static Taps find_taps(ConvShape const& s, const float* gradient, const float* weights, int h,
                                        int w) noexcept {
        const int out_h = s.out_h(), out_w = s.out_w();
        const auto channels = static_cast<std::size_t>(s.c);
        Taps taps;
        for (int fh = 0; fh < s.fh; ++fh) {
            const int oh = result_of(h, detail::tap_offset_h(s, fh), s.stride_h, out_h);
            for (int fw = 0; fw < s.fw && oh >= 0; ++fw) {
                const int ow = result_of(w, detail::tap_offset_w(s, fw), s.stride_w, out_w);
                if (ow < 0) continue;
                taps.gradient[taps.count] = gradient + static_cast<std::size_t>(oh * out_w + ow) * channels;
                taps.weights[taps.count++] = weights + static_cast<std::size_t>(fh * s.fw + fw) * channels;
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

/// The gradient of the weights of a depthwise convolution in hwc: some vectors of channels at a time, a few
/// neighbouring taps of a kernel row in registers while all pixels go by.
struct DepthwiseWeightGradient {
    static constexpr FixedString id = "weight-gradient-depthwise";
    static constexpr Family family = Family::other;
    static constexpr Pass pass = Pass::weight_gradient;
    using in_layout = hwc;
    using out_layout = chw;
    static constexpr bool whole_batch = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) {
        return detail::depthwise_gradient_supports(s);
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        constexpr int width = lanes<Arch>;
        const int at_once = s.c < width ? 1 : width;
        const auto blocks = static_cast<std::size_t>((s.c + at_once - 1) / at_once);
        args.executor.parallel_for(blocks, [&s, &args, at_once](std::size_t block, std::size_t) {
            // The last vector overlaps its neighbour where the channels do not fill it: both write the same.
            const int c = std::min(static_cast<int>(block) * at_once, s.c - at_once);
            if (at_once == 1) {
                sum_taps<float, Arch>(s, args, c);
            } else {
                sum_taps<Floats<Arch>, Arch>(s, args, c);
            }
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const double in = 4.0 * static_cast<double>(s.in_shape().size()),
                     out = 4.0 * static_cast<double>(s.out_shape().size());
        return Work{}.add({.rate = s.c < lanes<Arch> ? Rate::scalar : Rate::vector,
                           .operations = s.operations(),
                           .bytes = out * (s.taps() + s.fh),
                           .working_set = in + out});
    }

private:
    template <class V, class Arch>
    static void sum_taps(ConvShape const& s, ConvArgs const& args, int c) noexcept {
        for (int fh = 0; fh < s.fh; ++fh) {
            int fw = 0;
            for (; fw + 3 <= s.fw; fw += 3) sum<3, V, Arch>(s, args, c, fh, fw);
            for (; fw < s.fw; ++fw) sum<1, V, Arch>(s, args, c, fh, fw);
        }
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

    /// Taps (fh, fw) to (fh, fw + taps - 1) of the channels from c on that V holds.
    template <int taps, class V, class Arch>
    static void sum(ConvShape const& s, ConvArgs const& args, int c, int fh, int fw) noexcept {
        const auto channels = static_cast<std::size_t>(s.c), at = static_cast<std::size_t>(c);
        V sums[taps];
        detail::Range columns[taps], all{0, s.out_w()};  // where each tap is inside, and all of them
        for (int tap = 0; tap < taps; ++tap) {
            sums[tap] = V(0.0F);
            columns[tap] = detail::tap_columns(s, fw + tap);
            all.begin = std::max(all.begin, columns[tap].begin), all.end = std::min(all.end, columns[tap].end);
        }
        const detail::Range rows = detail::tap_rows(s, fh);
        const std::ptrdiff_t pixel = s.c, offset = detail::tap_offset_w(s, fw) * pixel, step = s.stride_w * pixel,
                             next = s.dilation_w * pixel;
        for (int image = 0; image < args.images; ++image) {
            const auto number = static_cast<std::size_t>(image);
            for (int oh = rows.begin; oh < rows.end; ++oh) {
                const int h = oh * s.stride_h + detail::tap_offset_h(s, fh);
                const float* gradient = args.gradient + number * s.out_shape().size() +
                                        static_cast<std::size_t>(oh * s.out_w()) * channels + at;
                const float* src =
                    args.src + number * s.in_shape().size() + static_cast<std::size_t>(h * s.w) * channels + at;
                const auto edge = [&](int ow) {
                    const V of = load_at<V, Arch>(gradient + ow * pixel);
                    for (int tap = 0; tap < taps; ++tap) {
                        if (ow < columns[tap].begin || ow >= columns[tap].end) continue;
                        add_product<V, Arch>(src + (ow * step + offset + tap * next), of, sums[tap]);
                    }
                };
                int ow = 0;
                for (; ow < std::min(all.begin, s.out_w()); ++ow) edge(ow);
                for (; ow < all.end; ++ow) {
                    const V of = load_at<V, Arch>(gradient + ow * pixel);
                    PRIMSEL_UNROLL
                    for (int tap = 0; tap < taps; ++tap) {
                        add_product<V, Arch>(src + (ow * step + offset + tap * next), of, sums[tap]);
                    }
                }
                for (; ow < s.out_w(); ++ow) edge(ow);
            }
        }
        for (int tap = 0; tap < taps; ++tap) {
            alignas(alignment) float values[static_cast<std::size_t>(lanes<Arch>)];
            int count = 1;
            if constexpr (std::same_as<V, float>) {
                values[0] = sums[tap];
            } else {
                store<Arch>(values, sums[tap]);
                count = lanes<Arch>;
            }
            for (int i = 0; i < count; ++i) {
                args.dst[(c + i) * s.taps() + fh * s.fw + fw + tap] = values[i];
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
