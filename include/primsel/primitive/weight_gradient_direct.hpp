#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/cache_sizes.hpp>
#include <primsel/core/fixed_string.hpp>
#include <primsel/primitive/detail/pixel_sums.hpp>
#include <primsel/primitive/detail/tap.hpp>
#include <primsel/primitive/primitive.hpp>
#include <primsel/tensor/layout.hpp>
#include <primsel/tensor/transpose.hpp>

#include <algorithm>

namespace primsel::inline PRIMSEL_ABI {

/// The gradient of the weights in hwc, with images and gradient read in place. For each tap it sums, over the pixels
/// where the tap lies inside the image, the products of the c channels there and the k channels of the gradient.
/// Nothing is copied, and padding is not multiplied. If there are few channels, the taps of a kernel row are contiguous
/// where they all lie inside the image. They are then taken as one tap with more channels.
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

    /// Parallel over panels of kernels and, within each, ranges of channels, or of kernel rows if there are few
    /// channels. A worker goes through all pixels, block after block. The sums of its part stay in L2 until they are
    /// put in their final order.
    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        const int panels = panels_of<Arch>(s), ranges = ranges_of<Arch>(s, args.executor.concurrency());
        const std::size_t floats = sums_of_part<Arch>(s, args.executor.concurrency());
        args.executor.parallel_for(
            static_cast<std::size_t>(s.groups * panels * ranges), [=, &s, &args](std::size_t task, std::size_t worker) {
                const int i = static_cast<int>(task), k = i / ranges % panels * width<Arch>;
                const int divided = by_rows(s) ? s.fh : s.group_c(), first = i % ranges * divided / ranges,
                          count = (i % ranges + 1) * divided / ranges - first;
                Part part{.group = i / (panels * ranges), .k = k, .kernels = std::min(s.group_k() - k, width<Arch>)};
                if (by_rows(s)) {
                    part.channels = s.c, part.row = first, part.rows = count;
                } else {
                    part.c = first, part.channels = count, part.rows = s.fh;
                }
                float* sums = args.scratch + worker * floats;
                for_blocks(s, args.images, [&](Block const& block) {
                    float* of_row = sums;
                    for (int row = part.row; row < part.row + part.rows; ++row) {
                        add_kernel_row<Arch>(s, args, part, block, row, of_row);
                        of_row += s.fw * part.channels * part.columns();
                    }
                });
                put_in_order(s, part, sums, args.dst);
            });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s, int images) {
        double pixels = 0;  // of all taps, each counted inside the image
        for (int fh = 0; fh < s.fh; ++fh) {
            for (int fw = 0; fw < s.fw; ++fw)
                pixels += primitive::detail::tap_rows(s, fh).size() * primitive::detail::tap_columns(s, fw).size();
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
    /// The pixels of a block: a panel's part of them stays in L1 for all taps and channels.
    static constexpr int block_pixels = 192;

    /// The floats of sums that stay in L2.
    static constexpr int sums_at_once = l2_floats / 4;
    template <class Arch>
    static constexpr int width = std::max(vector, primitive::detail::most_pair_vectors<Arch>* lanes<Arch>);

    template <class Arch>
    [[nodiscard]] static constexpr int panels_of(ConvShape const& s) {
        return (s.group_k() + width<Arch> - 1) / width<Arch>;
    }
    /// Returns the columns of the result for which all taps of a kernel row lie inside the image.
    [[nodiscard]] static constexpr primitive::detail::Range inner_columns(ConvShape const& s) {
        const primitive::detail::Range first = primitive::detail::tap_columns(s, 0),
                                       last = primitive::detail::tap_columns(s, s.fw - 1);
        const int begin = std::max(first.begin, last.begin), end = std::min(first.end, last.end);
        return {begin, std::max(begin, end)};
    }
    /// Returns whether a tap's channels fill only few registers and nearly all columns are inner ones. The other
    /// columns are then taken tap by tap, a few pixels at a time.
    [[nodiscard]] static constexpr bool by_rows(ConvShape const& s) {
        return s.groups == 1 && s.c < vector && s.dilation_w == 1 && s.fw > 1 &&
               8 * inner_columns(s).size() >= 7 * s.out_w();
    }
    /// Returns the number of ranges of a group's channels, or of the kernel's rows. Each range reads the whole gradient
    /// of its panel, so there are as few as caches and threads permit.
    template <class Arch>
    [[nodiscard]] static constexpr int ranges_of(ConvShape const& s, std::size_t workers) {
        const int tasks = workers == 1 ? 1 : 4 * static_cast<int>(workers);
        if (by_rows(s)) return std::min(s.fh, std::max(1, tasks / panels_of<Arch>(s)));
        const int most = std::max(1, sums_at_once / (width<Arch> * s.taps()));
        return std::min(s.group_c(),
                        std::max((s.group_c() + most - 1) / most, tasks / (panels_of<Arch>(s) * s.groups)));
    }
    template <class Arch>
    [[nodiscard]] static constexpr std::size_t sums_of_part(ConvShape const& s, std::size_t workers) {
        const int ranges = ranges_of<Arch>(s, workers);
        const int rows = by_rows(s) ? (s.fh + ranges - 1) / ranges : s.fh,
                  channels = by_rows(s) ? s.c : (s.group_c() + ranges - 1) / ranges;
        const int columns = std::min(width<Arch>, (s.group_k() + vector - 1) / vector * vector);
        return round_up_floats(static_cast<std::size_t>(columns) * static_cast<std::size_t>(channels * rows * s.fw));
    }

    /// Some kernels from k on, channels from c on and kernel rows from `row` on, of a group. The sums are stored tap
    /// after tap, a row for each channel.
    struct Part {
        int group = 0, k = 0, kernels = 0, c = 0, channels = 0, row = 0, rows = 0;

        /// A row consists of whole vectors: if the last kernels do not fill one, it repeats some of those before.
        [[nodiscard]] int whole() const { return kernels / vector * vector; }
        [[nodiscard]] int twice() const { return kernels > whole() ? whole() + vector - kernels : 0; }
        [[nodiscard]] int columns() const { return kernels + twice(); }
    };
    /// Rows of some images.
    struct Block {
        int image, images, row, rows;
    };

    /// Calls visit(block) for blocks of about equal numbers of pixels, which cover all pixels.
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
    static void add_kernel_row(ConvShape const& s, ConvArgs const& args, Part const& part, Block const& block, int row,
                               float* sums) noexcept {
        const bool begun = block.image > 0 || block.row > 0;
        const auto of_tap = [&](int fw) { return sums + fw * part.channels * part.columns(); };
        if (!by_rows(s)) {
            for (int fw = 0; fw < s.fw; ++fw) {
                add<Arch>(part, part.channels,
                          pairs_of(s, args, part, block, {row, fw, primitive::detail::tap_columns(s, fw)}), of_tap(fw),
                          begun);
            }
            return;
        }
        const primitive::detail::Range inner = inner_columns(s);
        add<Arch>(part, s.fw * s.c, pairs_of(s, args, part, block, {row, 0, inner}), sums, begun);
        for (int fw = 0; fw < s.fw; ++fw) {
            const primitive::detail::Range all = primitive::detail::tap_columns(s, fw);
            for (primitive::detail::Range const& outer :
                 {primitive::detail::Range{all.begin, std::min(all.end, inner.begin)},
                  primitive::detail::Range{std::max(all.begin, inner.end), all.end}}) {
                if (outer.size() == 0) continue;
                add<Arch>(part, s.c, pairs_of(s, args, part, block, {row, fw, outer}), of_tap(fw), true);
            }
        }
    }
    /// Adds the sums of `channels` floats from the pairs' position on: the channels of one tap or of several.
    template <class Arch>
    static void add(Part const& part, int channels, primitive::detail::PixelPairs p, float* sums,
                    bool accumulate) noexcept {
        const auto sum = [&]<int vectors>(std::integral_constant<int, vectors>) {
            primitive::detail::sum_pairs_of<Arch, vectors>(channels, p, sums, static_cast<std::size_t>(part.columns()),
                                                           accumulate);
            p.b += vectors * lanes<Arch>;
            sums += vectors * lanes<Arch>;
        };
        primitive::detail::with_powers<primitive::detail::most_pair_vectors<Arch>>(part.whole() / lanes<Arch>, sum);
        if (part.twice() == 0) return;
        p.b -= part.twice();
        primitive::detail::with_powers<primitive::detail::most_pair_vectors<Arch>>(vector / lanes<Arch>, sum);
    }
    /// A tap, and the columns of the result for which it lies inside the image.
    struct Tap {
        int fh, fw;
        primitive::detail::Range columns;
    };
    /// Returns the pixels of a block where a tap's row lies inside the image, paired with those of the gradient.
    [[nodiscard]] static primitive::detail::PixelPairs pairs_of(ConvShape const& s, ConvArgs const& args,
                                                                Part const& part, Block const& block,
                                                                Tap const& tap) noexcept {
        const auto c = static_cast<std::size_t>(s.c), k = static_cast<std::size_t>(s.k),
                   w = static_cast<std::size_t>(s.w), out_w = static_cast<std::size_t>(s.out_w()),
                   image = static_cast<std::size_t>(block.image);
        const primitive::detail::Range tap_rows = primitive::detail::tap_rows(s, tap.fh), columns = tap.columns;
        const primitive::detail::Range rows{std::max(tap_rows.begin, block.row),
                                            std::min(tap_rows.end, block.row + block.rows)};
        primitive::detail::PixelPairs p{.a = args.src + image * s.in_shape().size(),
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
        const int h = rows.begin * s.stride_h + primitive::detail::tap_offset_h(s, tap.fh),
                  first = columns.begin * s.stride_w + primitive::detail::tap_offset_w(s, tap.fw);
        p.a += static_cast<std::size_t>(h * s.w + first) * c;
        p.b += static_cast<std::size_t>(rows.begin * s.out_w() + columns.begin) * k;
        return p;
    }

    /// Reorders from (tap, channel, kernel) to (kernel, channel, tap).
    static void put_in_order(ConvShape const& s, Part const& part, const float* sums, float* dst) noexcept {
        const auto taps = static_cast<std::size_t>(part.rows * s.fw), all = static_cast<std::size_t>(s.taps()),
                   depth = static_cast<std::size_t>(s.depth()), columns = static_cast<std::size_t>(part.columns()),
                   twice = static_cast<std::size_t>(part.twice()), channels = static_cast<std::size_t>(part.channels);
        dst += static_cast<std::size_t>(part.group * s.group_k() + part.k) * depth +
               static_cast<std::size_t>(part.c) * all + static_cast<std::size_t>(part.row * s.fw);
        for (std::size_t last = vector; last <= columns; last += vector) {
            // The last vector begins with kernels that the one before has too, which are skipped.
            const std::size_t behind = last == columns ? twice : 0;
            for (std::size_t c = 0; c < channels; ++c) {
                transpose_columns(sums + c * columns + behind, channels * columns, dst + c * all, depth, taps,
                                  last - vector, last - behind);
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
