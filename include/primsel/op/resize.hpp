#pragma once

#include <primsel/layer/reshape.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/detail/copy.hpp>
#include <primsel/op/detail/elements.hpp>
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

    /// The four pixels around a position, and their weights.
    struct Cubic {
        int at[4];
        float weight[4];
    };
    [[nodiscard]] Cubic cubic(int x) const {
        const double middle = place(x), below = std::floor(middle), past = middle - below;
        const double a = static_cast<double>(params.cubic_coefficient);
        const auto near = [a](double far) { return ((a + 2) * far - (a + 3)) * far * far + 1; };
        const auto outer = [a](double far) { return ((a * far - 5 * a) * far + 8 * a) * far - 4 * a; };
        const double weight[4] = {outer(past + 1), near(past), near(1 - past), outer(2 - past)};
        Cubic result;
        bool counts[4];
        double sum = 0;
        for (int tap = 0; tap < 4; ++tap) {
            const double at = below - 1 + tap, held = std::clamp(at, 0.0, in - 1.0);
            result.at[tap] = static_cast<int>(held);
            counts[tap] = at == held || !params.exclude_outside;
            if (counts[tap]) sum += weight[tap];
        }
        // A given scale may lead so far beyond the image that no pixel inside has a weight.
        const bool none = sum == 0;
        double share = 0;
        for (int tap = 0; tap < 4; ++tap) {
            share += none ? weight[tap] : counts[tap] ? weight[tap] / sum : 0;
            // The last of the taps that are one pixel has the weights of all.
            const bool again = tap < 3 && result.at[tap + 1] == result.at[tap];
            result.weight[tap] = again ? 0.0F : static_cast<float>(share);
            if (!again) share = 0;
        }
        return result;
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

    template <class Arch, StridedLayout L>
    static void run(ResizeParams const& params, OpArgs const& args) noexcept {
        ResizeParams other = params;
        other.size = op::detail::exchanged(params.size);
        other.scale_h = params.scale_w, other.scale_w = params.scale_h;
        op::detail::with_rows_outside<L>(params, other, args, &resize<Arch>);
    }

    /// Where channels are contiguous, a pixel is a row. Elsewhere vectors gather their columns, by permuting the lanes
    /// of one vector or, where they are too far apart, one by one. Each range of rows computes the places of its
    /// columns.
    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(ResizeParams const& params, std::span<const Shape> inputs, Shape output) {
        const bool together = L::strides(output).c == 1, swapped = op::detail::is_transposed<L>(),
                   nearest = params.mode == ResizeMode::nearest;
        const double size = static_cast<double>(output.size());
        const auto width = static_cast<std::size_t>(swapped ? output.h : output.w);
        const double in = swapped ? inputs[0].h : inputs[0].w, ratio = in / static_cast<double>(width);
        const std::size_t row_floats = width * (together ? static_cast<std::size_t>(output.c) : 1),
                          ranges = output.size() / std::max(op::detail::block_floats, row_floats) + 1;
        const double places = 20.0 * static_cast<double>(ranges * (width + vector));
        if (together) {
            OpCounts counts = op::detail::row_counts<Arch>(output.pixels(), static_cast<std::size_t>(output.c),
                                                           nearest ? 1 : operations_each(params));
            counts.scalars = places;
            counts.form = nearest ? "nearest_pixels" : "pixels";
            return counts;
        }
        const double rows = size / static_cast<double>(width);
        const double vectors = rows * op::detail::covering_lanes<Arch>(width);
        const bool permutes = ratio * (lanes<Arch> - 1) < lanes<Arch>;
        const double taps = nearest ? 1 : params.mode == ResizeMode::linear ? 2 : 4, most = taps * columns;
        OpCounts counts{.operations = nearest ? vectors : operations_each(params) / 2 * (vectors + rows * in),
                        .scalars = places,
                        .rows = rows,
                        .form = nearest ? "nearest" : ""};
        if (!permutes) {
            const double gathers = nearest || ratio * columns <= most ? taps : taps * taps;
            counts.scalars += gathers * size;
            counts.form = nearest ? "nearest_gathered" : "gathered";
        }
        return counts;
    }

private:
    template <class Params, class L>
    friend struct OpIn;

    [[nodiscard]] static double operations_each(ResizeParams const& params) {
        return params.mode == ResizeMode::linear ? 6 : 16;
    }

    /// The number of columns taken at a time; their weights are kept for all rows of a block.
    static constexpr int columns = 128;
    static constexpr int vector = 16;  // the most lanes of a vector
    struct Columns {
        int count;
        int first[columns + vector], second[columns + vector];
        float weight[columns + vector];
    };
    struct CubicColumns {
        int count;
        int at[4][columns + vector];
        float weight[4][columns + vector];
    };

    /// The most rows whose input rows are found once for all channels.
    static constexpr int rows = 256;
    /// The rows of which a row consists: one, or two, or four.
    using Row = op::detail::ResizeAxis::Cubic;
    static Row find(op::detail::ResizeAxis const& axis, int y) noexcept {
        if (axis.params.mode == ResizeMode::cubic) return axis.cubic(y);
        if (axis.params.mode == ResizeMode::nearest) return {{axis.nearest(y)}, {1}};
        const auto [first, second, weight] = axis.between(y);
        return {{first, second}, {1 - weight, weight}};
    }

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

    static void find(op::detail::ResizeAxis const& axis, int begin, CubicColumns& result) noexcept {
        result.count = std::min(columns, axis.out - begin);
        for (int i = 0; i < result.count + vector; ++i) {
            const auto pixels = axis.cubic(begin + std::min(i, result.count - 1));
            for (int tap = 0; tap < 4; ++tap) {
                result.at[tap][i] = pixels.at[tap], result.weight[tap][i] = pixels.weight[tap];
            }
        }
    }

    template <class Arch>
    static void resize(ResizeParams const& params, OpArgs const& args, Strides from, Strides to) noexcept {
        const int width = args.src_shape[0].w;
        const std::size_t pixel = to.w, image = args.src_shape[0].size();
        const op::detail::FloatElements<Arch> floats{};
        if (params.mode == ResizeMode::cubic) {
            return each_row<float, CubicColumns>(
                params, args, from, to, image,
                [=](CubicColumns const& of, Row const& rows, const float* channel, float* dst) {
                    if (pixel != 1) return cubic_pixels(floats, rows, from.h, of, pixel, channel, dst);
                    const float* of_tap[4];
                    for (int tap = 0; tap < 4; ++tap) {
                        of_tap[tap] = channel + static_cast<std::size_t>(rows.at[tap]) * from.h;
                    }
                    cubic_columns<Arch>(of_tap, rows.weight, of, dst);
                });
        }
        each_row<float, Columns>(params, args, from, to, image,
                                 [=, &params](Columns const& of, Row const& rows, const float* channel, float* dst) {
                                     const float* above = channel + static_cast<std::size_t>(rows.at[0]) * from.h;
                                     if (params.mode == ResizeMode::nearest) {
                                         return nearest<Arch>(above, width, of, pixel, dst);
                                     }
                                     if (pixel != 1)
                                         return linear_pixels(floats, rows, from.h, of, pixel, channel, dst);
                                     const float* below = channel + static_cast<std::size_t>(rows.at[1]) * from.h;
                                     linear_columns<Arch>(above, below, rows.weight[1], of, dst);
                                 });
    }

    /// Calls use(columns, rows of the input, the input's image or channel, result) for all columns of each row of the
    /// result, some at a time. An image of the input has so many elements.
    template <class Element, class SomeColumns, class Use>
    static void each_row(ResizeParams const& params, OpArgs const& args, Strides from, Strides to, std::size_t image,
                         Use const& use) noexcept {
        const Shape in = args.src_shape[0], out = args.dst_shape;
        const op::detail::ResizeAxis down{in.h, out.h, params.scale_h, params};
        const op::detail::ResizeAxis across{in.w, out.w, params.scale_w, params};
        // A row belongs to one channel, or has all of them.
        const auto c = static_cast<std::size_t>(out.c), h = static_cast<std::size_t>(out.h),
                   w = static_cast<std::size_t>(out.w), pixel = to.w, row_elements = w * pixel;
        const std::size_t channels = pixel == 1 ? c : 1;
        const bool planes = to.c > to.h;
        const std::size_t inner = planes ? h : channels, outer = planes ? channels : h;
        // Every channel has the same rows.
        Row of_row[rows];
        for (int y = 0; y < std::min(out.h, rows); ++y) of_row[y] = find(down, y);
        const auto row_at = [=, &of_row](int y) { return y < rows ? of_row[y] : find(down, y); };
        op::detail::for_ranges(args.executor, static_cast<std::size_t>(args.batch) * channels * h, row_elements,
                               [=, &use, src = reinterpret_cast<const Element*>(args.src[0]),
                                dst = reinterpret_cast<Element*>(args.dst)](std::size_t first, std::size_t last) {
                                   SomeColumns of;
                                   for (int begin = 0; begin < out.w; begin += columns) {
                                       find(across, begin, of);
                                       const std::size_t at = static_cast<std::size_t>(begin) * pixel;
                                       std::size_t row = first / inner % outer, i_image = first / inner / outer;
                                       for (std::size_t i = first, column = first % inner; i < last; ++i) {
                                           const std::size_t channel = planes ? row : column;
                                           use(of, row_at(static_cast<int>(planes ? column : row)),
                                               src + i_image * image + channel * from.c, dst + i * row_elements + at);
                                           if (++column < inner) continue;
                                           column = 0;
                                           if (++row == outer) row = 0, ++i_image;
                                       }
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

    template <class Elements, class V = typename Elements::Vector>
    static PRIMSEL_INLINE V mix(V const& a, V const& b, V const& weight) {
        return Elements::fma(b - a, weight, a);
    }

    /// Contiguous columns: interpolates first between the two rows, then between the columns.
    template <class Arch>
    static void linear_columns(const float* above, const float* below, float down, Columns const& of,
                               float* dst) noexcept {
        using V = Floats<Arch>;
        using Elements = op::detail::FloatElements<Arch>;
        constexpr int width = lanes<Arch>, most = 2 * columns;
        const int begin = of.first[0], span = of.second[of.count - 1] + 1 - begin;
        if (span > most) {
            for (int i = 0; i < of.count; i += width) {
                const auto row = [&](const float* src, const int* index) {
                    alignas(64) float lane[width];
                    for (int j = 0; j < width; ++j) lane[j] = src[index[j]];
                    return load<Arch>(lane);
                };
                const V left = mix<Elements>(row(above, of.first + i), row(below, of.first + i), V(down));
                const V right = mix<Elements>(row(above, of.second + i), row(below, of.second + i), V(down));
                op::detail::store_up_to<Arch>(dst + i, mix<Elements>(left, right, load<Arch>(of.weight + i)),
                                              static_cast<std::size_t>(of.count - i));
            }
            return;
        }
        alignas(64) float mixed[most + width];
        for (int i = 0; i < span; i += width) {
            const auto n = static_cast<std::size_t>(span - i);
            store<Arch>(mixed + i, mix<Elements>(op::detail::load_up_to<Arch>(above + begin + i, n),
                                                 op::detail::load_up_to<Arch>(below + begin + i, n), V(down)));
        }
        for (int i = 0; i < of.count; i += width) {
            const V left = op::detail::pick<Arch>(mixed, of.first + i, begin, span);
            const V right = op::detail::pick<Arch>(mixed, of.second + i, begin, span);
            op::detail::store_up_to<Arch>(dst + i, mix<Elements>(left, right, load<Arch>(of.weight + i)),
                                          static_cast<std::size_t>(of.count - i));
        }
    }

    /// The sum of four weighted pixels, by the products and sums of Elements.
    template <class Elements>
    static PRIMSEL_INLINE auto weighted(typename Elements::Vector const (&pixel)[4],
                                        typename Elements::Vector const (&weight)[4]) {
        const auto low = Elements::fma(pixel[1], weight[1], Elements::product(pixel[0], weight[0]));
        return low + Elements::fma(pixel[3], weight[3], Elements::product(pixel[2], weight[2]));
    }

    /// Contiguous columns: combines first the four rows, then the columns.
    template <class Arch>
    static void cubic_columns(const float* const (&rows)[4], const float (&down)[4], CubicColumns const& of,
                              float* dst) noexcept {
        using V = Floats<Arch>;
        using Elements = op::detail::FloatElements<Arch>;
        constexpr int width = lanes<Arch>, most = 4 * columns;
        const V weight[4] = {V(down[0]), V(down[1]), V(down[2]), V(down[3])};
        const int begin = of.at[0][0], span = of.at[3][of.count - 1] + 1 - begin;
        alignas(64) float mixed[most + width];
        for (int i = 0; i < span && span <= most; i += width) {
            const auto n = static_cast<std::size_t>(span - i);
            V pixel[4];
            PRIMSEL_UNROLL
            for (int tap = 0; tap < 4; ++tap) pixel[tap] = op::detail::load_up_to<Arch>(rows[tap] + begin + i, n);
            store<Arch>(mixed + i, weighted<Elements>(pixel, weight));
        }
        for (int i = 0; i < of.count; i += width) {
            V pixel[4], across[4];
            PRIMSEL_UNROLL
            for (int tap = 0; tap < 4; ++tap) {
                across[tap] = load<Arch>(of.weight[tap] + i);
                if (span <= most) {
                    pixel[tap] = op::detail::pick<Arch>(mixed, of.at[tap] + i, begin, span);
                    continue;
                }
                V column[4];
                for (int row = 0; row < 4; ++row) {
                    alignas(64) float lane[width];
                    for (int j = 0; j < width; ++j) lane[j] = rows[row][of.at[tap][i + j]];
                    column[row] = load<Arch>(lane);
                }
                pixel[tap] = weighted<Elements>(column, weight);
            }
            op::detail::store_up_to<Arch>(dst + i, weighted<Elements>(pixel, across),
                                          static_cast<std::size_t>(of.count - i));
        }
    }

    /// Pixels of several channels.
    template <class Elements, class Element = typename Elements::element>
    static void cubic_pixels(Elements elements, Row const& rows, std::size_t row, CubicColumns const& of,
                             std::size_t pixel, const Element* src, Element* dst) noexcept {
        using V = typename Elements::Vector;
        const V weight[4] = {V(rows.weight[0]), V(rows.weight[1]), V(rows.weight[2]), V(rows.weight[3])};
        for (int i = 0; i < of.count; ++i, dst += pixel) {
            std::size_t at[4];
            V across[4];
            for (int tap = 0; tap < 4; ++tap) {
                at[tap] = static_cast<std::size_t>(of.at[tap][i]) * pixel;
                across[tap] = V(of.weight[tap][i]);
            }
            for (std::size_t j = 0; j < pixel; j += V::size) {
                V column[4];
                PRIMSEL_UNROLL
                for (int tap = 0; tap < 4; ++tap) {
                    V of_row[4];
                    PRIMSEL_UNROLL
                    for (int y = 0; y < 4; ++y) {
                        of_row[y] =
                            elements.load(0, src + static_cast<std::size_t>(rows.at[y]) * row + at[tap] + j, pixel - j);
                    }
                    column[tap] = weighted<Elements>(of_row, weight);
                }
                elements.store(dst + j, weighted<Elements>(column, across), pixel - j);
            }
        }
    }

    /// Pixels of several channels.
    template <class Elements, class Element = typename Elements::element>
    static void linear_pixels(Elements elements, Row const& rows, std::size_t row, Columns const& of, std::size_t pixel,
                              const Element* src, Element* dst) noexcept {
        using V = typename Elements::Vector;
        const Element* const above = src + static_cast<std::size_t>(rows.at[0]) * row;
        const Element* const below = src + static_cast<std::size_t>(rows.at[1]) * row;
        const V down(rows.weight[1]);
        for (int i = 0; i < of.count; ++i, dst += pixel) {
            const std::size_t left = static_cast<std::size_t>(of.first[i]) * pixel,
                              right = static_cast<std::size_t>(of.second[i]) * pixel;
            for (std::size_t j = 0; j < pixel; j += V::size) {
                const std::size_t n = pixel - j;
                const auto at = [&elements, n](const Element* from) { return elements.load(0, from, n); };
                const V a = mix<Elements>(at(above + left + j), at(below + left + j), down);
                const V b = mix<Elements>(at(above + right + j), at(below + right + j), down);
                elements.store(dst + j, mix<Elements>(a, b, V(of.weight[i])), n);
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
