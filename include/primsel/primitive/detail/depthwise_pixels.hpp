#pragma once

#include <primsel/core/simd.hpp>
#include <primsel/core/support.hpp>
#include <primsel/primitive/conv_args.hpp>
#include <primsel/primitive/conv_shape.hpp>
#include <primsel/primitive/detail/depthwise_blocks.hpp>
#include <primsel/primitive/detail/tap.hpp>

#include <algorithm>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI::primitive::detail {

/// Depthwise convolution of 16 channels or more by any kernel, for Pixels of whole vectors: as DepthwiseBlocks, or a
/// vector of channels of a few neighbouring outputs at a time.
template <class Pixels>
struct DepthwisePixels {
    using Element = typename Pixels::Element;
    using Blocks = DepthwiseBlocks<Pixels>;

    [[nodiscard]] static Support supports(ConvShape const& s) {
        if (s.groups != s.c || s.k != s.c) return Support::no("needs as many groups as channels");
        return s.c < 16 ? Support::no("needs 16 channels or more") : Support::yes();
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args, const Element* src) noexcept {
        if (Blocks::template supports<Arch>(s)) return Blocks::template run<Arch>(s, args, src);
        run_pixels<Arch>(s, args, src);
    }

    /// Returns the work as operations at the FMA peak. Outside of blocks each multiply-add loads and converts its
    /// input: on a Xeon with AVX-512 it takes five times as long as at that peak, and the end of a result as long
    /// as 20.
    template <class Arch>
    [[nodiscard]] static double operations(ConvShape const& s) {
        ConvShape whole = s;
        whole.k = whole.c = whole.groups = static_cast<int>(Pixels::size(s.k));
        if (Blocks::template supports<Arch>(s)) return Blocks::template operations<Arch>(whole);
        return (10.0 * s.taps() + 40) * static_cast<double>(whole.out_shape().size());
    }

    /// Returns the blocks that threads share.
    template <class Arch>
    [[nodiscard]] static double blocks(ConvShape const& s) {
        return Blocks::template supports<Arch>(s) ? static_cast<double>(Blocks::template count<Arch>(s)) : s.out_h();
    }

private:
    static constexpr int several = 8;

    template <class Arch>
    static void run_pixels(ConvShape const& s, ConvArgs const& args, const Element* src) noexcept {
        args.executor.parallel_for(static_cast<std::size_t>(s.out_h()), [&s, &args, src](std::size_t row, std::size_t) {
            // Outputs of which every tap lies in the image.
            const Range first = tap_columns(s, 0), last = tap_columns(s, s.fw - 1);
            const int begin = std::clamp(first.begin, 0, s.out_w()),
                      end = std::clamp(std::min(first.end, last.end), begin, s.out_w());
            for (std::size_t k = 0; k < Pixels::size(s.k); k += lanes<Arch>) {
                for (int ow = 0; ow < s.out_w();) {
                    const Outputs at{static_cast<int>(row), ow, k, taps_at_column(s, ow)};
                    const int here = ow < begin || ow >= end ? 1 : end - ow;
                    ow += here >= several       ? run<several, Arch>(s, args, src, at)
                          : here >= several / 2 ? run<several / 2, Arch>(s, args, src, at)
                                                : run<1, Arch>(s, args, src, at);
                }
            }
        });
    }

    /// The first of some neighbouring outputs, and the kernel columns that all read.
    struct Outputs {
        int oh, ow;
        std::size_t k;
        Range columns;
    };

    template <int pixels, class Arch>
    static int run(ConvShape const& s, ConvArgs const& args, const Element* src, Outputs const& of) noexcept {
        const std::size_t channels = Pixels::size(s.k), step = static_cast<std::size_t>(s.stride_w) * channels;
        const typename Pixels::template Block<Arch> block{args, of.k, s.k};
        Floats<Arch> sums[pixels];
        PRIMSEL_UNROLL
        for (int p = 0; p < pixels; ++p) sums[p] = block.start();
        for (int fh = 0; fh < s.fh; ++fh) {
            const int h = of.oh * s.stride_h + tap_offset_h(s, fh);
            if (h < 0 || h >= s.h) continue;
            for (int fw = of.columns.begin; fw < of.columns.end; ++fw) {
                const int w = of.ow * s.stride_w + tap_offset_w(s, fw);
                const Element* const pixel = src + static_cast<std::size_t>(h * s.w + w) * channels + of.k;
                const auto weight =
                    load<Arch>(args.weights + static_cast<std::size_t>(fh * s.fw + fw) * channels + of.k);
                PRIMSEL_UNROLL
                for (std::size_t p = 0; p < pixels; ++p) {
                    sums[p] = fma<Arch>(weight, block.load(pixel + p * step), sums[p]);
                }
            }
        }
        const auto end = block.end(args.weights + static_cast<std::size_t>(s.taps()) * channels);
        std::size_t to = static_cast<std::size_t>(of.oh * s.out_w() + of.ow) * channels + of.k;
        for (int p = 0; p < pixels; ++p, to += channels) {
            Floats<Arch> result = end.of(sums[p]);
            if (args.residual != nullptr) {
                result += end.residual(reinterpret_cast<const Element*>(args.residual) + to);
            }
            end.store(reinterpret_cast<Element*>(args.dst) + to, result);
        }
        return pixels;
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::primitive::detail
