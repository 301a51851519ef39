#pragma once

#include <primsel/layer/reshape.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/detail/copy.hpp>
#include <primsel/op/detail/rows.hpp>
#include <primsel/op/detail/vectors.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>
#include <cmath>

namespace primsel::inline PRIMSEL_ABI {

namespace op::detail {

/// One axis of an image to resize.
struct ResizeAxis {
    int in, out;
    float scale;
    ResizeParams const& params;

    /// Returns the position of output x in the input. With a given factor, align_corners uses the unrounded product of
    /// factor and input size, as in ONNX's own tests. Integers are used where possible, so that a position halfway
    /// between two pixels is exact.
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

    /// first + weight * (second - first). `second` is the next position, or `first` at the end.
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

}  // namespace op::detail

/// Resizes rows first, then columns. A pixel has the floats that stay contiguous: one channel or all.
template <>
struct Op<ResizeParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(ResizeParams const& params, std::span<const Shape>, Shape output) {
        return (params.mode == ResizeMode::linear ? 6.0 : 0.0) * static_cast<double>(output.size());
    }

    template <class Arch, StridedLayout L>
    static void run(ResizeParams const& params, OpArgs const& args) noexcept {
        ResizeParams other = params;
        other.size = op::detail::exchanged(params.size);
        other.scale_h = params.scale_w, other.scale_w = params.scale_h;
        op::detail::with_rows_outside<L>(params, other, args, &resize<Arch>);
    }

private:
    /// The number of columns taken at a time; their weights are kept for all rows of a block.
    static constexpr int columns = 128;
    static constexpr int vector = 16;  // the most lanes of a vector
    struct Columns {
        int count;
        int first[columns + vector], second[columns + vector];
        float weight[columns + vector];
    };

    static void find(op::detail::ResizeAxis const& axis, int begin, Columns& result) noexcept {
        result.count = std::min(columns, axis.out - begin);
        for (int i = 0; i < result.count + vector; ++i) {
            // Columns beyond the last repeat it.
            const int x = begin + std::min(i, result.count - 1);
            if (axis.params.mode == ResizeMode::nearest) {
                result.first[i] = axis.nearest(x);
            } else {
                const auto [first, second, weight] = axis.between(x);
                result.first[i] = first, result.second[i] = second, result.weight[i] = weight;
            }
        }
    }

    template <class Arch>
    static void resize(ResizeParams const& params, OpArgs const& args, Strides from, Strides to) noexcept {
        const Shape in = args.src_shape[0], out = args.dst_shape;
        const op::detail::ResizeAxis down{in.h, out.h, params.scale_h, params};
        const op::detail::ResizeAxis across{in.w, out.w, params.scale_w, params};
        // A row belongs to one channel, or has all of them.
        const auto c = static_cast<std::size_t>(out.c), h = static_cast<std::size_t>(out.h),
                   w = static_cast<std::size_t>(out.w), pixel = to.w, row_floats = w * pixel;
        const std::size_t channels = pixel == 1 ? c : 1;
        const bool planes = to.c > to.h;
        const std::size_t inner = planes ? h : channels, outer = planes ? channels : h;
        op::detail::for_ranges(
            args.executor, static_cast<std::size_t>(args.batch) * channels * h, row_floats,
            [=, src = args.src[0], dst = args.dst](std::size_t first, std::size_t last) {
                const auto each_row = [=](auto const& f) {
                    std::size_t row = first / inner % outer, image = first / inner / outer;
                    for (std::size_t i = first, column = first % inner; i < last; ++i) {
                        const std::size_t channel = planes ? row : column;
                        f(src + image * in.size() + channel * from.c, static_cast<int>(planes ? column : row),
                          dst + i * row_floats);
                        if (++column < inner) continue;
                        column = 0;
                        if (++row == outer) row = 0, ++image;
                    }
                };
                Columns of;
                for (int begin = 0; begin < out.w; begin += columns) {
                    find(across, begin, of);
                    const std::size_t at = static_cast<std::size_t>(begin) * pixel;
                    each_row([&](const float* channel, int y, float* to_row) {
                        if (params.mode == ResizeMode::nearest) {
                            const float* row = channel + static_cast<std::size_t>(down.nearest(y)) * from.h;
                            return nearest<Arch>(row, in.w, of, pixel, to_row + at);
                        }
                        const auto rows = down.between(y);
                        const float* above = channel + static_cast<std::size_t>(rows.first) * from.h;
                        const float* below = channel + static_cast<std::size_t>(rows.second) * from.h;
                        if (pixel == 1) {
                            linear_columns<Arch>(above, below, rows.weight, of, to_row + at);
                        } else {
                            linear_pixels<Arch>(above, below, rows.weight, of, pixel, to_row + at);
                        }
                    });
                }
            });
    }

