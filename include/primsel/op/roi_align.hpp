#pragma once

#include <primsel/core/aligned_buffer.hpp>
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

/// A mean of linear samples is a product of weights down and weights across, which are the same for all channels. The
/// largest part of a sample is found sample by sample, for some channels at a time.
template <>
struct Op<RoiAlignParams> {
    static constexpr bool in_place = false;

    /// Boxes of adaptive sampling are taken to be a quarter of the image's height and width.
    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(RoiAlignParams const& params, std::span<const Shape> inputs, Shape output) {
        const auto along = [&](int in, int out) {
            return params.samples > 0 ? params.samples : std::ceil(0.25 * in / out);
        };
        const double down = along(inputs[0].h, params.size.h), across = along(inputs[0].w, params.size.w),
                     size = static_cast<double>(output.size());
        if (params.kind == PoolKind::max) {
            // A sample's place is found once for some channels.
            const double each = 4 + 60.0 / std::min(inputs[0].c / params.images, static_cast<int>(together));
            return {.scalars = each * down * across * size, .bytes = 8 * size, .form = "max"};
        }
        const double row = params.size.w * (across + 1);
        return {.operations = 2 * static_cast<double>(output.c) * output.h * (down + 1) * row,
                .scalars = 2 * (across + 1) * size,
                .rows = static_cast<double>(output.c) * output.h,
                .bytes = 8 * size};
    }

