#pragma once

#include <primsel/layer/norm.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>
#include <limits>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// x / (k + alpha * squares) ^ beta. three_quarters: beta is 3/4, as in every published network.
template <class Arch, bool three_quarters>
class LrnFormula {
    using V = Floats<Arch>;

public:
    explicit LrnFormula(LrnParams const& params)
        : alpha_(params.alpha / static_cast<float>(params.size)), k_(params.k), minus_beta_(-params.beta) {}

    PRIMSEL_INLINE V operator()(V const& x, V const& squares) const {
        // Kept in the range of normal numbers: zero over zero is zero here.
        const V base = clamp<Arch>(fma<Arch>(squares, alpha_, k_), V(std::numeric_limits<float>::min()),
                                   V(std::numeric_limits<float>::max()));
        if constexpr (three_quarters) {
            const V root = reciprocal_sqrt<Arch>(base);
            return x * root * (root * reciprocal_sqrt<Arch>(root));
        } else {
            return x * exp<Arch>(minus_beta_ * log<Arch>(base));
        }
    }

private:
    V alpha_, k_, minus_beta_;
};

/// The channels of a pixel are neighbours.
template <class Arch, class Formula>
void lrn_pixel(Formula const& formula, std::ptrdiff_t back, std::ptrdiff_t ahead, std::ptrdiff_t channels,
               const float* src, float* dst) noexcept {
    for (std::ptrdiff_t c = 0; c < channels; c += lanes<Arch>) {
        const auto n = static_cast<std::size_t>(channels - c);
        Floats<Arch> squares(0.0F);
        const auto add = [&squares](Floats<Arch> const& x) { squares = fma<Arch>(x, x, squares); };
        if (c >= back && c + lanes<Arch> + ahead <= channels) {
            for (std::ptrdiff_t i = c - back; i <= c + ahead; ++i) add(load<Arch>(src + i));
        } else {
            for (std::ptrdiff_t i = c - back; i <= c + ahead; ++i) add(load_around<Arch>(src, i, channels, 0.0F));
        }
        store_up_to<Arch>(dst + c, formula(load_up_to<Arch>(src + c, n), squares), n);
    }
}

/// Pixels are neighbours, and their channels `inner` floats apart.
template <class Arch, class Formula>
void lrn_pixels(Formula const& formula, std::ptrdiff_t back, std::ptrdiff_t ahead, std::ptrdiff_t channels,
                std::size_t inner, std::size_t pixels, const float* src, float* dst) noexcept {
    for (std::ptrdiff_t c = 0; c < channels; ++c) {
        const auto first = static_cast<std::size_t>(std::max(c - back, std::ptrdiff_t{0}));
        const auto last = static_cast<std::size_t>(std::min(c + ahead, channels - 1));
        const std::size_t at = static_cast<std::size_t>(c) * inner;
        for (std::size_t pixel = 0; pixel < pixels; pixel += lanes<Arch>) {
            const std::size_t n = pixels - pixel;
            Floats<Arch> squares(0.0F);
            for (std::size_t i = first; i <= last; ++i) {
                const Floats<Arch> x = load_up_to<Arch>(src + i * inner + pixel, n);
                squares = fma<Arch>(x, x, squares);
            }
            store_up_to<Arch>(dst + at + pixel, formula(load_up_to<Arch>(src + at + pixel, n), squares), n);
        }
    }
}

template <class Arch, class Formula>
void lrn(LrnParams const& params, AxisView view, OpArgs const& args, Formula const& formula) noexcept {
    const auto channels = static_cast<std::ptrdiff_t>(view.count);
    const std::ptrdiff_t back = params.size / 2, ahead = (params.size - 1) / 2;
    const float* src = args.src[0];
    float* dst = args.dst;
    if (view.inner == 1) {
        for_ranges(args.executor, view.outer, view.count, [=](std::size_t first, std::size_t last) {
            for (std::size_t at = first * view.count; at < last * view.count; at += view.count) {
                lrn_pixel<Arch>(formula, back, ahead, channels, src + at, dst + at);
            }
        });
        return;
    }
    // Strips of pixels, so that the channels of a window stay in L1.
    constexpr std::size_t strip = 256;
    const std::size_t strips = (view.inner + strip - 1) / strip;
    for_ranges(args.executor, view.outer * strips, view.count * strip, [=](std::size_t first, std::size_t last) {
        for (std::size_t item = first; item < last; ++item) {
            const std::size_t begin = item % strips * strip, at = item / strips * view.count * view.inner + begin;
            lrn_pixels<Arch>(formula, back, ahead, channels, view.inner, std::min(strip, view.inner - begin), src + at,
                             dst + at);
        }
    });
}

}  // namespace detail

template <>
struct Op<LrnParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(LrnParams const& params, std::span<const Shape>, Shape output) {
        return (2.0 * params.size + 20) * static_cast<double>(output.size());
    }

    template <class Arch, StridedLayout L>
    static void run(LrnParams const& params, OpArgs const& args) noexcept {
        const auto view = detail::channel_view<L>(args.dst_shape, args.batch);
        if (params.beta == 0.75F) {
            detail::lrn<Arch>(params, view, args, detail::LrnFormula<Arch, true>(params));
        } else {
            detail::lrn<Arch>(params, view, args, detail::LrnFormula<Arch, false>(params));
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