    template <class Arch>
    static void nearest(const float* src, int size, Columns const& of, std::size_t pixel, float* dst) noexcept {
        if (pixel == 1) {
            for (int i = 0; i < of.count; i += lanes<Arch>) {
                op::detail::store_up_to<Arch>(dst + i, op::detail::pick<Arch>(src, of.first + i, 0, size),
                                              static_cast<std::size_t>(of.count - i));
            }
        } else {
            for (int i = 0; i < of.count; ++i, dst += pixel) {
                op::detail::copy_floats<Arch>(src + static_cast<std::size_t>(of.first[i]) * pixel, dst, pixel);
            }
        }
    }

    template <class Arch>
    static PRIMSEL_INLINE Floats<Arch> mix(Floats<Arch> const& a, Floats<Arch> const& b, Floats<Arch> const& weight) {
        return fma<Arch>(b - a, weight, a);
    }

    /// Contiguous columns: interpolates first between the two rows, then between the columns.
    template <class Arch>
    static void linear_columns(const float* above, const float* below, float down, Columns const& of,
                               float* dst) noexcept {
        using V = Floats<Arch>;
        constexpr int width = lanes<Arch>, most = 2 * columns;
        const int begin = of.first[0], span = of.second[of.count - 1] + 1 - begin;
        if (span > most) {
            for (int i = 0; i < of.count; i += width) {
                const auto row = [&](const float* src, const int* index) {
                    alignas(64) float lane[width];
                    for (int j = 0; j < width; ++j) lane[j] = src[index[j]];
                    return load<Arch>(lane);
                };
                const V left = mix<Arch>(row(above, of.first + i), row(below, of.first + i), V(down));
                const V right = mix<Arch>(row(above, of.second + i), row(below, of.second + i), V(down));
                op::detail::store_up_to<Arch>(dst + i, mix<Arch>(left, right, load<Arch>(of.weight + i)),
                                              static_cast<std::size_t>(of.count - i));
            }
            return;
        }
        alignas(64) float mixed[most + width];
        for (int i = 0; i < span; i += width) {
            const auto n = static_cast<std::size_t>(span - i);
            store<Arch>(mixed + i, mix<Arch>(op::detail::load_up_to<Arch>(above + begin + i, n),
                                             op::detail::load_up_to<Arch>(below + begin + i, n), V(down)));
        }
        for (int i = 0; i < of.count; i += width) {
            const V left = op::detail::pick<Arch>(mixed, of.first + i, begin, span);
            const V right = op::detail::pick<Arch>(mixed, of.second + i, begin, span);
            op::detail::store_up_to<Arch>(dst + i, mix<Arch>(left, right, load<Arch>(of.weight + i)),
                                          static_cast<std::size_t>(of.count - i));
        }
    }

    /// Pixels of several channels.
    template <class Arch>
    static void linear_pixels(const float* above, const float* below, float down, Columns const& of, std::size_t pixel,
                              float* dst) noexcept {
        using V = Floats<Arch>;
        for (int i = 0; i < of.count; ++i, dst += pixel) {
            const std::size_t left = static_cast<std::size_t>(of.first[i]) * pixel,
                              right = static_cast<std::size_t>(of.second[i]) * pixel;
            for (std::size_t j = 0; j < pixel; j += lanes<Arch>) {
                const std::size_t n = pixel - j;
                const auto at = [n](const float* src) { return op::detail::load_up_to<Arch>(src, n); };
                const V a = mix<Arch>(at(above + left + j), at(below + left + j), V(down));
                const V b = mix<Arch>(at(above + right + j), at(below + right + j), V(down));
                op::detail::store_up_to<Arch>(dst + j, mix<Arch>(a, b, V(of.weight[i])), n);
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
