#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/cache_sizes.hpp>
#include <primsel/core/fixed_string.hpp>
#include <primsel/primitive/detail/pixel_sums.hpp>
#include <primsel/primitive/detail/winograd_tiles.hpp>
#include <primsel/primitive/primitive.hpp>
#include <primsel/primitive/winograd.hpp>
#include <primsel/tensor/transpose.hpp>

#include <algorithm>

namespace primsel::inline PRIMSEL_ABI {

/// The gradient of the weights by Winograd's minimal filtering, as the gradient of the sum of all tiles' results. Tiles
/// of the image are transformed as in the forward pass. Tiles of the gradient are transformed by the transpose of the
/// output transform. Each tap is then a product of c x tiles and tiles x k; the transpose of the kernel transform gives
/// the gradient. Tiles have m x m results, kernels are r x r.
template <int m, int r, class P = DefaultPoints<m + r - 2>>
struct WinogradWeightGradient {
private:
    using Forward = Winograd<m, r, 16, P>;
    using Tiles = primitive::detail::WinogradTiles<m, r, P>;
    static constexpr int size = Tiles::size, taps = Tiles::taps, vector = 16;

public:
    static constexpr auto id = FixedString("weight-gradient-") + Forward::id;
    static constexpr Family family = Forward::family;
    static constexpr Pass pass = Pass::weight_gradient;
    using in_layout = hwc;
    using out_layout = chw;
    static constexpr bool whole_batch = true, mixes_pixels = true;
    static constexpr double error_bound = Forward::error_bound;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) { return Forward::supports(s); }

    /// Returns the floats of zeros, the transformed tiles of a block, and the sums of their products.
    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t, int images) {
        return zeros(s) + taps * (tiles_at_once(s, images) * tile_floats(s) + sums_of_tap(s));
    }

    /// In each block, first tiles and then taps are processed in parallel; at the end, channels.
    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        std::fill_n(args.scratch, zeros(s), 0.0F);
        const std::size_t tiles = tiles_of(s, args.images), most = tiles_at_once(s, args.images);
        float* const v = args.scratch + zeros(s);
        float* const z = v + taps * most * v_stride(s);
        float* const sums = z + taps * most * z_stride(s);
        for (std::size_t first = 0; first < tiles; first += most) {
            const std::size_t count = std::min(most, tiles - first);
            args.executor.parallel_for(count, [&](std::size_t i, std::size_t) {
                transform_tile(s, args, first + i, v + i * v_stride(s), count * v_stride(s), z + i * z_stride(s),
                               count * z_stride(s));
            });
            args.executor.parallel_for(taps, [&](std::size_t tap, std::size_t) {
                add_products<Arch>(s,
                                   {.a = v + tap * count * v_stride(s),
                                    .b = z + tap * count * z_stride(s),
                                    .a_steps = {v_stride(s), 0, 0},
                                    .b_steps = {z_stride(s), 0, 0},
                                    .columns = static_cast<int>(count),
                                    .rows = 1,
                                    .images = 1},
                                   first > 0, sums + tap * sums_of_tap(s));
            });
        }
        args.executor.parallel_for(static_cast<std::size_t>(s.c),
                                   [&](std::size_t c, std::size_t) { transform_back(s, sums, c, args.dst); });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s, int images) {
        const double tiles = static_cast<double>(tiles_of(s, images)),
                     most = static_cast<double>(tiles_at_once(s, images));
        const double in = tiles * taps * s.c, out = tiles * taps * s.k,
                     sums = static_cast<double>(taps * sums_of_tap(s)), passes = 2.0 * size;
        const double in_cache = 4 * taps * most * static_cast<double>(tile_floats(s));
        const double blocks = std::max(1.0, tiles / most);
        return Work{}
            .add({.rate = Rate::scalar, .operations = tiles * (taps + m * m), .bytes = 0, .working_set = 0})
            .add(primitive::detail::transform_phase<Arch, 16>(s.c, tiles * taps * passes, 8 * in, in_cache))
            .add(primitive::detail::transform_phase<Arch, 16>(s.k, tiles * taps * passes, 8 * out, in_cache))
            .add({.rate = Rate::gemm,
                  .operations = 2 * tiles * sums,
                  .bytes = 4 * (in + out) + 8 * sums * blocks,
                  .working_set = in_cache + 4 * sums})
            .add({.rate = Rate::registers,
                  .operations = sums * passes,
                  .bytes = 4 * sums + 8.0 * static_cast<double>(s.kernel_size()),
                  .working_set = 4 * sums})
            // The gradients of a vector of kernels are stored one by one.
            .add({.rate = Rate::scalar,
                  .operations = static_cast<double>(s.kernel_size()),
                  .bytes = 0,
                  .working_set = 0});
    }

