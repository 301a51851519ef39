#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/cache_sizes.hpp>
#include <primsel/core/fixed_string.hpp>
#include <primsel/primitive/detail/winograd_tiles.hpp>
#include <primsel/primitive/primitive.hpp>

#include <algorithm>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// Winograd's minimal filtering in two dimensions, F(m x m, r x r) (Lavin and Gray 2016). Tiles of the image and the
/// kernel are transformed. Each of the (m + r - 1)^2 taps is then a product of tiles x c and c x k, whose results are
/// transformed back. `vec` channels are transformed side by side; 1 is the scalar version. The interpolation points
/// decide the numerical error. A convolution of stride 2 is the sum of four of stride 1, over the pixels of even and
/// odd rows and columns.
template <int m, int r, int vec, class P = DefaultPoints<m + r - 2>, int stride = 1>
struct Winograd {
private:
    using Tiles = primitive::detail::WinogradTiles<m, r, P, stride>;
    static constexpr int taps = Tiles::taps;
    template <int n>
    static constexpr auto square = fixed_decimal<n>() + "x" + fixed_decimal<n>();
    static constexpr auto scalar_id = [] {
        constexpr auto name = FixedString("winograd-") + square<m> + "-" + square<r>;
        if constexpr (stride == 1)
            return name;
        else
            return name + "-stride-" + fixed_decimal<stride>();
    }();

public:
    static constexpr auto id = [] {
        if constexpr (vec == 1)
            return scalar_id + primitive::detail::PointsSuffix<P>::value;
        else
            return scalar_id + "-vec-" + fixed_decimal<vec>() + primitive::detail::PointsSuffix<P>::value;
    }();
    static constexpr Family family = stride != 1 ? Family::other
                                     : r == 3    ? Family::wino3
                                     : r == 5    ? Family::wino5
                                                 : Family::other;
    using in_layout = hwc;
    using out_layout = hwc;
    static constexpr bool fuses_epilogue = true, strided_output = true, whole_batch = true, mixes_pixels = true,
                          packs_for_any_size = true;
    /// Measured over depths up to 8192 channels; relative to the RMS of the output.
    static constexpr double error_bound = m + r <= 5 ? 4e-5 : m <= 4 ? 2e-4 : 4e-4;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) {
        if (s.fh != r || s.fw != r) return Support::no(r == 3 ? "needs a 3x3 kernel" : "needs a 5x5 kernel");
        if (s.stride_h != stride || s.stride_w != stride)
            return Support::no(stride == 1 ? "needs stride 1" : "needs stride 2");
        if (s.dilated()) return Support::no("needs dilation 1");
        return s.groups != 1 ? Support::no("needs one group") : Support::yes();
    }

    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        return taps * gemm::packed_size<Arch>(s.c, s.k);
    }
    template <class Arch>
    static void pack(ConvShape const& s, KernelView kernel, float* dst, ExecutorRef executor) {
        Tiles::template pack<Arch>(s, kernel, dst, executor);
    }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers, int images) {
        const Blocks blocks = blocks_of<Arch>(s, workers, images);
        return zeros(s) + (blocks.shared ? 2 : workers) * block_floats(s, blocks.tiles);
    }

    /// Parallel over blocks of tiles across images. If the blocks are few, the steps within each are parallel instead.
    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        const Blocks blocks = blocks_of<Arch>(s, args.executor.concurrency(), args.images);
        const int tiles = tiles_of(s) * args.images;
        std::fill_n(args.scratch, zeros(s), 0.0F);
        const auto range = [&](std::size_t block) {
            const int first = static_cast<int>(block) * blocks.tiles;
            return std::pair{first, std::min(first + blocks.tiles, tiles)};
        };
        const std::size_t floats = block_floats(s, blocks.tiles);
        float* y = args.scratch + zeros(s);
        if (blocks.shared) {
            for (int block = 0; block < blocks.count; ++block) {
                const auto [first, last] = range(static_cast<std::size_t>(block));
                run_block<Arch>(s, args, first, last, y + floats, y, args.executor);
            }
        } else {
            args.executor.parallel_for(static_cast<std::size_t>(blocks.count),
                                       [&](std::size_t block, std::size_t worker) {
                                           const auto [first, last] = range(block);
                                           Sequential sequential;
                                           // The product of a tap overwrites the transformed tiles of the tap before,
                                           // which are no longer needed.
                                           float* const to = y + worker * floats;
                                           const std::size_t tap = strides<Arch>(s, blocks.tiles, s.c).tap;
                                           run_block<Arch>(s, args, first, last, to + tap, to, sequential);
                                       });
        }
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s, int images, int threads) {
        const Blocks blocks = blocks_of<Arch>(s, static_cast<std::size_t>(threads), images);
        const double tiles = 1.0 * tiles_of(s) * images, columns = gemm::padded_columns<Arch>(s.k);
        const double u = 4.0 * taps * s.c * columns, v = 4.0 * taps * tiles * s.c, y = 4.0 * taps * tiles * s.k;
        const double in_cache = 4.0 * static_cast<double>(block_floats(s, blocks.tiles));
        const double passes = 2 * Tiles::Matrices::operations;
        const double shared = blocks.shared ? blocks.tiles : blocks.count, of_taps = blocks.shared ? taps : shared,
                     loops = blocks.shared ? blocks.count : 0;
        return Work{}
            .add({.rate = Rate::scalar,
                  .operations = tiles * (taps + m * m),
                  .bytes = 8 * tiles * taps,
                  .working_set = 8.0 * taps,
                  .blocks = shared})
            .add(primitive::detail::transform_phase<Arch, vec>(s.c, tiles * taps * passes, 2 * v, in_cache)
                     .shared_by(shared, std::max(loops, 1.0)))
            .add({.rate = Rate::gemm,
                  .operations = taps * gemm::tile_operations<Arch>(tiles, s.k, s.c),
                  .bytes = v + y + u * blocks.count,
                  .working_set = in_cache + u,
                  .blocks = of_taps,
                  .loops = loops})
            .add(primitive::detail::transform_phase<Arch, vec>(s.k, tiles * taps * passes, y + y / 2, in_cache)
                     .shared_by(shared, loops));
    }

