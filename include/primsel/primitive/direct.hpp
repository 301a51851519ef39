#pragma once

#include <primsel/core/fixed_string.hpp>
#include <primsel/primitive/detail/depth_panels.hpp>
#include <primsel/primitive/detail/panel.hpp>
#include <primsel/primitive/detail/tap.hpp>
#include <primsel/primitive/primitive.hpp>

#include <algorithm>
#include <cstring>

namespace primsel::inline PRIMSEL_ABI {

/// The six loops of the definition, with the columns innermost; vectorised by the compiler only.
struct DirectSum2d {
    static constexpr FixedString id = "direct-sum2d";
    static constexpr Family family = Family::direct;
    using in_layout = chw;
    using out_layout = chw;

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
                        add_tap(s, fh, fw, args.weights[detail::kernel_index(s, static_cast<int>(k), c, fh, fw)], src,
                                dst);
                    }
                }
            }
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const double plane = 4.0 * static_cast<double>(s.in_pixels() + s.out_pixels());
        return Work{}.add({.rate = s.stride_w == 1 && s.out_w() >= 2 * lanes<Arch> ? Rate::vector : Rate::scalar,
                           .operations = s.operations() / s.batch,
                           .bytes = 3 * 4.0 * static_cast<double>(s.out_pixels()) * s.k * s.depth(),
                           .working_set = plane});
    }

private:
    static void add_tap(ConvShape const& s, int fh, int fw, float weight, const float* src, float* dst) noexcept {
        const detail::Range rows = detail::tap_rows(s, fh), columns = detail::tap_columns(s, fw);
        const int offset_w = detail::tap_offset_w(s, fw), step = s.stride_w;
        for (int oh = rows.begin; oh < rows.end; ++oh) {
            const float* PRIMSEL_RESTRICT from = src + (oh * s.stride_h + detail::tap_offset_h(s, fh)) * s.w + offset_w;
            float* PRIMSEL_RESTRICT to = dst + oh * s.out_w();
            if (step == 1) {
                for (int ow = columns.begin; ow < columns.end; ++ow) to[ow] += weight * from[ow];
            } else {
                for (int ow = columns.begin; ow < columns.end; ++ow) to[ow] += weight * from[ow * step];
            }
        }
    }
};

