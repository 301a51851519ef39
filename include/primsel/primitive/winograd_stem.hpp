#pragma once

#include <primsel/core/cache_sizes.hpp>
#include <primsel/core/fixed_string.hpp>
#include <primsel/primitive/detail/winograd_tiles.hpp>
#include <primsel/primitive/primitive.hpp>

#include <algorithm>

namespace primsel::inline PRIMSEL_ABI {

/// Winograd's minimal filtering F(m, r) with a stride down the columns of an image with few channels, such as a
/// network's input. A tile is the image's rows under m output rows. Each of its transformed rows is multiplied by the
/// transformed kernel, with channels and the kernel's columns as the depth: tiles in two dimensions would have a depth
/// of channels alone.
template <int m, int r, int stride>
struct WinogradStem {
private:
    using Matrices = primitive::detail::TileMatrices<m, r, stride>;
    static constexpr int size = Matrices::size, most_channels = 4, vec = 16;
    static constexpr auto needed_stride = FixedString("needs stride ") + fixed_decimal<stride>();
    static constexpr auto needed_kernel = [] {
        constexpr auto kernel = fixed_decimal<r>() + "x" + fixed_decimal<r>() + " kernel";
        if constexpr (r == 8 || r == 11)
            return FixedString("needs an ") + kernel;
        else
            return FixedString("needs a ") + kernel;
    }();

public:
    static constexpr auto id = FixedString("winograd-stem-") + fixed_decimal<m>() + "-" + fixed_decimal<r>() + "x" +
                               fixed_decimal<r>() + "-stride-" + fixed_decimal<stride>();
    static constexpr Family family = Family::other;
    using in_layout = chw;
    using out_layout = hwc;
    static constexpr bool fuses_epilogue = true, strided_output = true, mixes_pixels = true, packs_for_any_size = true;
    static constexpr double error_bound = 2e-4;

    [[nodiscard]] static constexpr Support supports(ConvShape const& s) {
        if (s.fh != r || s.fw != r) return Support::no(needed_kernel.text);
        if (s.stride_h != stride || s.stride_w != stride) return Support::no(needed_stride.text);
        if (s.dilated()) return Support::no("needs dilation 1");
        if (s.groups != 1) return Support::no("needs one group");
        return s.c > most_channels ? Support::no("needs 4 channels or fewer") : Support::yes();
    }

    template <class Arch>
    [[nodiscard]] static std::size_t packed_floats(ConvShape const& s) {
        return size * matrix_floats<Arch>(s);
    }
    /// Packs the transformed kernel, product after product, each as a matrix (c, fw) x k in panels.
    template <class Arch>
    static void pack(ConvShape const& s, KernelView kernel, float* dst, ExecutorRef executor) {
        executor.parallel_for(static_cast<std::size_t>(gemm::panel_count<Arch>(s.k)), [&](std::size_t i, std::size_t) {
            const int first = static_cast<int>(i) * gemm::panel_width<Arch>,
                      width = gemm::panel_columns<Arch>(first, s.k);
            float* panel = dst + depth(s) * static_cast<std::size_t>(first);
            for (int c = 0; c < s.c; ++c) {
                for (int fw = 0; fw < r; ++fw) {
                    for (int n = 0; n < width; ++n) {
                        pack_column<Arch>(s, kernel, c, fw, first + n, panel++);
                    }
                }
            }
        });
    }

    template <class Arch>
    [[nodiscard]] static std::size_t scratch_floats(ConvShape const& s, std::size_t workers) {
        return workers * worker_floats<Arch>(s);
    }

    /// Parallel over tiles.
    template <class Arch>
    static void run(ConvShape const& s, ConvArgs const& args) noexcept {
        args.executor.parallel_for(static_cast<std::size_t>(tiles(s)), [&](std::size_t tile, std::size_t worker) {
            float* const rows = args.scratch + worker * worker_floats<Arch>(s);
            float* const y = rows + round_up_floats(size * tile_floats(s));
            const int first = static_cast<int>(tile) * m, step = pixels_at_once<Arch>(s);
            transform_rows(s, args.src, first, rows);
            for (int ow = 0; ow < s.out_w(); ow += step) {
                const int pixels = std::min(step, s.out_w() - ow);
                multiply<Arch>(s, args, rows + stride * ow, pixels, y);
                transform_output(s, args, first, ow, pixels, y);
            }
        });
    }

