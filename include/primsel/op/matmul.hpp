#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/cache_sizes.hpp>
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

/// Tiles of the result stay in registers while the matrices are read. Panels of a large second matrix are copied to
/// scratch first: their rows are neighbours there. Every sum runs through blocks of the first input's columns in their
/// order.
template <>
struct Op<MatMulParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(MatMulParams const&, std::span<const Shape> inputs, Shape output) {
        const std::size_t m = rows_of(inputs), n = static_cast<std::size_t>(output.w),
                          depth = static_cast<std::size_t>(inputs[0].w);
        const std::size_t products = static_cast<std::size_t>(output.c) * static_cast<std::size_t>(output.h) / m;
        const std::size_t tiles = m < tile_rows ? m : (m + tile_rows - 1) / tile_rows,
                          height = m < tile_rows ? 1 : tile_rows;
        const std::size_t columns = (n + lanes<Arch> - 1) / lanes<Arch> * lanes<Arch>,
                          panels = (n + panel<Arch> - 1) / panel<Arch>, blocks = (depth + block - 1) / block;
        const auto size_of = [](Shape shape) { return static_cast<double>(shape.size()); };
        const double copied = copies_panels(m, inputs[1]) ? 2 * size_of(inputs[1]) : 0;
        return {.operations = 2.0 * static_cast<double>(products * tiles * height * columns) * inputs[0].w,
                .rows = static_cast<double>(products * tiles * panels * blocks),
                .bytes = sizeof(float) * (size_of(inputs[0]) + size_of(inputs[1]) + copied + size_of(output)),
                .form = m < tile_rows ? "rows" : "tiles"};
    }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(MatMulParams const&, std::span<const Shape> inputs,
                                                    std::size_t workers) {
        return copies_panels(rows_of(inputs), inputs[1]) ? workers * panel_floats<Arch>(inputs[1]) : 0;
    }

    template <class Arch, StridedLayout L>
        requires std::same_as<L, chw>
    static void run(MatMulParams const&, OpArgs const& args) noexcept {
        products<Arch>(args);
    }

