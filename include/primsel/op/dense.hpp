#pragma once

#include <primsel/layer/dense.hpp>
#include <primsel/op/detail/vectors.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/transpose.hpp>

#include <algorithm>

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

    template <class Arch>
    static void panels(DenseParams const& params, OpArgs const& args) noexcept {
        const auto k = static_cast<std::size_t>(params.k);
        constexpr std::size_t together = streams<Arch>;
        const std::size_t count = (k + panel - 1) / panel, groups = args.batch == 1 ? k / (panel * together) : 0;
        args.executor.parallel_for(
            groups + count - groups * together, [&params, &args, k, groups](std::size_t i, std::size_t) {
                if (i < groups) return side_by_side<Arch>(params, args, i * together * panel);
                const std::size_t begin = (i + groups * (together - 1)) * panel, width = panel_width(k - begin);
                const float* weights = args.weights + begin * (args.src_shape[0].size() + 1);
                if (width == panel) {
                    one_panel<Arch, panel>(params, args, begin, weights);
                } else {
                    one_panel<Arch, half>(params, args, begin, weights);
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

    template <class Arch, std::size_t width>
    static void one_panel(DenseParams const& params, OpArgs const& args, std::size_t begin,
                          const float* panel_weights) noexcept {
        constexpr std::size_t vectors = width / lanes<Arch>;
        constexpr std::size_t several = std::clamp<std::size_t>((registers<Arch> - 4) / vectors, 1, 4);
        static_assert(most_images % several == 0);
        const std::size_t depth = args.src_shape[0].size(), k = static_cast<std::size_t>(params.k);
        const auto batch = static_cast<std::size_t>(args.batch);
        alignas(64) double totals[most_images * width];
        for (std::size_t first = 0; first < batch; first += most_images) {
            const std::size_t images = std::min(most_images, batch - first);
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
                std::size_t image = 0;
                for (; image + several <= images; image += several) add_block<Arch, width, several>(part, image);
                for (; image < images; ++image) add_block<Arch, width, 1>(part, image);
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

    template <class Arch, std::size_t width, std::size_t images>
    static void add_block(Block const& block, std::size_t image) noexcept {
        using V = Floats<Arch>;
        constexpr std::size_t vectors = width / lanes<Arch>;
        const float* src = block.src + image * block.depth;
        float* dst = block.dst + image * block.k;
        const float* weights = block.weights;
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
        PRIMSEL_UNROLL
        for (std::size_t n = 0; n < images; ++n) {
            double* totals = block.totals == nullptr ? nullptr : block.totals + (image + n) * width;
            finish<Arch>(block, sum[n], block.bias, totals, dst + n * block.k);
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
                         block.totals == nullptr ? nullptr : block.totals + n * panel, block.dst + n * panel);
        }
    }

    /// Adds an image's sums to the panel's biases or, with several blocks, to the image's totals.
    template <class Arch, std::size_t vectors>
    PRIMSEL_INLINE static void finish(Block const& block, Floats<Arch> const (&sum)[vectors], const float* bias,
                                      double* totals, float* dst) noexcept {
        using V = Floats<Arch>;
        constexpr std::size_t width = lanes<Arch>;
        alignas(64) float lane[vectors * width];
        if (totals != nullptr) {
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) store<Arch>(lane + v * width, sum[v]);
            if (bias != nullptr) {
                for (std::size_t i = 0; i < vectors * width; ++i) totals[i] = static_cast<double>(bias[i]);
            }
            for (std::size_t i = 0; i < vectors * width; ++i) totals[i] += static_cast<double>(lane[i]);
            if (!block.is_last) return;
            for (std::size_t i = 0; i < vectors * width; ++i) lane[i] = static_cast<float>(totals[i]);
        }
        const V low(block.clamp.low), high(block.clamp.high);
        PRIMSEL_UNROLL
        for (std::size_t v = 0; v < vectors; ++v) {
            const std::size_t at = v * width;
            if (at >= block.outputs) break;
            const V result = totals != nullptr ? load<Arch>(lane + at) : load<Arch>(bias + at) + sum[v];
            op::detail::store_up_to<Arch>(dst + at, clamp<Arch>(result, low, high), block.outputs - at);
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
