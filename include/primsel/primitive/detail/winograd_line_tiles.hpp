// The tiles of one-dimensional Winograd filtering: their positions and transforms.
#pragma once

#include <primsel/core/fixed_string.hpp>
#include <primsel/primitive/detail/winograd_tiles.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// The kernels of a one-dimensional Winograd convolution: r x r, 1 x r or r x 1.
enum class KernelForm { square, row, column };

namespace primitive::detail {

/// A tile is m + r - 1 pixels in a row (for column kernels: in a column), from which m outputs are computed. Tiles form
/// lines. For tiles along rows, a line is an image row and a position m columns; for tiles along columns, a line is m
/// rows and a position one column. An output tile sums over `lines` consecutive lines of input tiles, starting with its
/// own.
template <int m, int r, KernelForm form, class P>
struct WinogradLineTiles {
    static constexpr int taps = m + r - 1;
    static constexpr bool along_rows = form != KernelForm::column;
    static constexpr int fh = form == KernelForm::row ? 1 : r, fw = form == KernelForm::column ? 1 : r;
    static constexpr int lines = form == KernelForm::square ? r : 1;
    static_assert(cook_toom<m, r, P>.is_convolution(), "two interpolation points are the same");
    static constexpr auto needed_text = [] {
        constexpr auto kernel =
            fixed_decimal<static_cast<unsigned>(fh)>() + "x" + fixed_decimal<static_cast<unsigned>(fw)>();
        return FixedString("needs a ") + kernel + " kernel";
    }();
    static constexpr const char* needed_kernel = needed_text.text;

    [[nodiscard]] static constexpr int out_lines(ConvShape const& s) {
        return along_rows ? s.out_h() : (s.out_h() + m - 1) / m;
    }
    [[nodiscard]] static constexpr int positions(ConvShape const& s) {
        return along_rows ? (s.out_w() + m - 1) / m : s.out_w();
    }

    /// Packs the transformed kernel, tap after tap and line after line, each as a packed matrix c x k.
    template <class Arch>
    static void pack(ConvShape const& s, const float* kernel, float* dst) {
        constexpr auto& g = kernel_matrix<m, r, P>;
        const auto c = static_cast<std::size_t>(s.c), k = static_cast<std::size_t>(s.k);
        const std::size_t matrix = gemm::packed_size<Arch>(s.c, s.k);
        // The transform writes into the panels directly, panel after panel.
        for (int first = 0; first < s.k; first += gemm::panel_width<Arch>) {
            const auto width = static_cast<std::size_t>(gemm::panel_columns<Arch>(first, s.k));
            for (std::size_t n = 0; n < width; n += static_cast<std::size_t>(lanes<Arch>)) {
                const std::size_t row = static_cast<std::size_t>(first) + n;
                float* panel = dst + c * static_cast<std::size_t>(first) + n;
                for (std::size_t column = 0; column < c; ++column, panel += width) {
                    for (std::size_t line = 0; line < lines; ++line) {
                        KernelLanes<Arch> in[r];
                        gather<Arch>(in, kernel + (row * c + column) * (fh * fw) + line * fw, c * (fh * fw),
                                     k - std::min(k, row));
                        for (std::size_t tap = 0; tap < taps; ++tap) {
                            scatter<Arch>(weigh<Arch>(g[tap], in, 1), panel + (tap * lines + line) * matrix);
                        }
                    }
                }
            }
        }
    }

    /// Transforms one input tile, all channels: dst[tap * tap_stride + c].
    template <int vec, bool many = false>
    static void transform_input(ConvShape const& s, const float* src, int line, int position, float* dst,
                                std::size_t tap_stride) noexcept {
        const int h0 = line * (along_rows ? 1 : m) - s.pad_top, w0 = position * (along_rows ? m : 1) - s.pad_left;
        const auto c = static_cast<std::size_t>(s.c);
        const float* pixels[taps];
        for (int i = 0; i < taps; ++i) {
            const int h = along_rows ? h0 : h0 + i, w = along_rows ? w0 + i : w0;
            const bool in = h >= 0 && h < s.h && w >= 0 && w < s.w;
            pixels[i] = in ? src + static_cast<std::size_t>(h * s.w + w) * c : nullptr;
        }
        for_channels<vec, many>(c, [&]<int n>(std::integral_constant<int, n>, std::size_t begin, std::size_t end) {
            transform_channels<n>(pixels, begin, end, dst, tap_stride);
        });
    }

    /// Computes one output tile, all kernels.
    template <int vec, bool many = false>
    static void transform_output(ConvShape const& s, ConvArgs const& args, int line, int position, const float* src,
                                 std::size_t tap_stride) noexcept {
        const int h0 = line * (along_rows ? 1 : m), w0 = position * (along_rows ? m : 1);
        const auto k = static_cast<std::size_t>(s.k);
        const std::size_t pixel = args.pixel_stride(s);
        const Target target{static_cast<std::size_t>(h0 * s.out_w() + w0) * pixel,
                            (along_rows ? 1 : static_cast<std::size_t>(s.out_w())) * pixel,
                            static_cast<std::size_t>(along_rows ? s.out_w() - w0 : s.out_h() - h0)};
        for_channels<vec, many>(k, [&]<int n>(std::integral_constant<int, n>, std::size_t begin, std::size_t end) {
            finish_channels<n>(args, target, begin, end, src, tap_stride);
        });
    }

private:
    /// A function for each width, to compile once and not for each pair of a width and its remainder.
    template <int n>
    PRIMSEL_NOINLINE static void transform_channels(const float* const* pixels, std::size_t begin, std::size_t end,
                                                    float* dst, std::size_t tap_stride) noexcept {
        using V = Lanes<n>;
        for (std::size_t at = begin; at < end; at += n) {
            V in[taps];
            for (int i = 0; i < taps; ++i) in[i] = pixels[i] != nullptr ? V::load(pixels[i] + at) : V::all(0.0F);
            transform<input_matrix<m, r, P>>(
                in, [&](std::size_t i, V const& value) { value.store(dst + i * tap_stride + at); });
        }
    }

    /// The positions of a tile's outputs: the first float, the distance between outputs, and how many of the m exist.
    struct Target {
        std::size_t first, step, count;
    };
    template <int n>
    PRIMSEL_NOINLINE static void finish_channels(ConvArgs const& args, Target const& target, std::size_t begin,
                                                 std::size_t end, const float* src, std::size_t tap_stride) noexcept {
        using V = Lanes<n>;
        for (std::size_t at = begin; at < end; at += n) {
            V in[taps];
            for (std::size_t i = 0; i < taps; ++i) in[i] = V::load(src + i * tap_stride + at);
            const Finish<n> finish(args, at);
            transform<output_matrix<m, r, P>>(in, [&](std::size_t i, V const& sum) {
                if (i < target.count) finish(sum, target.first + i * target.step + at);
            });
        }
    }
};

}  // namespace primitive::detail

}  // namespace primsel::inline PRIMSEL_ABI
