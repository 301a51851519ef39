#pragma once

#include <primsel/layer/reshape.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/detail/vectors.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>
#include <cmath>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// One axis of an image to resize.
struct ResizeAxis {
    int in, out;
    float scale;
    ResizeParams const& params;

    /// Where output x lies in the input. Of integers where it can be, so that a place halfway between two pixels is
    /// exactly that.
    [[nodiscard]] double place(int x) const {
        const double ratio_in = in, ratio_out = scale > 0 ? in / static_cast<double>(scale) : out;
        switch (params.coordinates) {
            case ResizeCoordinates::pytorch_half_pixel:
                if (out == 1) return 0;
                [[fallthrough]];
            case ResizeCoordinates::half_pixel:
                return scale > 0 ? (x + 0.5) * scale - 0.5 : (2.0 * x + 1) * in / (2.0 * out) - 0.5;
            case ResizeCoordinates::align_corners:
                return ratio_out <= 1 ? 0 : x * (ratio_in - 1) / (ratio_out - 1);
            case ResizeCoordinates::asymmetric:
                return scale > 0 ? x * static_cast<double>(scale) : static_cast<double>(x) * in / out;
        }
        return 0;
    }
    [[nodiscard]] int nearest(int x) const { return static_cast<int>(std::clamp(rounded(place(x)), 0.0, in - 1.0)); }

    /// first + weight * (second - first); second is the next, or first where that is the last.
    struct Between {
        int first, second;
        float weight;
    };
    [[nodiscard]] Between between(int x) const {
        const double at = std::clamp(place(x), 0.0, in - 1.0);
        const int first = static_cast<int>(at);
        return {first, std::min(first + 1, in - 1), static_cast<float>(at - first)};
    }

private:
    [[nodiscard]] double rounded(double at) const {
        switch (params.rounding) {
            case ResizeRounding::round_prefer_floor:
                return std::ceil(at - 0.5);
            case ResizeRounding::round_prefer_ceil:
                return std::floor(at + 0.5);
            case ResizeRounding::floor:
                return std::floor(at);
            case ResizeRounding::ceil:
                return std::ceil(at);
        }
        return at;
    }
};

}  // namespace detail

/// Rows first, then columns. A pixel: the floats that are neighbours whatever is done to rows and columns, one channel
/// or all.
template <>
struct Op<ResizeParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(ResizeParams const& params, std::span<const Shape>, Shape output) {
        return (params.mode == ResizeMode::linear ? 6.0 : 0.0) * static_cast<double>(output.size());
    }

    template <class Arch, StridedLayout L>
    static void run(ResizeParams const& params, OpArgs const& args) noexcept {
        resize<Arch>(params, args, L::strides(args.src_shape[0]), L::strides(args.dst_shape));
    }

private:
    static constexpr int columns = 128;

    template <class Arch>
    static void resize(ResizeParams const& params, OpArgs const& args, Strides from, Strides to) noexcept {
        const Shape in = args.src_shape[0], out = args.dst_shape;
        const detail::ResizeAxis down{in.h, out.h, params.scale_h, params};
        const detail::ResizeAxis across{in.w, out.w, params.scale_w, params};
        // A row is one of one channel, or of all.
        const std::size_t pixel = to.w, h = static_cast<std::size_t>(out.h);
        const std::size_t channels = pixel == 1 ? static_cast<std::size_t>(out.c) : 1;
        const bool planes = to.c > to.h;
        const auto row_at = [=](std::size_t row) {
            const std::size_t of_image = row % (channels * h);
            return Coord{static_cast<int>(planes ? of_image / h : of_image % channels),
                         static_cast<int>(planes ? of_image % h : of_image / channels), 0};
        };
        detail::for_ranges(
            args.executor, static_cast<std::size_t>(args.batch) * channels * h, static_cast<std::size_t>(out.w) * pixel,
            [=, &args](std::size_t first, std::size_t last) {
                const auto source = [&](std::size_t row, Coord at, int y) {
                    return args.src[0] + row / (channels * h) * in.size() + static_cast<std::size_t>(at.c) * from.c +
                           static_cast<std::size_t>(y) * from.h;
                };
                for (int begin = 0; begin < out.w; begin += columns) {
                    const int count = std::min(columns, out.w - begin);
                    if (params.mode == ResizeMode::nearest) {
                        std::size_t index[columns];
                        for (int i = 0; i < count; ++i) {
                            index[i] = static_cast<std::size_t>(across.nearest(begin + i)) * pixel;
                        }
                        for (std::size_t row = first; row < last; ++row) {
                            const Coord at = row_at(row);
                            nearest<Arch>(
                                source(row, at, down.nearest(at.h)), index, count, pixel,
                                args.dst +
                                    (row * static_cast<std::size_t>(out.w) + static_cast<std::size_t>(begin)) * pixel);
                        }
                    } else {
                        detail::ResizeAxis::Between between[columns];
                        for (int i = 0; i < count; ++i) between[i] = across.between(begin + i);
                        for (std::size_t row = first; row < last; ++row) {
                            const Coord at = row_at(row);
                            const detail::ResizeAxis::Between rows = down.between(at.h);
                            linear<Arch>(
                                source(row, at, rows.first), source(row, at, rows.second), rows.weight, between, count,
                                pixel,
                                args.dst +
                                    (row * static_cast<std::size_t>(out.w) + static_cast<std::size_t>(begin)) * pixel);
                        }
                    }
                }
            });
    }

    template <class Arch>
    static void nearest(const float* src, const std::size_t* index, int count, std::size_t pixel, float* dst) noexcept {
        if (pixel == 1) {
            for (int i = 0; i < count; ++i) dst[i] = src[index[i]];
        } else {
            for (int i = 0; i < count; ++i, dst += pixel) {
                for (std::size_t j = 0; j < pixel; j += lanes<Arch>) {
                    detail::store_up_to<Arch>(dst + j, detail::load_up_to<Arch>(src + index[i] + j, pixel - j),
                                              pixel - j);
                }
            }
        }
    }

    template <class Arch>
    static void linear(const float* above, const float* below, float down, const detail::ResizeAxis::Between* between,
                       int count, std::size_t pixel, float* dst) noexcept {
        using V = Floats<Arch>;
        const auto mix = [](V const& a, V const& b, V const& weight) { return fma<Arch>(b - a, weight, a); };
        for (int i = 0; i < count; ++i, dst += pixel) {
            const std::size_t left = static_cast<std::size_t>(between[i].first) * pixel,
                              right = static_cast<std::size_t>(between[i].second) * pixel;
            for (std::size_t j = 0; j < pixel; j += lanes<Arch>) {
                const std::size_t n = pixel - j;
                const auto at = [n](const float* src) { return detail::load_up_to<Arch>(src, n); };
                const V a = mix(at(above + left + j), at(below + left + j), V(down));
                const V b = mix(at(above + right + j), at(below + right + j), V(down));
                detail::store_up_to<Arch>(dst + j, mix(a, b, V(between[i].weight)), n);
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
