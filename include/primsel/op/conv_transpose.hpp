#pragma once

#include <primsel/layer/conv.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/detail/vectors.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <concepts>
#include <numeric>

namespace primsel::inline PRIMSEL_ABI {

/// Sums for every output the taps that reach it: tap (i, j) connects row y with row (y + top - i * dilation) / stride
/// of the input, where that is an integer. Result columns one stride apart use neighbouring input columns and the same
/// taps, so they are computed together. If every channel is its own group and the stride is 1 or 2, whole rows are
/// computed at a time. Packed weights: blocks of eight outputs of a group (four or one, if it has
/// fewer), each with its biases and then, for each tap and input channel, the block's weights.
template <>
struct Op<ConvTransposeParams> {
    static constexpr bool in_place = false;

    /// Counts whole vectors of columns and whole blocks of outputs. Each vector of a block is a row.
    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    [[nodiscard]] static OpCounts work(ConvTransposeParams const& params, std::span<const Shape> inputs, Shape output) {
        constexpr int width = lanes<Arch>;
        const Sizes sizes(params, inputs[0]);
        const int columns = (output.w + params.stride.w - 1) / params.stride.w, vectors = (columns + width - 1) / width,
                  phases = std::min(params.stride.w, output.w);
        const double rows = static_cast<double>(sizes.groups * sizes.blocks * sizes.block) * output.h,
                     depth = static_cast<double>(sizes.c * sizes.taps) / params.stride.h / params.stride.w;
        const double tiles = rows * phases * vectors / static_cast<double>(sizes.block);
        return {.operations = 2 * width * static_cast<double>(sizes.block) * tiles * depth,
                .scalars = tiles * params.stride.w + (params.stride.w > 2 ? static_cast<double>(output.size()) : 0),
                .rows = tiles,
                .form = is_depthwise(params, sizes) ? "depthwise"
                        : sizes.block == 1          ? "one"
                        : sizes.block == 4          ? "four"
                                                    : "eight"};
    }

    [[nodiscard]] static std::size_t packed_floats(ConvTransposeParams const& params, Shape input) {
        const Sizes sizes(params, input);
        return sizes.groups * sizes.blocks * sizes.block_floats();
    }

