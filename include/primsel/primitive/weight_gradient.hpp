#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/fixed_string.hpp>
#include <primsel/gemm/gemm_simd.hpp>
#include <primsel/gemm/panel.hpp>
#include <primsel/primitive/detail/patch.hpp>
#include <primsel/primitive/detail/tap.hpp>
#include <primsel/primitive/primitive.hpp>
#include <primsel/tensor/layout.hpp>
#include <primsel/tensor/transpose.hpp>

#include <algorithm>
#include <cstring>

namespace primsel::inline PRIMSEL_ABI {

namespace primitive::detail {

/// Moves the taps last: dst[k][c][tap] = src[k][tap][c].
inline void taps_last(const float* src, int kernels, int taps, int c, float* dst) noexcept {
    const auto channels = static_cast<std::size_t>(c), count = static_cast<std::size_t>(taps);
    for (int k = 0; k < kernels; ++k, src += count * channels, dst += count * channels) {
        transpose_columns(src, channels, dst, count, count, 0, channels);
    }
}

}  // namespace primitive::detail

/// The gradient of the weights in hwc: the product of the gradient of the result, transposed to k x pixels, with the
/// patch matrix, pixels x depth, of all images. Only a panel of a few pixels of the patch matrix exists at a time; the
/// gradient is read in place.
struct WeightGradientRow {
    static constexpr FixedString id = "weight-gradient-im2row";
    static constexpr Family family = Family::im2;
    static constexpr Pass pass = Pass::weight_gradient;
    using in_layout = hwc;
    using out_layout = chw;
    static constexpr bool whole_batch = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const&) { return Support::yes(); }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        return round_up_floats(s.kernel_size()) + workers * panel_floats<Arch>;
    }

    /// Parallel over panels of the depth and, if these are few, over blocks of kernels.
    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        float* sums = s.taps() == 1 ? args.dst : args.scratch;
        const int panels = gemm::panel_count<Arch>(s.depth()), parts = kernel_parts(s, panels);
        const auto tasks = static_cast<std::size_t>(s.groups * panels * parts);
        args.executor.parallel_for(tasks, [=, &s, &args](std::size_t task, std::size_t worker) {
            const int i = static_cast<int>(task), group = i / (panels * parts), panel = i / parts % panels,
                      part = i % parts;
            const int begin = part * s.group_k() / parts, end = (part + 1) * s.group_k() / parts;
            float* patches = args.scratch + round_up_floats(s.kernel_size()) + worker * panel_floats<Arch>;
            sum_over_pixels<Arch>(s, args, {group, panel * gemm::panel_width<Arch>, begin, end}, patches, sums);
        });
        if (s.taps() == 1) return;
        args.executor.parallel_for(static_cast<std::size_t>(s.k), [=, &s, &args](std::size_t k, std::size_t) {
            const std::size_t at = k * static_cast<std::size_t>(s.depth());
            primitive::detail::taps_last(sums + at, 1, s.taps(), s.group_c(), args.dst + at);
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const double pixels = static_cast<double>(s.out_pixels());
        const int panels = gemm::panel_count<Arch>(s.depth());
        const double depth = static_cast<double>(s.groups) * gemm::padded_columns<Arch>(s.depth());
        const double patches = 4.0 * pixels * depth * kernel_parts(s, panels), result = 4.0 * pixels * s.k;
        const double in = 4.0 * static_cast<double>(s.in_shape().size()),
                     kernel = 4.0 * static_cast<double>(s.kernel_size());
        return Work{}
            .add({.rate = Rate::vector, .operations = 0, .bytes = 2 * patches, .working_set = in})
            .add({.rate = Rate::gemm,
                  .operations = 2 * pixels * depth * s.group_k(),
                  .bytes = patches + result * panels,
                  .working_set = result})
            .add({.rate = Rate::vector,
                  .operations = 0,
                  .bytes = (s.taps() == 1 ? 1 : 4) * kernel,
                  .working_set = kernel});
    }

private:
    /// The pixels of one step: their patches stay in the caches, and the sums are read and written seldom.
    static constexpr std::size_t block_pixels = 192;
    template <class Arch>
    static constexpr std::size_t panel_floats =
        round_up_floats(block_pixels * static_cast<std::size_t>(gemm::panel_width<Arch>));

    /// Returns the number of parts of a kernel's gradient. It depends only on the shape, so that the bits are the same
    /// for every number of threads.
    [[nodiscard]] static constexpr int kernel_parts(ConvShape const& s, int panels) {
        return std::clamp(8 / (panels * s.groups), 1, std::max(1, s.group_k() / 48));
    }

    /// Columns of the depth (fh, fw, c) from `column` on, and kernels [begin, end) of a group.
    struct Part {
        int group, column, begin, end;
    };

    template <class Arch>
    static void sum_over_pixels(ConvShape const& s, ConvArgs const& args, Part const& part, float* patches,
                                float* sums) noexcept {
        const int width = gemm::panel_columns<Arch>(part.column, s.depth());
        const int columns = std::min(width, s.depth() - part.column);
        const auto k = static_cast<std::size_t>(s.k), depth = static_cast<std::size_t>(s.depth());
        const auto first_k = static_cast<std::size_t>(part.group * s.group_k() + part.begin);
        const std::size_t all = s.out_pixels() * static_cast<std::size_t>(args.images),
                          blocks = (all + block_pixels - 1) / block_pixels;
        const Columns of = columns_of(s, part, columns);
        Pixel at{args.src, 0, 0};
        for (std::size_t block = 0; block < blocks; ++block) {
            const std::size_t first = block * all / blocks;
            const int count = static_cast<int>((block + 1) * all / blocks - first);
            float* to = patches;
            for (int i = 0; i < count; ++i, to += width) {
                copy_patch(s, at, of, to);
                std::fill(to + columns, to + width, 0.0F);
                next(s, at);
            }
            gemm::TileArgs t{.a = args.gradient + first * k + first_k,
                             .a_stride = k,
                             .run = count,
                             .b = patches,
                             .c = sums + first_k * depth + static_cast<std::size_t>(part.column),
                             .c_stride = depth,
                             .columns = columns,
                             .accumulate = first > 0};
            gemm::multiply_panel_transposed<Arch>(t, part.end - part.begin, width);
        }
    }

    /// A pixel of the result and its image.
    struct Pixel {
        const float* image;
        int oh, ow;
    };
    static void next(ConvShape const& s, Pixel& at) noexcept {
        if (++at.ow < s.out_w()) return;
        at.ow = 0;
        if (++at.oh < s.out_h()) return;
        at.oh = 0;
        at.image += s.in_shape().size();
    }

    /// Some columns of a patch, as runs that are contiguous in the image: a kernel row if it has no gaps and there is
    /// one group, otherwise a tap.
    struct Columns {
        int line, lines_a_row;  // the floats of a run, the runs of a kernel row
        int first_line, from;   // the run and the float in it where the columns begin
        int count;
        int channel;  // the first channel of the group
    };
    [[nodiscard]] static Columns columns_of(ConvShape const& s, Part const& part, int columns) noexcept {
        const bool whole_rows = s.groups == 1 && s.dilation_w == 1;
        const int line = whole_rows ? s.fw * s.c : s.group_c();
        return {line, whole_rows ? 1 : s.fw, part.column / line, part.column % line, columns, part.group * s.group_c()};
    }
    static void copy_patch(ConvShape const& s, Pixel const& at, Columns const& columns, float* dst) noexcept {
        const int h = at.oh * s.stride_h - s.pad_top, w = at.ow * s.stride_w - s.pad_left;
        int line = columns.first_line, from = columns.from;
        for (int left = columns.count; left > 0; ++line, from = 0) {
            const int floats = std::min(columns.line - from, left);
            const int kernel_row = columns.lines_a_row == 1 ? line : line / columns.lines_a_row;
            const int row = h + kernel_row * s.dilation_h,
                      column = w + (line - kernel_row * columns.lines_a_row) * s.dilation_w;
            if (row < 0 || row >= s.h) {
                std::fill_n(dst, floats, 0.0F);
            } else {
                const float* image_row = at.image + static_cast<std::size_t>(row * s.w) * static_cast<std::size_t>(s.c);
                // In floats of the image's row: the begin of the run and its part inside the row.
                const int begin = column * s.c + columns.channel + from, end = begin + floats;
                const int low = std::clamp(0, begin, end), high = std::clamp(s.w * s.c, low, end);
                std::fill_n(dst, low - begin, 0.0F);
                std::memcpy(dst + (low - begin), image_row + low, static_cast<std::size_t>(high - low) * sizeof(float));
                std::fill_n(dst + (high - begin), end - high, 0.0F);
            }
            dst += floats;
            left -= floats;
        }
    }
};

