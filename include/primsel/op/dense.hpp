#pragma once

#include <primsel/core/cache_sizes.hpp>
#include <primsel/layer/dense.hpp>
#include <primsel/op/detail/vectors.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/transpose.hpp>

#include <algorithm>
#include <concepts>

namespace primsel::inline PRIMSEL_ABI {

/// Packed weights: panels of 32 outputs (16 in the last, if those suffice). A panel has the biases, then for each
/// element of the image, in its layout's order, the weights of the panel's outputs. A single image reads several panels
/// at once; several images share loaded weights. Every sum runs over blocks of the image in the same order, whatever
/// the batch.
template <>
struct Op<DenseParams> {
    static constexpr bool in_place = false;
    /// The outputs of a panel.
    static constexpr std::size_t outputs_apart = 32;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(DenseParams const& params, std::span<const Shape> inputs, Shape) {
        const std::size_t panels = (static_cast<std::size_t>(params.k) + panel - 1) / panel, depth = inputs[0].size();
        return {.operations = 2.0 * params.k * static_cast<double>(depth),
                .rows = static_cast<double>(panels * ((depth + block - 1) / block))};
    }

    /// Returns the work for several images at once. A tile of few images takes as long as one of eight vectors, which
    /// hide the latency of additions.
    template <class Arch>
    [[nodiscard]] static OpCounts work_of_batch(std::size_t outputs, std::size_t depth, std::size_t images) {
        using T = Tiles<Arch, panel>;
        const std::size_t panels = (outputs + panel - 1) / panel, columns = (outputs + half - 1) / half * half;
        std::size_t busy = images == 1 ? 1 : images / T::many * T::many;
        for (std::size_t left = images == 1 ? 0 : images % T::many; left > 0; left -= T::next(left)) {
            busy += std::max(T::next(left), (8 + T::vectors - 1) / T::vectors);
        }
        return {.operations = 2.0 * static_cast<double>(columns * busy) * static_cast<double>(depth),
                .rows = static_cast<double>(images * panels * ((depth + block - 1) / block))};
    }

    [[nodiscard]] static std::size_t packed_floats(DenseParams const& params, Shape input) {
        return (static_cast<std::size_t>(params.k) + half - 1) / half * half * (input.size() + 1);
    }

    template <StridedLayout L>
    static void pack(DenseParams const& params, Shape input, OpWeights const& weights, float* dst) {
        const auto k = static_cast<std::size_t>(params.k);
        const std::size_t depth = input.size();
        const auto h = static_cast<std::size_t>(input.h), w = static_cast<std::size_t>(input.w);
        const Strides strides = L::strides(input);
        for (std::size_t begin = 0; begin < k; begin += panel) {
            const std::size_t width = panel_width(k - begin), used = std::min(width, k - begin);
            std::fill_n(dst, width, 0.0F);
            if (!weights.bias.empty()) std::copy_n(weights.bias.data() + begin, used, dst);
            dst += width;
            if (used < width) std::fill_n(dst, depth * width, 0.0F);
            const float* src = weights.kernel.data() + begin * depth;
            const Even even = evenly<L>(input);
            for (std::size_t from = 0; from < depth; from += even.count) {
                const std::size_t row = from / w, channel = row / h;
                const std::size_t to = channel * strides.c + row % h * strides.h + from % w * strides.w;
                transpose_columns(src + from, depth, dst + to * width, even.step * width, used, 0, even.count);
            }
            dst += depth * width;
        }
    }

    /// Packs the weights of vectors of `depth` elements, which are stored as depth x k.
    static void pack_columns(std::size_t k, std::size_t depth, OpWeights const& weights, float* dst) {
        for (std::size_t begin = 0; begin < k; begin += panel) {
            const std::size_t width = panel_width(k - begin), used = std::min(width, k - begin);
            const auto put = [&](const float* src) {
                std::copy_n(src, used, dst);
                std::fill(dst + used, dst + width, 0.0F);
                dst += width;
            };
            if (weights.bias.empty()) {
                dst = std::fill_n(dst, width, 0.0F);
            } else {
                put(weights.bias.data() + begin);
            }
            for (std::size_t i = 0; i < depth; ++i) put(weights.kernel.data() + i * k + begin);
        }
    }

    template <class Arch, StridedLayout L>
    static void run(DenseParams const& params, OpArgs const& args) noexcept {
        panels<Arch>(params, args);
    }

private:
    /// Elements of an image, at least a row, that are at equal steps in the layout and packed together.
    struct Even {
        std::size_t count, step;
    };
    template <StridedLayout L>
    [[nodiscard]] static Even evenly(Shape input) {
        const Strides strides = L::strides(input);
        const auto c = static_cast<std::size_t>(input.c), pixels = input.pixels(),
                   w = static_cast<std::size_t>(input.w);
        if (pixels == 1) return {c, strides.c};
        if (strides.h != w * strides.w) return {w, strides.w};
        return {strides.c == pixels * strides.w ? c * pixels : pixels, strides.w};
    }

