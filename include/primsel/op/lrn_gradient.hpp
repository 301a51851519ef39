#pragma once

#include <primsel/layer/gradient.hpp>
#include <primsel/op/lrn.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace primsel::inline PRIMSEL_ABI {

namespace op::detail {

/// With s = k + alpha / size * squares and t = dy * y / s, both for each channel: dx = dy / s^beta - 2 * alpha * beta /
/// size * x * (sum of t over the channels whose window contains this one).
template <class Arch, bool three_quarters>
class LrnGradient {
    using V = Floats<Arch>;
    using Formula = LrnFormula<Arch, three_quarters>;
    static constexpr std::ptrdiff_t width = lanes<Arch>;
    /// The channels of a pass, and the most channels of a window that fit beside them.
    static constexpr std::ptrdiff_t pass = 64, widest = LrnRows<Arch>::window;

public:
    LrnGradient(LrnParams const& params, OpArgs const& args, AxisView view)
        : formula_(params),
          slope_(-2 * params.beta * params.alpha / static_cast<float>(params.size)),
          back_(params.size / 2),
          ahead_((params.size - 1) / 2),
          channels_(static_cast<std::ptrdiff_t>(view.count)),
          inner_(static_cast<std::ptrdiff_t>(view.inner)),
          x_(args.src[0]),
          y_(args.src[1]),
          dy_(args.src[2]),
          dx_(args.dst) {}

    /// Returns whether rows() can handle pixels: their channels are contiguous, and the window fits.
    [[nodiscard]] bool takes_rows() const { return inner_ == 1 && back_ + ahead_ < widest; }
    /// Handles all channels of pixels [first, last).
    void rows(std::size_t first, std::size_t last) const noexcept {
        for (std::ptrdiff_t begin = 0; begin < channels_; begin += LrnRows<Arch>::channels) {
            const std::ptrdiff_t end = std::min(begin + LrnRows<Arch>::channels, channels_);
            rows_of(begin, end, static_cast<std::ptrdiff_t>(first), static_cast<std::ptrdiff_t>(last));
        }
    }
    /// Handles the channels of `pixels` pixels, at most a vector of them, the first at `at`.
    void operator()(std::size_t at, std::size_t pixels) const noexcept {
        if (back_ + ahead_ + 1 > widest) return wide(at, pixels);
        alignas(64) float parts[(pass + widest) * width];
        for (std::ptrdiff_t begin = 0; begin < channels_; begin += pass) {
            const std::ptrdiff_t end = std::min(begin + pass, channels_);
            // The windows that contain channel c are those of channels c - ahead, ..., c + back.
            const std::ptrdiff_t first = std::max(begin - ahead_, std::ptrdiff_t{0});
            const std::ptrdiff_t last = std::min(end + back_, channels_);
            for (std::ptrdiff_t c = first; c < last; ++c) {
                const V sum = squares(at, c, pixels), dy = load_up_to<Arch>(dy_ + place(at, c), pixels);
                const V y = load_up_to<Arch>(y_ + place(at, c), pixels);
                const auto quotients = formula_.of(dy, sum, dy * y);
                store<Arch>(parts + (c - first) * width, quotients.first);
                if (c >= begin && c < end) store_up_to<Arch>(dx_ + place(at, c), quotients.power, pixels);
            }
            for (std::ptrdiff_t c = begin; c < end; ++c) {
                V sum(0.0F);
                for (std::ptrdiff_t i = std::max(c - ahead_, first); i < std::min(c + back_ + 1, last); ++i) {
                    sum += load<Arch>(parts + (i - first) * width);
                }
                finish(at, c, pixels, sum);
            }
        }
    }

private:
    /// Handles channels [begin, end) of pixels [first, last).
    void rows_of(std::ptrdiff_t begin, std::ptrdiff_t end, std::ptrdiff_t first, std::ptrdiff_t last) const noexcept {
        const std::ptrdiff_t reach = back_ + ahead_;
        // A row of squares begins with channel begin - reach, the other rows with channel begin - ahead.
        LrnRows<Arch> squares, parts, direct;
        const std::ptrdiff_t stride = squares.stride(end - begin, reach), most = squares.room / stride;
        for (std::ptrdiff_t pixel = first; pixel < last; pixel += most) {
            const std::ptrdiff_t pixels = std::min(most, last - pixel);
            // Calls step(at, place, n) for the vectors of channels [from, to) of each pixel: the offset of the vector's
            // first channel, its position in rows that begin with channel `begin`, and the number of remaining
            // channels.
            const auto for_channels = [=, this](std::ptrdiff_t from, std::ptrdiff_t to, auto const& step) {
                for (std::ptrdiff_t row = 0; row < pixels; ++row) {
                    for (std::ptrdiff_t c = from; c < to; c += width) {
                        step((pixel + row) * channels_ + c, row * stride + c - begin,
                             static_cast<std::size_t>(channels_ - c));
                    }
                }
            };
            for_channels(std::max(begin - reach, std::ptrdiff_t{0}), std::min(end + reach, channels_),
                         [&, this](std::ptrdiff_t at, std::ptrdiff_t place, std::size_t n) {
                             const V x = load_up_to<Arch>(x_ + at, n);
                             store<Arch>(squares.floats + place + reach, x * x);
                         });
            for_channels(std::max(begin - ahead_, std::ptrdiff_t{0}), std::min(end + back_, channels_),
                         [&, this](std::ptrdiff_t at, std::ptrdiff_t place, std::size_t n) {
                             const V dy = load_up_to<Arch>(dy_ + at, n), y = load_up_to<Arch>(y_ + at, n);
                             const auto quotients = formula_.of(dy, squares.sum(place + ahead_, reach + 1), dy * y);
                             store<Arch>(direct.floats + place + ahead_, quotients.power);
                             store<Arch>(parts.floats + place + ahead_, quotients.first);
                         });
            for_channels(begin, end, [&, this](std::ptrdiff_t at, std::ptrdiff_t place, std::size_t n) {
                const V sum = parts.sum(place, reach + 1), x = load_up_to<Arch>(x_ + at, n);
                store_up_to<Arch>(dx_ + at, fma<Arch>(slope_ * x, sum, load<Arch>(direct.floats + place + ahead_)), n);
            });
        }
    }
    [[nodiscard]] std::size_t place(std::size_t at, std::ptrdiff_t c) const {
        return at + static_cast<std::size_t>(c * inner_);
    }
    [[nodiscard]] V squares(std::size_t at, std::ptrdiff_t c, std::size_t pixels) const {
        V sum(0.0F);
        const std::ptrdiff_t first = std::max(c - back_, std::ptrdiff_t{0}), last = std::min(c + ahead_ + 1, channels_);
        for (std::ptrdiff_t i = first; i < last; ++i) {
            const V x = load_up_to<Arch>(x_ + place(at, i), pixels);
            sum = fma<Arch>(x, x, sum);
        }
        return sum;
    }
    void finish(std::size_t at, std::ptrdiff_t c, std::size_t pixels, V const& sum) const {
        float* dst = dx_ + place(at, c);
        const V x = load_up_to<Arch>(x_ + place(at, c), pixels);
        store_up_to<Arch>(dst, fma<Arch>(slope_ * x, sum, load_up_to<Arch>(dst, pixels)), pixels);
    }
    /// Windows of more channels than there is room for: each channel's terms are recomputed.
    void wide(std::size_t at, std::size_t pixels) const noexcept {
        for (std::ptrdiff_t c = 0; c < channels_; ++c) {
            const V dy = load_up_to<Arch>(dy_ + place(at, c), pixels);
            store_up_to<Arch>(dx_ + place(at, c), formula_(dy, squares(at, c, pixels)), pixels);
            V sum(0.0F);
            const std::ptrdiff_t first = std::max(c - ahead_, std::ptrdiff_t{0});
            for (std::ptrdiff_t i = first; i < std::min(c + back_ + 1, channels_); ++i) {
                const V y = load_up_to<Arch>(y_ + place(at, i), pixels);
                const V gradient = load_up_to<Arch>(dy_ + place(at, i), pixels);
                sum += formula_.of(gradient, squares(at, i, pixels), gradient * y).first;
            }
            finish(at, c, pixels, sum);
        }
    }

