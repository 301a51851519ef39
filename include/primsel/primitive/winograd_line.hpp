#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/cache_sizes.hpp>
#include <primsel/core/fixed_string.hpp>
#include <primsel/primitive/detail/winograd_line_tiles.hpp>
#include <primsel/primitive/primitive.hpp>

#include <algorithm>

namespace primsel::inline PRIMSEL_ABI {

/// Winograd's minimal filtering in one dimension, F(m, r), summed over the kernel's other dimension. The square r x r
/// kernel along rows is the papers' winograd-m-r; there are versions for 1 x r and r x 1 kernels. Each of the m + r - 1
/// taps is the sum, over the kernel's lines, of products of tiles x c and c x k. The lines are summed one by one, since
/// a single sum over all of them would round more.
template <int m, int r, int vec, KernelForm form = KernelForm::square, class P = DefaultPoints<m + r - 2>>
struct WinogradLine {
private:
    using Tiles = primitive::detail::WinogradLineTiles<m, r, form, P>;
    static constexpr int taps = Tiles::taps;
    static constexpr auto scalar_id = [] {
        constexpr auto prefix = FixedString("winograd-") + fixed_decimal<m>() + "-";
        if constexpr (form == KernelForm::square)
            return prefix + fixed_decimal<r>();
        else if constexpr (form == KernelForm::row)
            return prefix + "1x" + fixed_decimal<r>();
        else
            return prefix + fixed_decimal<r>() + "x1";
    }();

public:
    static constexpr auto id = [] {
        if constexpr (vec == 1)
            return scalar_id + primitive::detail::PointsSuffix<P>::value;
        else
            return scalar_id + "-vec-" + fixed_decimal<vec>() + primitive::detail::PointsSuffix<P>::value;
    }();
    static constexpr Family family = form != KernelForm::square ? Family::other
                                     : r == 3                   ? Family::wino3
                                     : r == 5                   ? Family::wino5
                                                                : Family::other;
    using in_layout = hwc;
    using out_layout = hwc;
    static constexpr bool fuses_epilogue = true, strided_output = true, mixes_pixels = true, packs_for_any_size = true;
    /// Measured over depths up to 8192 channels; relative to the RMS of the output.
    static constexpr double error_bound = taps <= 4 ? 4e-5 : 2e-4;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) {
        if (s.fh != Tiles::fh || s.fw != Tiles::fw) return Support::no(Tiles::needed_kernel);
        if (s.strided()) return Support::no("needs stride 1");
        if (s.dilated()) return Support::no("needs dilation 1");
        return s.groups != 1 ? Support::no("needs one group") : Support::yes();
    }

    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        return taps * Tiles::lines * gemm::packed_size<Arch>(s.c, s.k);
    }
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        Tiles::template pack<Arch>(s, kernel, dst);
    }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        return workers * block_floats(s, lines_per_block(s));
    }

    /// Parallel over blocks of output lines; the lines of tiles between two blocks are transformed for both. If the
    /// blocks are few, the steps within each are parallel instead.
    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        const int step = lines_per_block(s), all = Tiles::out_lines(s);
        const auto blocks = static_cast<std::size_t>((all + step - 1) / step);
        const auto block = [&s, &args, step, all](std::size_t i, std::size_t worker, ExecutorRef executor) {
            const int first = static_cast<int>(i) * step;
            run_block<Arch>(s, args, first, std::min(first + step, all), args.scratch + worker * block_floats(s, step),
                            executor);
        };
        if (shares_within(blocks, args.executor.concurrency())) {
            for (std::size_t i = 0; i < blocks; ++i) block(i, 0, args.executor);
        } else {
            args.executor.parallel_for(blocks, [&block](std::size_t i, std::size_t worker) {
                Sequential sequential;
                block(i, worker, sequential);
            });
        }
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s, int /*images*/, int threads) {
        const int step = lines_per_block(s), lines = Tiles::out_lines(s);
        const double blocks = (lines + step - 1) / step, positions = Tiles::positions(s);
        const double columns = gemm::padded_columns<Arch>(s.k), depth = 1.0 * Tiles::lines * s.c;
        const double in_tiles = (lines + blocks * (Tiles::lines - 1)) * positions, out_tiles = lines * positions;
        const double u = 4.0 * taps * depth * columns, v = 4.0 * taps * in_tiles * s.c,
                     y = 4.0 * taps * out_tiles * s.k;
        const double in_cache = 4.0 * static_cast<double>(block_floats(s, step));
        const double passes = taps;
        // Loops within blocks of lines, or one over them.
        const bool within = shares_within(static_cast<std::size_t>(blocks), static_cast<std::size_t>(threads));
        const double loops = within ? blocks : 0, in_blocks = within ? (step + Tiles::lines - 1) * positions : blocks,
                     out_blocks = within ? step * positions : blocks;
        return Work{}
            .add({.rate = Rate::scalar,
                  .operations = in_tiles * taps + out_tiles * m,
                  .bytes = 8 * in_tiles * taps,
                  .working_set = 8.0 * taps,
                  .blocks = in_blocks})
            .add(primitive::detail::transform_phase<Arch, vec>(s.c, in_tiles * taps * passes, 2 * v, in_cache)
                     .shared_by(in_blocks, std::max(loops, 1.0)))
            .add({.rate = Rate::gemm,
                  .operations = taps * gemm::tile_operations<Arch>(out_tiles, s.k, depth),
                  .bytes = v * Tiles::lines + y + u * blocks,
                  .working_set = in_cache + u,
                  .blocks = within ? taps : blocks,
                  .loops = loops})
            .add(primitive::detail::transform_phase<Arch, vec>(s.k, out_tiles * taps * passes, y + y / 2, in_cache)
                     .shared_by(out_blocks, loops));
    }