    static constexpr std::size_t panel = outputs_apart, half = 16;
    static constexpr std::size_t panel_width(std::size_t outputs) { return outputs > half ? panel : half; }

    /// The elements of an image taken at a time: their part of a panel stays in L2 for several images. Products are
    /// summed in float, blocks in double, so that errors do not grow with the length of the sum.
    static constexpr std::size_t block = 512;
    /// The number of images whose sums in double fit on the stack.
    static constexpr std::size_t most_images = 48;
    /// Returns the number of images that meet all panels before the next ones do: a multiple or half of most_images.
    /// They stay in L2, and are many if the weights do not, which every part reads. Short images are fewer: a panel
    /// writes few bytes of each image's outputs, and those of many images leave the caches before the next panel
    /// continues them.
    [[nodiscard]] static std::size_t part_images(std::size_t k, std::size_t depth) {
        constexpr std::size_t short_depth = 256;
        if (depth <= short_depth) return most_images / 2;
        constexpr std::size_t l2 = l2_floats, least = 2 * most_images;
        return k * depth <= l2 / 2 ? least : std::max(least, l2 / depth / most_images * most_images);
    }
    struct Images {
        std::size_t first, last;
    };

    template <class Arch>
    static void panels(DenseParams const& params, OpArgs const& args) noexcept {
        const auto k = static_cast<std::size_t>(params.k);
        constexpr std::size_t together = streams<Arch>;
        const std::size_t count = (k + panel - 1) / panel, groups = args.batch == 1 ? k / (panel * together) : 0;
        const std::size_t single = count - groups * together, batch = static_cast<std::size_t>(args.batch),
                          images = part_images(k, args.src_shape[0].size()), parts = (batch + images - 1) / images;
        args.executor.parallel_for(groups + single * parts, [=, &params, &args](std::size_t i, std::size_t) {
            if (i < groups) return side_by_side<Arch>(params, args, i * together * panel);
            const std::size_t part = (i - groups) / single, first = part * images;
            const std::size_t begin = (groups * together + (i - groups) % single) * panel,
                              width = panel_width(k - begin);
            const Images of_part{first, std::min(first + images, batch)};
            const float* weights = args.weights + begin * (args.src_shape[0].size() + 1);
            if (width == panel) {
                one_panel<Arch, panel>(params, args, begin, weights, of_part);
            } else {
                one_panel<Arch, half>(params, args, begin, weights, of_part);
            }
        });
    }

    /// The panels that one image reads at the same time, limited by the registers for their sums. Several streams come
    /// from memory faster than one, by 1.4 on a Zen 3.
    template <class Arch>
    static constexpr std::size_t streams =
        std::clamp<std::size_t>((registers<Arch> - 3) / (panel / static_cast<std::size_t>(lanes<Arch>)), 1, 4);

    template <class Arch>
    static void side_by_side(DenseParams const& params, OpArgs const& args, std::size_t begin) noexcept {
        const std::size_t depth = args.src_shape[0].size(), apart = panel * (depth + 1);
        const float* const first = args.weights + begin * (depth + 1);
        alignas(64) double totals[streams<Arch> * panel];
        for (std::size_t from = 0; from < depth; from += block) {
            const std::size_t count = std::min(block, depth - from);
            add_block<Arch>({.src = args.src[0] + from,
                             .depth = depth,
                             .count = count,
                             .weights = first + panel + from * panel,
                             .bias = from == 0 ? first : nullptr,
                             .totals = depth > block ? totals : nullptr,
                             .is_last = from + count == depth,
                             .dst = args.dst + begin,
                             .k = static_cast<std::size_t>(params.k),
                             .outputs = panel,
                             .clamp = args.clamp},
                            apart);
        }
    }

    /// The tiles of several images. Two vectors of a panel for as many images as registers allow need the fewest loads;
    /// fewer images take all its vectors at once.
    template <class Arch, std::size_t width>
    struct Tiles {
        static constexpr std::size_t vectors = width / lanes<Arch>, narrow = std::min<std::size_t>(vectors, 2);
        static constexpr std::size_t many = std::clamp<std::size_t>((registers<Arch> - 4) / narrow, 1, 12),
                                     several = std::clamp<std::size_t>((registers<Arch> - 4) / vectors, 1, 6);
        static_assert(most_images % many == 0);

