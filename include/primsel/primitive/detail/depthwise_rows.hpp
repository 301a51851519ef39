#pragma once

#include <primsel/core/simd.hpp>
#include <primsel/primitive/conv_args.hpp>
#include <primsel/primitive/conv_shape.hpp>
#include <primsel/primitive/detail/depthwise_finish.hpp>
#include <primsel/primitive/detail/tap.hpp>

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::primitive::detail {

/// Depthwise convolution in hwc by any kernel: row after row, a few neighbouring pixels of a vector of channels at a
/// time.
struct DepthwiseRows {
    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args, const float* src) noexcept {
        args.executor.parallel_for(static_cast<std::size_t>(s.out_h()), [&s, &args, src](std::size_t row, std::size_t) {
            const int channels = s.k, width = lanes<Arch>;
            if (channels < width) {
                return run_row<Arch>(s, args, src, static_cast<int>(row), 0, FirstLanes<Arch>(channels));
            }
            int k = 0;
            for (; k + several * width <= channels; k += several * width) {
                run_row<Arch, several>(s, args, src, static_cast<int>(row), k, AllLanes<Arch>{});
            }
            // The last vector overlaps the one before if the channels do not fill it.
            for (; k < channels; k += width) {
                run_row<Arch>(s, args, src, static_cast<int>(row), std::min(k, channels - width), AllLanes<Arch>{});
            }
        });
    }

private:
    static constexpr int pixels_at_once = 8, several = 4;

    /// Computes one output row for some vectors of channels, from k on. Pixels whose taps all lie inside are taken
    /// several at a time, border pixels one by one for all vectors.
    template <class Arch, int vectors = 1, class Part>
    static void run_row(ConvShape const& s, ConvArgs const& args, const float* src, int oh, int k,
                        Part const& part) noexcept {
        constexpr int pixels = pixels_at_once;
        const Range first = tap_columns(s, 0), last = tap_columns(s, s.fw - 1);
        const int inner_begin = std::clamp(first.begin, 0, s.out_w()),
                  inner_end = std::clamp(std::min(first.end, last.end), inner_begin, s.out_w());
        int ow = 0;
        while (ow < s.out_w()) {
            const bool inner = ow >= inner_begin && ow < inner_end;
            const int here = !inner ? 1 : inner_end - ow;
            if (here >= pixels / 2) {
                for (int v = 0; v < vectors; ++v) {
                    const Outputs at{oh, ow, k + v * lanes<Arch>, {0, s.fw}};
                    if (here >= pixels) {
                        run_pixels<pixels, 1, Arch>(s, args, src, at, part);
                    } else {
                        run_pixels<pixels / 2, 1, Arch>(s, args, src, at, part);
                    }
                }
                ow += here >= pixels ? pixels : pixels / 2;
                continue;
            }
            int begin = 0, end = s.fw;
            while (begin < s.fw && ow * s.stride_w + tap_offset_w(s, begin) < 0) ++begin;
            while (end > begin && ow * s.stride_w + tap_offset_w(s, end - 1) >= s.w) --end;
            run_pixels<1, vectors, Arch>(s, args, src, {oh, ow, k, {begin, end}}, part);
            ++ow;
        }
    }

    /// The first of some neighbouring outputs: its row, column and first channel, and the kernel columns that all read.
    struct Outputs {
        int oh, ow, k;
        Range columns;
    };
    /// Computes `vectors` vectors of `pixels` neighbouring outputs.
    template <int pixels, int vectors, class Arch, class Part>
    PRIMSEL_INLINE static void run_pixels(ConvShape const& s, ConvArgs const& args, const float* src, Outputs at_first,
                                          Part const& part) noexcept {
        using V = Floats<Arch>;
        constexpr auto width = static_cast<std::size_t>(lanes<Arch>);
        const auto [oh, ow, k, columns] = at_first;
        const auto channels = static_cast<std::size_t>(s.k), at = static_cast<std::size_t>(k);
        const std::size_t step = static_cast<std::size_t>(s.stride_w) * channels;
        V sums[pixels][vectors];
        PRIMSEL_UNROLL
        for (int p = 0; p < pixels; ++p) {
            PRIMSEL_UNROLL
            for (int v = 0; v < vectors; ++v) sums[p][v] = V(0.0F);
        }
        for (int fh = 0; fh < s.fh; ++fh) {
            const int h = oh * s.stride_h + tap_offset_h(s, fh);
            if (h < 0 || h >= s.h) continue;
            for (int fw = columns.begin; fw < columns.end; ++fw) {
                const int w = ow * s.stride_w + tap_offset_w(s, fw);
                const float* pixel = src + static_cast<std::size_t>(h * s.w + w) * channels + at;
                const float* weight = args.weights + static_cast<std::size_t>(fh * s.fw + fw) * channels + at;
                PRIMSEL_UNROLL
                for (std::size_t v = 0; v < vectors; ++v) {
                    const V factor = part.load(weight + v * width);
                    PRIMSEL_UNROLL
                    for (std::size_t p = 0; p < pixels; ++p) {
                        sums[p][v] = fma<Arch>(factor, part.load(pixel + p * step + v * width), sums[p][v]);
                    }
                }
            }
        }
        const std::size_t out = static_cast<std::size_t>(oh * s.out_w() + ow) * channels + at;
        PRIMSEL_UNROLL
        for (std::size_t p = 0; p < pixels; ++p) {
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) {
                const float* bias = args.bias == nullptr ? nullptr : args.bias + at + v * width;
                finish_depthwise<Arch>(args, sums[p][v], bias, out + p * channels + v * width, part);
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::primitive::detail