private:
    [[nodiscard]] static constexpr std::size_t zeros(ConvShape const& s) {
        return round_up_floats(static_cast<std::size_t>(std::max(s.c, s.k)));
    }
    [[nodiscard]] static constexpr std::size_t tiles_of(ConvShape const& s, int images) {
        return static_cast<std::size_t>(Tiles::rows(s) * Tiles::columns(s)) * static_cast<std::size_t>(images);
    }
    /// Returns k rounded up to whole vectors, which are filled with zeros.
    [[nodiscard]] static constexpr std::size_t columns(ConvShape const& s) {
        return static_cast<std::size_t>((s.k + vector - 1) / vector * vector);
    }
    [[nodiscard]] static constexpr std::size_t v_stride(ConvShape const& s) {
        return primitive::detail::tile_stride(s.c);
    }
    [[nodiscard]] static constexpr std::size_t z_stride(ConvShape const& s) {
        return primitive::detail::tile_stride(s.k);
    }
    /// Returns the floats of one tap of a tile: those of the image plus those of the gradient.
    [[nodiscard]] static constexpr std::size_t tile_floats(ConvShape const& s) { return v_stride(s) + z_stride(s); }
    [[nodiscard]] static constexpr std::size_t sums_of_tap(ConvShape const& s) {
        return static_cast<std::size_t>(s.c) * columns(s);
    }
    /// Returns the tiles of a block, which fit L2. If the sums do not fit L2, blocks are larger, so that reading and
    /// writing the sums is cheap beside the products.
    [[nodiscard]] static constexpr std::size_t tiles_at_once(ConvShape const& s, int images) {
        const std::size_t room = taps * sums_of_tap(s) > l2_floats ? 4 * l2_floats : l2_floats;
        const std::size_t most = std::max<std::size_t>(room / (taps * tile_floats(s)), 48), all = tiles_of(s, images),
                          blocks = (all + most - 1) / most;
        return (all + blocks - 1) / blocks;
    }

    static void transform_tile(ConvShape const& s, ConvArgs const& args, std::size_t number, float* v,
                               std::size_t v_step, float* z, std::size_t z_step) noexcept {
        const std::size_t each = tiles_of(s, 1), image = number / each;
        const int tile = static_cast<int>(number % each);
        Tiles::template transform_input<vector>(s, args.src + image * s.in_shape().size(), args.scratch, tile, v,
                                                v_step);
        Tiles::template transform_gradient<vector>(s, args.gradient + image * s.out_shape().size(), args.scratch, tile,
                                                   z, z_step);
        if (columns(s) == static_cast<std::size_t>(s.k)) return;
        for (int tap = 0; tap < taps; ++tap) {
            float* of_tap = z + static_cast<std::size_t>(tap) * z_step;
            std::fill(of_tap + s.k, of_tap + columns(s), 0.0F);
        }
    }

    template <class Arch>
    static void add_products(ConvShape const& s, primitive::detail::PixelPairs pairs, bool accumulate,
                             float* sums) noexcept {
        constexpr int most = primitive::detail::most_pair_vectors<Arch>;
        const auto sum = [&]<int vectors>(std::integral_constant<int, vectors>) {
            primitive::detail::sum_pairs_of<Arch, vectors>(s.c, pairs, sums, columns(s), accumulate);
            pairs.b += vectors * lanes<Arch>;
            sums += vectors * lanes<Arch>;
        };
        primitive::detail::with_powers<most>(static_cast<int>(columns(s)) / lanes<Arch>, sum);
    }

    /// Transforms the sums of one channel back, for all kernels.
    static void transform_back(ConvShape const& s, const float* sums, std::size_t c, float* dst) noexcept {
        const auto k = static_cast<std::size_t>(s.k), depth = static_cast<std::size_t>(s.depth());
        alignas(alignment) float rows[r * r * vector];
        for (std::size_t first = 0; first < k; first += vector) {
            Tiles::template transform_sums<vector>(sums + c * columns(s) + first, sums_of_tap(s), rows);
            transpose_columns(rows, vector, dst + first * depth + c * (r * r), depth, r * r, 0,
                              std::min<std::size_t>(vector, k - first));
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
