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

/// Finds the pixels and weights of some places, then sums for each channel.
template <>
struct Op<GridSampleParams> {
    static constexpr bool in_place = false;

    /// A place takes some 20 operations an axis and 2 a tap, and a channel one load and product a tap.
    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(GridSampleParams const& params, std::span<const Shape> inputs, Shape output) {
        const auto places = static_cast<double>(inputs[1].size()), size = static_cast<double>(output.size());
        const double taps = taps_of(params), own = places / inputs[1].w;
        return {.scalars = 20 * places + 2 * taps * own + taps * size,
                .rows = size / some,
                .bytes = 4 * (places + 2 * size),
                .form = params.mode == ResizeMode::nearest ? "nearest" : ""};
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(GridSampleParams const& params, OpArgs const& args) noexcept {
        const Shape in = args.src_shape[0], grid = args.src_shape[1], out = args.dst_shape;
        const std::size_t places = out.pixels(), parts = (places + some - 1) / some, pixels = in.pixels(),
                          axes = static_cast<std::size_t>(grid.w), groups = static_cast<std::size_t>(params.groups),
                          channels = static_cast<std::size_t>(in.c) / groups;
        const int height = params.depth > 0 ? in.h / params.depth : in.h;
        op::detail::for_ranges(args.executor, static_cast<std::size_t>(args.batch) * groups * parts, some * channels,
                               [=, &params, &args](std::size_t first, std::size_t last) {
                                   Places of;
                                   for (std::size_t i = first; i < last; ++i) {
                                       const std::size_t group = i / parts, begin = i % parts * some,
                                                         count = std::min(some, places - begin);
                                       const float* at = args.src[1] + (group * places + begin) * axes;
                                       for (std::size_t p = 0; p < count; ++p, at += axes) {
                                           const Taps x = taps_at(params, at[0], in.w),
                                                      y = taps_at(params, at[1], height);
                                           if (params.depth == 0) {
                                               of.set(p, x, y, Taps{1, {0}, {1.0F}}, in.w, height);
                                           } else {
                                               of.set(p, x, y, taps_at(params, at[2], params.depth), in.w, height);
                                           }
                                       }
                                       const float* src = args.src[0] + group * channels * pixels;
                                       float* dst = args.dst + group * channels * places + begin;
                                       for (std::size_t c = 0; c < channels; ++c, src += pixels, dst += places) {
                                           sum(of, taps_of(params), count, src, dst);
                                       }
                                   }
                               });
    }

private:
    template <class>
    friend struct Op;  // its gradient
    /// The places taken at a time.
    static constexpr std::size_t some = 64;

    [[nodiscard]] static int taps_of(GridSampleParams const& params) {
        if (params.mode == ResizeMode::nearest) return 1;
        return params.mode == ResizeMode::cubic ? 16 : params.depth > 0 ? 8 : 4;
    }

    /// Pixels along an axis. Those without a weight are outside.
    struct Taps {
        int count;
        int at[4];
        float weight[4];
    };
    struct Places {
        int at[16][some];
        float weight[16][some];

        void set(std::size_t place, Taps const& x, Taps const& y, Taps const& z, int width, int height) {
            int tap = 0;
            for (int k = 0; k < z.count; ++k) {
                for (int j = 0; j < y.count; ++j) {
                    for (int i = 0; i < x.count; ++i, ++tap) {
                        at[tap][place] = (z.at[k] * height + y.at[j]) * width + x.at[i];
                        weight[tap][place] = z.weight[k] * y.weight[j] * x.weight[i];
                    }
                }
            }
        }
    };

    static void sum(Places const& of, int taps, std::size_t count, const float* src, float* dst) noexcept {
        if (taps == 1) return sum<1>(of, count, src, dst);
        if (taps == 4) return sum<4>(of, count, src, dst);
        taps == 8 ? sum<8>(of, count, src, dst) : sum<16>(of, count, src, dst);
    }
    /// A place without a weight adds nothing, whatever its pixel: that may be infinite.
    template <int taps>
    static void sum(Places const& of, std::size_t count, const float* src, float* PRIMSEL_RESTRICT dst) noexcept {
        for (std::size_t i = 0; i < count; ++i) {
            float result = 0;
            PRIMSEL_UNROLL
            for (int tap = 0; tap < taps; ++tap) {
                const float weight = of.weight[tap][i], part = weight * src[of.at[tap][i]];
                result += weight == 0.0F ? 0.0F : part;
            }
            dst[i] = result;
        }
    }

    /// The pixels of a place, and their weights. `slopes`: those of the weights, where they are asked for.
    [[nodiscard]] static Taps taps_at(GridSampleParams const& params, float position, int size,
                                      float* slopes = nullptr) {
        const double end = size - 1.0, share = static_cast<double>(position);
        double at = params.pixels ? share : params.align_corners ? (share + 1) / 2 * end : ((share + 1) * size - 1) / 2;
        // No image reaches so far; NaN is outside, too.
        constexpr double far = 1e15;
        if (is_nan(at) || at < -far) at = -far;
        if (at > far) at = far;
        const bool cubic = params.mode == ResizeMode::cubic;
        // The derivative of the pixel coordinate with respect to the grid's value.
        double rate = params.pixels ? 1 : (params.align_corners ? end : size) / 2;
        if (!cubic) at = held(params, at, end, &rate);
        const double below = params.mode == ResizeMode::nearest ? std::nearbyint(at) : std::floor(at),
                     past = at - below;
        Taps taps{params.mode == ResizeMode::nearest ? 1 : cubic ? 4 : 2, {}, {}};
        const auto set = [&](int tap, double pixel, double weight, double slope) {
            if (cubic) pixel = held(params, pixel, end);
            const bool inside = pixel >= 0 && pixel <= end;
            taps.at[tap] = inside ? static_cast<int>(pixel) : 0;
            taps.weight[tap] = inside ? static_cast<float>(weight) : 0.0F;
            if (slopes != nullptr) slopes[tap] = inside ? static_cast<float>(slope * rate) : 0.0F;
        };
        if (params.mode == ResizeMode::nearest) {
            set(0, below, 1, 0);
        } else if (!cubic) {
            set(0, below, 1 - past, -1), set(1, below + 1, past, 1);
        } else {
            constexpr double a = -0.75;
            const auto near = [](double far_from) { return ((a + 2) * far_from - (a + 3)) * far_from * far_from + 1; };
            const auto outer = [](double far_from) {
                return ((a * far_from - 5 * a) * far_from + 8 * a) * far_from - 4 * a;
            };
            const auto slope_near = [](double far_from) { return (3 * (a + 2) * far_from - 2 * (a + 3)) * far_from; };
            const auto slope_outer = [](double far_from) { return (3 * far_from - 10) * a * far_from + 8 * a; };
            set(0, below - 1, outer(past + 1), slope_outer(past + 1)), set(1, below, near(past), slope_near(past));
            set(2, below + 1, near(1 - past), -slope_near(1 - past));
            set(3, below + 2, outer(2 - past), -slope_outer(2 - past));
        }
        return taps;
    }
    /// The place inside that stands for one outside. `rate` is multiplied by its derivative: 1, -1 or 0.
    [[nodiscard]] static double held(GridSampleParams const& params, double at, double end, double* rate = nullptr) {
        if (params.padding == SamplePadding::zeros) return at;
        if (params.padding == SamplePadding::reflection) {
            // Mirrors are the middles of the first and last pixels, or their outer borders.
            const double low = params.align_corners ? 0 : -0.5, span = params.align_corners ? end : end + 1;
            if (rate != nullptr && (span == 0 || at < low)) *rate = span == 0 ? 0 : -*rate;
            if (span == 0) return 0;
            const double beyond = std::fmod(std::abs(at - low), 2 * span);
            if (rate != nullptr && beyond >= span) *rate = -*rate;
            at = (beyond < span ? beyond : 2 * span - beyond) + low;
        }
        if (rate != nullptr && (at < 0 || at > end)) *rate = 0;
        return std::clamp(at, 0.0, end);
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