        /// The images of the next tile if fewer than `many` are left.
        [[nodiscard]] static std::size_t next(std::size_t left) {
            const std::size_t tiles = (left + several - 1) / several;
            return (left + tiles - 1) / tiles;
        }
    };

    template <class Arch, std::size_t width>
    static void one_panel(DenseParams const& params, OpArgs const& args, std::size_t begin, const float* panel_weights,
                          Images part_of_batch) noexcept {
        using T = Tiles<Arch, width>;
        const std::size_t depth = args.src_shape[0].size(), k = static_cast<std::size_t>(params.k);
        alignas(64) double totals[most_images * width];
        for (std::size_t first = part_of_batch.first; first < part_of_batch.last; first += most_images) {
            const std::size_t images = std::min(most_images, part_of_batch.last - first);
            const float* weights = panel_weights + width;
            for (std::size_t from = 0; from < depth; from += block) {
                const std::size_t count = std::min(block, depth - from);
                const Block part{.src = args.src[0] + first * depth + from,
                                 .depth = depth,
                                 .count = count,
                                 .weights = weights,
                                 .bias = from == 0 ? panel_weights : nullptr,
                                 .totals = depth > block ? totals : nullptr,
                                 .is_last = from + count == depth,
                                 .dst = args.dst + first * k + begin,
                                 .k = k,
                                 .outputs = std::min(width, k - begin),
                                 .clamp = args.clamp};
                std::size_t image = images / T::many * T::many;
                for (std::size_t at = 0; at < part.outputs; at += T::narrow * lanes<Arch>) {
                    for (std::size_t n = 0; n < image; n += T::many) {
                        add_block<Arch, width, T::many, T::narrow>(part, n, at);
                    }
                }
                while (image < images) {
                    const std::size_t next = T::next(images - image);
                    add_last<Arch, width, T::several>(part, image, next);
                    image += next;
                }
                weights += count * width;
            }
        }
    }

    /// `count` elements of each image, their part of a panel, and the panel's outputs. The sums start from the bias. If
    /// there are several blocks, each image has totals for a panel, and the last block writes them to dst.
    struct Block {
        const float* src;
        std::size_t depth, count;
        const float *weights, *bias;
        double* totals;
        bool is_last;
        float* dst;
        std::size_t k, outputs;
        Clamp clamp;
    };

    /// Adds a block of `images` images, at least one and at most `most`.
    template <class Arch, std::size_t width, std::size_t most>
    static void add_last(Block const& block, std::size_t image, std::size_t images) noexcept {
        if constexpr (most > 1) {
            if (images < most) return add_last<Arch, width, most - 1>(block, image, images);
        }
        add_block<Arch, width, most>(block, image);
    }

