#pragma once

#include <primsel/layer/norm.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>

namespace primsel::inline PRIMSEL_ABI {

template <>
struct Op<LrnParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(LrnParams const& params, std::span<const Shape>, Shape output) {
        return (2.0 * params.size + 5) * static_cast<double>(output.size());
    }

    template <class Arch, StridedLayout L>
    static void run(LrnParams const& params, OpArgs const& args) noexcept {
        const auto view = detail::channel_view<L>(args.dst_shape, args.batch);
        // The exponent of every published network has a power made of square roots.
        if (params.beta == 0.75F) {
            normalise<Arch>(params, view, args, [](Floats<Arch> const& x) {
                const Floats<Arch> root = xsimd::sqrt(x);
                return root * xsimd::sqrt(root);
            });
        } else {
            normalise<Arch>(params, view, args, [beta = Floats<Arch>(params.beta)](Floats<Arch> const& x) {
                return xsimd::exp(beta * xsimd::log(x));
            });
        }
    }

private:
    template <class Arch, class Power>
    static void normalise(LrnParams const& params, detail::ChannelView view, OpArgs const& args,
                          Power const& power) noexcept {
        using V = Floats<Arch>;
        constexpr std::ptrdiff_t width = lanes<Arch>;
        const auto channels = static_cast<std::ptrdiff_t>(view.c), inner = static_cast<std::ptrdiff_t>(view.inner);
        const std::ptrdiff_t back = params.size / 2, ahead = (params.size - 1) / 2;
        const V alpha(params.alpha / static_cast<float>(params.size)), k(params.k);
        const float* src = args.src[0];
        float* dst = args.dst;
        const auto store = [=](std::ptrdiff_t at, std::ptrdiff_t count, V const& squares) {
            const auto n = static_cast<std::size_t>(count);
            const V x = detail::load_up_to<Arch>(src + at, n);
            detail::store_up_to<Arch>(dst + at, x / power(fma<Arch>(squares, alpha, k)), n);
        };
        if (inner == 1) {
            detail::for_ranges(args.executor, view.outer, view.c, [=](std::size_t first, std::size_t last) {
                for (std::size_t pixel = first; pixel < last; ++pixel) {
                    const std::ptrdiff_t row = static_cast<std::ptrdiff_t>(pixel) * channels;
                    for (std::ptrdiff_t c = 0; c < channels; c += width) {
                        V squares(0.0F);
                        for (std::ptrdiff_t i = c - back; i <= c + ahead; ++i) {
                            const V x = detail::load_around<Arch>(src + row, i, channels, 0.0F);
                            squares = fma<Arch>(x, x, squares);
                        }
                        store(row + c, channels - c, squares);
                    }
                }
            });
            return;
        }
        // Strips of pixels, so that the channels of a window stay in L1.
        constexpr std::ptrdiff_t strip = 256;
        const std::size_t strips = static_cast<std::size_t>((inner + strip - 1) / strip);
        detail::for_ranges(args.executor, view.outer * strips, view.c * strip,
                           [=](std::size_t first, std::size_t last) {
                               for (std::size_t item = first; item < last; ++item) {
                                   const auto image = static_cast<std::ptrdiff_t>(item / strips) * channels * inner;
                                   const std::ptrdiff_t begin = static_cast<std::ptrdiff_t>(item % strips) * strip;
                                   const std::ptrdiff_t end = std::min(begin + strip, inner);
                                   for (std::ptrdiff_t c = 0; c < channels; ++c) {
                                       const std::ptrdiff_t low = std::max(c - back, std::ptrdiff_t{0});
                                       const std::ptrdiff_t high = std::min(c + ahead, channels - 1);
                                       for (std::ptrdiff_t at = begin; at < end; at += width) {
                                           V squares(0.0F);
                                           for (std::ptrdiff_t i = low; i <= high; ++i) {
                                               const V x = detail::load_up_to<Arch>(src + image + i * inner + at,
                                                                                    static_cast<std::size_t>(end - at));
                                               squares = fma<Arch>(x, x, squares);
                                           }
                                           store(image + c * inner + at, end - at, squares);
                                       }
                                   }
                               }
                           });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
