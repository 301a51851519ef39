// Dense layers on packed weights in floats, 16 or 8 bits, which are widened in registers.
#pragma once

#include <primsel/core/cache_sizes.hpp>
#include <primsel/core/short_floats.hpp>
#include <primsel/gemm/int8_weights.hpp>
#include <primsel/gemm/load_int8.hpp>
#include <primsel/layer/dense.hpp>
#include <primsel/op/detail/vectors.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/transpose.hpp>

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <type_traits>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::op::detail {

/// Packed weights: panels of 32 outputs (16 in the last, if those suffice). A panel has the biases and, with weights in
/// 8 bits, the scales, then for each element of the image, in its layout's order, the weights of the panel's outputs. A
/// single image reads several panels at once; several images share loaded weights. Every sum runs over blocks of the
/// image in the same order, whatever the batch. Element: float, bfloat16, float16 or std::int8_t.
template <class Element>
class DensePanels {
public:
    /// The outputs of a panel.
    static constexpr std::size_t panel = 32;

    /// Returns the work for one image.
    template <class Arch>
    [[nodiscard]] static OpCounts work(std::size_t outputs, std::size_t depth) {
        const std::size_t panels = (outputs + panel - 1) / panel;
        return {.operations = widening * static_cast<double>(outputs) * static_cast<double>(depth),
                .rows = static_cast<double>(panels * ((depth + block - 1) / block)),
                .blocks = static_cast<double>(blocks_of<Arch>(outputs, depth, 1).count())};
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
        return {.operations = widening * static_cast<double>(columns * busy) * static_cast<double>(depth),
                .rows = static_cast<double>(images * panels * ((depth + block - 1) / block)),
                .blocks = static_cast<double>(blocks_of<Arch>(outputs, depth, images).count())};
    }

    [[nodiscard]] static std::size_t packed_bytes(std::size_t k, std::size_t depth) {
        return (k + half - 1) / half * half * output_bytes(depth);
    }

    template <StridedLayout L>
    static void pack(DenseParams const& params, Shape input, OpWeights const& weights, float* dst) {
        const std::size_t depth = input.size();
        const auto h = static_cast<std::size_t>(input.h), w = static_cast<std::size_t>(input.w);
        const Strides strides = L::strides(input);
        const Even even = evenly<L>(input);
        pack_panels(static_cast<std::size_t>(params.k), depth, weights.bias, dst,
                    [&](std::size_t begin, std::size_t used, std::size_t width, float* to_panel) {
                        if (used < width) std::fill_n(to_panel, depth * width, 0.0F);
                        const float* src = weights.kernel.data() + begin * depth;
                        for (std::size_t from = 0; from < depth; from += even.count) {
                            const std::size_t row = from / w, channel = row / h;
                            const std::size_t to = channel * strides.c + row % h * strides.h + from % w * strides.w;
                            transpose_columns(src + from, depth, to_panel + to * width, even.step * width, used, 0,
                                              even.count);
                        }
                    });
    }

    /// Packs the weights of vectors of `depth` elements, which are stored as depth x k.
    static void pack_columns(std::size_t k, std::size_t depth, OpWeights const& weights, float* dst) {
        pack_panels(k, depth, weights.bias, dst,
                    [&](std::size_t begin, std::size_t used, std::size_t width, float* to_panel) {
                        for (std::size_t i = 0; i < depth; ++i, to_panel += width) {
                            std::copy_n(weights.kernel.data() + i * k + begin, used, to_panel);
                            std::fill(to_panel + used, to_panel + width, 0.0F);
                        }
                    });
    }

    /// `one`: there is one image.
    template <class Arch, bool one = false>
    static void run(DenseParams const& params, OpArgs const& args) noexcept {
        panels<Arch, one>(params, args);
    }
    /// Computes k outputs of one image of at most a block's elements on this thread, with the bits of run(). As many
    /// panels are summed at a time as hide the latency of additions.
    template <class Arch>
        requires std::same_as<Element, float>
    static void run_short(std::size_t k, std::size_t depth, const float* src, const float* packed,
                          float* dst) noexcept {
        constexpr std::size_t most =
            std::clamp<std::size_t>((registers<Arch> - 3) / (panel / static_cast<std::size_t>(lanes<Arch>)), 1, 6);
        std::size_t begin = 0;
        for (std::size_t wide = (k + half - 1) / panel; wide > 0;) {
            const std::size_t parts = (wide + most - 1) / most, count = (wide + parts - 1) / parts;
            short_panels<Arch, most>(count, k - begin, depth, src, packed + begin * (1 + depth), dst + begin);
            begin += count * panel, wide -= count;
        }
        if (begin < k) {
            short_panel<Arch, half, 1>(k - begin, depth, src, packed + begin * (1 + depth), dst + begin);
        }
    }

private:
    /// Computes the outputs of `count` panels, at least one and at most `most`.
    template <class Arch, std::size_t most>
    static void short_panels(std::size_t count, std::size_t outputs, std::size_t depth, const float* src,
                             const float* packed, float* dst) noexcept {
        if constexpr (most > 1) {
            if (count < most) return short_panels<Arch, most - 1>(count, outputs, depth, src, packed, dst);
        }
        short_panel<Arch, panel, most>(outputs, depth, src, packed, dst);
    }
    template <class Arch, std::size_t width, std::size_t count>
    static void short_panel(std::size_t outputs, std::size_t depth, const float* src, const float* packed,
                            float* dst) noexcept {
        using V = Floats<Arch>;
        constexpr std::size_t vectors = width / lanes<Arch>;
        const std::size_t apart = width * (1 + depth);
        V sum[count][vectors];
        PRIMSEL_UNROLL
        for (std::size_t n = 0; n < count; ++n) {
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) sum[n][v] = V(0.0F);
        }
        const float* weights = packed + width;
        for (std::size_t i = 0; i < depth; ++i, weights += width) {
            const V x(src[i]);
            PRIMSEL_UNROLL
            for (std::size_t n = 0; n < count; ++n) {
                PRIMSEL_UNROLL
                for (std::size_t v = 0; v < vectors; ++v) {
                    sum[n][v] = fma<Arch>(x, load<Arch>(weights + n * apart + v * lanes<Arch>), sum[n][v]);
                }
            }
        }
        PRIMSEL_UNROLL
        for (std::size_t n = 0; n < count; ++n) {
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) {
                const std::size_t at = n * width + v * lanes<Arch>;
                if (at >= outputs) continue;
                const V result = load<Arch>(packed + n * apart + v * lanes<Arch>) + sum[n][v];
                op::detail::store_up_to<Arch>(dst + at, result, outputs - at);
            }
        }
    }

    static constexpr bool narrows = !std::same_as<Element, float>, scaled = std::same_as<Element, std::int8_t>;
    /// The operations for each weight: a multiply-add, and what it takes of one to widen it for 12 images.
    static constexpr double widening = narrows ? 2.3 : 2;
    static constexpr std::size_t half = 16;
    [[nodiscard]] static constexpr std::size_t panel_width(std::size_t outputs) {
        return outputs > half ? panel : half;
    }
    /// Floats that a panel has before its weights, and bytes in all, for each output.
    static constexpr std::size_t head_floats = scaled ? 2 : 1;
    [[nodiscard]] static constexpr std::size_t output_bytes(std::size_t depth) {
        return head_floats * sizeof(float) + depth * sizeof(Element);
    }
    /// A panel as packed.
    template <class Float>
    struct Panel {
        Float* bias;
        std::size_t width;
        [[nodiscard]] Float* scale() const { return scaled ? bias + width : nullptr; }
        [[nodiscard]] auto* weights() const {
            using To = std::conditional_t<std::is_const_v<Float>, const Element, Element>;
            return reinterpret_cast<To*>(bias + head_floats * width);
        }
    };
    /// The panel of outputs from `begin` on.
    template <class Float>
    [[nodiscard]] static Panel<Float> panel_at(Float* packed, std::size_t begin, std::size_t k, std::size_t depth) {
        using Byte = std::conditional_t<std::is_const_v<Float>, const std::byte, std::byte>;
        return {reinterpret_cast<Float*>(reinterpret_cast<Byte*>(packed) + begin * output_bytes(depth)),
                panel_width(k - begin)};
    }

    /// write(begin, used, width, to): the floats of a panel, depth x width.
    static void pack_panels(std::size_t k, std::size_t depth, std::span<const float> bias, float* dst,
                            auto const& write) {
        std::vector<float> floats(narrows ? depth * panel_width(k) : 0);
        for (std::size_t begin = 0; begin < k; begin += panel) {
            const Panel<float> to = panel_at(dst, begin, k, depth);
            const std::size_t used = std::min(to.width, k - begin);
            std::fill_n(to.bias, to.width, 0.0F);
            if (!bias.empty()) std::copy_n(bias.data() + begin, used, to.bias);
            if constexpr (narrows) {
                write(begin, used, to.width, floats.data());
                narrow_panel(floats.data(), depth, to);
            } else {
                write(begin, used, to.width, to.weights());
            }
        }
    }
    static void narrow_panel(const float* src, std::size_t depth, Panel<float> const& to) {
        if constexpr (scaled) {
            float largest[panel]{}, unknown[panel]{};
            for (std::size_t i = 0; i < depth; ++i) {
                for (std::size_t n = 0; n < to.width; ++n) {
                    largest[n] = std::max(largest[n], std::abs(src[i * to.width + n]));
                    unknown[n] += 0 * src[i * to.width + n];  // NaN where a weight is not finite, as its output is
                }
            }
            for (std::size_t n = 0; n < to.width; ++n) to.scale()[n] = gemm::int8_scale(largest[n]) + unknown[n];
            for (std::size_t i = 0; i < depth; ++i) {
                for (std::size_t n = 0; n < to.width; ++n) {
                    to.weights()[i * to.width + n] = gemm::int8_weight(src[i * to.width + n], largest[n]);
                }
            }
        } else {
            narrow(src, depth * to.width, to.weights());
        }
    }
    template <class Arch>
    [[nodiscard]] PRIMSEL_INLINE static Floats<Arch> widened(const Element* src) {
        if constexpr (scaled) {
            return gemm::load_int8<Arch>(src);
        } else if constexpr (narrows) {
            return load_wide<Arch>(src);
        } else {
            return load<Arch>(src);
        }
    }

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
    /// The blocks that threads share: groups of panels that an image reads at the same time, and single panels, each
    /// for parts of so many images.
    struct Blocks {
        std::size_t groups, single, images, parts;
        [[nodiscard]] std::size_t count() const { return groups + single * parts; }
    };
    template <class Arch>
    [[nodiscard]] static Blocks blocks_of(std::size_t k, std::size_t depth, std::size_t batch) {
        const std::size_t groups = batch == 1 ? k / (panel * streams<Arch>) : 0, images = part_images(k, depth);
        return {groups, (k + panel - 1) / panel - groups * streams<Arch>, images, (batch + images - 1) / images};
    }

    template <class Arch, bool one>
    static void panels(DenseParams const& params, OpArgs const& args) noexcept {
        const auto k = static_cast<std::size_t>(params.k), batch = static_cast<std::size_t>(args.batch);
        constexpr std::size_t together = streams<Arch>;
        const Blocks blocks = blocks_of<Arch>(k, args.src_shape[0].size(), batch);
        const auto [groups, single, images, parts] = blocks;
        args.executor.parallel_for(blocks.count(), [=, &params, &args, groups = groups, single = single,
                                                    images = images](std::size_t i, std::size_t) {
            if (i < groups) return side_by_side<Arch>(params, args, i * together * panel);
            const std::size_t part = (i - groups) / single, first = part * images;
            const std::size_t begin = (groups * together + (i - groups) % single) * panel;
            const Images of_part{first, std::min(first + images, batch)};
            if (panel_width(k - begin) == panel) {
                one_panel<Arch, panel, one>(params, args, begin, of_part);
            } else {
                one_panel<Arch, half, one>(params, args, begin, of_part);
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
        const std::size_t depth = args.src_shape[0].size(), k = static_cast<std::size_t>(params.k);
        const Panel<const float> first = panel_at(args.weights, begin, k, depth);
        alignas(64) double totals[streams<Arch> * panel];
        for (std::size_t from = 0; from < depth; from += block) {
            const std::size_t count = std::min(block, depth - from);
            add_block<Arch>({.src = args.src[0] + from,
                             .depth = depth,
                             .count = count,
                             .weights = first.weights() + from * panel,
                             .bias = from == 0 ? first.bias : nullptr,
                             .scale = first.scale(),
                             .totals = depth > block ? totals : nullptr,
                             .is_last = from + count == depth,
                             .dst = args.dst + begin,
                             .k = k,
                             .outputs = panel,
                             .clamp = args.clamp},
                            panel * output_bytes(depth));
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

    template <class Arch, std::size_t width, bool one>
    static void one_panel(DenseParams const& params, OpArgs const& args, std::size_t begin,
                          Images part_of_batch) noexcept {
        using T = Tiles<Arch, width>;
        constexpr std::size_t most_images = one ? 1 : DensePanels::most_images;
        const std::size_t depth = args.src_shape[0].size(), k = static_cast<std::size_t>(params.k);
        const Panel<const float> packed = panel_at(args.weights, begin, k, depth);
        alignas(64) double totals[most_images * width];
        for (std::size_t first = part_of_batch.first; first < part_of_batch.last; first += most_images) {
            const std::size_t images = std::min(most_images, part_of_batch.last - first);
            const Element* weights = packed.weights();
            for (std::size_t from = 0; from < depth; from += block) {
                const std::size_t count = std::min(block, depth - from);
                const Block part{.src = args.src[0] + first * depth + from,
                                 .depth = depth,
                                 .count = count,
                                 .weights = weights,
                                 .bias = from == 0 ? packed.bias : nullptr,
                                 .scale = packed.scale(),
                                 .totals = depth > block ? totals : nullptr,
                                 .is_last = from + count == depth,
                                 .dst = args.dst + first * k + begin,
                                 .k = k,
                                 .outputs = std::min(width, k - begin),
                                 .clamp = args.clamp};
                if constexpr (one) {
                    add_block<Arch, width, 1>(part, 0);
                } else {
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
        const Element* weights;
        const float *bias, *scale;
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
        const float* const scale = scaled ? block.scale + at : nullptr;
        const std::size_t outputs = block.outputs - at;
        const Element* weights = block.weights + at;
        V sum[images][vectors];
        PRIMSEL_UNROLL
        for (std::size_t n = 0; n < images; ++n) {
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) sum[n][v] = V(0.0F);
        }
        for (std::size_t i = 0; i < block.count; ++i, weights += width) {
            V row[vectors];
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) row[v] = widened<Arch>(weights + v * lanes<Arch>);
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
                    const V result = from_start<Arch>(start, sum[n][v], scale, v);
                    store<Arch>(dst + n * block.k + v * lanes<Arch>, clamp<Arch>(result, low, high));
                }
            }
            return;
        }
        PRIMSEL_UNROLL
        for (std::size_t n = 0; n < images; ++n) {
            double* totals = block.totals == nullptr ? nullptr : block.totals + (image + n) * width + at;
            finish<Arch>(block, sum[n], bias, scale, totals, dst + n * block.k, outputs);
        }
    }

    /// Adds a block of one image for `streams` whole panels, which are `apart` bytes apart.
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
        const auto in_stream = []<class Type>(Type* first, std::size_t bytes) {
            return reinterpret_cast<Type*>(reinterpret_cast<const std::byte*>(first) + bytes);
        };
        const Element* weights = block.weights;
        for (std::size_t i = 0; i < block.count; ++i, weights += panel) {
            const V x(block.src[i]);
            PRIMSEL_UNROLL
            for (std::size_t n = 0; n < streams<Arch>; ++n) {
                // Widening leaves the processor too few loads to wait for: 1.25 times as fast on an AVX-512 Xeon.
                if constexpr (narrows) {
                    __builtin_prefetch(reinterpret_cast<const std::byte*>(in_stream(weights, n * apart)) + 1024);
                }
                PRIMSEL_UNROLL
                for (std::size_t v = 0; v < vectors; ++v) {
                    const V row = widened<Arch>(in_stream(weights, n * apart) + v * lanes<Arch>);
                    sum[n][v] = fma<Arch>(x, row, sum[n][v]);
                }
            }
        }
        PRIMSEL_UNROLL
        for (std::size_t n = 0; n < streams<Arch>; ++n) {
            finish<Arch>(block, sum[n], block.bias == nullptr ? nullptr : in_stream(block.bias, n * apart),
                         scaled ? in_stream(block.scale, n * apart) : nullptr,
                         block.totals == nullptr ? nullptr : block.totals + n * panel, block.dst + n * panel,
                         block.outputs);
        }
    }

    template <class Arch>
    [[nodiscard]] PRIMSEL_INLINE static Floats<Arch> in_scale(Floats<Arch> const& sum, const float* scale,
                                                              std::size_t v) noexcept {
        if constexpr (scaled) return sum * load<Arch>(scale + v * lanes<Arch>);
        return sum;
    }
    template <class Arch>
    [[nodiscard]] PRIMSEL_INLINE static Floats<Arch> from_start(Floats<Arch> const& start, Floats<Arch> const& sum,
                                                                const float* scale, std::size_t v) noexcept {
        if constexpr (scaled) return fma<Arch>(sum, load<Arch>(scale + v * lanes<Arch>), start);
        return start + sum;
    }
    /// Adds an image's sums to the panel's biases or, with several blocks, to the image's totals.
    template <class Arch, std::size_t vectors>
    PRIMSEL_INLINE static void finish(Block const& block, Floats<Arch> const (&sum)[vectors], const float* bias,
                                      const float* scale, double* totals, float* dst, std::size_t outputs) noexcept {
        using V = Floats<Arch>;
        constexpr std::size_t width = lanes<Arch>;
        alignas(64) float lane[vectors * width];
        if (totals != nullptr) {
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) store<Arch>(lane + v * width, in_scale<Arch>(sum[v], scale, v));
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
            const V result =
                totals != nullptr ? load<Arch>(lane + at) : from_start<Arch>(load<Arch>(bias + at), sum[v], scale, v);
            op::detail::store_up_to<Arch>(dst + at, clamp<Arch>(result, low, high), outputs - at);
        }
    }
};

/// Dense layers.
template <class Element>
struct DenseImages {
    using Panels = DensePanels<Element>;

    template <class Arch>
    [[nodiscard]] static OpCounts work(DenseParams const& params, std::span<const Shape> inputs, Shape) {
        return Panels::template work<Arch>(static_cast<std::size_t>(params.k), inputs[0].size());
    }
    [[nodiscard]] static std::size_t packed_bytes(DenseParams const& params, Shape input) {
        return Panels::packed_bytes(static_cast<std::size_t>(params.k), input.size());
    }
    template <StridedLayout L>
    static void pack(DenseParams const& params, Shape input, OpWeights const& weights, float* dst) {
        Panels::template pack<L>(params, input, weights, dst);
    }
    template <class Arch>
    static void run(DenseParams const& params, OpArgs const& args) noexcept {
        Panels::template run<Arch, one_image<Arch>>(params, args);
    }
};

/// Dense layers on rows, which are the images of a dense layer on the elements of a row.
template <class Element>
struct DenseRows {
    using Panels = DensePanels<Element>;

    template <class Arch>
    [[nodiscard]] static OpCounts work(DenseRowsParams const& params, std::span<const Shape> inputs, Shape) {
        return Panels::template work_of_batch<Arch>(static_cast<std::size_t>(params.k),
                                                    static_cast<std::size_t>(inputs[0].w), rows(inputs[0]));
    }
    [[nodiscard]] static std::size_t packed_bytes(DenseRowsParams const& params, Shape input) {
        return Panels::packed_bytes(static_cast<std::size_t>(params.k), static_cast<std::size_t>(input.w));
    }
    template <StridedLayout L>
        requires std::same_as<L, chw>
    static void pack(DenseRowsParams const& params, Shape input, OpWeights const& weights, float* dst) {
        Panels::pack_columns(static_cast<std::size_t>(params.k), static_cast<std::size_t>(input.w), weights, dst);
    }
    template <class Arch>
    static void run(DenseRowsParams const& params, OpArgs const& args) noexcept {
        const Shape of_row{.c = args.src_shape[0].w, .h = 1, .w = 1};
        OpArgs of_rows = args;
        of_rows.src_shape = {&of_row, 1};
        of_rows.dst_shape = {.c = params.k, .h = 1, .w = 1};
        of_rows.batch = args.batch * static_cast<int>(rows(args.src_shape[0]));
        Panels::template run<Arch>({.k = params.k, .bias = params.bias}, of_rows);
    }

private:
    [[nodiscard]] static std::size_t rows(Shape input) {
        return static_cast<std::size_t>(input.c) * static_cast<std::size_t>(input.h);
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::op::detail
