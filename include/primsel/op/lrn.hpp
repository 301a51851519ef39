#pragma once

#include <primsel/layer/norm.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>
#include <limits>

namespace primsel::inline PRIMSEL_ABI {

namespace op::detail {

/// x / (k + alpha * squares) ^ beta. three_quarters: beta is 3/4, as in every published network.
template <class Arch, bool three_quarters>
class LrnFormula {
    using V = Floats<Arch>;

public:
    explicit LrnFormula(LrnParams const& params)
        : alpha_(params.alpha / static_cast<float>(params.size)), k_(params.k), minus_beta_(-params.beta) {}

    PRIMSEL_INLINE V operator()(V const& x, V const& squares) const { return of(x, squares).power; }
    /// x / base ^ beta and y / base, where base is k + alpha * squares.
    struct Quotients {
        V power, first;
    };
    PRIMSEL_INLINE Quotients of(V const& x, V const& squares, V const& y = V(0.0F)) const {
        // Kept in the range of normal numbers: zero over zero is zero here.
        const V base = clamp<Arch>(fma<Arch>(squares, alpha_, k_), V(std::numeric_limits<float>::min()),
                                   V(std::numeric_limits<float>::max()));
        if constexpr (three_quarters) {
            const V root = reciprocal_sqrt<Arch>(base);
            return {x * root * (root * reciprocal_sqrt<Arch>(root)), y * root * root};
        } else {
            return {x * exp<Arch>(minus_beta_ * log<Arch>(base)), y / base};
        }
    }

private:
    V alpha_, k_, minus_beta_;
};

/// For some pixels, rows of one float a channel with zeros before and behind: the sums over windows of channels are
/// sums of vectors that begin at successive floats. A step stores all rows before the next step reads them, because a
/// load that overlaps two recent stores has to wait for both.
template <class Arch>
struct LrnRows {
    static constexpr std::ptrdiff_t width = lanes<Arch>, room = 1024;
    /// The most channels of a row, and of a window.
    static constexpr std::ptrdiff_t channels = 512, window = 64;
    static_assert(channels + 2 * window + 2 * width + 16 <= room);

    alignas(64) float floats[room] = {};

    /// Floats from one row to the next, for n channels and windows of reach + 1.
    [[nodiscard]] static std::ptrdiff_t stride(std::ptrdiff_t n, std::ptrdiff_t reach) {
        return (n + 2 * reach + 2 * width + 15) / 16 * 16;
    }
    /// The sums of windows of `size` floats, one for each lane; the first begins at `at`.
    [[nodiscard]] PRIMSEL_INLINE Floats<Arch> sum(std::ptrdiff_t at, std::ptrdiff_t size) const {
        Floats<Arch> total = load<Arch>(floats + at);
        for (std::ptrdiff_t i = 1; i < size; ++i) total += load<Arch>(floats + at + i);
        return total;
    }
};

/// The channels of a pixel, and how far a channel's window reaches to either side.
struct LrnChannels {
    std::ptrdiff_t back, ahead, count;
};

/// The channels of a pixel are neighbours.
template <class Arch, class Formula>
void lrn_pixel(Formula const& formula, LrnChannels of, const float* src, float* dst) noexcept {
    const auto [back, ahead, channels] = of;
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

/// The same of many pixels with channels and windows that fit LrnRows.
template <class Arch, class Formula>
void lrn_rows(Formula const& formula, LrnChannels of, std::size_t pixels, const float* src, float* dst) noexcept {
    const auto [back, ahead, channels] = of;
    LrnRows<Arch> squares;
    const std::ptrdiff_t stride = squares.stride(channels, back + ahead), most = squares.room / stride;
    for (auto left = static_cast<std::ptrdiff_t>(pixels); left > 0; left -= most) {
        const std::ptrdiff_t rows = std::min(left, most);
        for (std::ptrdiff_t row = 0; row < rows; ++row) {
            for (std::ptrdiff_t c = 0; c < channels; c += lanes<Arch>) {
                const auto x = load_up_to<Arch>(src + row * channels + c, static_cast<std::size_t>(channels - c));
                store<Arch>(squares.floats + row * stride + back + c, x * x);
            }
        }
        for (std::ptrdiff_t row = 0; row < rows; ++row) {
            for (std::ptrdiff_t c = 0; c < channels; c += lanes<Arch>) {
                const auto n = static_cast<std::size_t>(channels - c);
                const auto x = load_up_to<Arch>(src + row * channels + c, n);
                store_up_to<Arch>(dst + row * channels + c, formula(x, squares.sum(row * stride + c, back + ahead + 1)),
                                  n);
            }
        }
        src += rows * channels, dst += rows * channels;
    }
}

/// Pixels are neighbours, and their channels `inner` floats apart.
template <class Arch, class Formula>
void lrn_pixels(Formula const& formula, LrnChannels of, std::size_t inner, std::size_t pixels, const float* src,
                float* dst) noexcept {
    const auto [back, ahead, channels] = of;
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
    const LrnChannels channels{params.size / 2, (params.size - 1) / 2, static_cast<std::ptrdiff_t>(view.count)};
    const float* src = args.src[0];
    float* dst = args.dst;
    if (view.inner == 1) {
        const bool few = channels.count <= LrnRows<Arch>::channels && params.size <= LrnRows<Arch>::window;
        for_ranges(args.executor, view.outer, view.count, [=](std::size_t first, std::size_t last) {
            if (few) {
                const std::size_t at = first * view.count;
                return lrn_rows<Arch>(formula, channels, last - first, src + at, dst + at);
            }
            for (std::size_t at = first * view.count; at < last * view.count; at += view.count) {
                lrn_pixel<Arch>(formula, channels, src + at, dst + at);
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
            lrn_pixels<Arch>(formula, channels, view.inner, std::min(strip, view.inner - begin), src + at, dst + at);
        }
    });
}

}  // namespace op::detail

template <>
struct Op<LrnParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(LrnParams const& params, std::span<const Shape> inputs, Shape output) {
        return op::element_counts<L>((2.0 * params.size + 20) * static_cast<double>(output.size()), inputs, output);
    }

    template <class Arch, StridedLayout L>
    static void run(LrnParams const& params, OpArgs const& args) noexcept {
        const auto view = op::detail::channel_view<L>(args.dst_shape, args.batch);
        if (params.beta == 0.75F) {
            op::detail::lrn<Arch>(params, view, args, op::detail::LrnFormula<Arch, true>(params));
        } else {
            op::detail::lrn<Arch>(params, view, args, op::detail::LrnFormula<Arch, false>(params));
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