    /// The weights of a box and a row of the image, for each worker.
    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(RoiAlignParams const& params, std::span<const Shape> inputs,
                                                    std::size_t workers) {
        return params.kind == PoolKind::max ? 0 : workers * worker_floats(params, inputs[0]);
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(RoiAlignParams const& params, OpArgs const& args) noexcept {
        const Shape in = args.src_shape[0];
        const auto boxes = static_cast<std::size_t>(args.src_shape[1].h),
                   channels = static_cast<std::size_t>(in.c / params.images);
        const std::size_t pixels = in.pixels(), bins = args.dst_shape.pixels(),
                          groups = (channels + together - 1) / together;
        op::detail::for_ranges(
            args.executor, static_cast<std::size_t>(args.batch) * boxes * groups, 8 * bins * together,
            [=, &params, &args](std::size_t begin, std::size_t end, std::size_t worker) {
                for (std::size_t i = begin; i < end; ++i) {
                    const std::size_t box = i / groups, first = i % groups * together,
                                      last = std::min(first + together, channels);
                    const float* const corners = args.src[1] + box * 4;
                    const float image = args.src[2][box];
                    const bool known = image >= 0 && image < static_cast<float>(params.images);
                    const Side across(params, corners[0], corners[2], params.size.w, in.w),
                        down(params, corners[1], corners[3], params.size.h, in.h);
                    float* dst = args.dst + (box * channels + first) * bins;
                    if (!known || !across.is_known || !down.is_known) {
                        std::fill_n(dst, (last - first) * bins, 0.0F);
                        continue;
                    }
                    const std::size_t batch = box / boxes * static_cast<std::size_t>(params.images),
                                      plane = (batch + static_cast<std::size_t>(image)) * channels;
                    const float* src = args.src[0] + (plane + first) * pixels;
                    if (params.kind == PoolKind::max) {
                        largest(down, across, src, pixels, dst, bins, last - first);
                        continue;
                    }
                    float* const room = args.scratch + worker * worker_floats(params, in);
                    const Weights rows(down, room), columns(across, room + static_cast<std::size_t>(down.bins) *
                                                                               (static_cast<std::size_t>(in.h) + 2));
                    float* const mixed =
                        room + worker_floats(params, in) - round_up_floats(static_cast<std::size_t>(in.w));
                    for (std::size_t c = first; c < last; ++c, src += pixels, dst += bins) {
                        mean(rows, columns, src, mixed, dst);
                    }
                }
            });
    }

private:
    template <class>
    friend struct Op;  // its gradient
    /// Channels that share the weights of a box.
    static constexpr std::size_t together = 16;

    [[nodiscard]] static std::size_t worker_floats(RoiAlignParams const& params, Shape in) {
        const auto side = [](int bins, int size) {
            return static_cast<std::size_t>(bins) * (static_cast<std::size_t>(size) + 2);
        };
        return round_up_floats(side(params.size.h, in.h) + side(params.size.w, in.w)) +
               round_up_floats(static_cast<std::size_t>(in.w));
    }

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

    /// The weights of pixels along one axis for each bin: a row of them, between the first pixel and the last.
    struct Weights {
        int bins, pixels, first, last;
        int* range;
        float* of_bin;

        Weights(Side const& side, float* room)
            : bins(side.bins),
              pixels(side.pixels),
              first(side.pixels),
              last(0),
              range(reinterpret_cast<int*>(room)),
              of_bin(room + 2 * static_cast<std::size_t>(side.bins)) {
            for (int bin = 0; bin < bins; ++bin) {
                float* const weight = of_bin + static_cast<std::size_t>(bin) * static_cast<std::size_t>(pixels);
                std::fill_n(weight, pixels, 0.0F);
                int low = pixels, high = 0;
                (void)side.each(bin, [&](double at) {
                    const Pair pair(at, pixels);
                    const auto each = static_cast<float>(1 / side.samples);
                    weight[pair.low] += each * (1 - pair.share), weight[pair.high] += each * pair.share;
                    low = std::min(low, static_cast<int>(pair.low)),
                    high = std::max(high, static_cast<int>(pair.high) + 1);
                });
                range[2 * bin] = low, range[2 * bin + 1] = high;
                first = std::min(first, low), last = std::max(last, high);
            }
        }
        [[nodiscard]] const float* operator[](int bin) const {
            return of_bin + static_cast<std::size_t>(bin) * static_cast<std::size_t>(pixels);
        }
    };

    static void mean(Weights const& rows, Weights const& columns, const float* src, float* mixed, float* dst) noexcept {
        for (int y = 0; y < rows.bins; ++y) {
            std::fill(mixed + std::min(columns.first, columns.last), mixed + columns.last, 0.0F);
            for (int row = rows.range[2 * y]; row < rows.range[2 * y + 1]; ++row) {
                // A sample's pixels alone count: others may be infinite.
                const float weight = rows[y][row];
                if (weight == 0.0F) continue;
                const float* const pixels =
                    src + static_cast<std::size_t>(row) * static_cast<std::size_t>(columns.pixels);
                for (int x = columns.first; x < columns.last; ++x) mixed[x] += weight * pixels[x];
            }
            for (int x = 0; x < columns.bins; ++x) {
                float sum = 0;
                for (int i = columns.range[2 * x]; i < columns.range[2 * x + 1]; ++i) {
                    if (columns[x][i] != 0.0F) sum += columns[x][i] * mixed[i];
                }
                *dst++ = sum;
            }
        }
    }

    /// A sample's weights are computed once for all of the channels, whose planes are `pixels` apart.
    static void largest(Side const& down, Side const& across, const float* src, std::size_t pixels, float* dst,
                        std::size_t bins, std::size_t channels) noexcept {
        const auto width = static_cast<std::size_t>(across.pixels);
        for (int y = 0; y < down.bins; ++y) {
            for (int x = 0; x < across.bins; ++x, ++dst) {
                float most[together]{};
                bool any = false;
                const auto outside = [&] {
                    for (std::size_t c = 0; c < channels && any; ++c) most[c] = std::max(most[c], 0.0F);
                    any = true;
                };
                const bool some_down = down.each(y, [&](double at_y) {
                    const Pair rows(at_y, down.pixels);
                    const bool some = across.each(x, [&](double at_x) {
                        const Pair columns(at_x, across.pixels);
                        const float upper = 1 - rows.share, left = 1 - columns.share,
                                    weights[] = {upper * left, upper * columns.share, rows.share * left,
                                                 rows.share * columns.share};
                        const float* above = src + rows.low * width;
                        const float* below = src + rows.high * width;
                        for (std::size_t c = 0; c < channels; ++c, above += pixels, below += pixels) {
                            const float best =
                                std::max(std::max(weights[0] * above[columns.low], weights[1] * above[columns.high]),
                                         std::max(weights[2] * below[columns.low], weights[3] * below[columns.high]));
                            most[c] = any ? std::max(most[c], best) : best;
                        }
                        any = true;
                    });
                    if (some) outside();
                });
                if (some_down && across.samples > 0) outside();
                for (std::size_t c = 0; c < channels; ++c) dst[c * bins] = most[c];
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
