#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/cache_sizes.hpp>
#include <primsel/gemm/panel.hpp>
#include <primsel/layer/conv.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/detail/rows.hpp>
#include <primsel/op/detail/vectors.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/layout.hpp>
#include <primsel/tensor/transpose.hpp>

#include <algorithm>
#include <array>
#include <concepts>
#include <cstddef>
#include <cstring>
#include <numeric>
#include <span>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Tap (i, j) connects output row y with row (y + top - i * dilation) / stride of the input, where that is an integer.
/// Result columns one stride apart use neighbouring input columns and the same taps, so they are computed together.
/// - With many channels, the input is multiplied with the weights of all taps of some outputs, one tile of pixels at a
/// time; every output then sums the products of the taps that reach it. Packed weights: the biases, then for each
/// output and tap the weights of its group's channels.
/// - If every channel is its own group, its taps are summed in the same way, with a weight for each tap.
/// - With few channels, the taps of eight outputs of a group (four or one, if it has fewer) are summed at the same
/// time. In these two forms, packed weights are blocks of so many outputs, each with its biases and then, for each tap
/// and input channel, the block's weights.
template <>
struct Op<ConvTransposeParams> {
    static constexpr bool in_place = false;

    /// Counts whole vectors of columns and whole blocks of outputs. Each vector of a block is a row.
    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    [[nodiscard]] static OpCounts work(ConvTransposeParams const& params, std::span<const Shape> inputs, Shape output) {
        using op::detail::exchanged;
        if (is_narrow(params, inputs[0])) {
            const Shape in = exchanged(inputs[0]);
            OpCounts counts = work<Arch, L>(exchanged_axes(params), {&in, 1}, exchanged(output));
            counts.scalars += static_cast<double>(in.size() + output.size()) / 4;
            counts.bytes = 3 * sizeof(float) * static_cast<double>(in.size() + output.size());
            return counts;
        }
        constexpr int width = lanes<Arch>;
        const Sizes sizes(params, inputs[0]);
        const int columns = (output.w + params.stride.w - 1) / params.stride.w, vectors = (columns + width - 1) / width,
                  phases = std::min(params.stride.w, output.w);
        const double rows = static_cast<double>(sizes.groups * sizes.blocks * sizes.block) * output.h,
                     depth = static_cast<double>(sizes.c * sizes.taps) / params.stride.h / params.stride.w;
        const double tiles = rows * phases * vectors / static_cast<double>(sizes.block),
                     apart = is_joined(params.stride.w) ? 0 : static_cast<double>(output.size());
        if (const Products products(params, inputs[0], output); products.pay) {
            const double outputs = static_cast<double>(params.k) * output.h * phases * vectors,
                         taps = static_cast<double>(sizes.taps) / params.stride.h / params.stride.w;
            return {.operations = products.operations<Arch>() + width * outputs * taps,
                    .scalars = apart,
                    .rows = outputs,
                    .form = "products"};
        }
        const bool depthwise = sizes.c == 1 && sizes.k == 1;
        return {.operations = 2 * width * static_cast<double>(sizes.block) * tiles * depth,
                .scalars = tiles * params.stride.w + apart,
                .rows = tiles,
                .form = depthwise          ? "depthwise"
                        : sizes.block == 1 ? "one"
                        : sizes.block == 4 ? "four"
                                           : "eight"};
    }

