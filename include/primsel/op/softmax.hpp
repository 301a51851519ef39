#pragma once

#include <primsel/layer/norm.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>
#include <limits>

namespace primsel::inline PRIMSEL_ABI {

/// The largest of each pixel's channels is subtracted first, so that exp cannot overflow.
template <>
struct Op<SoftmaxParams> {
    static constexpr bool in_place = true;

    [[nodiscard]] static double operations(SoftmaxParams const&, std::span<const Shape>, Shape output) {
        return 20 * static_cast<double>(output.size());
    }

    template <class Arch, StridedLayout L>
    static void run(SoftmaxParams const&, OpArgs const& args) noexcept {
        const auto view = detail::channel_view<L>(args.dst_shape, args.batch);
        const float* src = args.src[0];
        float* dst = args.dst;
        if (view.inner == 1) {
            detail::for_ranges(args.executor, view.outer, view.c, [=](std::size_t first, std::size_t last) {
                for (std::size_t pixel = first; pixel < last; ++pixel) {
                    one_pixel<Arch>(view.c, src + pixel * view.c, dst + pixel * view.c);
                }
            });
            return;
        }
        const std::size_t strips = (view.inner + strip - 1) / strip;
        detail::for_ranges(
            args.executor, view.outer * strips, view.c * strip, [=](std::size_t first, std::size_t last) {
                for (std::size_t item = first; item < last; ++item) {
                    const std::size_t begin = item % strips * strip;
                    const std::size_t at = item / strips * view.c * view.inner + begin;
                    some_pixels<Arch>(view.c, view.inner, std::min(strip, view.inner - begin), src + at, dst + at);
                }
            });
    }

private:
    static constexpr std::size_t strip = 256;
    static constexpr float lowest = -std::numeric_limits<float>::infinity();

    /// The channels are neighbours.
    template <class Arch>
    static void one_pixel(std::size_t channels, const float* src, float* dst) noexcept {
        using V = Floats<Arch>;
        constexpr std::size_t width = lanes<Arch>;
        V top(lowest);
        for (std::size_t c = 0; c < channels; c += width) {
            top = max<Arch>(top, detail::load_up_to<Arch>(src + c, channels - c, lowest));
        }
        top = V(detail::fold_lanes<Arch>(top, [](float a, float b) { return a > b ? a : b; }));
        V sum(0.0F);
        for (std::size_t c = 0; c < channels; c += width) {
            const V power = xsimd::exp(detail::load_up_to<Arch>(src + c, channels - c, lowest) - top);
            detail::store_up_to<Arch>(dst + c, power, channels - c);
            sum += power;
        }
        sum = V(detail::fold_lanes<Arch>(sum, [](float a, float b) { return a + b; }));
        for (std::size_t c = 0; c < channels; c += width) {
            const V power = detail::load_up_to<Arch>(dst + c, channels - c);
            detail::store_up_to<Arch>(dst + c, power / sum, channels - c);
        }
    }

    /// Up to `strip` pixels are neighbours, and their channels `inner` apart.
    template <class Arch>
    static void some_pixels(std::size_t channels, std::size_t inner, std::size_t pixels, const float* src,
                            float* dst) noexcept {
        using V = Floats<Arch>;
        constexpr std::size_t width = lanes<Arch>;
        alignas(64) float top[strip], sum[strip];
        std::fill_n(top, strip, lowest);
        std::fill_n(sum, strip, 0.0F);
        for (std::size_t c = 0; c < channels; ++c) {
            for (std::size_t i = 0; i < pixels; i += width) {
                store<Arch>(top + i,
                            max<Arch>(load<Arch>(top + i), detail::load_up_to<Arch>(src + c * inner + i, pixels - i)));
            }
        }
        for (std::size_t c = 0; c < channels; ++c) {
            for (std::size_t i = 0; i < pixels; i += width) {
                const V power =
                    xsimd::exp(detail::load_up_to<Arch>(src + c * inner + i, pixels - i) - load<Arch>(top + i));
                detail::store_up_to<Arch>(dst + c * inner + i, power, pixels - i);
                store<Arch>(sum + i, load<Arch>(sum + i) + power);
            }
        }
        for (std::size_t c = 0; c < channels; ++c) {
            for (std::size_t i = 0; i < pixels; i += width) {
                const V power = detail::load_up_to<Arch>(dst + c * inner + i, pixels - i);
                detail::store_up_to<Arch>(dst + c * inner + i, power / load<Arch>(sum + i), pixels - i);
            }
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
