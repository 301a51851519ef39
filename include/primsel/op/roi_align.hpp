#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/layer/sampling.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// Samples each bin of each box for all channels of its image.
template <>
struct Op<RoiAlignParams> {
    static constexpr bool in_place = false;

    /// A sample has four pixels. Boxes of adaptive sampling are taken to be a quarter of the image's height and width.
    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(RoiAlignParams const& params, std::span<const Shape> inputs, Shape output) {
        const auto along = [&](int in, int out) {
            return params.samples > 0 ? params.samples : std::ceil(0.25 * in / out);
        };
        const double samples = along(inputs[0].h, params.size.h) * along(inputs[0].w, params.size.w);
        return {.scalars = 6 * samples * static_cast<double>(output.size()),
                .rows = static_cast<double>(output.c) * output.h,
                .bytes = 8.0 * static_cast<double>(output.size())};
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(RoiAlignParams const& params, OpArgs const& args) noexcept {
        const Shape in = args.src_shape[0];
        const auto boxes = static_cast<std::size_t>(args.src_shape[1].h),
                   channels = static_cast<std::size_t>(in.c / params.images);
        const std::size_t pixels = in.pixels(), bins = args.dst_shape.pixels();
        op::detail::for_ranges(args.executor, static_cast<std::size_t>(args.batch) * boxes * channels, 8 * bins,
                               [=, &params, &args](std::size_t first, std::size_t last) {
                                   for (std::size_t i = first; i < last; ++i) {
                                       const std::size_t box = i / channels, channel = i % channels;
                                       const float* const corners = args.src[1] + box * 4;
                                       const float image = args.src[2][box];
                                       const bool known = image >= 0 && image < static_cast<float>(params.images);
                                       const Side across(params, corners[0], corners[2], params.size.w, in.w),
                                           down(params, corners[1], corners[3], params.size.h, in.h);
                                       float* const dst = args.dst + i * bins;
                                       if (!known || !across.is_known || !down.is_known) {
                                           std::fill_n(dst, bins, 0.0F);
                                           continue;
                                       }
                                       const std::size_t batch = box / boxes * static_cast<std::size_t>(params.images),
                                                         plane = (batch + static_cast<std::size_t>(image)) * channels +
                                                                 channel;
                                       pool(params.kind, down, across, args.src[0] + plane * pixels, dst);
                                   }
                               });
    }

private:
    /// A box along one axis: its bins and their samples.
    struct Side {
        int bins, pixels;
        double start, bin, samples, step;
        bool is_known;

        Side(RoiAlignParams const& params, float low, float high, int out, int in) : bins(out), pixels(in) {
            const double scale = static_cast<double>(params.scale), shift = params.half_pixel ? 0.5 : 0;
            start = static_cast<double>(low) * scale - shift;
            double size = static_cast<double>(high) * scale - shift - start;
            if (!params.half_pixel) size = std::max(size, 1.0);
            constexpr double most = 1U << 31;
            is_known = is_finite(start) && is_finite(size) && std::abs(start) < most && std::abs(size) < most;
            bin = size / out;
            samples = params.samples > 0 ? params.samples : std::max(std::ceil(bin), 0.0);
            step = bin / samples;
        }
        /// Calls use(the place of a sample) for those of a bin that are not outside, in their order, and returns
        /// whether there are others.
        template <class Use>
        bool each(int at, Use const& use) const {
            if (samples == 0) return false;
            const double begin = start + at * bin + step / 2;
            double first = 0, last = samples;
            // Boxes may be far larger than the image; steps are then of half a pixel at least.
            if (step > 0) {
                first = std::clamp(std::ceil((-1 - begin) / step) - 1, 0.0, samples);
                last = std::clamp(std::floor((pixels - begin) / step) + 2, first, samples);
            }
            bool others = first > 0 || last < samples;
            for (double i = first; i < last; ++i) {
                const double place = begin + i * step;
                if (place < -1 || place > pixels)
                    others = true;
                else
                    use(place);
            }
            return others;
        }
    };
    /// A sample's two pixels along an axis, and the share of the second.
    struct Pair {
        std::size_t low, high;
        float share;
        Pair(double place, int pixels) {
            const double end = pixels - 1.0, held = std::clamp(place, 0.0, end), below = std::floor(held);
            low = static_cast<std::size_t>(below), high = static_cast<std::size_t>(std::min(below + 1, end));
            share = static_cast<float>(held - below);
        }
    };

    static void pool(PoolKind kind, Side const& down, Side const& across, const float* src, float* dst) noexcept {
        const bool is_max = kind == PoolKind::max;
        const auto width = static_cast<std::size_t>(across.pixels);
        const float count = static_cast<float>(std::max(down.samples * across.samples, 1.0));
        for (int y = 0; y < down.bins; ++y) {
            for (int x = 0; x < across.bins; ++x) {
                float sum = 0, most = 0;
                bool any = false;
                const auto outside = [&] {
                    most = any ? std::max(most, 0.0F) : 0.0F;
                    any = true;
                };
                const bool some_down = down.each(y, [&](double at_y) {
                    const Pair rows(at_y, down.pixels);
                    const float *const above = src + rows.low * width, *const below = src + rows.high * width;
                    const bool some = across.each(x, [&](double at_x) {
                        const Pair columns(at_x, across.pixels);
                        const float upper = 1 - rows.share, left = 1 - columns.share;
                        const float parts[] = {
                            upper * left * above[columns.low], upper * columns.share * above[columns.high],
                            rows.share * left * below[columns.low], rows.share * columns.share * below[columns.high]};
                        sum += (parts[0] + parts[1]) + (parts[2] + parts[3]);
                        const float best = std::max(std::max(parts[0], parts[1]), std::max(parts[2], parts[3]));
                        most = any ? std::max(most, best) : best;
                        any = true;
                    });
                    if (some) outside();
                });
                if (some_down && across.samples > 0) outside();
                *dst++ = is_max ? most : sum / count;
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