private:
    /// Whether threads share the steps within each block.
    [[nodiscard]] static constexpr bool shares_within(std::size_t blocks, std::size_t threads) {
        return threads > 1 && blocks < 2 * threads;
    }
    [[nodiscard]] static constexpr std::size_t block_floats(ConvShape const& s, int out_lines) {
        const auto in = static_cast<std::size_t>(out_lines + Tiles::lines - 1),
                   out = static_cast<std::size_t>(out_lines);
        return static_cast<std::size_t>(taps * Tiles::positions(s)) *
               (in * primitive::detail::tile_stride(s.c) + out * primitive::detail::tile_stride(s.k));
    }
    /// Returns the output lines of a block: as many as leave the transformed tiles in L2, but at least four times the
    /// kernel's height, since the lines between two blocks are transformed twice.
    [[nodiscard]] static constexpr int lines_per_block(ConvShape const& s) {
        constexpr int room = l2_floats / 8 * 5;
        const int in = static_cast<int>(primitive::detail::tile_stride(s.c)),
                  out = static_cast<int>(primitive::detail::tile_stride(s.k));
        const int fitting = (room / (taps * Tiles::positions(s)) - (Tiles::lines - 1) * in) / (in + out);
        return std::min(std::max(4 * Tiles::lines, fitting), Tiles::out_lines(s));
    }

    template <class Arch>
    static void run_block(ConvShape const& s, ConvArgs const& args, int first, int last, float* scratch,
                          ExecutorRef executor) noexcept {
        constexpr bool many = !gemm::tile_set<Arch>.few_channels;
        const std::size_t v_stride = primitive::detail::tile_stride(s.c),
                          y_stride = primitive::detail::tile_stride(s.k);
        const int positions = Tiles::positions(s);
        const auto in_tiles = static_cast<std::size_t>((last - first + Tiles::lines - 1) * positions),
                   out_tiles = static_cast<std::size_t>((last - first) * positions);
        float* v = scratch;
        float* y = scratch + taps * in_tiles * v_stride;
        executor.parallel_for(in_tiles, [&](std::size_t tile, std::size_t) {
            const int line = first + static_cast<int>(tile) / positions, position = static_cast<int>(tile) % positions;
            Tiles::template transform_input<vec, many>(s, args.src, line, position, v + tile * v_stride,
                                                       in_tiles * v_stride);
        });
        executor.parallel_for(taps, [&](std::size_t tap, std::size_t) {
            for (std::size_t line = 0; line < Tiles::lines; ++line) {
                const std::size_t below = line * static_cast<std::size_t>(positions);
                const gemm::TileArgs product{.a = v + (tap * in_tiles + below) * v_stride,
                                             .a_stride = v_stride,
                                             .run = s.c,
                                             .fetch_end = args.weights + packed_floats<Arch>(s),
                                             .c = y + tap * out_tiles * y_stride,
                                             .c_stride = y_stride,
                                             .accumulate = line > 0};
                gemm::multiply_panels<Arch>(
                    product, 0, static_cast<int>(out_tiles), s.k,
                    args.weights + (tap * Tiles::lines + line) * gemm::packed_size<Arch>(s.c, s.k));
            }
        });
        executor.parallel_for(out_tiles, [&](std::size_t tile, std::size_t) {
            const int line = first + static_cast<int>(tile) / positions, position = static_cast<int>(tile) % positions;
            Tiles::template transform_output<vec, many>(s, args, line, position, y + tile * y_stride,
                                                        out_tiles * y_stride);
        });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