    template <class Arch>
    [[nodiscard]] static Work work(ConvShape const& s, int /*images*/, int /*threads*/) {
        const double in = 1.0 * tiles(s) * size * s.c * s.w, pixels = 1.0 * tiles(s) * s.out_w(),
                     y = 4.0 * size * pixels * s.k;
        const double in_cache = 4.0 * static_cast<double>(worker_floats<Arch>(s) + packed_floats<Arch>(s));
        return Work{}
            .add(primitive::detail::transform_phase<Arch, vec>(s.w, in / s.w * Matrices::operations, 8 * in, in_cache)
                     .shared_by(tiles(s), 1))
            .add({.rate = Rate::gemm,
                  .operations = size * gemm::tile_operations<Arch>(pixels, s.k, 1.0 * static_cast<double>(depth(s))),
                  .bytes = y,
                  .working_set = in_cache,
                  .blocks = 1.0 * tiles(s)})
            .add(primitive::detail::transform_phase<Arch, vec>(s.k, pixels * size * Matrices::operations, y + y / 2,
                                                               in_cache)
                     .shared_by(tiles(s), 0));
    }

private:
    [[nodiscard]] static constexpr int tiles(ConvShape const& s) { return (s.out_h() + m - 1) / m; }
    [[nodiscard]] static constexpr std::size_t depth(ConvShape const& s) { return static_cast<std::size_t>(s.c * r); }
    template <class Arch>
    [[nodiscard]] static std::size_t matrix_floats(ConvShape const& s) {
        return gemm::packed_size<Arch>(s.c * r, s.k);
    }
    [[nodiscard]] static constexpr std::size_t row_floats(ConvShape const& s) {
        return static_cast<std::size_t>(s.padded_w());
    }
    /// Returns the floats of a transformed row of all channels.
    [[nodiscard]] static constexpr std::size_t tile_floats(ConvShape const& s) {
        return static_cast<std::size_t>(s.c) * row_floats(s);
    }
    /// Returns the output pixels of a row whose products lie in a quarter of L2.
    template <class Arch>
    [[nodiscard]] static constexpr int pixels_at_once(ConvShape const& s) {
        constexpr int step = gemm::tile_rows<Arch>;
        const auto room = static_cast<int>(l2_floats / 4 / (size * primitive::detail::tile_stride(s.k)));
        return std::min(std::max(room / step, 1) * step, s.out_w());
    }
    template <class Arch>
    [[nodiscard]] static constexpr std::size_t worker_floats(ConvShape const& s) {
        return round_up_floats(size * tile_floats(s)) +
               static_cast<std::size_t>(size * pixels_at_once<Arch>(s)) * primitive::detail::tile_stride(s.k);
    }

    /// Writes one element of each product's matrix.
    template <class Arch>
    static void pack_column(ConvShape const& s, KernelView kernel, int c, int fw, int k, float* dst) {
        for (int i = 0; i < size; ++i, dst += matrix_floats<Arch>(s)) {
            double sum = 0;
            for (int t = 0; t < r && k < s.k; ++t) {
                const int tap = kernel.tap(s, Matrices::tap(t) * r + fw);
                sum += Matrices::kernel[static_cast<std::size_t>(i)][static_cast<std::size_t>(t)] *
                       static_cast<double>(kernel.taps(s, 0, k, c)[tap]);
            }
            *dst = static_cast<float>(sum);
        }
    }