    /// The floats of the packed panel and of the products of each worker, and of the transposed planes of an image.
    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvTransposeParams const& params, std::span<const Shape> inputs,
                                                    std::size_t workers) {
        if (is_narrow(params, inputs[0])) {
            const Shape in = op::detail::exchanged(inputs[0]);
            return round_up_floats(in.size()) + round_up_floats(params.output(inputs).size()) +
                   scratch_floats<Arch>(exchanged_axes(params), {&in, 1}, workers);
        }
        const Products products(params, inputs[0], params.output(inputs));
        return products.pay ? workers * products.worker_floats<Arch>() : 0;
    }

    [[nodiscard]] static std::size_t packed_floats(ConvTransposeParams const& params, Shape input) {
        if (is_narrow(params, input)) return packed_floats(exchanged_axes(params), op::detail::exchanged(input));
        const Sizes sizes(params, input);
        if (Products(params, input, params.output({&input, 1})).pay) {
            return sizes.groups * sizes.k * (1 + sizes.taps * sizes.c);
        }
        return sizes.groups * sizes.blocks * sizes.block_floats();
    }

    /// The channels, and numbers of the form that an image of this size takes.
    [[nodiscard]] static Shape packed_for(ConvTransposeParams const& params, Shape input) {
        if (is_narrow(params, input)) {
            Shape form = packed_for(exchanged_axes(params), op::detail::exchanged(input));
            form.h = 2;
            return form;
        }
        return {.c = input.c, .h = 1, .w = Products(params, input, params.output({&input, 1})).pay ? 2 : 1};
    }

    template <StridedLayout L>
        requires std::same_as<L, chw>
    static void pack(ConvTransposeParams const& params, Shape input, OpWeights const& weights, float* dst) {
        if (is_narrow(params, input)) {
            std::vector<float> kernel(weights.kernel.size());
            const auto h = static_cast<std::size_t>(params.kernel.h), w = static_cast<std::size_t>(params.kernel.w);
            for (std::size_t at = 0; at < kernel.size(); at += h * w) {
                transpose_columns(weights.kernel.data() + at, w, kernel.data() + at, h, h, 0, w);
            }
            return pack<L>(exchanged_axes(params), op::detail::exchanged(input), {kernel, weights.bias}, dst);
        }
        const Sizes sizes(params, input);
        const auto bias = [&](std::size_t k) { return weights.bias.empty() ? 0.0F : weights.bias[k]; };
        if (Products(params, input, params.output({&input, 1})).pay) {
            for (std::size_t k = 0; k < sizes.groups * sizes.k; ++k) *dst++ = bias(k);
            for (std::size_t group = 0; group < sizes.groups; ++group) {
                // From c x (k, tap) to (k, tap) x c.
                const std::size_t products = sizes.k * sizes.taps;
                transpose_columns(weights.kernel.data() + group * sizes.c * products, products, dst, sizes.c, sizes.c,
                                  0, products);
                dst += sizes.c * products;
            }
            return;
        }
        for (std::size_t group = 0; group < sizes.groups; ++group) {
            for (std::size_t first = 0; first < sizes.k; first += sizes.block) {
                const auto each = [&](auto const& value) {
                    for (std::size_t i = first; i < first + sizes.block; ++i) *dst++ = i < sizes.k ? value(i) : 0.0F;
                };
                each([&](std::size_t k) { return bias(group * sizes.k + k); });
                for (std::size_t tap = 0; tap < sizes.taps; ++tap) {
                    for (std::size_t c = group * sizes.c; c < (group + 1) * sizes.c; ++c) {
                        each([&](std::size_t k) { return weights.kernel[(c * sizes.k + k) * sizes.taps + tap]; });
                    }
                }
            }
        }
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(ConvTransposeParams const& params, OpArgs const& args) noexcept {
        if (is_narrow(params, args.src_shape[0])) return by_columns<Arch, L>(params, args);
        const Sizes sizes(params, args.src_shape[0]);
        if (const Products products(params, args.src_shape[0], args.dst_shape); products.pay) {
            multiply<Arch>(params, args, sizes, products);
        } else if (sizes.c == 1 && sizes.k == 1) {
            depthwise<Arch>(params, args);
        } else {
            rows<Arch>(params, args, sizes);
        }
    }

private:
    template <class Params, class L>
    friend struct OpIn;
    /// Whether rows are so short that vectors of their columns are almost empty, and columns are not. Such images are
    /// transposed, and so is their result.
    [[nodiscard]] static bool is_narrow(ConvTransposeParams const& params, Shape in) {
        const Shape out = params.output({&in, 1});
        const int across = (out.w + params.stride.w - 1) / params.stride.w,
                  down = (out.h + params.stride.h - 1) / params.stride.h;
        return across <= 4 && down >= 4 * across;
    }
    [[nodiscard]] static ConvTransposeParams exchanged_axes(ConvTransposeParams params) {
        using op::detail::exchanged;
        params.kernel = exchanged(params.kernel), params.stride = exchanged(params.stride);
        params.padding = exchanged(params.padding), params.dilation = exchanged(params.dilation);
        std::swap(params.extra_h, params.extra_w);
        return params;
    }
    template <class Arch, StridedLayout L>
    static void by_columns(ConvTransposeParams const& params, OpArgs const& args) noexcept {
        const Shape in = op::detail::exchanged(args.src_shape[0]), out = op::detail::exchanged(args.dst_shape);
        float *const src = args.scratch, *const dst = src + round_up_floats(in.size());
        const float* const planes_of_src = src;
        OpArgs one = args;
        one.src = {&planes_of_src, 1}, one.src_shape = {&in, 1}, one.dst = dst, one.dst_shape = out;
        one.batch = 1, one.scratch = dst + round_up_floats(out.size());
        // Transposes the planes of an image that has this shape afterwards.
        const auto planes = [&args](const float* from, float* to, Shape shape) {
            const auto h = static_cast<std::size_t>(shape.h), w = static_cast<std::size_t>(shape.w);
            op::detail::for_ranges(args.executor, static_cast<std::size_t>(shape.c), h * w,
                                   [=](std::size_t first, std::size_t last) {
                                       for (std::size_t at = first * h * w; at < last * h * w; at += h * w) {
                                           transpose_columns(from + at, h, to + at, w, w, 0, h);
                                       }
                                   });
        };
        for (std::size_t image = 0; image < static_cast<std::size_t>(args.batch); ++image) {
            planes(args.src[0] + image * in.size(), src, in);
            run<Arch, L>(exchanged_axes(params), one);
            planes(dst, args.dst + image * out.size(), op::detail::exchanged(out));
        }
    }

    /// The channels and outputs of a group, and the blocks in which outputs are packed.
    struct Sizes {
        std::size_t groups, c, k, taps, block, blocks;
        Sizes(ConvTransposeParams const& params, Shape input)
            : groups(static_cast<std::size_t>(params.groups)),
              c(static_cast<std::size_t>(input.c) / groups),
              k(static_cast<std::size_t>(params.k) / groups),
              taps(static_cast<std::size_t>(params.kernel.h) * static_cast<std::size_t>(params.kernel.w)),
              block(k == 1   ? 1
                    : k <= 4 ? 4
                             : 8),
              blocks((k + block - 1) / block) {}
        [[nodiscard]] std::size_t block_floats() const { return block * (1 + taps * c); }
    };

    /// One axis of a layer whose result is divided into tiles. Outputs y with the same (y + before) / stride are a grid
    /// point; they read this and the `reach` preceding pixels of the input.
    struct TiledAxis {
        int in, out, before, stride, reach, first, points, size = 1;
        TiledAxis(int in_, int out_, int before_, int stride_, int kernel, int dilation)
            : in(in_),
              out(out_),
              before(before_),
              stride(stride_),
              reach((kernel - 1) * dilation / stride_),
              first(before_ / stride_),
              points((out_ - 1 + before_) / stride_ - first + 1) {}
        void divide(int most) {
            const int tiles = (points + most - 1) / most;
            size = (points + tiles - 1) / tiles;
        }
        [[nodiscard]] std::size_t tiles() const { return static_cast<std::size_t>((points + size - 1) / size); }
        /// The pixels that a tile reads, at most.
        [[nodiscard]] int pixels() const { return std::min(in, size + reach); }
        struct Tile {
            int out_first, out_last, in_first, in_last;
        };
        [[nodiscard]] Tile tile(std::size_t index) const {
            const int begin = first + static_cast<int>(index) * size, end = std::min(begin + size, first + points);
            const int in_first = std::max(begin - reach, 0);
            return {std::max(begin * stride - before, 0), std::min(end * stride - before, out), in_first,
                    std::max(std::min(end, in), in_first)};
        }
    };

    /// The division of a layer into matrix products: the weights of some outputs times a tile of the input.
    struct Products {
        /// Below so many channels, storing the products and adding them takes longer than the multiplication; below so
        /// many also where columns of two or four phases are interleaved, which the other form stores one by one.
        static constexpr std::size_t fewest_channels = 16, fewest_joined = 4;
        /// Rows of a product: so many that packing the input takes a small part of the time.
        static constexpr std::size_t fewest_rows = 128;
        /// The floats of a tile's products, which stay in L2.
        static constexpr std::size_t floats = l2_floats / 2;

        TiledAxis down, across;
        std::size_t c, taps, outputs, chunks, groups;
        bool pay;

        Products(ConvTransposeParams const& p, Shape in, Shape out)
            : down(in.h, out.h, p.padding.top, p.stride.h, p.kernel.h, p.dilation.h),
              across(in.w, out.w, p.padding.left, p.stride.w, p.kernel.w, p.dilation.w),
              groups(static_cast<std::size_t>(p.groups)) {
            const Sizes sizes(p, in);
            c = sizes.c, taps = sizes.taps;
            chunks = std::min((sizes.k * taps + fewest_rows - 1) / fewest_rows, sizes.k);
            outputs = (sizes.k + chunks - 1) / chunks;
            chunks = (sizes.k + outputs - 1) / outputs;
            // Tiles are at least an eighth as high as wide, as each reads `reach` more rows and columns.
            const int pixels = static_cast<int>(std::max(floats / (outputs * taps), std::size_t{64}));
            across.divide(pixels / std::min(down.points, 8));
            down.divide(std::max(pixels / across.size, 1));
            const bool joins = p.stride.w > 1 && is_joined(p.stride.w);
            pay = c >= (joins ? fewest_joined : fewest_channels) && products_floats() <= 4 * floats;
        }
        [[nodiscard]] std::size_t rows() const { return outputs * taps; }
        /// The distance between rows of the product. Whole cache lines, and not a power of 2.
        [[nodiscard]] std::size_t pitch() const {
            return round_up_floats(static_cast<std::size_t>(down.pixels()) *
                                   static_cast<std::size_t>(across.pixels())) +
                   16;
        }
        [[nodiscard]] std::size_t products_floats() const { return rows() * pitch(); }
        template <class Arch>
        [[nodiscard]] std::size_t panel_floats() const {
            return round_up_floats(c * static_cast<std::size_t>(gemm::panel_width<Arch>));
        }
        template <class Arch>
        [[nodiscard]] std::size_t worker_floats() const {
            return panel_floats<Arch>() + products_floats();
        }
        [[nodiscard]] std::size_t tiles() const { return down.tiles() * across.tiles(); }
        template <class Arch>
        [[nodiscard]] double operations() const {
            const double times = static_cast<double>(groups * chunks * tiles());
            return times * gemm::tile_operations<Arch>(static_cast<double>(rows()), down.pixels() * across.pixels(),
                                                       static_cast<double>(c));
        }
    };

    template <class Arch>
    static void multiply(ConvTransposeParams const& params, OpArgs const& args, Sizes const& sizes,
                         Products const& products) noexcept {
        const std::size_t tiles = products.tiles(), parts = sizes.groups * products.chunks;
        args.executor.parallel_for(
            static_cast<std::size_t>(args.batch) * parts * tiles,
            [=, &params, &args, &sizes, &products](std::size_t item, std::size_t worker) {
                const std::size_t image = item / (parts * tiles), part = item / tiles % parts;
                const std::size_t group = part / products.chunks, first = part % products.chunks * products.outputs,
                                  outputs = std::min(products.outputs, sizes.k - first), k = group * sizes.k + first;
                const auto down = products.down.tile(item % tiles / products.across.tiles()),
                           across = products.across.tile(item % products.across.tiles());
                float* const panel = args.scratch + worker * products.template worker_floats<Arch>();
                float* const product = panel + products.template panel_floats<Arch>();
                const Shape in = args.src_shape[0], out = args.dst_shape;
                const float* const weights = args.weights + sizes.groups * sizes.k + k * sizes.taps * sizes.c;
                const float* const src =
                    args.src[0] + (image * static_cast<std::size_t>(in.c) + group * sizes.c) * in.pixels();
                const int columns = across.in_last - across.in_first, pixels = columns * (down.in_last - down.in_first);
                gemm::TileArgs t{.a = weights,
                                 .a_stride = sizes.c,
                                 .run = static_cast<int>(sizes.c),
                                 .b = panel,
                                 .c = product,
                                 .c_stride = products.pitch()};
                for (int at = 0; at < pixels; at += gemm::panel_width<Arch>) {
                    const int width = gemm::panel_columns<Arch>(at, pixels);
                    t.columns = std::min(width, pixels - at);
                    pack_pixels(src, in, down.in_first, across.in_first, columns, at, t.columns, sizes.c, width, panel);
                    gemm::multiply_panel<Arch>(t, 0, static_cast<int>(outputs * sizes.taps), width);
                    t.c += width;
                }
                for (std::size_t i = 0; i < outputs; ++i) {
                    const Area area{.down = down,
                                    .across = across,
                                    .bias = args.weights[k + i],
                                    .dst = args.dst + (image * static_cast<std::size_t>(out.c) + k + i) * out.pixels(),
                                    .dst_row = static_cast<std::size_t>(out.w)};
                    sum_taps<Arch>(params, area,
                                   ProductTerms<Arch>{product + i * sizes.taps * t.c_stride, t.c_stride,
                                                      static_cast<std::size_t>(columns)});
                }
            });
    }
    /// Packs `count` pixels from number `at` of an image's part, which begins at (top, left) and has so many columns:
    /// `width` floats for each channel, with zeros at the end.
    static void pack_pixels(const float* src, Shape in, int top, int left, int columns, int at, int count,
                            std::size_t channels, int width, float* dst) noexcept {
        const auto step = static_cast<std::size_t>(width);
        for (int done = 0; done < count;) {
            const int row = (at + done) / columns, column = (at + done) % columns;
            const int run = columns == in.w ? count : std::min(columns - column, count - done);
            const float* from = src + (top + row) * in.w + left + column;
            float* to = dst + done;
            for (std::size_t c = 0; c < channels; ++c, from += in.pixels(), to += step) {
                std::memcpy(to, from, static_cast<std::size_t>(run) * sizeof(float));
            }
            done += run;
        }
        if (count == width) return;
        for (std::size_t c = 0; c < channels; ++c) std::fill(dst + c * step + count, dst + (c + 1) * step, 0.0F);
    }

    template <class Arch>
    static void depthwise(ConvTransposeParams const& params, OpArgs const& args) noexcept {
        const Shape in = args.src_shape[0], out = args.dst_shape;
        const auto taps = static_cast<std::size_t>(params.kernel.h) * static_cast<std::size_t>(params.kernel.w),
                   channels = static_cast<std::size_t>(out.c);
        // Some rows of a channel at a time: a multiple of the stride, as rows that are so far apart have the same taps.
        const int band = (static_cast<int>(op_block_floats) / out.w / params.stride.h + 1) * params.stride.h;
        const auto bands = static_cast<std::size_t>((out.h + band - 1) / band);
        op::detail::for_ranges(args.executor, static_cast<std::size_t>(args.batch) * channels * bands,
                               out.pixels() / bands * taps / 4,
                               [=, &params, &args](std::size_t begin, std::size_t end) {
                                   for (std::size_t item = begin; item < end; ++item) {
                                       const std::size_t plane = item / bands;
                                       const int top = static_cast<int>(item % bands) * band;
                                       const float* weights = args.weights + plane % channels * (1 + taps);
                                       const Area area{.down = {top, std::min(top + band, out.h), 0, in.h},
                                                       .across = {0, out.w, 0, in.w},
                                                       .bias = weights[0],
                                                       .dst = args.dst + plane * out.pixels(),
                                                       .dst_row = static_cast<std::size_t>(out.w)};
                                       sum_taps<Arch>(params, area,
                                                      WeightedTerms<Arch>{args.src[0] + plane * in.pixels(),
                                                                          weights + 1, static_cast<std::size_t>(in.w)});
                                   }
                               });
    }

    /// The taps of one channel, multiplied before: row(tap, r) is the row of the tap's products with row r.
    template <class Arch>
    struct ProductTerms {
        const float* products;
        std::size_t pitch, columns;
        [[nodiscard]] const float* row(int tap, int r) const {
            return products + static_cast<std::size_t>(tap) * pitch + static_cast<std::size_t>(r) * columns;
        }
        [[nodiscard]] PRIMSEL_INLINE Floats<Arch> add(Floats<Arch> const& sum, Floats<Arch> const& x, int) const {
            return sum + x;
        }
    };
    /// The taps of one channel and their weights.
    template <class Arch>
    struct WeightedTerms {
        const float *src, *weights;
        std::size_t columns;
        [[nodiscard]] const float* row(int, int r) const { return src + static_cast<std::size_t>(r) * columns; }
        [[nodiscard]] PRIMSEL_INLINE Floats<Arch> add(Floats<Arch> const& sum, Floats<Arch> const& x, int tap) const {
            return fma<Arch>(x, Floats<Arch>(weights[tap]), sum);
        }
    };

    /// A rectangle of the result of one channel, and the part of the input that it reads.
    struct Area {
        TiledAxis::Tile down, across;
        float bias;
        float* dst;
        std::size_t dst_row;
    };

    /// The taps along one axis that reach an output: first, first + step, ... Their input pixels are at, at - back, ...
    /// Some may lie outside the input.
    struct Taps {
        int first = 0, step, at, back;
        Taps(int place, int count, int stride, int dilation) : step(stride / std::gcd(stride, dilation)) {
            while (first < count && (place - first * dilation) % stride != 0) ++first;
            at = (place - first * dilation) / stride;
            back = step * dilation / stride;
        }
    };

    /// Returns whether the columns of different phases are interleaved in registers.
    [[nodiscard]] static constexpr bool is_joined(int stride) { return stride == 1 || stride == 2 || stride == 4; }

    template <class Arch, class Terms>
    static void sum_taps(ConvTransposeParams const& p, Area const& area, Terms const& terms) noexcept {
        if (p.stride.w == 1) return sum_columns<Arch, 1>(p, area, terms, 0);
        if (p.stride.w == 2) return sum_columns<Arch, 2>(p, area, terms, 0);
        if (p.stride.w == 4) return sum_columns<Arch, 4>(p, area, terms, 0);
        for (int phase = 0; phase < std::min(p.stride.w, area.across.out_last - area.across.out_first); ++phase) {
            sum_columns<Arch, 1>(p, area, terms, phase);
        }
    }

    /// Sums the columns of `phases` neighbouring phases, the first of which is `phase`.
    template <class Arch, int phases, class Terms>
    static void sum_columns(ConvTransposeParams const& p, Area const& area, Terms const& terms, int phase) noexcept {
        constexpr int width = lanes<Arch>;
        const auto taps_across = [&](int i) {
            Taps taps(area.across.out_first + phase + i + p.padding.left, p.kernel.w, p.stride.w, p.dilation.w);
            taps.at -= area.across.in_first;
            return taps;
        };
        const auto across = [&]<int... i>(std::integer_sequence<int, i...>) {
            return std::array<Taps, phases>{taps_across(i)...};
        }(std::make_integer_sequence<int, phases>{});
        const int count = area.across.out_last - area.across.out_first - phase,
                  points = (count + p.stride.w - 1) / p.stride.w;
        for (int first = 0; first < std::min(p.stride.h, area.down.out_last - area.down.out_first); ++first) {
            Taps down(area.down.out_first + first + p.padding.top, p.kernel.h, p.stride.h, p.dilation.h);
            down.at -= area.down.in_first;
            for (int y = area.down.out_first + first; y < area.down.out_last; y += p.stride.h, ++down.at) {
                float* const dst =
                    area.dst + static_cast<std::size_t>(y) * area.dst_row + (area.across.out_first + phase);
                int begin = 0;
                for (; points - begin > width; begin += 2 * width) {
                    sum_tile<Arch, phases, 2>(p, area, terms, down, across, begin, dst, count);
                }
                if (begin < points) sum_tile<Arch, phases, 1>(p, area, terms, down, across, begin, dst, count);
            }
        }
    }

    /// Sums the columns of dst from begin * stride on, as far as they are below `count`.
    template <class Arch, int phases, int vectors, class Terms>
    PRIMSEL_INLINE static void sum_tile(ConvTransposeParams const& p, Area const& area, Terms const& terms, Taps down,
                                        std::array<Taps, phases> const& across, int begin, float* dst,
                                        int count) noexcept {
        using V = Floats<Arch>;
        constexpr int width = lanes<Arch>;
        const int rows = area.down.in_last - area.down.in_first, n = area.across.in_last - area.across.in_first;
        V sum[phases][vectors];
        PRIMSEL_UNROLL
        for (int phase = 0; phase < phases; ++phase) {
            PRIMSEL_UNROLL
            for (int v = 0; v < vectors; ++v) sum[phase][v] = V(area.bias);
        }
        for (int i = down.first; i < p.kernel.h; i += down.step, down.at -= down.back) {
            if (down.at < 0 || down.at >= rows) continue;
            PRIMSEL_UNROLL
            for (int phase = 0; phase < phases; ++phase) {
                Taps const& taps = across[static_cast<std::size_t>(phase)];
                int at = taps.at + begin;
                for (int j = taps.first; j < p.kernel.w; j += taps.step, at -= taps.back) {
                    if (at >= n || at + vectors * width <= 0) continue;
                    const int tap = i * p.kernel.w + j;
                    const float* row = terms.row(tap, down.at);
                    const bool inside = at >= 0 && at + vectors * width <= n;
                    PRIMSEL_UNROLL
                    for (int v = 0; v < vectors; ++v) {
                        const V x = inside ? load<Arch>(row + at + v * width)
                                           : op::detail::load_around<Arch>(row, at + v * width, n, 0.0F);
                        sum[phase][v] = terms.add(sum[phase][v], x, tap);
                    }
                }
            }
        }
        const auto put_at = [&](V const& value, int at) {
            if (at < count) op::detail::store_up_to<Arch>(dst + at, value, static_cast<std::size_t>(count - at));
        };
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) {
            const int at = begin + v * width;
            if constexpr (phases == 1) {
                put<Arch>(sum[0][v], dst, p.stride.w, at, (count - at * p.stride.w + p.stride.w - 1) / p.stride.w);
            } else if constexpr (phases == 2) {
                op::detail::join_even_odd<Arch>(sum[0][v], sum[1][v]);
                put_at(sum[0][v], 2 * at), put_at(sum[1][v], 2 * at + width);
            } else {
                op::detail::join_even_odd<Arch>(sum[0][v], sum[2][v]);
                op::detail::join_even_odd<Arch>(sum[1][v], sum[3][v]);
                op::detail::join_even_odd<Arch>(sum[0][v], sum[1][v]);
                op::detail::join_even_odd<Arch>(sum[2][v], sum[3][v]);
                put_at(sum[0][v], 4 * at), put_at(sum[1][v], 4 * at + width);
                put_at(sum[2][v], 4 * at + 2 * width), put_at(sum[3][v], 4 * at + 3 * width);
            }
        }
    }

    template <class Arch>
    static void rows(ConvTransposeParams const& params, OpArgs const& args, Sizes const& sizes) noexcept {
        const std::size_t h = static_cast<std::size_t>(args.dst_shape.h), blocks = sizes.groups * sizes.blocks;
        const std::size_t row_floats = static_cast<std::size_t>(args.dst_shape.w) * sizes.block * sizes.taps * sizes.c;
        op::detail::for_ranges(args.executor, static_cast<std::size_t>(args.batch) * blocks * h, row_floats / 4,
                               [=, &params, &args, &sizes](std::size_t first, std::size_t last) {
                                   for (std::size_t item = first; item < last; ++item) {
                                       const std::size_t row = item / blocks, block = item % blocks;
                                       const Row of_block(params, args, sizes, row / h, block,
                                                          static_cast<int>(row % h));
                                       if (sizes.block == 1) {
                                           columns<Arch, 1>(of_block);
                                       } else if (sizes.block == 4) {
                                           columns<Arch, 4>(of_block);
                                       } else {
                                           columns<Arch, 8>(of_block);
                                       }
                                   }
                               });
    }

    /// A row of the outputs of a block.
    struct Row {
        ConvTransposeParams const& params;
        Shape in, out;
        std::size_t channels, used;
        const float *src, *weights;
        float* dst;
        int y;
        Taps taps;

        Row(ConvTransposeParams const& p, OpArgs const& args, Sizes const& sizes, std::size_t image, std::size_t block,
            int row)
            : params(p),
              in(args.src_shape[0]),
              out(args.dst_shape),
              channels(sizes.c),
              y(row + p.padding.top),
              taps(y, p.kernel.h, p.stride.h, p.dilation.h) {
            const std::size_t group = block / sizes.blocks, k = block % sizes.blocks * sizes.block;
            used = std::min(sizes.block, sizes.k - k);
            src = args.src[0] + image * in.size() + group * sizes.c * in.pixels();
            weights = args.weights + block * sizes.block_floats();
            dst = args.dst + image * out.size() + (group * sizes.k + k) * out.pixels() +
                  static_cast<std::size_t>(row) * static_cast<std::size_t>(out.w);
        }
    };

    template <class Arch, std::size_t block>
    static void columns(Row const& row) noexcept {
        constexpr int width = lanes<Arch>;
        constexpr bool two = 2 * block + 2 < registers<Arch>;
        const int stride = row.params.stride.w;
        for (int phase = 0; phase < std::min(stride, row.out.w); ++phase) {
            const int count = (row.out.w - phase + stride - 1) / stride;
            int begin = 0;
            if constexpr (two) {
                for (; count - begin > width; begin += 2 * width) {
                    tile<Arch, block, 2>(row, phase, begin, count - begin);
                }
            }
            for (; begin < count; begin += width) tile<Arch, block, 1>(row, phase, begin, count - begin);
        }
    }

    /// Computes up to `count` columns phase + (begin + i) * stride.
    template <class Arch, std::size_t block, std::size_t vectors>
    static void tile(Row const& row, int phase, int begin, int count) noexcept {
        using V = Floats<Arch>;
        constexpr int width = lanes<Arch>;
        ConvTransposeParams const& p = row.params;
        V sum[block][vectors];
        PRIMSEL_UNROLL
        for (std::size_t k = 0; k < block; ++k) {
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) sum[k][v] = V(row.weights[k]);
        }
        const std::size_t tap_floats = row.channels * block, plane = row.in.pixels();
        const int place = phase + p.padding.left, n = row.in.w;
        const Taps across(place, p.kernel.w, p.stride.w, p.dilation.w);
        for (int i = row.taps.first; i < p.kernel.h; i += row.taps.step) {
            const int from = row.y - i * p.dilation.h;
            if (from < 0 || from / p.stride.h >= row.in.h) continue;
            for (int j = across.first; j < p.kernel.w; j += across.step) {
                const int at = (place - j * p.dilation.w) / p.stride.w + begin;
                if (at >= n || at + static_cast<int>(vectors) * width <= 0) continue;
                const float* weights = row.weights + block + static_cast<std::size_t>(i * p.kernel.w + j) * tap_floats;
                const float* src = row.src + static_cast<std::size_t>(from / p.stride.h * n);
                if (at >= 0 && at + static_cast<int>(vectors) * width <= n) {
                    add_tap<Arch, block, vectors>(sum, weights, row.channels, src + at, plane,
                                                  [](const float* x, int v) { return load<Arch>(x + v * width); });
                } else {
                    add_tap<Arch, block, vectors>(
                        sum, weights, row.channels, src, plane, [at, n](const float* line, int v) {
                            return op::detail::load_around<Arch>(line, at + v * width, n, 0.0F);
                        });
                }
            }
        }
        for (std::size_t k = 0; k < row.used; ++k) {
            float* dst = row.dst + k * row.out.pixels();
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) {
                put<Arch>(sum[k][v], dst + phase, p.stride.w, begin + static_cast<int>(v) * width,
                          count - static_cast<int>(v) * width);
            }
        }
    }

    /// Adds a tap. load_x(src, v) loads vector v of the input's columns; src points into the first channel, and
    /// channels are `plane` floats apart.
    template <class Arch, std::size_t block, std::size_t vectors, class Load>
    static PRIMSEL_INLINE void add_tap(Floats<Arch> (&sum)[block][vectors], const float* weights, std::size_t channels,
                                       const float* src, std::size_t plane, Load const& load_x) noexcept {
        using V = Floats<Arch>;
        V local[block][vectors];  // keeps the sums in registers
        PRIMSEL_UNROLL
        for (std::size_t k = 0; k < block; ++k) {
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) local[k][v] = sum[k][v];
        }
        for (std::size_t c = 0; c < channels; ++c, src += plane, weights += block) {
            V x[vectors];
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) x[v] = load_x(src, static_cast<int>(v));
            PRIMSEL_UNROLL
            for (std::size_t k = 0; k < block; ++k) {
                const V weight(weights[k]);
                PRIMSEL_UNROLL
                for (std::size_t v = 0; v < vectors; ++v) local[k][v] = fma<Arch>(x[v], weight, local[k][v]);
            }
        }
        PRIMSEL_UNROLL
        for (std::size_t k = 0; k < block; ++k) {
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) sum[k][v] = local[k][v];
        }
    }

    template <class Arch>
    static void put(Floats<Arch> const& value, float* dst, int stride, int begin, int count) noexcept {
        if (count <= 0) return;
        if (stride == 1) return op::detail::store_up_to<Arch>(dst + begin, value, static_cast<std::size_t>(count));
        alignas(64) float lane[lanes<Arch>];
        store<Arch>(lane, value);
        for (int i = 0; i < std::min(count, lanes<Arch>); ++i) dst[(begin + i) * stride] = lane[i];
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
