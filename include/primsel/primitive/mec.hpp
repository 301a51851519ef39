#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/fixed_string.hpp>
#include <primsel/gemm/panel.hpp>
#include <primsel/primitive/detail/depth_panels.hpp>
#include <primsel/primitive/detail/strip.hpp>
#include <primsel/primitive/primitive.hpp>

#include <algorithm>

namespace primsel::inline PRIMSEL_ABI {

namespace primitive::detail {

/// Computes one output row, group after group, from a lowered matrix. `windows` describes the first window and the
/// distances between windows; `group_step` is the distance between the windows of neighbouring groups.
template <class Arch>
void multiply_windows(ConvShape const& s, ConvArgs const& args, gemm::TileArgs windows, std::size_t group_step,
                      std::size_t row) noexcept {
    const std::size_t at = row * static_cast<std::size_t>(s.out_w()) * static_cast<std::size_t>(s.k);
    const auto group_k = static_cast<std::size_t>(s.group_k());
    windows.c = args.dst + at;
    windows.c_stride = static_cast<std::size_t>(s.k);
    windows.column_bias = args.bias;
    windows.residual = args.residual == nullptr ? nullptr : args.residual + at;
    windows.clamp = args.clamp;
    const float* weights = args.weights;
    for (int group = 0; group < s.groups; ++group, weights += gemm::packed_size<Arch>(s.depth(), s.group_k())) {
        gemm::multiply_panels<Arch>(windows, 0, s.out_w(), s.group_k(), weights);
        windows.a += group_step;
        windows.c += group_k;
        if (windows.column_bias != nullptr) windows.column_bias += group_k;
        if (windows.residual != nullptr) windows.residual += group_k;
    }
}

template <class Arch>
[[nodiscard]] Work mec_work(ConvShape const& s, std::size_t lowered_floats, int rows, int products, int lowered_rows,
                            bool in_one_loop) {
    const double lowered = 4.0 * static_cast<double>(lowered_floats);
    const double columns = static_cast<double>(s.groups) * gemm::padded_columns<Arch>(s.group_k());
    const double weights = 4.0 * s.depth() * columns, out = 4.0 * static_cast<double>(s.out_shape().size());
    return Work{}
        .add({.rate = Rate::vector,
              .operations = 0,
              .bytes = 2 * lowered,
              .working_set = lowered,
              .blocks = 1.0 * lowered_rows,
              .loops = 1})
        // The cost of calling a product and of its set-up.
        .add({.rate = Rate::scalar,
              .operations = 100.0 * products * s.groups,
              .bytes = 8.0 * products * s.groups,
              .working_set = 8,
              .blocks = 1.0 * products,
              .loops = in_one_loop ? 0.0 : 1.0})
        .add({.rate = Rate::gemm,
              .operations = 1.0 * products * s.groups * gemm::tile_operations<Arch>(rows, s.group_k(), s.depth()),
              .bytes = lowered * s.fh + weights * products + 2 * out,
              .working_set = lowered + weights + out,
              .blocks = 1.0 * products});
}

}  // namespace primitive::detail

/// MEC (Cho and Brand 2017, arXiv 1706.06873), lowered along the columns: for every output column a strip fw wide over
/// the full height. The patches of an output row are overlapping windows of the lowered matrix, one product for each
/// row.
struct MecCol {
    static constexpr FixedString id = "mec-col";
    static constexpr Family family = Family::mec;
    using in_layout = hcw;
    using out_layout = hwc;
    static constexpr bool fuses_epilogue = true, packs_for_any_size = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const&) { return Support::yes(); }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t) {
        return lowered_floats(s);
    }
    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        return primitive::detail::depth_panels_size<Arch>(s);
    }
    /// The depth is ordered fh, c, fw, like a strip of an hcw image.
    template <class Arch>
    static void pack(ConvShape const& s, KernelView kernel, float* dst, ExecutorRef executor) {
        primitive::detail::pack_depth_panels<Arch>(
            s, kernel, [&s](int c, int fh, int fw) { return (fh * s.group_c() + c) * s.fw + fw; }, dst, executor);
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        const std::size_t row = row_floats(s), strip = row * static_cast<std::size_t>(s.padded_h());
        args.executor.parallel_for(static_cast<std::size_t>(s.padded_h()), [&](std::size_t h, std::size_t) {
            for (int ow = 0; ow < s.out_w(); ++ow) {
                lower(s, args.src, static_cast<int>(h) - s.pad_top, ow,
                      args.scratch + static_cast<std::size_t>(ow) * strip + h * row);
            }
        });
        args.executor.parallel_for(static_cast<std::size_t>(s.out_h()), [&](std::size_t oh, std::size_t) {
            // All channels of neighbouring rows form one run.
            const bool whole = s.groups == 1 && s.dilation_h == 1;
            const gemm::TileArgs windows{.a = args.scratch + oh * static_cast<std::size_t>(s.stride_h) * row,
                                         .a_stride = strip,
                                         .outer = whole ? 1 : s.fh,
                                         .run = whole ? s.depth() : s.group_c() * s.fw,
                                         .outer_step = static_cast<std::size_t>(s.dilation_h) * row};
            primitive::detail::multiply_windows<Arch>(s, args, windows, row / static_cast<std::size_t>(s.groups), oh);
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        return primitive::detail::mec_work<Arch>(s, lowered_floats(s), s.out_w(), s.out_h(), s.padded_h(), false);
    }

private:
    [[nodiscard]] static std::size_t row_floats(ConvShape const& s) {
        return static_cast<std::size_t>(s.c) * static_cast<std::size_t>(s.fw);
    }
    [[nodiscard]] static std::size_t lowered_floats(ConvShape const& s) {
        return round_up_floats(static_cast<std::size_t>(s.out_w()) * static_cast<std::size_t>(s.padded_h()) *
                               row_floats(s));
    }
    static void lower(ConvShape const& s, const float* src, int h, int ow, float* dst) noexcept {
        if (h < 0 || h >= s.h) {
            std::fill_n(dst, row_floats(s), 0.0F);
            return;
        }
        const int w0 = ow * s.stride_w - s.pad_left;
        for (int c = 0; c < s.c; ++c, dst += s.fw) {
            const float* row =
                src + (static_cast<std::size_t>(h) * static_cast<std::size_t>(s.c) + static_cast<std::size_t>(c)) *
                          static_cast<std::size_t>(s.w);
            for (int fw = 0; fw < s.fw; ++fw) {
                const int w = w0 + fw * s.dilation_w;
                dst[fw] = w >= 0 && w < s.w ? row[w] : 0.0F;
            }
        }
    }
};

/// MEC lowered along the rows: for every output row a strip fh high over the full width. Its overlapping windows are
/// the row's patches; one product for each strip.
struct MecRowPartition {
    static constexpr FixedString id = "mec-row-partition";
    static constexpr Family family = Family::mec;
    using in_layout = hwc;
    using out_layout = hwc;
    static constexpr bool fuses_epilogue = true, packs_for_any_size = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const&) { return Support::yes(); }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        return workers * primitive::detail::strip_floats(s);
    }
    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        return primitive::detail::depth_panels_size<Arch>(s);
    }
    /// The depth is ordered fw, fh, c.
    template <class Arch>
    static void pack(ConvShape const& s, KernelView kernel, float* dst, ExecutorRef executor) {
        primitive::detail::pack_depth_panels<Arch>(
            s, kernel, [&s](int c, int fh, int fw) { return (fw * s.fh + fh) * s.group_c() + c; }, dst, executor);
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        args.executor.parallel_for(static_cast<std::size_t>(s.out_h()), [&](std::size_t row, std::size_t worker) {
            float* strip = args.scratch + worker * primitive::detail::strip_floats(s);
            primitive::detail::lower_to_strip(s, args.src, static_cast<int>(row), strip);
            const std::size_t pixel = static_cast<std::size_t>(s.c), column = static_cast<std::size_t>(s.fh) * pixel;
            const bool whole = s.groups == 1 && s.dilation_w == 1;
            const gemm::TileArgs windows{.a = strip,
                                         .a_stride = static_cast<std::size_t>(s.stride_w) * column,
                                         .outer = whole ? 1 : s.fw,
                                         .inner = s.groups == 1 ? 1 : s.fh,
                                         .run = whole           ? s.depth()
                                                : s.groups == 1 ? s.fh * s.c
                                                                : s.group_c(),
                                         .outer_step = static_cast<std::size_t>(s.dilation_w) * column,
                                         .inner_step = pixel};
            primitive::detail::multiply_windows<Arch>(s, args, windows, static_cast<std::size_t>(s.group_c()), row);
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        return primitive::detail::mec_work<Arch>(
            s, primitive::detail::strip_floats(s) * static_cast<std::size_t>(s.out_h()), s.out_w(), s.out_h(),
            s.out_h(), true);
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