    /// Writes the transformed rows under the output rows from `first` on: dst[product][c][padded column].
    static void transform_rows(ConvShape const& s, const float* src, int first, float* dst) noexcept {
        const std::size_t left = static_cast<std::size_t>(s.pad_left), w = static_cast<std::size_t>(s.w);
        for (std::size_t i = 0; i < static_cast<std::size_t>(size * s.c); ++i) {
            float* row = dst + i * row_floats(s);
            std::fill_n(row, left, 0.0F);
            std::fill(row + left + w, row + row_floats(s), 0.0F);
        }
        for (int c = 0; c < s.c; ++c) {
            const float* rows[size];
            for (int i = 0; i < size; ++i) {
                const int h = stride * first - s.pad_top + Matrices::position(i);
                rows[i] = h >= 0 && h < s.h ? src + static_cast<std::size_t>(c * s.h + h) * w : nullptr;
            }
            float* to = dst + static_cast<std::size_t>(c) * row_floats(s) + left;
            primitive::detail::for_channels<vec>(
                w, [&]<int n>(std::integral_constant<int, n>, std::size_t begin, std::size_t end) {
                    transform_columns<n>(rows, begin, end, to, tile_floats(s));
                });
        }
    }
    template <int n>
    PRIMSEL_NOINLINE static void transform_columns(const float* const* rows, std::size_t begin, std::size_t end,
                                                   float* dst, std::size_t step) noexcept {
        using V = primitive::detail::Lanes<n>;
        for (std::size_t at = begin; at < end; at += n) {
            V in[size];
            for (int i = 0; i < size; ++i) in[i] = rows[i] != nullptr ? V::load(rows[i] + at) : V::all(0.0F);
            primitive::detail::transform<Matrices::input>(
                in, [&](std::size_t i, V const& value) { value.store(dst + i * step + at); });
        }
    }

    /// Writes y[product][pixel][k] for output pixels of a row, from the transformed rows under the first of them.
    template <class Arch>
    static void multiply(ConvShape const& s, ConvArgs const& args, const float* rows, int pixels, float* y) noexcept {
        const std::size_t y_stride = primitive::detail::tile_stride(s.k);
        for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i) {
            const gemm::TileArgs product{.a = rows + i * tile_floats(s),
                                         .a_stride = stride,
                                         .outer = s.c,
                                         .run = r,
                                         .outer_step = row_floats(s),
                                         .c = y + i * static_cast<std::size_t>(pixels) * y_stride,
                                         .c_stride = y_stride};
            gemm::multiply_panels<Arch>(product, 0, pixels, s.k, args.weights + i * matrix_floats<Arch>(s));
        }
    }

    /// Stores m output rows of some pixels.
    static void transform_output(ConvShape const& s, ConvArgs const& args, int first, int ow, int pixels,
                                 const float* y) noexcept {
        const std::size_t y_stride = primitive::detail::tile_stride(s.k), pixel = args.pixel_stride(s),
                          row = static_cast<std::size_t>(s.out_w()) * pixel;
        const auto rows = static_cast<std::size_t>(std::min(m, s.out_h() - first));
        const auto to = static_cast<std::size_t>(first * s.out_w() + ow) * pixel;
        primitive::detail::for_channels<vec>(
            static_cast<std::size_t>(s.k),
            [&]<int n>(std::integral_constant<int, n>, std::size_t begin, std::size_t end) {
                for (std::size_t i = 0; i < static_cast<std::size_t>(pixels); ++i) {
                    finish_channels<n>(args, y + i * y_stride, static_cast<std::size_t>(pixels) * y_stride, begin, end,
                                       to + i * pixel, row, rows);
                }
            });
    }
    template <int n>
    PRIMSEL_NOINLINE static void finish_channels(ConvArgs const& args, const float* y, std::size_t step,
                                                 std::size_t begin, std::size_t end, std::size_t to, std::size_t row,
                                                 std::size_t rows) noexcept {
        using V = primitive::detail::Lanes<n>;
        for (std::size_t at = begin; at < end; at += n) {
            V in[size];
            for (std::size_t i = 0; i < static_cast<std::size_t>(size); ++i) in[i] = V::load(y + i * step + at);
            const primitive::detail::Finish<n> finish(args, at);
            primitive::detail::transform<Matrices::output>(in, [&](std::size_t i, V const& sum) {
                if (i < rows) finish(sum, to + i * row + at);
            });
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