    template <StridedLayout L>
        requires std::same_as<L, chw>
    static void pack(ConvTransposeParams const& params, Shape input, OpWeights const& weights, float* dst) {
        const Sizes sizes(params, input);
        for (std::size_t group = 0; group < sizes.groups; ++group) {
            for (std::size_t first = 0; first < sizes.k; first += sizes.block) {
                const auto each = [&](auto const& value) {
                    for (std::size_t i = first; i < first + sizes.block; ++i) *dst++ = i < sizes.k ? value(i) : 0.0F;
                };
                each([&](std::size_t k) { return weights.bias.empty() ? 0.0F : weights.bias[group * sizes.k + k]; });
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
        rows<Arch>(params, args);
    }

private:
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

    /// Returns whether channels are apart and columns at most two apart: both columns are then computed together.
    [[nodiscard]] static bool is_depthwise(ConvTransposeParams const& params, Sizes const& sizes) {
        return sizes.c == 1 && sizes.k == 1 && params.stride.w <= 2;
    }

    template <class Arch>
    static void rows(ConvTransposeParams const& params, OpArgs const& args) noexcept {
        const Sizes sizes(params, args.src_shape[0]);
        const std::size_t h = static_cast<std::size_t>(args.dst_shape.h), blocks = sizes.groups * sizes.blocks;
        const std::size_t row_floats = static_cast<std::size_t>(args.dst_shape.w) * sizes.block * sizes.taps * sizes.c;
        op::detail::for_ranges(args.executor, static_cast<std::size_t>(args.batch) * blocks * h, row_floats / 4,
                               [=, &params, &args](std::size_t first, std::size_t last) {
                                   for (std::size_t item = first; item < last; ++item) {
                                       const std::size_t row = item / blocks, block = item % blocks;
                                       const Row of_block(params, args, sizes, row / h, block,
                                                          static_cast<int>(row % h));
                                       if (is_depthwise(params, sizes)) {
                                           if (params.stride.w == 1) {
                                               depthwise_columns<Arch, 1>(of_block);
                                           } else {
                                               depthwise_columns<Arch, 2>(of_block);
                                           }
                                       } else if (sizes.block == 1) {
                                           columns<Arch, 1>(of_block);
                                       } else if (sizes.block == 4) {
                                           columns<Arch, 4>(of_block);
                                       } else {
                                           columns<Arch, 8>(of_block);
                                       }
                                   }
                               });
    }

    /// The taps along one axis that reach an output: first, first + step, ... Some may lie outside the input.
    struct Taps {
        int first = 0, step;
        Taps(int place, int count, int stride, int dilation) : step(stride / std::gcd(stride, dilation)) {
            while (first < count && (place - first * dilation) % stride != 0) ++first;
        }
    };

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

    /// Computes a row of one channel from one channel.
    template <class Arch, int stride>
    static void depthwise_columns(Row const& row) noexcept {
        constexpr int width = lanes<Arch>;
        ConvTransposeParams const& p = row.params;
        const Taps even(p.padding.left, p.kernel.w, stride, p.dilation.w),
            odd(p.padding.left + 1, p.kernel.w, stride, p.dilation.w);
        for (int begin = 0; begin * stride < row.out.w;) {
            if ((row.out.w + stride - 1) / stride - begin > width) {
                depthwise_tile<Arch, stride, 2>(row, even, odd, begin);
                begin += 2 * width;
            } else {
                depthwise_tile<Arch, stride, 1>(row, even, odd, begin);
                begin += width;
            }
        }
    }
    /// Computes the columns begin * stride, ..., of which those beyond the row are left out.
    template <class Arch, int stride, int vectors>
    PRIMSEL_INLINE static void depthwise_tile(Row const& row, Taps const& even, Taps const& odd, int begin) noexcept {
        using V = Floats<Arch>;
        constexpr int width = lanes<Arch>;
        ConvTransposeParams const& p = row.params;
        const int n = row.in.w;
        V sum[stride][vectors];
        PRIMSEL_UNROLL
        for (int phase = 0; phase < stride; ++phase) {
            PRIMSEL_UNROLL
            for (int v = 0; v < vectors; ++v) sum[phase][v] = V(row.weights[0]);
        }
        for (int i = row.taps.first; i < p.kernel.h; i += row.taps.step) {
            const int from = row.y - i * p.dilation.h;
            if (from < 0 || from / p.stride.h >= row.in.h) continue;
            const float* src = row.src + static_cast<std::ptrdiff_t>(from / p.stride.h) * n;
            const float* weights = row.weights + 1 + i * p.kernel.w;
            PRIMSEL_UNROLL
            for (int phase = 0; phase < stride; ++phase) {
                Taps const& across = phase == 0 ? even : odd;
                for (int j = across.first; j < p.kernel.w; j += across.step) {
                    const int at = (phase + p.padding.left - j * p.dilation.w) / stride + begin;
                    if (at >= n || at + vectors * width <= 0) continue;
                    const bool inside = at >= 0 && at + vectors * width <= n;
                    const V weight(weights[j]);
                    PRIMSEL_UNROLL
                    for (int v = 0; v < vectors; ++v) {
                        const V x = inside ? load<Arch>(src + at + v * width)
                                           : op::detail::load_around<Arch>(src, at + v * width, n, 0.0F);
                        sum[phase][v] = fma<Arch>(x, weight, sum[phase][v]);
                    }
                }
            }
        }
        float* const dst = row.dst + begin * stride;
        const int count = row.out.w - begin * stride;
        const auto put_at = [&](V const& value, int at) {
            if (at < count) op::detail::store_up_to<Arch>(dst + at, value, static_cast<std::size_t>(count - at));
        };
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) {
            if constexpr (stride == 1) {
                put_at(sum[0][v], v * width);
            } else {
                op::detail::join_even_odd<Arch>(sum[0][v], sum[1][v]);
                put_at(sum[0][v], 2 * v * width);
                put_at(sum[1][v], (2 * v + 1) * width);
            }
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
