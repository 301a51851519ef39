#pragma once

#include <primsel/core/aligned_buffer.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/primitive/conv_args.hpp>
#include <primsel/primitive/conv_shape.hpp>
#include <primsel/primitive/detail/depthwise_finish.hpp>

#include <algorithm>
#include <cstddef>
#include <cstring>
#include <type_traits>

namespace primsel::inline PRIMSEL_ABI::primitive::detail {

/// Depthwise convolution in chw, plane by plane. Each plane is copied with its padding, and its columns are grouped by
/// their remainder modulo the stride, so that every tap reads neighbours.
struct DepthwisePlanes {
    /// Returns the floats of a copied plane.
    template <class Arch>
    [[nodiscard]] static constexpr std::size_t plane_floats(ConvShape const& s) {
        return round_up_floats(part_floats<Arch>(s) * static_cast<std::size_t>(s.stride_w) *
                               static_cast<std::size_t>(s.padded_h()));
    }

    template <class Arch>
    static void copy_plane(ConvShape const& s, const float* src, float* dst) noexcept {
        const std::size_t part = part_floats<Arch>(s), row = part * static_cast<std::size_t>(s.stride_w);
        std::fill_n(dst, row * static_cast<std::size_t>(s.padded_h()), 0.0F);
        for (int h = 0; h < s.h; ++h, src += s.w) {
            float* to = dst + static_cast<std::size_t>(h + s.pad_top) * row;
            if (s.stride_w == 1) {
                std::memcpy(to + s.pad_left, src, static_cast<std::size_t>(s.w) * sizeof(float));
                continue;
            }
            for (int w = 0; w < s.w; ++w) {
                const int column = w + s.pad_left;
                to[static_cast<std::size_t>(column % s.stride_w) * part +
                   static_cast<std::size_t>(column / s.stride_w)] = src[w];
            }
        }
    }

    /// Computes the output plane of kernel k.
    template <class Arch>
    static void run_kernel(ConvShape const& s, ConvArgs const& args, const float* plane, int k) noexcept {
        const std::size_t part = part_floats<Arch>(s), row = part * static_cast<std::size_t>(s.stride_w);
        const float* weights = args.weights + k * s.taps();
        const float bias = args.bias == nullptr ? 0.0F : args.bias[k];
        for (int oh = 0; oh < s.out_h(); ++oh) {
            const float* rows = plane + static_cast<std::size_t>(oh * s.stride_h) * row;
            const std::size_t out =
                (static_cast<std::size_t>(k) * static_cast<std::size_t>(s.out_h()) + static_cast<std::size_t>(oh)) *
                static_cast<std::size_t>(s.out_w());
            for (int ow = 0; ow < s.out_w();) {
                const int rest = s.out_w() - ow;
                const auto columns = [&]<int count>(std::integral_constant<int, count>) {
                    run_columns<Arch, count>(s, args, rows, weights, bias, ow, out + static_cast<std::size_t>(ow));
                    ow += count * lanes<Arch>;
                };
                if (rest > 2 * lanes<Arch>) {
                    columns(std::integral_constant<int, 4>{});
                } else if (rest > lanes<Arch>) {
                    columns(std::integral_constant<int, 2>{});
                } else {
                    columns(std::integral_constant<int, 1>{});
                }
            }
        }
    }

private:
    static constexpr int most_vectors = 4;

    /// Returns the columns of the padded plane with one remainder modulo the stride, plus room for the last vector to
    /// read beyond.
    template <class Arch>
    [[nodiscard]] static constexpr std::size_t part_floats(ConvShape const& s) {
        const int columns = std::max(s.padded_w() / s.stride_w + 1, s.out_w() + s.span_w() / s.stride_w + 1);
        return static_cast<std::size_t>(columns + most_vectors * lanes<Arch>);
    }

    /// Computes `vectors` vectors of output columns from ow on and omits those beyond the row. `at` is the position of
    /// the results.
    template <class Arch, int vectors>
    static void run_columns(ConvShape const& s, ConvArgs const& args, const float* rows, const float* weights,
                            float bias, int ow, std::size_t at) noexcept {
        const std::size_t part = part_floats<Arch>(s), row = part * static_cast<std::size_t>(s.stride_w);
        Floats<Arch> sums[vectors];
        PRIMSEL_UNROLL
        for (int v = 0; v < vectors; ++v) sums[v] = broadcast<Arch>(0.0F);
        for (int fh = 0; fh < s.fh; ++fh) {
            for (int fw = 0; fw < s.fw; ++fw) {
                const int column = fw * s.dilation_w;
                const float* from = rows + static_cast<std::size_t>(fh * s.dilation_h) * row +
                                    static_cast<std::size_t>(column % s.stride_w) * part +
                                    static_cast<std::size_t>(column / s.stride_w + ow);
                const auto weight = broadcast<Arch>(weights[fh * s.fw + fw]);
                PRIMSEL_UNROLL
                for (int v = 0; v < vectors; ++v) {
                    sums[v] = fma<Arch>(weight, load<Arch>(from + v * lanes<Arch>), sums[v]);
                }
            }
        }
        finish_columns<Arch>(args, sums, bias, at, std::min(s.out_w() - ow, vectors * lanes<Arch>));
    }

    /// Writes the first `count` columns of the sums.
    template <class Arch>
    PRIMSEL_INLINE static void finish_columns(ConvArgs const& args, const Floats<Arch>* sums, float bias,
                                              std::size_t at, int count) noexcept {
        constexpr int width = lanes<Arch>;
        for (int v = 0; v * width < count; ++v) {
            const std::size_t to = at + static_cast<std::size_t>(v * width);
            if (count - v * width >= width) {
                finish_depthwise<Arch>(args, sums[v] + broadcast<Arch>(bias), nullptr, to);
                continue;
            }
            alignas(64) float rest[width];
            store<Arch>(rest, sums[v]);
            for (int i = 0; i < count - v * width; ++i) {
                finish_depthwise(args, rest[i], bias, to + static_cast<std::size_t>(i));
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::primitive::detail
