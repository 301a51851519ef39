#pragma once

#include <primsel/layer/combine.hpp>
#include <primsel/op/detail/blocks.hpp>
#include <primsel/op/detail/long_sums.hpp>
#include <primsel/op/detail/vectors.hpp>
#include <primsel/op/op.hpp>
#include <primsel/tensor/layout.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <type_traits>

namespace primsel::inline PRIMSEL_ABI {

/// Tiles of the result stay in registers while the matrices are read. Every sum runs through blocks of the first
/// input's columns in their order.
template <>
struct Op<MatMulParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(MatMulParams const&, std::span<const Shape> inputs, Shape output) {
        return op::element_counts<L>(2.0 * inputs[0].w * static_cast<double>(output.size()), inputs, output);
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(MatMulParams const&, OpArgs const& args) noexcept {
        products<Arch>(args);
    }

private:
    /// c = a * b: the m x n product of m x depth and depth x n.
    struct Product {
        const float *a, *b;
        float* c;
        std::size_t m, n, depth;
    };
    static constexpr std::size_t tile_rows = 6;
    /// The number of products summed in float before the sum is added to a double.
    static constexpr std::size_t block = 256;
    template <class Arch>
    static constexpr std::size_t tile_vectors = registers<Arch> == 32 ? 4 : 2;

    template <class Arch>
    static void products(OpArgs const& args) noexcept {
        constexpr std::size_t panel = tile_vectors<Arch> * lanes<Arch>;
        const Shape a = args.src_shape[0], b = args.src_shape[1], c = args.dst_shape;
        const auto channels = static_cast<std::size_t>(c.c);
        const Product whole{args.src[0],
                            args.src[1],
                            args.dst,
                            static_cast<std::size_t>(c.h),
                            static_cast<std::size_t>(c.w),
                            static_cast<std::size_t>(a.w)};
        const std::size_t a_step = a.c == 1 ? 0 : a.pixels(), b_step = b.c == 1 ? 0 : b.pixels();
        const std::size_t panels = (whole.n + panel - 1) / panel;
        op::detail::for_ranges(args.executor, static_cast<std::size_t>(args.batch) * channels * panels,
                               whole.m * whole.depth, [=](std::size_t first, std::size_t last) {
                                   for (std::size_t item = first; item < last; ++item) {
                                       const std::size_t matrix = item / panels, begin = item % panels * panel;
                                       const std::size_t image = matrix / channels, channel = matrix % channels;
                                       Product one = whole;
                                       one.a += image * a.size() + channel * a_step;
                                       one.b += image * b.size() + channel * b_step;
                                       one.c += matrix * c.pixels();
                                       const std::size_t count = std::min(panel, one.n - begin);
                                       one.depth > block ? columns<Arch, true>(one, begin, count)
                                                         : columns<Arch, false>(one, begin, count);
                                   }
                               });
    }

    /// Computes columns [begin, begin + count) of a product.
    template <class Arch, bool blocks>
    static void columns(Product const& product, std::size_t begin, std::size_t count) noexcept {
        constexpr std::size_t vectors = tile_vectors<Arch>, width = lanes<Arch>;
        if (count == vectors * width) return rows<Arch, vectors, blocks>(product, begin, count);
        for (std::size_t at = 0; at < count; at += width) rows<Arch, 1, blocks>(product, begin + at, count - at);
    }

    template <class Arch, std::size_t vectors, bool blocks>
    static void rows(Product const& product, std::size_t begin, std::size_t count) noexcept {
        if (product.m < tile_rows) {
            for (std::size_t row = 0; row < product.m; ++row)
                tile<Arch, 1, vectors, blocks>(product, row, begin, count);
            return;
        }
        for (std::size_t row = 0; row < product.m; row += tile_rows) {
            // The last tile overlaps the one before and computes the same bits again.
            tile<Arch, tile_rows, vectors, blocks>(product, std::min(row, product.m - tile_rows), begin, count);
        }
    }

    /// Computes a tile of `count` valid columns, at most `vectors` vectors.
    template <class Arch, std::size_t height, std::size_t vectors, bool blocks>
    static void tile(Product const& product, std::size_t row, std::size_t column, std::size_t count) noexcept {
        using V = Floats<Arch>;
        constexpr std::size_t width = lanes<Arch>;
        const float *a = product.a + row * product.depth, *b = product.b + column;
        const auto load_b = [count](const float* src) {
            if constexpr (vectors > 1) return load<Arch>(src);
            return op::detail::load_up_to<Arch>(src, count);
        };
        struct Nothing {};
        std::conditional_t<blocks, op::detail::LaneSums<Arch, height * vectors>, Nothing> total{};
        V sum[height * vectors];
        for (std::size_t i = 0; i < product.depth;) {
            PRIMSEL_UNROLL
            for (V& one : sum) one = V(0.0F);
            for (const std::size_t last = blocks ? std::min(i + block, product.depth) : product.depth; i < last;
                 ++i, b += product.n) {
                V of_b[vectors];
                PRIMSEL_UNROLL
                for (std::size_t v = 0; v < vectors; ++v) of_b[v] = load_b(b + v * width);
                PRIMSEL_UNROLL
                for (std::size_t y = 0; y < height; ++y) {
                    const V of_a(a[y * product.depth + i]);
                    PRIMSEL_UNROLL
                    for (std::size_t v = 0; v < vectors; ++v) {
                        sum[y * vectors + v] = fma<Arch>(of_a, of_b[v], sum[y * vectors + v]);
                    }
                }
            }
            if constexpr (blocks) total.add(sum);
        }
        float* c = product.c + row * product.n + column;
        PRIMSEL_UNROLL
        for (std::size_t y = 0; y < height; ++y) {
            PRIMSEL_UNROLL
            for (std::size_t v = 0; v < vectors; ++v) {
                const std::size_t i = y * vectors + v;
                if constexpr (blocks) sum[i] = total.get(i, 1);
                op::detail::store_up_to<Arch>(c + y * product.n + v * width, sum[i], count - v * width);
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