private:
    /// The number of blocks of tiles and tiles of each, and whether the work within a block is divided among threads.
    struct Blocks {
        int count, tiles;
        bool shared;
    };

    [[nodiscard]] static constexpr int tiles_of(ConvShape const& s) { return Tiles::rows(s) * Tiles::columns(s); }
    [[nodiscard]] static constexpr std::size_t zeros(ConvShape const& s) {
        return round_up_floats(static_cast<std::size_t>(s.c));
    }
    /// Returns the floats of one tap of a block: its transformed tiles or their products. It is an odd number of cache
    /// lines, so that the taps of a tile spread over the cache's sets.
    [[nodiscard]] static constexpr std::size_t slot_floats(ConvShape const& s, int tiles) {
        constexpr std::size_t line = alignment / sizeof(float);
        return (static_cast<std::size_t>(tiles) * primitive::detail::tile_stride(std::max(s.c, s.k)) / line | 1) * line;
    }
    /// Returns the floats of all taps of a block, and of one tap more.
    [[nodiscard]] static constexpr std::size_t block_floats(ConvShape const& s, int tiles) {
        return (taps + 1) * slot_floats(s, tiles);
    }

    /// The distances in floats between tiles, and between taps, of a block.
    struct Strides {
        std::size_t tile, tap;
    };
    /// Returns the strides of transformed tiles, or of products, with so many channels. With 36 taps and more, a
    /// transform would touch as many pages at a time if the tiles of a tap were neighbours; so the taps of a tile are.
    /// It gains up to 5 % by AVX2 on a Zen 3, nothing with fewer taps or with a stride.
    template <class Arch>
    [[nodiscard]] static constexpr Strides strides(ConvShape const& s, int tiles, int channels) {
        constexpr bool by_tiles = registers<Arch> == 16 && taps >= 36 && stride == 1;
        const std::size_t each = primitive::detail::tile_stride(by_tiles ? std::max(s.c, s.k) : channels);
        return by_tiles ? Strides{(taps + 1) * each, each} : Strides{each, slot_floats(s, tiles)};
    }
    /// Returns blocks whose transformed tiles stay in L2 beside a panel of the kernels. If reading large kernels once
    /// for each block costs more than that saves, blocks are larger: twice the size of L2, or for kernels that are
    /// no longer small beside L3 four times.
    template <class Arch>
    [[nodiscard]] static constexpr Blocks blocks_of(ConvShape const& s, std::size_t workers, int images) {
        constexpr std::size_t l2 = l2_floats / 2;
        constexpr int step = gemm::tile_rows<Arch>;
        const int tiles = tiles_of(s) * images;
        const std::size_t kernels =
            static_cast<std::size_t>(taps) * static_cast<std::size_t>(s.c) * static_cast<std::size_t>(s.k);
        const std::size_t room = kernels > 24 * l2 ? 8 * l2 : kernels > 2 * l2 + l2 / 2 ? 4 * l2 : l2;
        const auto most = static_cast<int>(room / block_floats(s, 1));
        const int wanted = std::clamp(most / step * step, step, (tiles + step - 1) / step * step);
        const int count = (tiles + wanted - 1) / wanted, threads = static_cast<int>(workers);
        if (threads > 1 && count < 2 * threads) return {count, (tiles + count - 1) / count, true};
        // A multiple of the number of threads, so that each thread gets as many blocks.
        const int even = std::min((count + threads - 1) / threads * threads, tiles), size = (tiles + even - 1) / even;
        return {(tiles + size - 1) / size, size, false};
    }

    /// The image of a tile, and the tile's number within it.
    struct Place {
        std::size_t image;
        int tile;
    };
    [[nodiscard]] static Place place(ConvShape const& s, int tile) noexcept {
        const int each = tiles_of(s);
        return {static_cast<std::size_t>(tile / each), tile % each};
    }

    /// Computes one block. v and y hold, tap after tap, the transformed tiles and their products with the kernels.
    template <class Arch>
    static void run_block(ConvShape const& s, ConvArgs const& args, int first, int last, float* v, float* y,
                          ExecutorRef executor) noexcept {
        constexpr bool many = !gemm::tile_set<Arch>.few_channels;
        const int tiles = last - first;
        const Strides in = strides<Arch>(s, tiles, s.c), out = strides<Arch>(s, tiles, s.k);
        executor.parallel_for(static_cast<std::size_t>(tiles), [&](std::size_t tile, std::size_t) {
            const auto [image, of_image] = place(s, first + static_cast<int>(tile));
            Tiles::template transform_input<vec, many>(s, args.src + image * s.in_shape().size(), args.scratch,
                                                       of_image, v + tile * in.tile, in.tap);
        });
        executor.parallel_for(taps, [&](std::size_t tap, std::size_t) {
            const gemm::TileArgs product{.a = v + tap * in.tap,
                                         .a_stride = in.tile,
                                         .run = s.c,
                                         .fetch_end = args.weights + packed_floats<Arch>(s),
                                         .near_parts = gemm::l1_holds_parts(),
                                         .c = y + tap * out.tap,
                                         .c_stride = out.tile};
            gemm::multiply_panels<Arch>(product, 0, tiles, s.k, args.weights + tap * gemm::packed_size<Arch>(s.c, s.k));
        });
        executor.parallel_for(static_cast<std::size_t>(tiles), [&](std::size_t tile, std::size_t) {
            const auto [image, of_image] = place(s, first + static_cast<int>(tile));
            Tiles::template transform_output<vec, many>(s, args, image * s.out_pixels(), of_image, y + tile * out.tile,
                                                        out.tap);
        });
    }
};

/// F(m x m, 3 x 3) for stride 2: (2 m + 1)^2 products for m^2 outputs.
template <int m, int vec>
using StridedWinograd = Winograd<m, 3, vec, DefaultPoints<m + 1>, 2>;

}  // namespace primsel::inline PRIMSEL_ABI