/// The gradient of the weights in chw: the product of the gradient of the result, k x pixels, with the transposed patch
/// matrix, one image after another.
struct WeightGradientCol {
    static constexpr FixedString id = "weight-gradient-im2col";
    static constexpr Family family = Family::im2;
    static constexpr Pass pass = Pass::weight_gradient;
    using in_layout = chw;
    using out_layout = chw;
    static constexpr bool whole_batch = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const&) { return Support::yes(); }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        return patch_floats(s) + SimdGemm::scratch_floats<Arch>(s.group_k(), s.depth(), pixels(s), workers);
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        const auto channels = static_cast<std::size_t>(s.group_c()), taps = static_cast<std::size_t>(s.taps());
        for (int image = 0; image < args.images; ++image) {
            const float* src = args.src + static_cast<std::size_t>(image) * s.in_shape().size();
            const float* gradient = args.gradient + static_cast<std::size_t>(image) * s.out_shape().size();
            for (int group = 0; group < s.groups; ++group) {
                const float* of_group = src + static_cast<std::size_t>(group) * channels * s.in_pixels();
                const float* patches = of_group;
                if (!is_own_patches(s)) {
                    patches = args.scratch;
                    args.executor.parallel_for(channels, [=, &s, &args](std::size_t channel, std::size_t) {
                        primitive::detail::copy_self(s, of_group + channel * s.in_pixels(),
                                                     args.scratch + channel * taps * s.out_pixels());
                    });
                }
                const std::size_t first_k = static_cast<std::size_t>(group * s.group_k());
                SimdGemm::run<Arch>({.m = s.group_k(),
                                     .n = s.depth(),
                                     .k = pixels(s),
                                     .a = row_major(gradient + first_k * s.out_pixels(), s.out_pixels()),
                                     .b = transposed(patches, s.out_pixels()),
                                     .c = args.dst + first_k * static_cast<std::size_t>(s.depth()),
                                     .c_stride = static_cast<std::size_t>(s.depth()),
                                     .accumulate = image > 0,
                                     .scratch = args.scratch + patch_floats(s),
                                     .executor = args.executor});
            }
        }
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s, int images) {
        Work image;
        if (!is_own_patches(s)) {
            const double elements = static_cast<double>(s.out_pixels()) * s.depth() * s.groups;
            // Runs are those of im2col-copy-self; with a stride the elements of a run are copied one by one.
            const double runs = 1.0 * s.out_h() * s.fw * s.c;
            const double copied = std::min(s.fh, s.stride_h) * std::min(s.fw, s.stride_w);
            const double parted = s.stride_w == 1 ? 0 : elements * copied / s.taps();
            image
                .add({.rate = Rate::scalar,
                      .operations = 8 * runs + parted,
                      .bytes = 8 * runs,
                      .working_set = 4 * elements})
                .add({.rate = Rate::vector, .operations = 0, .bytes = 8 * elements, .working_set = 4 * elements});
        }
        image.append(SimdGemm::work<Arch>(s.group_k(), s.depth(), pixels(s)), s.groups);
        return Work{}.append(image, images);
    }

private:
    /// Returns whether the channels of the image are already the patches, as for an unpadded 1x1 kernel of stride 1.
    [[nodiscard]] static bool is_own_patches(ConvShape const& s) {
        return s.taps() == 1 && !s.strided() && !s.padded();
    }
    [[nodiscard]] static int pixels(ConvShape const& s) { return static_cast<int>(s.out_pixels()); }
    [[nodiscard]] static std::size_t patch_floats(ConvShape const& s) {
        if (is_own_patches(s)) return 0;
        return round_up_floats(s.out_pixels() * static_cast<std::size_t>(s.depth()));
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
