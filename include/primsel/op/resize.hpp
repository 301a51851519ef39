#pragma once

#include <primsel/core/aligned_buffer.hpp>
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
    float scale, offset;
    ResizeParams const& params;

    /// The axes of an image of the given height and width.
    [[nodiscard]] static ResizeAxis down(ResizeParams const& params, int height) {
        return {height, params.size.h, params.scale_h, params.offset_h, params};
    }
    [[nodiscard]] static ResizeAxis across(ResizeParams const& params, int width) {
        return {width, params.size.w, params.scale_w, params.offset_w, params};
    }

    /// Returns the position of output x in the input. Integers are used where possible, so that a position halfway
    /// between two pixels is exact.
    [[nodiscard]] double place(int x) const {
        const auto in_middle = [&] { return (2.0 * x + 1) * in / (2.0 * out) - 0.5; };
        switch (params.coordinates) {
            case ResizeCoordinates::pytorch_half_pixel:
                if (out == 1) return 0;
                [[fallthrough]];
            case ResizeCoordinates::half_pixel:
                return scale > 0 ? (x + 0.5) * scale - 0.5 : in_middle();
            case ResizeCoordinates::half_pixel_symmetric:
                return scale > 0 ? (2.0 * x + 1 - out) * scale / 2 + (in - 1) / 2.0 : in_middle();
            case ResizeCoordinates::align_corners:
                return out == 1 ? 0 : x * (in - 1.0) / (out - 1);
            case ResizeCoordinates::asymmetric:
                return scale > 0 ? x * static_cast<double>(scale) : static_cast<double>(x) * in / out;
            case ResizeCoordinates::affine:
                return static_cast<double>(offset) + x * static_cast<double>(scale);
        }
        return 0;
    }
    /// Whether each pixel is that of the input.
    [[nodiscard]] bool stays() const {
        const bool affine = params.coordinates == ResizeCoordinates::affine;
        return in == out && (affine ? scale == 1.0F && offset == 0.0F : scale == 0.0F);
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

    /// The number of neighbouring pixels of which one is a weighted sum.
    [[nodiscard]] int taps() const {
        if (params.mode == ResizeMode::nearest || stays()) return 1;
        return static_cast<int>(std::min(std::ceil(2 * reach()), static_cast<double>(in)));
    }
    /// Returns the first of these pixels for output x, and writes their weights, `step` floats apart. The weights of
    /// pixels outside are those of the first or last pixel, or are shared by all inside.
    int weigh(int x, float* weight, std::size_t step) const {
        const int count = taps();
        if (count == 1) {
            *weight = 1;
            return stays() ? x : nearest(x);
        }
        const double end = in - 1.0, width = reach(), narrowing = (params.mode == ResizeMode::cubic ? 2 : 1) / width;
        // Further outside than this, only the first or last pixel counts.
        const double middle = std::clamp(place(x), -1 - width, end + 1 + width), low = std::floor(middle - width) + 1,
                     high = std::ceil(middle + width) - 1;
        bool outside = !params.exclude_outside;
        const auto share = [&](double at) {
            return outside || (at >= 0 && at <= end) ? kernel((at - middle) * narrowing) : 0;
        };
        const auto total = [&] {
            double sum = 0;
            for (double at = low; at <= high; ++at) sum += share(at);
            return sum;
        };
        double sum = outside && !params.antialias ? 1 : total();
        // A given scale may lead so far beyond the image that no pixel inside has a weight.
        if (sum == 0) outside = true, sum = total();
        const int first = std::min(static_cast<int>(std::clamp(low, 0.0, end)), in - count);
        for (int tap = 0; tap < count; ++tap) weight[static_cast<std::size_t>(tap) * step] = 0;
        double together = 0;
        for (double at = low; at <= high; ++at) {
            together += share(at) / sum;
            const double held = std::clamp(at, 0.0, end);
            if (at < high && std::clamp(at + 1, 0.0, end) == held) continue;
            const int tap = std::min(static_cast<int>(held) - first, count - 1);
            weight[static_cast<std::size_t>(tap) * step] += static_cast<float>(together);
            together = 0;
        }
        return first;
    }

private:
    /// How far from the middle pixels have weights.
    [[nodiscard]] double reach() const {
        const bool given = scale > 0 && params.coordinates != ResizeCoordinates::affine &&
                           params.coordinates != ResizeCoordinates::align_corners;
        const double ratio = given ? static_cast<double>(scale) : static_cast<double>(in) / out;
        return (params.mode == ResizeMode::cubic ? 2 : 1) * (params.antialias ? std::max(1.0, ratio) : 1.0);
    }
    /// The weight of a pixel at a distance from the middle; Keys 1981, equation 4, in a cubic resize.
    [[nodiscard]] double kernel(double distance) const {
        const double far = std::abs(distance), a = static_cast<double>(params.cubic_coefficient);
        if (params.mode == ResizeMode::linear) return std::max(0.0, 1 - far);
        if (far <= 1) return ((a + 2) * far - (a + 3)) * far * far + 1;
        return far < 2 ? ((a * far - 5 * a) * far + 8 * a) * far - 4 * a : 0;
    }
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

/// The taps and weights of all pixels along an axis, in working memory. Pixels beyond the last repeat it, for vectors.
class ResizeTable {
public:
    static constexpr int vector = 16;  // the most lanes of a vector

    [[nodiscard]] static std::size_t floats(ResizeAxis const& axis) {
        return round_up_floats((static_cast<std::size_t>(axis.taps()) + 1) * columns(axis));
    }
    ResizeTable(ResizeAxis const& axis, float* room)
        : taps(axis.taps()), step_(columns(axis)), first_(reinterpret_cast<int*>(room)), weight_(room + step_) {
        for (int x = 0; x < axis.out + vector; ++x)
            first_[x] = axis.weigh(std::min(x, axis.out - 1), weight_ + x, step_);
    }

    int taps;
    /// The first taps from a pixel on.
    [[nodiscard]] const int* first(int x) const { return first_ + x; }
    /// The weights of a tap from a pixel on.
    [[nodiscard]] const float* weights(int tap, int x) const {
        return weight_ + static_cast<std::size_t>(tap) * step_ + x;
    }

private:
    [[nodiscard]] static std::size_t columns(ResizeAxis const& axis) {
        return static_cast<std::size_t>(axis.out) + vector;
    }

    std::size_t step_;
    int* first_;
    float* weight_;
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
        other.offset_h = params.offset_w, other.offset_w = params.offset_h;
        op::detail::with_rows_outside<L>(params, other, args, &resize<Arch>);
    }

    /// Where channels are contiguous, a pixel is a row. Elsewhere vectors gather their columns, by permuting the lanes
    /// of one vector or, where they are too far apart, one by one. Each range of rows computes the places of its
    /// columns, unless there is a table.
    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(ResizeParams const& params, std::span<const Shape> inputs, Shape output) {
        const bool together = L::strides(output).c == 1, swapped = op::detail::is_transposed<L>(),
                   nearest = params.mode == ResizeMode::nearest;
        const double size = static_cast<double>(output.size());
        const auto width = static_cast<std::size_t>(swapped ? output.h : output.w);
        const double in = swapped ? inputs[0].h : inputs[0].w, ratio = in / static_cast<double>(width);
        const bool permutes = ratio * (lanes<Arch> - 1) < lanes<Arch>;
        const Axes axes(params, inputs[0]);
        const auto &across = swapped ? axes.down : axes.across, &down = swapped ? axes.across : axes.down;
        if (has_table(params)) {
            const std::size_t pixel = together ? static_cast<std::size_t>(output.c) : 1,
                              rows = output.size() / (width * pixel);
            const auto taps = static_cast<double>(across.taps());
            const auto row = [](double floats) {
                return op::detail::covering_lanes<Arch>(static_cast<std::size_t>(floats));
            };
            const double columns = across.stays() ? 0
                                   : together     ? static_cast<double>(width) * row(static_cast<double>(pixel))
                                                  : row(static_cast<double>(width));
            const bool gathers = !together && !permutes && !across.stays();
            return {.operations = 2 * static_cast<double>(rows) *
                                  (down.taps() * row(in * static_cast<double>(pixel)) + taps * columns),
                    .scalars = 20.0 * (taps * across.out + 1.0 * down.taps() * down.out) + (gathers ? taps * size : 0),
                    .rows = static_cast<double>(rows),
                    .form = together  ? "pixels"
                            : gathers ? "gathered"
                                      : ""};
        }
        const std::size_t row_floats = width * (together ? static_cast<std::size_t>(output.c) : 1),
                          ranges = output.size() / std::max(op_block_floats, row_floats) + 1;
        const double places = 20.0 * static_cast<double>(ranges * (width + vector));
        if (!nearest && across.stays()) {
            OpCounts counts = op::detail::row_counts<Arch>(output.size() / row_floats, row_floats, 3);
            counts.scalars = places;
            counts.form = "pixels";
            return counts;
        }
        if (together) {
            OpCounts counts =
                op::detail::row_counts<Arch>(output.pixels(), static_cast<std::size_t>(output.c), nearest ? 1 : 3);
            // A column is interpolated between two rows once for all results that read it; a result reads two.
            if (!nearest) counts.operations *= 1 + std::min(ratio, 2.0);
            counts.scalars = places;
            counts.form = nearest ? "nearest_pixels" : "pixels";
            return counts;
        }
        const double rows = size / static_cast<double>(width);
        const double vectors = rows * op::detail::covering_lanes<Arch>(width);
        const double taps = nearest ? 1 : 2, most = taps * columns;
        OpCounts counts{.operations = nearest ? vectors : 3 * (vectors + rows * in),
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

    /// A table for each axis, and for each worker a row of the input's width, in whatever layout.
    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ResizeParams const& params, std::span<const Shape> inputs,
                                                    std::size_t workers) {
        const Shape in = inputs[0];
        if (!has_table(params)) return 0;
        const Axes axes(params, in);
        using op::detail::ResizeTable;
        return ResizeTable::floats(axes.down) + ResizeTable::floats(axes.across) +
               workers * mixed_floats(std::max(in.h, in.w), static_cast<std::size_t>(in.c));
    }

private:
    template <class Params, class L>
    friend struct OpIn;

    struct Axes {
        op::detail::ResizeAxis down, across;
        Axes(ResizeParams const& params, Shape in)
            : down(op::detail::ResizeAxis::down(params, in.h)), across(op::detail::ResizeAxis::across(params, in.w)) {}
    };
    /// Whether pixels are sums of more than two along an axis, by a table.
    [[nodiscard]] static bool has_table(ResizeParams const& params) {
        return params.mode == ResizeMode::cubic || params.antialias;
    }
    /// The floats of a mixed row and of the vector behind it.
    [[nodiscard]] static std::size_t mixed_floats(int columns, std::size_t pixel) {
        return round_up_floats(static_cast<std::size_t>(columns) * pixel + op::detail::ResizeTable::vector);
    }

    /// The number of columns taken at a time; their weights are kept for all rows of a block.
    static constexpr int columns = 128;
    static constexpr int vector = op::detail::ResizeTable::vector;
    struct Columns {
        int count;
        int first[columns + vector], second[columns + vector];
        float weight[columns + vector];
    };

    /// The most rows whose input rows are found once for all channels.
    static constexpr int rows = 256;
    /// A row lies between two.
    using Row = op::detail::ResizeAxis::Between;
    static Row find(op::detail::ResizeAxis const& axis, int y) noexcept {
        if (axis.params.mode == ResizeMode::linear) return axis.between(y);
        return {axis.nearest(y), 0, 0};
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

    template <class Arch>
    static void resize(ResizeParams const& params, OpArgs const& args, Strides from, Strides to) noexcept {
        const int width = args.src_shape[0].w;
        const std::size_t pixel = to.w, image = args.src_shape[0].size();
        const op::detail::FloatElements<Arch> floats{};
        if (has_table(params)) return by_table<Arch>(floats, params, args, from, to, image);
        const bool only_rows = op::detail::ResizeAxis::across(params, width).stays();
        each_row<float>(params, args, from, to, image,
                        [=, &params](Columns const& of, Row const& rows, const float* channel, float* dst) {
                            const float* above = channel + static_cast<std::size_t>(rows.first) * from.h;
                            if (params.mode == ResizeMode::nearest) return nearest<Arch>(above, width, of, pixel, dst);
                            if (only_rows) return linear_rows(floats, rows, from.h, of, pixel, channel, dst);
                            if (pixel != 1) return linear_pixels(floats, rows, from.h, of, pixel, channel, dst);
                            const float* below = channel + static_cast<std::size_t>(rows.second) * from.h;
                            linear_columns<Arch>(above, below, rows.weight, of, dst);
                        });
    }

    /// Calls use(channel, row) for rows [first, last) of the results. A row belongs to one channel, or has all of them.
    struct RowOrder {
        std::size_t inner, outer;
        bool planes;
        RowOrder(Shape out, Strides to) : planes(to.c > to.h) {
            const std::size_t channels = to.w == 1 ? static_cast<std::size_t>(out.c) : 1,
                              h = static_cast<std::size_t>(out.h);
            inner = planes ? h : channels, outer = planes ? channels : h;
        }
        /// Calls use(row, image, channel, y) for each row of a range.
        template <class Use>
        void each(std::size_t first, std::size_t last, Use const& use) const {
            std::size_t row = first / inner % outer, image = first / inner / outer;
            for (std::size_t i = first, column = first % inner; i < last; ++i) {
                use(i, image, planes ? row : column, static_cast<int>(planes ? column : row));
                if (++column < inner) continue;
                column = 0;
                if (++row == outer) row = 0, ++image;
            }
        }
    };

    /// Mixes the rows of each row, then the columns of that, by tables.
    template <class Arch, class Elements>
    static void by_table(Elements const& elements, ResizeParams const& params, OpArgs const& args, Strides from,
                         Strides to, std::size_t image) noexcept {
        using Element = typename Elements::element;
        using V = typename Elements::Vector;
        const Shape in = args.src_shape[0], out = args.dst_shape;
        const Axes axes(params, in);
        const std::size_t pixel = to.w, row_elements = static_cast<std::size_t>(out.w) * pixel,
                          row = static_cast<std::size_t>(in.w) * pixel, room = mixed_floats(in.w, pixel);
        const op::detail::ResizeTable down(axes.down, args.scratch),
            across(axes.across, args.scratch + op::detail::ResizeTable::floats(axes.down));
        float* const workers =
            args.scratch + op::detail::ResizeTable::floats(axes.down) + op::detail::ResizeTable::floats(axes.across);
        const RowOrder order(out, to);
        const auto mix = [&](int y, const Element* src, auto const& store) {
            src += static_cast<std::size_t>(*down.first(y)) * from.h;
            for (std::size_t i = 0; i < row; i += V::size) {
                V sum = Elements::product(elements.load(0, src + i, row - i), V(*down.weights(0, y)));
                for (int tap = 1; tap < down.taps; ++tap) {
                    const Element* const below = src + static_cast<std::size_t>(tap) * from.h + i;
                    sum = Elements::fma(elements.load(0, below, row - i), V(*down.weights(tap, y)), sum);
                }
                store(i, sum, row - i);
            }
        };
        const auto columns_of = [&](const float* mixed, Element* dst) {
            for (int x = 0; x < out.w && pixel != 1; ++x, dst += pixel) {
                const float* const src = mixed + static_cast<std::size_t>(*across.first(x)) * pixel;
                for (std::size_t j = 0; j < pixel; j += V::size) {
                    V sum = Elements::product(load<Arch>(src + j), V(*across.weights(0, x)));
                    for (int tap = 1; tap < across.taps; ++tap) {
                        const V next = load<Arch>(src + static_cast<std::size_t>(tap) * pixel + j);
                        sum = Elements::fma(next, V(*across.weights(tap, x)), sum);
                    }
                    elements.store(dst + j, sum, pixel - j);
                }
            }
            for (int x = 0; x < out.w && pixel == 1; x += static_cast<int>(V::size)) {
                V sum(0.0F);
                for (int tap = 0; tap < across.taps; ++tap) {
                    const V next = op::detail::pick<Arch>(mixed + tap, across.first(x), 0, in.w - tap);
                    sum = Elements::fma(next, load<Arch>(across.weights(tap, x)), sum);
                }
                elements.store(dst + x, sum, static_cast<std::size_t>(out.w - x));
            }
        };
        const bool only_rows = axes.across.stays();
        op::detail::for_ranges(
            args.executor, static_cast<std::size_t>(args.batch) * order.inner * order.outer,
            std::max(row, row_elements), [&](std::size_t first, std::size_t last, std::size_t worker) {
                order.each(first, last, [&](std::size_t i, std::size_t at, std::size_t channel, int y) {
                    const Element* const src =
                        reinterpret_cast<const Element*>(args.src[0]) + at * image + channel * from.c;
                    Element* const dst = reinterpret_cast<Element*>(args.dst) + i * row_elements;
                    float* const mixed = workers + worker * room;
                    if (only_rows) {
                        return mix(y, src, [&](std::size_t j, V const& value, std::size_t n) {
                            elements.store(dst + j, value, n);
                        });
                    }
                    // The room is that of one more vector.
                    mix(y, src, [&](std::size_t j, V const& value, std::size_t) { store<Arch>(mixed + j, value); });
                    columns_of(mixed, dst);
                });
            });
    }

    /// Calls use(columns, rows of the input, the input's image or channel, result) for all columns of each row of the
    /// result, some at a time. An image of the input has so many elements.
    template <class Element, class Use>
    static void each_row(ResizeParams const& params, OpArgs const& args, Strides from, Strides to, std::size_t image,
                         Use const& use) noexcept {
        const Shape out = args.dst_shape;
        const Axes axes(params, args.src_shape[0]);
        const std::size_t pixel = to.w, row_elements = static_cast<std::size_t>(out.w) * pixel;
        const RowOrder order(out, to);
        // Every channel has the same rows.
        Row of_row[rows];
        for (int y = 0; y < std::min(out.h, rows); ++y) of_row[y] = find(axes.down, y);
        op::detail::for_ranges(
            args.executor, static_cast<std::size_t>(args.batch) * order.inner * order.outer, row_elements,
            [&, src = reinterpret_cast<const Element*>(args.src[0]), dst = reinterpret_cast<Element*>(args.dst)](
                std::size_t first, std::size_t last) {
                Columns of;
                for (int begin = 0; begin < out.w; begin += columns) {
                    find(axes.across, begin, of);
                    const std::size_t at = static_cast<std::size_t>(begin) * pixel;
                    order.each(first, last, [&](std::size_t i, std::size_t i_image, std::size_t channel, int y) {
                        use(of, y < rows ? of_row[y] : find(axes.down, y), src + i_image * image + channel * from.c,
                            dst + i * row_elements + at);
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

    /// Columns that stay as they are.
    template <class Elements, class Element = typename Elements::element>
    static void linear_rows(Elements elements, Row const& rows, std::size_t row, Columns const& of, std::size_t pixel,
                            const Element* src, Element* dst) noexcept {
        using V = typename Elements::Vector;
        src += static_cast<std::size_t>(of.first[0]) * pixel;
        const Element* const above = src + static_cast<std::size_t>(rows.first) * row;
        const Element* const below = src + static_cast<std::size_t>(rows.second) * row;
        const std::size_t count = static_cast<std::size_t>(of.count) * pixel;
        const V down(rows.weight);
        for (std::size_t i = 0; i < count; i += V::size) {
            const std::size_t n = count - i;
            elements.store(dst + i, mix<Elements>(elements.load(0, above + i, n), elements.load(0, below + i, n), down),
                           n);
        }
    }

    /// Pixels of several channels.
    template <class Elements, class Element = typename Elements::element>
    static void linear_pixels(Elements elements, Row const& rows, std::size_t row, Columns const& of, std::size_t pixel,
                              const Element* src, Element* dst) noexcept {
        constexpr std::size_t width = Elements::Vector::size, some = vectors_at_once<Elements> * width;
        std::size_t j = 0;
        for (; j + some <= pixel; j += some) {
            linear_channels<vectors_at_once<Elements>>(elements, rows, row, of, pixel, some, src + j, dst + j);
        }
        for (; j < pixel; j += width) {
            linear_channels<1>(elements, rows, row, of, pixel, pixel - j, src + j, dst + j);
        }
    }
    template <class Elements>
    static constexpr std::size_t vectors_at_once = [] {
        if constexpr (requires { Elements::vectors_at_once; }) {
            return Elements::vectors_at_once;
        } else {
            return std::size_t{4};
        }
    }();
    /// The n channels of a few vectors, of all columns. A column between the two rows is computed once for all columns
    /// of the result that follow each other and read it.
    template <std::size_t vectors, class Elements, class Element = typename Elements::element>
    static void linear_channels(Elements elements, Row const& rows, std::size_t row, Columns const& of,
                                std::size_t pixel, std::size_t n, const Element* src, Element* dst) noexcept {
        using V = typename Elements::Vector;
        const Element* const above = src + static_cast<std::size_t>(rows.first) * row;
        const Element* const below = src + static_cast<std::size_t>(rows.second) * row;
        const V down(rows.weight);
        V left[vectors], right[vectors];
        const auto between_rows = [&](int column, V(&to)[vectors]) {
            const std::size_t at = static_cast<std::size_t>(column) * pixel;
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) {
                const std::size_t i = v * V::size, count = vectors == 1 ? n : V::size;
                to[v] = mix<Elements>(elements.load(0, above + at + i, count), elements.load(0, below + at + i, count),
                                      down);
            }
        };
        int first = -1, second = -1;
        for (int i = 0; i < of.count; ++i, dst += pixel) {
            if (of.first[i] != first) {
                first = of.first[i];
                if (first == second) {
                    std::copy_n(right, vectors, left);
                } else {
                    between_rows(first, left);
                }
            }
            if (of.second[i] != second) between_rows(second = of.second[i], right);
            const V across(of.weight[i]);
            V result[vectors];
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) result[v] = mix<Elements>(left[v], right[v], across);
            if constexpr (requires { requires Elements::vectors_at_once == vectors; }) {
                elements.store_all(dst, result);
            } else {
                PRIMSEL_UNROLL
                for (std::size_t v = 0; v < vectors; ++v) {
                    elements.store(dst + v * V::size, result[v], vectors == 1 ? n : V::size);
                }
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
