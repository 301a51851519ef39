#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/fixed_string.hpp>
#include <primsel/primitive/detail/pixel_sums.hpp>
#include <primsel/primitive/detail/tap.hpp>
#include <primsel/primitive/primitive.hpp>
#include <primsel/tensor/layout.hpp>
#include <primsel/tensor/transpose.hpp>

#include <algorithm>

namespace primsel::inline PRIMSEL_ABI {

/// The gradient of the weights in hwc, read where images and gradient are: for each tap the sums, over the pixels for
/// which it lies within the image, of the products of c channels there and the k of the gradient. Nothing is copied,
/// and what would be multiplied with padding is left out.
struct WeightGradientDirect {
    static constexpr FixedString id = "weight-gradient-direct";
    static constexpr Family family = Family::direct;
    static constexpr Pass pass = Pass::weight_gradient;
    using in_layout = hwc;
    using out_layout = chw;
    static constexpr bool whole_batch = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) {
        return s.group_k() >= vector ? Support::yes() : Support::no("needs 16 kernels a group");
    }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        return workers * sums_of_part<Arch>(s, workers);
    }

    /// Independent are panels of kernels and, of each, ranges of channels. A worker goes through all pixels, block
    /// after block; the sums of its part stay in L2 until they are put in their order.
    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        const int panels = panels_of<Arch>(s), ranges = ranges_of<Arch>(s, args.executor.concurrency());
        const std::size_t floats = sums_of_part<Arch>(s, args.executor.concurrency());
        args.executor.parallel_for(
            static_cast<std::size_t>(s.groups * panels * ranges), [=, &s, &args](std::size_t task, std::size_t worker) {
                const int i = static_cast<int>(task), range = i % ranges, k = i / ranges % panels * width<Arch>;
                const Part part{.group = i / (panels * ranges),
                                .k = k,
                                .kernels = std::min(s.group_k() - k, width<Arch>),
                                .c = range * s.group_c() / ranges,
                                .channels = (range + 1) * s.group_c() / ranges - range * s.group_c() / ranges};
                float* sums = args.scratch + worker * floats;
                for_blocks(s, args.images, [&](Block const& block) {
                    for (int tap = 0; tap < s.taps(); ++tap) add_tap<Arch>(s, args, part, block, tap, sums);
                });
                put_in_order(s, part, sums, args.dst);
            });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s, int images) {
        double pixels = 0;  // of all taps, each within the image
        for (int fh = 0; fh < s.fh; ++fh) {
            for (int fw = 0; fw < s.fw; ++fw)
                pixels += detail::tap_rows(s, fh).size() * detail::tap_columns(s, fw).size();
        }
        pixels *= images;
        const double in = 4.0 * images * static_cast<double>(s.in_shape().size()),
                     out = 4.0 * images * static_cast<double>(s.out_shape().size()),
                     kernel = 4.0 * static_cast<double>(s.kernel_size());
        const double blocks = std::max(1.0, images * static_cast<double>(s.out_pixels()) / block_pixels);
        return Work{}
            .add({.rate = Rate::gemm,
                  .operations = 2 * pixels * s.group_c() * s.k,
                  .bytes = in * panels_of<Arch>(s) + out * ranges_of<Arch>(s, 1) + 2 * kernel * blocks,
                  .working_set = in + out})
            .add({.rate = Rate::vector, .operations = 0, .bytes = 2 * kernel, .working_set = 2 * kernel});
    }