    Formula formula_;
    V slope_;
    std::ptrdiff_t back_, ahead_, channels_, inner_;
    const float *x_, *y_, *dy_;
    float* dx_;
};

}  // namespace op::detail

template <>
struct Op<LrnGradientParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(LrnGradientParams const& params, std::span<const Shape> inputs, Shape output) {
        return op::element_counts<L>((4.0 * params.lrn.size + 30) * static_cast<double>(output.size()), inputs, output);
    }

    template <class Arch, StridedLayout L>
    static void run(LrnGradientParams const& params, OpArgs const& args) noexcept {
        const auto view = op::detail::channel_view<L>(args.dst_shape, args.batch);
        if (params.lrn.beta == 0.75F) {
            gradient<Arch>(op::detail::LrnGradient<Arch, true>(params.lrn, args, view), view, args);
        } else {
            gradient<Arch>(op::detail::LrnGradient<Arch, false>(params.lrn, args, view), view, args);
        }
    }

private:
    template <class Arch, class Gradient>
    static void gradient(Gradient const& each, op::detail::AxisView view, OpArgs const& args) noexcept {
        if (each.takes_rows()) {
            return op::detail::for_ranges(args.executor, view.outer, view.count,
                                          [&each](std::size_t first, std::size_t last) { each.rows(first, last); });
        }
        constexpr std::size_t width = lanes<Arch>;
        const std::size_t inner = view.inner, count = view.count, vectors = (inner + width - 1) / width;
        op::detail::for_ranges(args.executor, view.outer * vectors, count * std::min(width, inner),
                               [=, &each](std::size_t first, std::size_t last) {
                                   for (std::size_t item = first; item < last; ++item) {
                                       const std::size_t begin = item % vectors * width;
                                       each(item / vectors * count * inner + begin, std::min(width, inner - begin));
                                   }
                               });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
