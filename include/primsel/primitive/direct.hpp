#pragma once

#include <primsel/core/cache_sizes.hpp>
#include <primsel/core/fixed_string.hpp>
#include <primsel/gemm/panel.hpp>
#include <primsel/primitive/detail/depth_panels.hpp>
#include <primsel/primitive/detail/tap.hpp>
#include <primsel/primitive/primitive.hpp>
#include <primsel/tensor/layout.hpp>
#include <primsel/tensor/transpose.hpp>

#include <algorithm>
#include <concepts>
#include <cstring>

namespace primsel::inline PRIMSEL_ABI {

/// The six loops of the definition, with the columns innermost; vectorised only by the compiler.
struct DirectSum2d {
    static constexpr FixedString id = "direct-sum2d";
    static constexpr Family family = Family::direct;
    using in_layout = chw;
    using out_layout = chw;

    /// Each output is one running sum: 2.6e-5 at a depth of 8192 channels x 9.
    static constexpr double error_bound = 5e-5;

    [[nodiscard]] static constexpr Support supports(ConvShape const&) { return Support::yes(); }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        args.executor.parallel_for(static_cast<std::size_t>(s.k), [&](std::size_t k, std::size_t) {
            float* dst = args.dst + k * s.out_pixels();
            std::fill_n(dst, s.out_pixels(), 0.0F);
            const int first_c = static_cast<int>(k) / s.group_k() * s.group_c();
            for (int c = 0; c < s.group_c(); ++c) {
                const float* src = args.src + static_cast<std::size_t>(first_c + c) * s.in_pixels();
                for (int fh = 0; fh < s.fh; ++fh) {
                    for (int fw = 0; fw < s.fw; ++fw) {
                        add_tap(s, fh, fw,
                                args.weights[primitive::detail::kernel_index(s, static_cast<int>(k), c, fh, fw)], src,
                                dst);
                    }
                }
            }
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        // Starting the loop takes some 5 ns for each row and tap on each machine in bench/profiles/. With a stride the
        // compiler gathers the elements.
        const double plane = 4.0 * static_cast<double>(s.in_pixels() + s.out_pixels());
        const double rows = static_cast<double>(s.out_h()) * s.k * s.depth();
        const bool dense = s.stride_w == 1;
        return Work{}
            .add({.rate = Rate::scalar,
                  .operations = 8 * rows,
                  .bytes = 4 * rows,
                  .working_set = plane,
                  .blocks = 1.0 * s.k,
                  .loops = 1})
            .add({.rate = dense ? Rate::vector : Rate::scalar,
                  .operations = dense ? s.operations() : s.operations() / 4,
                  .bytes = 3 * 4.0 * s.out_w() * rows,
                  .working_set = plane,
                  .blocks = 1.0 * s.k});
    }

private:
    static void add_tap(ConvShape const& s, int fh, int fw, float weight, const float* src, float* dst) noexcept {
        const primitive::detail::Range rows = primitive::detail::tap_rows(s, fh),
                                       columns = primitive::detail::tap_columns(s, fw);
        const int offset_w = primitive::detail::tap_offset_w(s, fw), step = s.stride_w;
        for (int oh = rows.begin; oh < rows.end; ++oh) {
            const float* PRIMSEL_RESTRICT from =
                src + (oh * s.stride_h + primitive::detail::tap_offset_h(s, fh)) * s.w + offset_w;
            float* PRIMSEL_RESTRICT to = dst + oh * s.out_w();
            if (step == 1) {
                for (int ow = columns.begin; ow < columns.end; ++ow) to[ow] += weight * from[ow];
            } else {
                for (int ow = columns.begin; ow < columns.end; ++ow) to[ow] += weight * from[ow * step];
            }
        }
    }
};

namespace primitive::detail {

/// Direct convolution to hwc on the register tile. A row of output pixels is a matrix whose rows overlap in the image,
/// so that no patch matrix is needed. An unpadded image in hwc is read in place. Other images are copied to hwc with
/// their padding, strip by strip if the copy is large. Where most taps of a padded image in hwc lie in the padding, as
/// with a large dilation, nothing is copied: pixels with the same taps inside the image are products of those taps.
template <StridedLayout From>
struct DirectFrom {
    static constexpr Family family = Family::direct;
    using in_layout = From;
    using out_layout = hwc;
    static constexpr bool fuses_epilogue = true, strided_output = true, packs_for_any_size = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const&) { return Support::yes(); }

    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        return depth_panels_size<Arch>(s);
    }
    /// The depth is ordered fh, fw, c, like the image.
    template <class Arch>
    static void pack(ConvShape const& s, KernelView kernel, float* dst, ExecutorRef executor) {
        pack_depth_panels<Arch>(
            s, kernel, [&s](int c, int fh, int fw) { return (fh * s.fw + fw) * s.group_c() + c; }, dst, executor);
    }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        if (!copies(s) || by_ranges<Arch>(s)) return 0;
        return in_strips(s) ? workers * copy_floats(s, rows_per_block(s)) : copy_floats(s, s.out_h());
    }