    /// Adds a block for some vectors of a panel, from output `at` on.
    template <class Arch, std::size_t width, std::size_t images, std::size_t vectors = width / lanes<Arch>>
    static void add_block(Block const& block, std::size_t image, std::size_t at = 0) noexcept {
        using V = Floats<Arch>;
        const float* src = block.src + image * block.depth;
        float* dst = block.dst + image * block.k + at;
        const float* const bias = block.bias == nullptr ? nullptr : block.bias + at;
        const std::size_t outputs = block.outputs - at;
        const float* weights = block.weights + at;
        V sum[images][vectors];
        PRIMSEL_UNROLL
        for (std::size_t n = 0; n < images; ++n) {
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) sum[n][v] = V(0.0F);
        }
        for (std::size_t i = 0; i < block.count; ++i, weights += width) {
            V row[vectors];
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) row[v] = load<Arch>(weights + v * lanes<Arch>);
            PRIMSEL_UNROLL
            for (std::size_t n = 0; n < images; ++n) {
                const V x(src[n * block.depth + i]);
                PRIMSEL_UNROLL
                for (std::size_t v = 0; v < vectors; ++v) sum[n][v] = fma<Arch>(x, row[v], sum[n][v]);
            }
        }
        if (block.totals == nullptr && outputs >= vectors * lanes<Arch>) {
            const V low(block.clamp.low), high(block.clamp.high);
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) {
                const V start = load<Arch>(bias + v * lanes<Arch>);
                PRIMSEL_UNROLL
                for (std::size_t n = 0; n < images; ++n) {
                    store<Arch>(dst + n * block.k + v * lanes<Arch>, clamp<Arch>(start + sum[n][v], low, high));
                }
            }
            return;
        }
        PRIMSEL_UNROLL
        for (std::size_t n = 0; n < images; ++n) {
            double* totals = block.totals == nullptr ? nullptr : block.totals + (image + n) * width + at;
            finish<Arch>(block, sum[n], bias, totals, dst + n * block.k, outputs);
        }
    }

    /// Adds a block of one image for `streams` whole panels, which are `apart` floats apart.
    template <class Arch>
    static void add_block(Block const& block, std::size_t apart) noexcept {
        using V = Floats<Arch>;
        constexpr std::size_t vectors = panel / lanes<Arch>;
        V sum[streams<Arch>][vectors];
        PRIMSEL_UNROLL
        for (std::size_t n = 0; n < streams<Arch>; ++n) {
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) sum[n][v] = V(0.0F);
        }
        const float* weights = block.weights;
        for (std::size_t i = 0; i < block.count; ++i, weights += panel) {
            const V x(block.src[i]);
            PRIMSEL_UNROLL
            for (std::size_t n = 0; n < streams<Arch>; ++n) {
                PRIMSEL_UNROLL
                for (std::size_t v = 0; v < vectors; ++v) {
                    sum[n][v] = fma<Arch>(x, load<Arch>(weights + n * apart + v * lanes<Arch>), sum[n][v]);
                }
            }
        }
        PRIMSEL_UNROLL
        for (std::size_t n = 0; n < streams<Arch>; ++n) {
            finish<Arch>(block, sum[n], block.bias == nullptr ? nullptr : block.bias + n * apart,
                         block.totals == nullptr ? nullptr : block.totals + n * panel, block.dst + n * panel,
                         block.outputs);
        }
    }

    /// Adds an image's sums to the panel's biases or, with several blocks, to the image's totals.
    template <class Arch, std::size_t vectors>
    PRIMSEL_INLINE static void finish(Block const& block, Floats<Arch> const (&sum)[vectors], const float* bias,
                                      double* totals, float* dst, std::size_t outputs) noexcept {
        using V = Floats<Arch>;
        constexpr std::size_t width = lanes<Arch>;
        alignas(64) float lane[vectors * width];
        if (totals != nullptr) {
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) store<Arch>(lane + v * width, sum[v]);
            const auto add_to = [&](auto const* before) {
                if (block.is_last) {
                    for (std::size_t i = 0; i < vectors * width; ++i) {
                        lane[i] = static_cast<float>(static_cast<double>(before[i]) + static_cast<double>(lane[i]));
                    }
                } else {
                    for (std::size_t i = 0; i < vectors * width; ++i) {
                        totals[i] = static_cast<double>(before[i]) + static_cast<double>(lane[i]);
                    }
                }
            };
            bias != nullptr ? add_to(bias) : add_to(totals);
            if (!block.is_last) return;
        }
        const V low(block.clamp.low), high(block.clamp.high);
        PRIMSEL_UNROLL
        for (std::size_t v = 0; v < vectors; ++v) {
            const std::size_t at = v * width;
            if (at >= outputs) break;
            const V result = totals != nullptr ? load<Arch>(lane + at) : load<Arch>(bias + at) + sum[v];
            op::detail::store_up_to<Arch>(dst + at, clamp<Arch>(result, low, high), outputs - at);
        }
    }
};

/// Rows are the images of a dense layer on the elements of a row.
template <>
struct Op<DenseRowsParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(DenseRowsParams const& params, std::span<const Shape> inputs, Shape) {
        return Op<DenseParams>::work_of_batch<Arch>(static_cast<std::size_t>(params.k),
                                                    static_cast<std::size_t>(inputs[0].w), rows(inputs[0]));
    }

    [[nodiscard]] static std::size_t packed_floats(DenseRowsParams const& params, Shape input) {
        return Op<DenseParams>::packed_floats(dense(params), row(input));
    }

    template <StridedLayout L>
        requires std::same_as<L, chw>
    static void pack(DenseRowsParams const& params, Shape input, OpWeights const& weights, float* dst) {
        Op<DenseParams>::pack_columns(static_cast<std::size_t>(params.k), static_cast<std::size_t>(input.w), weights,
                                      dst);
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(DenseRowsParams const& params, OpArgs const& args) noexcept {
        const Shape of_row = row(args.src_shape[0]);
        OpArgs of_rows = args;
        of_rows.src_shape = {&of_row, 1};
        of_rows.dst_shape = {.c = params.k, .h = 1, .w = 1};
        of_rows.batch = args.batch * static_cast<int>(rows(args.src_shape[0]));
        Op<DenseParams>::run<Arch, chw>(dense(params), of_rows);
    }

private:
    [[nodiscard]] static DenseParams dense(DenseRowsParams const& params) {
        return {.k = params.k, .bias = params.bias};
    }
    [[nodiscard]] static std::size_t rows(Shape input) {
        return static_cast<std::size_t>(input.c) * static_cast<std::size_t>(input.h);
    }
    [[nodiscard]] static Shape row(Shape input) { return {.c = input.w, .h = 1, .w = 1}; }
};

}  // namespace primsel::inline PRIMSEL_ABI