/// Direct convolution in hwc on the register tile: a row of output pixels is a matrix whose rows overlap in the image,
/// so that no patch matrix is needed. Strips of a padded image are copied, an unpadded one is read in place; a 1x1
/// convolution is one product.
struct DirectHwc {
    static constexpr FixedString id = "direct-hwc";
    static constexpr Family family = Family::direct;
    using in_layout = hwc;
    using out_layout = hwc;
    static constexpr bool fuses_epilogue = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const&) { return Support::yes(); }

    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        return detail::depth_panels_size<Arch>(s);
    }
    /// The depth is ordered fh, fw, c: as the image is.
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        detail::pack_depth_panels<Arch>(
            s, kernel, [&s](int c, int fh, int fw) { return (fh * s.fw + fw) * s.group_c() + c; }, dst);
    }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        return s.padded() ? workers * strip_floats(s) : 0;
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        if (pointwise(s)) return run_pointwise<Arch>(s, args);
        const int block = rows_per_block(s);
        const auto blocks = static_cast<std::size_t>((s.out_h() + block - 1) / block);
        args.executor.parallel_for(blocks, [&s, &args, block](std::size_t index, std::size_t worker) {
            const int first = static_cast<int>(index) * block, last = std::min(first + block, s.out_h());
            const float* strip = args.src + static_cast<std::size_t>(first * s.stride_h) * row_floats(s);
            if (s.padded()) {
                float* copy = args.scratch + worker * strip_floats(s);
                copy_strip(s, args.src, first, last, copy);
                strip = copy;
            }
            for (int group = 0; group < s.groups; ++group) multiply_strip<Arch>(s, args, strip, first, last, group);
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        const double pixels = static_cast<double>(s.out_pixels());
        const double columns = static_cast<double>(s.groups) * detail::padded_columns<Arch>(s.group_k());
        const double weights = 4.0 * s.depth() * columns, blocks = static_cast<double>(s.out_h()) / rows_per_block(s);
        const double in = 4.0 * static_cast<double>(s.in_shape().size()), out = 4.0 * pixels * s.k;
        Work work;
        if (s.padded()) work.add({.rate = Rate::vector, .operations = 0, .bytes = 2 * in, .working_set = in});
        return work.add({.rate = Rate::gemm,
                         .operations = 2 * pixels * columns * s.depth(),
                         .bytes = in + weights * std::max(1.0, blocks) + 2 * out,
                         .working_set = in + weights + out});
    }

private:
    [[nodiscard]] static constexpr bool pointwise(ConvShape const& s) {
        return s.fh == 1 && s.fw == 1 && !s.strided() && !s.padded();
    }
    /// Floats of a row of the padded image.
    [[nodiscard]] static constexpr std::size_t row_floats(ConvShape const& s) {
        return static_cast<std::size_t>(s.padded_w()) * static_cast<std::size_t>(s.c);
    }
    /// About 224 output pixels: enough to read each panel seldom, few enough for the strip to stay in L2. Of images
    /// with few channels more, since the rows that two strips share are copied twice.
    [[nodiscard]] static constexpr int rows_per_block(ConvShape const& s) {
        return std::clamp((s.c < 16 ? 896 : 224) / s.out_w(), 1, s.out_h());
    }
    [[nodiscard]] static constexpr int strip_rows(ConvShape const& s, int out_rows) {
        return (out_rows - 1) * s.stride_h + s.span_h();
    }
    [[nodiscard]] static constexpr std::size_t strip_floats(ConvShape const& s) {
        return round_up_floats(row_floats(s) * static_cast<std::size_t>(strip_rows(s, rows_per_block(s))));
    }

    static void copy_strip(ConvShape const& s, const float* src, int first, int last, float* dst) noexcept {
        const auto c = static_cast<std::size_t>(s.c);
        const std::size_t left = static_cast<std::size_t>(s.pad_left) * c, row = static_cast<std::size_t>(s.w) * c,
                          right = static_cast<std::size_t>(s.pad_right) * c;
        for (int i = 0; i < strip_rows(s, last - first); ++i, dst += left + row + right) {
            const int h = first * s.stride_h + i - s.pad_top;
            if (h < 0 || h >= s.h) {
                std::fill_n(dst, left + row + right, 0.0F);
            } else {
                std::fill_n(dst, left, 0.0F);
                std::memcpy(dst + left, src + static_cast<std::size_t>(h) * row, row * sizeof(float));
                std::fill_n(dst + left + row, right, 0.0F);
            }
        }
    }

    template <class Arch>
    static void multiply_strip(ConvShape const& s, ConvArgs const& args, const float* strip, int first, int last,
                               int group) noexcept {
        const auto c = static_cast<std::size_t>(s.c), k = static_cast<std::size_t>(s.k);
        const int first_k = group * s.group_k();
        // Neighbouring taps of all channels are one run of the strip.
        const bool whole_row = s.groups == 1 && s.dilation_w == 1;
        const std::size_t at = static_cast<std::size_t>(first * s.out_w()) * k + static_cast<std::size_t>(first_k);
        const detail::TileArgs whole{.a = strip + static_cast<std::size_t>(group * s.group_c()),
                                     .a_stride = static_cast<std::size_t>(s.stride_w) * c,
                                     .row_length = s.out_w(),
                                     .row_step = static_cast<std::size_t>(s.stride_h) * row_floats(s),
                                     .outer = s.fh,
                                     .inner = whole_row ? 1 : s.fw,
                                     .run = whole_row ? s.fw * s.c : s.group_c(),
                                     .outer_step = static_cast<std::size_t>(s.dilation_h) * row_floats(s),
                                     .inner_step = static_cast<std::size_t>(s.dilation_w) * c,
                                     .c = args.dst + at,
                                     .c_stride = k,
                                     .column_bias = args.bias == nullptr ? nullptr : args.bias + first_k,
                                     .residual = args.residual == nullptr ? nullptr : args.residual + at,
                                     .clamp = args.clamp};
        detail::multiply_panels<Arch>(
            whole, 0, (last - first) * s.out_w(), s.group_k(),
            args.weights + static_cast<std::size_t>(group) * detail::packed_size<Arch>(s.depth(), s.group_k()));
    }

    template <class Arch>
    static void run_pointwise(ConvShape const& s, ConvArgs const& args) noexcept {
        constexpr int rows = detail::block_rows<Arch>;
        const int pixels = static_cast<int>(s.out_pixels());
        const auto blocks = static_cast<std::size_t>((pixels + rows - 1) / rows);
        args.executor.parallel_for(blocks, [&s, &args, pixels](std::size_t block, std::size_t) {
            const int first = static_cast<int>(block) * rows, last = std::min(first + rows, pixels);
            for (int group = 0; group < s.groups; ++group) {
                const int first_k = group * s.group_k();
                const detail::TileArgs whole{.a = args.src + group * s.group_c(),
                                             .a_stride = static_cast<std::size_t>(s.c),
                                             .run = s.group_c(),
                                             .c = args.dst + first_k,
                                             .c_stride = static_cast<std::size_t>(s.k),
                                             .column_bias = args.bias == nullptr ? nullptr : args.bias + first_k,
                                             .residual = args.residual == nullptr ? nullptr : args.residual + first_k,
                                             .clamp = args.clamp};
                const std::size_t packed = detail::packed_size<Arch>(s.group_c(), s.group_k());
                detail::multiply_panels<Arch>(whole, first, last, s.group_k(),
                                              args.weights + static_cast<std::size_t>(group) * packed);
            }
        });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