private:
    /// c = a * b: the m x n product of m x depth and depth x n. Rows of b are b_step apart.
    struct Product {
        const float *a, *b;
        float* c;
        std::size_t m, n, depth, b_step;
    };
    static constexpr std::size_t tile_rows = 6;
    /// The number of products summed in float before the sum is added to a double.
    static constexpr std::size_t block = 256;
    template <class Arch>
    static constexpr std::size_t tile_vectors = registers<Arch> == 32 ? 4 : 2;
    template <class Arch>
    static constexpr std::size_t panel = tile_vectors<Arch> * lanes<Arch>;

    /// The rows that meet the same second matrix: those of all channels, if it has only one.
    [[nodiscard]] static std::size_t rows_of(std::span<const Shape> inputs) {
        const auto h = static_cast<std::size_t>(inputs[0].h);
        return inputs[1].c == 1 ? static_cast<std::size_t>(inputs[0].c) * h : h;
    }
    /// Returns whether panels of b are copied. Several tiles read them, and L2 does not keep b between two tiles; or
    /// many tiles read them, and L1 does not keep a panel: rows that are a multiple of a KiB apart share a quarter of
    /// its sets.
    [[nodiscard]] static bool copies_panels(std::size_t m, Shape b) {
        if (m > 2 * tile_rows && b.pixels() > 2 * static_cast<std::size_t>(l2_floats)) return true;
        return m >= 32 * tile_rows && b.w % 256 == 0 && b.h > 48;
    }
    template <class Arch>
    [[nodiscard]] static std::size_t panel_floats(Shape b) {
        return round_up_floats(static_cast<std::size_t>(b.h) * panel<Arch>);
    }

    template <class Arch>
    static void products(OpArgs const& args) noexcept {
        const Shape a = args.src_shape[0], b = args.src_shape[1], c = args.dst_shape;
        const Product whole{args.src[0],
                            args.src[1],
                            args.dst,
                            rows_of(args.src_shape),
                            static_cast<std::size_t>(c.w),
                            static_cast<std::size_t>(a.w),
                            static_cast<std::size_t>(c.w)};
        const std::size_t a_step = a.c == 1 ? 0 : a.pixels(), b_step = b.c == 1 ? 0 : b.pixels();
        const std::size_t panels = (whole.n + panel<Arch> - 1) / panel<Arch>,
                          channels = b.c == 1 ? 1 : static_cast<std::size_t>(c.c);
        const bool copies = copies_panels(whole.m, b);
        const auto compute = [=, &args](std::size_t item, std::size_t worker) {
            const std::size_t matrix = item / panels, begin = item % panels * panel<Arch>;
            const std::size_t image = matrix / channels, channel = matrix % channels;
            Product one = whole;
            one.a += image * a.size() + channel * a_step;
            one.b += image * b.size() + channel * b_step + begin;
            one.c += matrix * one.m * one.n + begin;
            const std::size_t count = std::min(panel<Arch>, one.n - begin);
            if (copies) {
                float* const to = args.scratch + worker * panel_floats<Arch>(b);
                one.b_step = (count + lanes<Arch> - 1) / lanes<Arch> * lanes<Arch>;
                for (std::size_t row = 0; row < one.depth; ++row) {
                    copy_row<Arch>(one.b + row * one.n, to + row * one.b_step, count);
                }
                one.b = to;
            }
            one.depth > block ? columns<Arch, true>(one, count) : columns<Arch, false>(one, count);
        };
        op::detail::for_ranges(args.executor, static_cast<std::size_t>(args.batch) * channels * panels,
                               whole.m * whole.depth,
                               [&compute](std::size_t first, std::size_t last, std::size_t worker) {
                                   for (std::size_t item = first; item < last; ++item) compute(item, worker);
                               });
    }

    /// Copies `count` floats and fills their last vector with zeros.
    template <class Arch>
    static void copy_row(const float* src, float* dst, std::size_t count) noexcept {
        std::size_t i = 0;
        for (; i + lanes<Arch> <= count; i += lanes<Arch>) store<Arch>(dst + i, load<Arch>(src + i));
        if (i < count) store<Arch>(dst + i, op::detail::load_up_to<Arch>(src + i, count - i));
    }

    /// Computes the first `count` columns of a product.
    template <class Arch, bool blocks, std::size_t vectors = tile_vectors<Arch>>
    static void columns(Product const& product, std::size_t count) noexcept {
        if constexpr (vectors > 1) {
            if (count <= (vectors - 1) * lanes<Arch>) return columns<Arch, blocks, vectors - 1>(product, count);
        }
        if (product.m < tile_rows) {
            for (std::size_t row = 0; row < product.m; ++row) tile<Arch, 1, vectors, blocks>(product, row, count);
            return;
        }
        for (std::size_t row = 0; row < product.m; row += tile_rows) {
            // The last tile overlaps the one before and computes the same bits again.
            tile<Arch, tile_rows, vectors, blocks>(product, std::min(row, product.m - tile_rows), count);
        }
    }

    /// Computes a tile of `count` columns, of which only the last vector may be incomplete.
    template <class Arch, std::size_t height, std::size_t vectors, bool blocks>
    static void tile(Product const& product, std::size_t row, std::size_t count) noexcept {
        using V = Floats<Arch>;
        constexpr std::size_t width = lanes<Arch>, last_vector = (vectors - 1) * width;
        const float *a = product.a + row * product.depth, *b = product.b;
        const bool whole = product.b_step % width == 0 || count == vectors * width;
        struct Nothing {};
        std::conditional_t<blocks, op::detail::LaneSums<Arch, height * vectors>, Nothing> total{};
        V sum[height * vectors];
        const auto add = [&](std::size_t first, std::size_t last, auto const& load_last) {
            for (std::size_t i = first; i < last; ++i, b += product.b_step) {
                V of_b[vectors];
                PRIMSEL_UNROLL
                for (std::size_t v = 0; v + 1 < vectors; ++v) of_b[v] = load<Arch>(b + v * width);
                of_b[vectors - 1] = load_last(b + last_vector);
                PRIMSEL_UNROLL
                for (std::size_t y = 0; y < height; ++y) {
                    const V of_a(a[y * product.depth + i]);
                    PRIMSEL_UNROLL
                    for (std::size_t v = 0; v < vectors; ++v) {
                        sum[y * vectors + v] = fma<Arch>(of_a, of_b[v], sum[y * vectors + v]);
                    }
                }
            }
        };
        for (std::size_t i = 0; i < product.depth;) {
            PRIMSEL_UNROLL
            for (V& one : sum) one = V(0.0F);
            const std::size_t last = blocks ? std::min(i + block, product.depth) : product.depth;
            if (whole) {
                add(i, last, [](const float* src) { return load<Arch>(src); });
            } else {
                add(i, last, [&](const float* src) { return op::detail::load_up_to<Arch>(src, count - last_vector); });
            }
            i = last;
            if constexpr (blocks) total.add(sum);
        }
        float* c = product.c + row * product.n;
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