    /// Parallel over strips, or over blocks of pixels times panels of output channels.
    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        if (by_ranges<Arch>(s)) return run_ranges<Arch>(s, args);
        if (copies(s) && in_strips(s)) return run_strips<Arch>(s, args);
        const float* image = args.src;
        const int step = copies(s) ? copy_step(s, s.out_h()) : s.dilation_h;
        if (copies(s)) {
            args.executor.parallel_for(
                static_cast<std::size_t>(copy_rows(s, s.out_h())), [&s, &args](std::size_t row, std::size_t) {
                    copy_row(s, args.src, 0, s.out_h(), static_cast<int>(row), args.scratch + row * row_floats(s));
                });
            image = args.scratch;
        }
        const std::size_t pixels = s.out_pixels(), blocks = pixel_blocks<Arch>(s);
        const int panels = gemm::panel_count<Arch>(s.group_k());
        const auto parts = static_cast<std::size_t>(s.groups * panels);
        args.executor.parallel_for(blocks * parts, [=, &s, &args](std::size_t i, std::size_t) {
            const std::size_t block = i / parts;
            const int part = static_cast<int>(i % parts), group = part / panels;
            const auto border = [=](std::size_t border_of) { return border_of * pixels / blocks; };
            gemm::TileArgs t = product<Arch>(s, args, image, step, 0, group, block == 0);
            if (s.groups == 1 && block + 1 < blocks) {
                prefetch_pixels(s, args, border(block + 1), border(block + 2), i % parts, parts, t);
            }
            gemm::multiply_one_panel<Arch>(t, static_cast<int>(border(block)), static_cast<int>(border(block + 1)),
                                           s.group_k(), weights_of<Arch>(s, args, group), part % panels);
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const double pixels = static_cast<double>(s.out_pixels());
        const double columns = static_cast<double>(s.groups) * gemm::padded_columns<Arch>(s.group_k());
        const double weights = 4.0 * s.depth() * columns, blocks = static_cast<double>(s.out_h()) / rows_per_block(s);
        const double in = 4.0 * static_cast<double>(s.in_shape().size()), out = 4.0 * pixels * s.k;
        const auto parts = static_cast<double>(s.groups * gemm::panel_count<Arch>(s.group_k()));
        if (by_ranges<Arch>(s)) {
            // Each row of the result reads the weights of the taps that it has inside the image.
            const double operations = operations_of_ranges<Arch>(s), share = operations / all_operations<Arch>(s);
            return Work{}.add({.rate = Rate::gemm,
                               .operations = operations,
                               .bytes = in + weights * std::max(1.0, share * s.out_h()) + 2 * out,
                               .working_set = in + weights + out,
                               .blocks = parts * s.out_h(),
                               .loops = 1});
        }
        Work work;
        const bool strips = copies(s) && in_strips(s);
        const auto shared = static_cast<double>(strips ? strip_count(s) : pixel_blocks<Arch>(s)) * (strips ? 1 : parts);
        // A transpose stores four floats at a time, at half the speed of a copy.
        const double copied = (from_planes ? 4 : 2) * in;
        if (copies(s)) {
            work.add({.rate = Rate::vector,
                      .operations = 0,
                      .bytes = copied,
                      .working_set = in,
                      .blocks = strips ? shared : copy_rows(s, s.out_h()),
                      .loops = strips ? 0.0 : 1.0});
        }
        return work.add({.rate = Rate::gemm,
                         .operations = all_operations<Arch>(s),
                         .bytes = in + weights * std::max(1.0, blocks) + 2 * out,
                         .working_set = in + weights + out,
                         .blocks = shared,
                         .loops = 1});
    }

private:
    static constexpr bool from_planes = std::same_as<From, chw>;

    [[nodiscard]] static constexpr bool copies(ConvShape const& s) { return from_planes || s.padded(); }
    /// Returns the floats of a row of the padded image.
    [[nodiscard]] static constexpr std::size_t row_floats(ConvShape const& s) {
        return static_cast<std::size_t>(s.padded_w()) * static_cast<std::size_t>(s.c);
    }
    /// Returns the output rows of a strip: about 224 pixels, so that each panel is read seldom and the strip stays in
    /// L2. Images with few channels use 896 pixels, because neighbouring strips copy their common rows twice.
    [[nodiscard]] static constexpr int rows_per_block(ConvShape const& s) {
        const int pixels = s.out_h() * s.out_w(), most = s.c < 16 ? 896 : 224, blocks = (pixels + most - 1) / most;
        return (s.out_h() + blocks - 1) / blocks;
    }
    /// Returns the floats of the copy under so many output rows.
    [[nodiscard]] static constexpr std::size_t copy_floats(ConvShape const& s, int out_rows) {
        return round_up_floats(row_floats(s) * static_cast<std::size_t>(copy_rows(s, out_rows)));
    }
    /// Returns whether a copy of the whole image would not stay in L2.
    [[nodiscard]] static constexpr bool too_large(ConvShape const& s) {
        return copy_floats(s, s.out_h()) > l2_floats / 16 * 9;
    }
    [[nodiscard]] static constexpr std::size_t strip_count(ConvShape const& s) {
        const int rows = rows_per_block(s);
        return static_cast<std::size_t>((s.out_h() + rows - 1) / rows);
    }
    /// The blocks of pixels that threads share beside panels.
    template <class Arch>
    [[nodiscard]] static constexpr std::size_t pixel_blocks(ConvShape const& s) {
        constexpr auto most = static_cast<std::size_t>(gemm::block_rows<Arch>);
        return copies(s) && too_large(s) ? 1 : (s.out_pixels() + most - 1) / most;
    }
    /// A single strip is the whole image, of which threads share the copying and the panels.
    [[nodiscard]] static constexpr bool in_strips(ConvShape const& s) {
        return too_large(s) && rows_per_block(s) < s.out_h();
    }

    /// Returns the operations of the products of run_ranges at the FMA peak: those around tiles, and for each kernel
    /// row inside the image those of its depth.
    template <class Arch>
    [[nodiscard]] static double operations_of_ranges(ConvShape const& s) {
        double sum = 0, kernel_rows = 0;
        for (int fh = 0; fh < s.fh; ++fh) kernel_rows += tap_rows(s, fh).size();
        for_column_ranges(s, [&](Range columns, Range taps_w) {
            const auto of_depth = [&](int depth) {
                return gemm::tile_operations<Arch>(columns.size(), s.group_k(), depth);
            };
            const double around = of_depth(0);
            sum += s.out_h() * around + kernel_rows * (of_depth(taps_w.size() * s.group_c()) - around);
        });
        return s.groups * sum;
    }
    /// Returns those of all taps at all pixels.
    template <class Arch>
    [[nodiscard]] static double all_operations(ConvShape const& s) {
        return s.groups * gemm::tile_operations<Arch>(static_cast<double>(s.out_pixels()), s.group_k(), s.depth());
    }
    template <class Arch>
    [[nodiscard]] static bool by_ranges(ConvShape const& s) {
        return !from_planes && s.padded() && (s.dilated() || s.fh > s.h || s.fw > s.w) &&
               operations_of_ranges<Arch>(s) < 0.8 * all_operations<Arch>(s);
    }

    /// Writes row i of the copy under `out_rows` output rows from `first` on: a row of the image with its padding, or
    /// zeros if it lies outside.
    static void copy_row(ConvShape const& s, const float* src, int first, int out_rows, int i, float* dst) noexcept {
        const int h = copied_row(s, first, out_rows, i);
        if (h < 0 || h >= s.h) {
            std::fill_n(dst, row_floats(s), 0.0F);
            return;
        }
        const auto c = static_cast<std::size_t>(s.c);
        const std::size_t left = static_cast<std::size_t>(s.pad_left) * c, row = static_cast<std::size_t>(s.w) * c,
                          right = static_cast<std::size_t>(s.pad_right) * c;
        std::fill_n(dst, left, 0.0F);
        if constexpr (from_planes) {
            transpose_columns(src + static_cast<std::size_t>(h) * static_cast<std::size_t>(s.w), s.in_pixels(),
                              dst + left, c, c, 0, static_cast<std::size_t>(s.w));
        } else {
            std::memcpy(dst + left, src + static_cast<std::size_t>(h) * row, row * sizeof(float));
        }
        std::fill_n(dst + left + row, right, 0.0F);
    }

    template <class Arch>
    [[nodiscard]] static const float* weights_of(ConvShape const& s, ConvArgs const& args, int group) {
        return args.weights + static_cast<std::size_t>(group) * gemm::packed_size<Arch>(s.depth(), s.group_k());
    }

    /// Returns a group's product for the output rows from `first` on. `image` points to the padded image under them,
    /// whose kernel rows are `step` rows apart. Weights outside L2 are prefetched: all of them at their first use,
    /// later those that do not stay in L2.
    template <class Arch>
    [[nodiscard]] static gemm::TileArgs product(ConvShape const& s, ConvArgs const& args, const float* image, int step,
                                                int first, int group, bool read_first) {
        const std::size_t weights = packed_floats<Arch>(s);
        const auto c = static_cast<std::size_t>(s.c);
        const std::size_t pixel = args.pixel_stride(s);
        const int first_k = group * s.group_k();
        // Neighbouring taps with all channels form one run of the image.
        const bool whole_row = s.groups == 1 && s.dilation_w == 1;
        const std::size_t at = static_cast<std::size_t>(first * s.out_w()) * pixel + static_cast<std::size_t>(first_k);
        return {.a = image + static_cast<std::size_t>(group * s.group_c()),
                .a_stride = static_cast<std::size_t>(s.stride_w) * c,
                .row_length = s.out_w(),
                .row_step = static_cast<std::size_t>(s.stride_h) * row_floats(s),
                .outer = s.fh,
                .inner = whole_row ? 1 : s.fw,
                .run = whole_row ? s.fw * s.c : s.group_c(),
                .outer_step = static_cast<std::size_t>(step) * row_floats(s),
                .inner_step = static_cast<std::size_t>(s.dilation_w) * c,
                .fetch_end = read_first || weights > l2_floats / 8 * 3 ? args.weights + weights : nullptr,
                .near_parts = s.taps() == 1 && !s.padded() && gemm::l1_holds_parts(),
                .c = args.dst + at,
                .c_stride = pixel,
                .column_bias = args.bias == nullptr ? nullptr : args.bias + first_k,
                .residual = args.residual == nullptr ? nullptr : args.residual + at,
                .clamp = args.clamp};
    }

    /// Has a panel's product prefetch its share of what the next block of pixels, [first, last), reads: the residual,
    /// and the image if its pixels are one run. A tile reads a few lines of each pixel, which a processor foresees too
    /// late.
    static void prefetch_pixels(ConvShape const& s, ConvArgs const& args, std::size_t first, std::size_t last,
                                std::size_t panel, std::size_t panels, gemm::TileArgs& t) {
        const bool in_place = !copies(s) && s.taps() == 1 && !s.strided();
        const std::size_t c = static_cast<std::size_t>(s.c), k = args.pixel_stride(s),
                          of_image = in_place ? (last - first) * c : 0,
                          of_residual = args.residual == nullptr ? 0 : (last - first) * k,
                          share = (of_image + of_residual + panels - 1) / panels, begin = panel * share;
        if (begin < of_image) {
            t.later = args.src + first * c + begin;
            t.later_floats = std::min(share, of_image - begin);
        } else if (begin < of_image + of_residual) {
            t.later = args.residual + first * k + (begin - of_image);
            t.later_floats = std::min(share, of_image + of_residual - begin);
        }
    }

    template <class Arch>
    static void run_strips(ConvShape const& s, ConvArgs const& args) noexcept {
        const int rows = rows_per_block(s);
        args.executor.parallel_for(strip_count(s), [&s, &args, rows](std::size_t block, std::size_t worker) {
            const int first = static_cast<int>(block) * rows, last = std::min(first + rows, s.out_h());
            float* copy = args.scratch + worker * copy_floats(s, rows);
            for (int i = 0; i < copy_rows(s, last - first); ++i) {
                copy_row(s, args.src, first, last - first, i, copy + static_cast<std::size_t>(i) * row_floats(s));
            }
            for (int group = 0; group < s.groups; ++group) {
                gemm::multiply_panels<Arch>(
                    product<Arch>(s, args, copy, copy_step(s, last - first), first, group, block == 0), 0,
                    (last - first) * s.out_w(), s.group_k(), weights_of<Arch>(s, args, group));
            }
        });
    }

    /// Parallel over panels of output channels times rows.
    template <class Arch>
    static void run_ranges(ConvShape const& s, ConvArgs const& args) noexcept {
        const auto panels = static_cast<std::size_t>(gemm::panel_count<Arch>(s.group_k())),
                   rows = static_cast<std::size_t>(s.out_h());
        args.executor.parallel_for(
            static_cast<std::size_t>(s.groups) * panels * rows, [=, &s, &args](std::size_t i, std::size_t) {
                const int row = static_cast<int>(i % rows), panel = static_cast<int>(i / rows % panels),
                          group = static_cast<int>(i / rows / panels);
                const Range taps_h = inside(row * s.stride_h - s.pad_top, s.dilation_h, s.h, s.fh);
                for_column_ranges(s, [&](Range columns, Range taps_w) {
                    multiply_range<Arch>(s, args, group, panel, row, taps_h, columns, taps_w);
                });
            });
    }
    /// Computes the output pixels of a row that have these taps inside the image, in the channels of one panel.
    template <class Arch>
    static void multiply_range(ConvShape const& s, ConvArgs const& args, int group, int panel, int row, Range taps_h,
                               Range columns, Range taps_w) noexcept {
        const auto c = static_cast<std::size_t>(s.c), w = static_cast<std::size_t>(s.w);
        const int first = panel * gemm::panel_width<Arch>, width = gemm::panel_columns<Arch>(first, s.group_k());
        const int from_h = row * s.stride_h + tap_offset_h(s, taps_h.begin),
                  from_w = columns.begin * s.stride_w + tap_offset_w(s, taps_w.begin);
        const bool any = taps_h.size() > 0 && taps_w.size() > 0;
        const std::size_t pixel = args.pixel_stride(s), first_k = static_cast<std::size_t>(group * s.group_k() + first);
        const std::size_t to = static_cast<std::size_t>(row * s.out_w() + columns.begin) * pixel + first_k,
                          from =
                              any ? (static_cast<std::size_t>(from_h) * w + static_cast<std::size_t>(from_w)) * c : 0;
        const int first_tap = taps_h.begin * s.fw + taps_w.begin;
        gemm::multiply_panel<Arch>(
            {.a = args.src + from + static_cast<std::size_t>(group * s.group_c()),
             .a_stride = static_cast<std::size_t>(s.stride_w) * c,
             .outer = any ? taps_h.size() : 0,
             .inner = taps_w.size(),
             .run = s.group_c(),
             .outer_step = static_cast<std::size_t>(s.dilation_h) * w * c,
             .inner_step = static_cast<std::size_t>(s.dilation_w) * c,
             .skipped_of_b = (s.fw - taps_w.size()) * s.group_c(),
             .b = weights_of<Arch>(s, args, group) + static_cast<std::size_t>(s.depth() * first) +
                  static_cast<std::size_t>(first_tap * s.group_c() * width),
             .c = args.dst + to,
             .c_stride = pixel,
             .columns = std::min(width, s.group_k() - first),
             .column_bias = args.bias == nullptr ? nullptr : args.bias + first_k,
             .residual = args.residual == nullptr ? nullptr : args.residual + to,
             .clamp = args.clamp},
            0, columns.size(), width);
    }
};

}  // namespace primitive::detail

/// The direct algorithm on an image in hwc.
struct DirectHwc : primitive::detail::DirectFrom<hwc> {
    static constexpr FixedString id = "direct-hwc";
    static constexpr bool by_rows = true;
};
/// The direct algorithm on an image in chw, such as a network's input: the copy changes the layout.
struct DirectChwHwc : primitive::detail::DirectFrom<chw> {
    static constexpr FixedString id = "direct-chw-hwc";
    static constexpr bool by_rows = true;
};

}  // namespace primsel::inline PRIMSEL_ABI
