#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/fixed_string.hpp>
#include <primsel/primitive/detail/panel.hpp>
#include <primsel/primitive/detail/tap.hpp>
#include <primsel/primitive/primitive.hpp>

#include <algorithm>
#include <cstring>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

[[nodiscard]] constexpr Support mec_supports(ConvShape const& s) {
    if (s.groups != 1) return Support::no("needs one group");
    return s.dilated() ? Support::no("needs dilation 1") : Support::yes();
}

/// The kernel as a packed matrix depth x k; index(c, fh, fw) orders the depth.
template <class Arch, class DepthIndex>
void pack_depth_panels(ConvShape const& s, const float* kernel, DepthIndex const& depth_index, float* dst) {
    const auto columns = static_cast<std::size_t>(s.k);
    std::vector<float> matrix(s.kernel_size());
    for (int k = 0; k < s.k; ++k) {
        for (int c = 0; c < s.c; ++c) {
            for (int fh = 0; fh < s.fh; ++fh) {
                for (int fw = 0; fw < s.fw; ++fw) {
                    const auto row = static_cast<std::size_t>(depth_index(c, fh, fw));
                    matrix[row * columns + static_cast<std::size_t>(k)] = kernel[kernel_index(s, k, c, fh, fw)];
                }
            }
        }
    }
    pack_panels<Arch>(row_major(matrix.data(), columns), s.depth(), s.k, dst);
}

template <class Arch>
[[nodiscard]] Work mec_work(ConvShape const& s, std::size_t lowered_floats, int rows, int products) {
    const double lowered = 4.0 * static_cast<double>(lowered_floats), columns = padded_columns<Arch>(s.k);
    const double weights = 4.0 * s.depth() * columns, out = 4.0 * static_cast<double>(s.out_shape().size());
    const double stall = std::max(1.0, 10.0 / (panel_vectors * std::min(rows, tile_rows<Arch>)));
    return Work{}
        .add({.rate = Rate::vector, .operations = 0, .bytes = 2 * lowered, .working_set = lowered})
        .add({.rate = Rate::gemm,
              .operations = 2.0 * rows * products * columns * s.depth() * stall,
              .bytes = lowered * s.fh + weights * products + 2 * out,
              .working_set = lowered + weights + out});
}

}  // namespace detail

/// MEC (Cho and Brand 2017, arXiv 1706.06873), lowered along the columns: for every output column, a strip fw wide over
/// the full height. The patches of an output row are then overlapping windows of the lowered matrix, one product a row.
struct MecCol {
    static constexpr FixedString id = "mec-col";
    static constexpr Family family = Family::mec;
    using in_layout = hcw;
    using out_layout = hwc;
    static constexpr bool fuses_epilogue = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) { return detail::mec_supports(s); }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t) {
        return lowered_floats(s);
    }
    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        return detail::packed_size<Arch>(s.depth(), s.k);
    }
    /// The depth is ordered fh, c, fw: as a strip of an hcw image is.
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        detail::pack_depth_panels<Arch>(
            s, kernel, [&s](int c, int fh, int fw) { return (fh * s.c + c) * s.fw + fw; }, dst);
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
            const std::size_t at = oh * static_cast<std::size_t>(s.out_w()) * static_cast<std::size_t>(s.k);
            const detail::TileArgs whole{.a = args.scratch + oh * static_cast<std::size_t>(s.stride_h) * row,
                                         .a_stride = strip,
                                         .run = s.depth(),
                                         .c = args.dst + at,
                                         .c_stride = static_cast<std::size_t>(s.k),
                                         .column_bias = args.bias,
                                         .residual = args.residual == nullptr ? nullptr : args.residual + at,
                                         .clamp = args.clamp};
            detail::multiply_panels<Arch>(whole, 0, s.out_w(), s.k, args.weights);
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        return detail::mec_work<Arch>(s, lowered_floats(s), s.out_w(), s.out_h());
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
                const int w = w0 + fw;
                dst[fw] = w >= 0 && w < s.w ? row[w] : 0.0F;
            }
        }
    }
};

/// MEC lowered along the rows: for every output row, a strip fh high over the full width, whose overlapping windows are
/// the row's patches. One product a strip.
struct MecRowPartition {
    static constexpr FixedString id = "mec-row-partition";
    static constexpr Family family = Family::mec;
    using in_layout = hwc;
    using out_layout = hwc;
    static constexpr bool fuses_epilogue = true;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) { return detail::mec_supports(s); }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        return workers * strip_floats(s);
    }
    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        return detail::packed_size<Arch>(s.depth(), s.k);
    }
    /// The depth is ordered fw, fh, c.
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        detail::pack_depth_panels<Arch>(
            s, kernel, [&s](int c, int fh, int fw) { return (fw * s.fh + fh) * s.c + c; }, dst);
    }

    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        args.executor.parallel_for(static_cast<std::size_t>(s.out_h()), [&](std::size_t row, std::size_t worker) {
            float* strip = args.scratch + worker * strip_floats(s);
            lower(s, args.src, static_cast<int>(row), strip);
            const std::size_t at = row * static_cast<std::size_t>(s.out_w()) * static_cast<std::size_t>(s.k);
            const detail::TileArgs whole{.a = strip,
                                         .a_stride = static_cast<std::size_t>(s.stride_w * s.fh * s.c),
                                         .run = s.depth(),
                                         .c = args.dst + at,
                                         .c_stride = static_cast<std::size_t>(s.k),
                                         .column_bias = args.bias,
                                         .residual = args.residual == nullptr ? nullptr : args.residual + at,
                                         .clamp = args.clamp};
            detail::multiply_panels<Arch>(whole, 0, s.out_w(), s.k, args.weights);
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s) {
        return detail::mec_work<Arch>(s, strip_floats(s) * static_cast<std::size_t>(s.out_h()), s.out_w(), s.out_h());
    }

private:
    [[nodiscard]] static std::size_t strip_floats(ConvShape const& s) {
        return round_up_floats(static_cast<std::size_t>(s.padded_w()) * static_cast<std::size_t>(s.fh) *
                               static_cast<std::size_t>(s.c));
    }
    static void lower(ConvShape const& s, const float* src, int oh, float* dst) noexcept {
        const auto c = static_cast<std::size_t>(s.c);
        for (int pw = 0; pw < s.padded_w(); ++pw) {
            const int w = pw - s.pad_left;
            for (int fh = 0; fh < s.fh; ++fh, dst += c) {
                const int h = oh * s.stride_h + fh - s.pad_top;
                if (h < 0 || h >= s.h || w < 0 || w >= s.w) {
                    std::fill_n(dst, c, 0.0F);
                } else {
                    std::memcpy(dst, src + static_cast<std::size_t>(h * s.w + w) * c, c * sizeof(float));
                }
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
