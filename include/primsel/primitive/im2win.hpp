#pragma once

#include <primsel/core/fixed_string.hpp>
#include <primsel/primitive/detail/strip.hpp>
#include <primsel/primitive/detail/tap.hpp>
#include <primsel/primitive/primitive.hpp>

#include <algorithm>
#include <cmath>

namespace primsel::inline PRIMSEL_ABI {

/// im2win (Lu, Chu and Liu 2022, arXiv 2306.14320). For every output row, the image's rows under the kernel are stored
/// column by column, so that each output's window is one run. An output is the dot product of that run and a kernel.
/// Vectors run along the window; tiles of four columns by four kernels share their loads.
struct Im2Win {
    static constexpr FixedString id = "im2win";
    static constexpr Family family = Family::other;
    using in_layout = hwc;
    using out_layout = hwc;
    static constexpr bool fuses_epilogue = true, packs_for_any_size = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) {
        if (s.groups != 1) return Support::no("needs one group");
        return s.dilated() ? Support::no("needs dilation 1") : Support::yes();
    }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        return workers * primitive::detail::strip_floats(s);
    }
    /// Packs each kernel in the order of the windows: fw, fh, c.
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        for (int k = 0; k < s.k; ++k) {
            for (int fw = 0; fw < s.fw; ++fw) {
                for (int fh = 0; fh < s.fh; ++fh) {
                    for (int c = 0; c < s.c; ++c) *dst++ = kernel[primitive::detail::kernel_index(s, k, c, fh, fw)];
                }
            }
        }
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        args.executor.parallel_for(
            static_cast<std::size_t>(s.out_h()), [&s, &args](std::size_t row, std::size_t worker) {
                float* strip = args.scratch + worker * primitive::detail::strip_floats(s);
                primitive::detail::lower_to_strip(s, args.src, static_cast<int>(row), strip);
                for (int k = 0; k < s.k; k += block) {
                    const int kernels = std::min(block, s.k - k);
                    for (int ow = 0; ow < s.out_w(); ow += block) {
                        const int columns = std::min(block, s.out_w() - ow);
                        dot<Arch>(s, args, strip, {static_cast<int>(row), ow, columns, k, kernels});
                    }
                }
            });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const double strip = 4.0 * static_cast<double>(primitive::detail::strip_floats(s)),
                     weights = 4.0 * static_cast<double>(s.kernel_size());
        const double tiles =
            std::ceil(s.out_w() / static_cast<double>(block)) * std::ceil(s.k / static_cast<double>(block)) * s.out_h();
        const double steps = std::ceil(s.depth() / static_cast<double>(lanes<Arch>)) * lanes<Arch>;
        return Work{}
            .add({.rate = Rate::vector,
                  .operations = 0,
                  .bytes = 2 * strip * s.out_h(),
                  .working_set = strip,
                  .blocks = 1.0 * s.out_h(),
                  .loops = 1})
            .add({.rate = Rate::gemm,
                  .operations = tiles * 2 * block * block * (steps + 8.0 * lanes<Arch>),
                  .bytes = tiles * 2 * block * 4.0 * s.depth(),
                  .working_set = strip + weights,
                  .blocks = 1.0 * s.out_h()});
    }

private:
    /// The columns and the kernels of a tile.
    static constexpr int block = 4;

    /// The row, the first of the columns, and the first of the kernels of a tile, and how many it has.
    struct Tile {
        int oh, ow, columns, k, kernels;
    };
    /// Computes the dot products of a tile's windows with its kernels. At the edges the last window or kernel is
    /// repeated in place of missing ones.
    template <class Arch>
    static void dot(ConvShape const& s, ConvArgs const& args, const float* strip, Tile tile) noexcept {
        const auto [oh, ow, columns, k, kernels] = tile;
        const int depth = s.depth(), width = lanes<Arch>;
        const float *a[block], *b[block];
        for (int i = 0; i < block; ++i) {
            a[i] = strip + static_cast<std::size_t>((ow + std::min(i, columns - 1)) * s.stride_w * s.fh) *
                               static_cast<std::size_t>(s.c);
            b[i] =
                args.weights + static_cast<std::size_t>(k + std::min(i, kernels - 1)) * static_cast<std::size_t>(depth);
        }
        Floats<Arch> sums[block][block];
        PRIMSEL_UNROLL
        for (int i = 0; i < block; ++i) {
            PRIMSEL_UNROLL
            for (int j = 0; j < block; ++j) sums[i][j] = broadcast<Arch>(0.0F);
        }
        int at = 0;
        for (; at + width <= depth; at += width) {
            Floats<Arch> kernel[block];
            PRIMSEL_UNROLL
            for (int j = 0; j < block; ++j) kernel[j] = load<Arch>(b[j] + at);
            PRIMSEL_UNROLL
            for (int i = 0; i < block; ++i) {
                const auto window = load<Arch>(a[i] + at);
                PRIMSEL_UNROLL
                for (int j = 0; j < block; ++j) sums[i][j] = fma<Arch>(window, kernel[j], sums[i][j]);
            }
        }
        for (int i = 0; i < columns; ++i) {
            alignas(64) float totals[block];
            add_up<Arch>(sums[i]).store_aligned(totals);
            const std::size_t to = static_cast<std::size_t>(oh * s.out_w() + ow + i) * static_cast<std::size_t>(s.k) +
                                   static_cast<std::size_t>(k);
            for (int j = 0; j < kernels; ++j) {
                float total = totals[j];
                for (int rest = at; rest < depth; ++rest) total += a[i][rest] * b[j][rest];
                if (args.bias != nullptr) total += args.bias[k + j];
                if (args.residual != nullptr) total += args.residual[to + static_cast<std::size_t>(j)];
                args.dst[to + static_cast<std::size_t>(j)] = clamp(total, args.clamp.low, args.clamp.high);
            }
        }
    }

    /// Returns the totals of four vectors. Each is folded to four lanes; a transpose then adds the lanes of all four.
    template <class Arch>
    [[nodiscard]] PRIMSEL_INLINE static FourFloats add_up(Floats<Arch> const (&vectors)[block]) {
        static_assert(block == 4);
        FourFloats folded[block];
        PRIMSEL_UNROLL
        for (int j = 0; j < block; ++j) {
            alignas(64) float values[lanes<Arch>];
            vectors[j].store_aligned(values);
            folded[j] = FourFloats::load_aligned(values);
            for (int i = 4; i < lanes<Arch>; i += 4) folded[j] += FourFloats::load_aligned(values + i);
        }
        transpose(folded[0], folded[1], folded[2], folded[3]);
        return (folded[0] + folded[1]) + (folded[2] + folded[3]);
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