private:
    static constexpr int vector = 16;
    /// Pixels at once: what a panel reads of them stays in L1 for all taps and channels.
    static constexpr int block_pixels = 192;

    /// Floats of sums that stay in L2.
    static constexpr int sums_at_once = l2_floats / 4;
    template <class Arch>
    static constexpr int width = std::max(vector, detail::most_pair_vectors<Arch>* lanes<Arch>);

    template <class Arch>
    [[nodiscard]] static constexpr int panels_of(ConvShape const& s) {
        return (s.group_k() + width<Arch> - 1) / width<Arch>;
    }
    /// Ranges that a group's channels are divided into. Each reads all of its panel's gradient, so that there are as
    /// few as the caches and the threads allow.
    template <class Arch>
    [[nodiscard]] static constexpr int ranges_of(ConvShape const& s, std::size_t workers) {
        const int most = std::max(1, sums_at_once / (width<Arch> * s.taps()));
        const int tasks = workers == 1 ? 1 : 4 * static_cast<int>(workers);
        return std::min(s.group_c(),
                        std::max((s.group_c() + most - 1) / most, tasks / (panels_of<Arch>(s) * s.groups)));
    }
    template <class Arch>
    [[nodiscard]] static constexpr std::size_t sums_of_part(ConvShape const& s, std::size_t workers) {
        const int ranges = ranges_of<Arch>(s, workers), channels = (s.group_c() + ranges - 1) / ranges;
        const int columns = std::min(width<Arch>, (s.group_k() + vector - 1) / vector * vector);
        return round_up_floats(static_cast<std::size_t>(columns) * static_cast<std::size_t>(channels * s.taps()));
    }

    /// Kernels from k on and channels from c on, of a group. Its sums: tap after tap, a row for each channel.
    struct Part {
        int group, k, kernels, c, channels;

        /// A row has whole vectors: where the last kernels do not fill one, it takes some of those before once more.
        [[nodiscard]] int whole() const { return kernels / vector * vector; }
        [[nodiscard]] int twice() const { return kernels > whole() ? whole() + vector - kernels : 0; }
        [[nodiscard]] int columns() const { return kernels + twice(); }
    };
    /// Rows of some images.
    struct Block {
        int image, images, row, rows;
    };

    /// Calls visit(block) for blocks of about as many pixels, which are all there are.
    template <class Visit>
    static void for_blocks(ConvShape const& s, int images, Visit const& visit) noexcept {
        const int pixels = static_cast<int>(s.out_pixels());
        if (pixels <= block_pixels) {
            const int most = block_pixels / pixels;
            for (int image = 0; image < images; image += most) {
                visit(Block{image, std::min(most, images - image), 0, s.out_h()});
            }
            return;
        }
        const int rows = std::max(1, block_pixels / s.out_w()), blocks = (s.out_h() + rows - 1) / rows;
        for (int i = 0; i < images * blocks; ++i) {
            const int first = i % blocks * s.out_h() / blocks, last = (i % blocks + 1) * s.out_h() / blocks;
            visit(Block{i / blocks, 1, first, last - first});
        }
    }

    template <class Arch>
    static void add_tap(ConvShape const& s, ConvArgs const& args, Part const& part, Block const& block, int tap,
                        float* sums) noexcept {
        detail::PixelPairs p = pairs_of(s, args, part, block, tap);
        sums += static_cast<std::size_t>(tap * part.channels * part.columns());
        const auto sum = [&]<int vectors>(std::integral_constant<int, vectors>) {
            const bool accumulate = block.image > 0 || block.row > 0;
            detail::sum_pairs_of<Arch, vectors>(part.channels, p, sums, static_cast<std::size_t>(part.columns()),
                                                accumulate);
            p.b += vectors * lanes<Arch>;
            sums += vectors * lanes<Arch>;
        };
        detail::with_powers<detail::most_pair_vectors<Arch>>(part.whole() / lanes<Arch>, sum);
        if (part.twice() == 0) return;
        p.b -= part.twice();
        detail::with_powers<detail::most_pair_vectors<Arch>>(vector / lanes<Arch>, sum);
    }
    /// The pixels of a block for which a tap lies within the image, and those of the gradient.
    [[nodiscard]] static detail::PixelPairs pairs_of(ConvShape const& s, ConvArgs const& args, Part const& part,
                                                     Block const& block, int tap) noexcept {
        const int fh = tap / s.fw, fw = tap % s.fw;
        const auto c = static_cast<std::size_t>(s.c), k = static_cast<std::size_t>(s.k),
                   w = static_cast<std::size_t>(s.w), out_w = static_cast<std::size_t>(s.out_w()),
                   image = static_cast<std::size_t>(block.image);
        const detail::Range tap_rows = detail::tap_rows(s, fh), columns = detail::tap_columns(s, fw);
        const detail::Range rows{std::max(tap_rows.begin, block.row), std::min(tap_rows.end, block.row + block.rows)};
        detail::PixelPairs p{.a = args.src + image * s.in_shape().size(),
                             .b = args.gradient + image * s.out_shape().size(),
                             .a_steps = {static_cast<std::size_t>(s.stride_w) * c,
                                         static_cast<std::size_t>(s.stride_h) * w * c, s.in_shape().size()},
                             .b_steps = {k, out_w * k, s.out_shape().size()},
                             .columns = columns.size(),
                             .rows = rows.size(),
                             .images = block.images};
        p.a += part.group * s.group_c() + part.c;
        p.b += part.group * s.group_k() + part.k;
        if (p.columns == 0 || p.rows == 0) return p;
        const int h = rows.begin * s.stride_h + detail::tap_offset_h(s, fh),
                  first = columns.begin * s.stride_w + detail::tap_offset_w(s, fw);
        p.a += static_cast<std::size_t>(h * s.w + first) * c;
        p.b += static_cast<std::size_t>(rows.begin * s.out_w() + columns.begin) * k;
        return p;
    }

    /// From (tap, channel, kernel) to (kernel, channel, tap).
    static void put_in_order(ConvShape const& s, Part const& part, const float* sums, float* dst) noexcept {
        const auto taps = static_cast<std::size_t>(s.taps()), depth = static_cast<std::size_t>(s.depth()),
                   columns = static_cast<std::size_t>(part.columns()), twice = static_cast<std::size_t>(part.twice()),
                   channels = static_cast<std::size_t>(part.channels);
        dst += static_cast<std::size_t>(part.group * s.group_k() + part.k) * depth +
               static_cast<std::size_t>(part.c) * taps;
        for (std::size_t last = vector; last <= columns; last += vector) {
            // Columns are kernels, but for the last, which stand further behind.
            const std::size_t behind = last == columns ? twice : 0;
            for (std::size_t c = 0; c < channels; ++c) {
                transpose_columns(sums + c * columns + behind, channels * columns, dst + c * taps, depth, taps,
                                  last - vector, last - behind);
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
