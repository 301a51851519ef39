#pragma once

#include <primsel/layer/gradient.hpp>
#include <primsel/op/lrn.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

/// With s = k + alpha / size * squares and t = dy * y / s, all of a channel: dx = dy / s^beta - 2 * alpha * beta / size
/// * x * (sum of t over the channels whose window has this one).
template <class Arch, bool three_quarters>
class LrnGradient {
    using V = Floats<Arch>;
    using Formula = LrnFormula<Arch, three_quarters>;
    static constexpr std::ptrdiff_t width = lanes<Arch>;
    /// Channels of a pass, and the most channels of a window that fit beside them.
    static constexpr std::ptrdiff_t pass = 64, widest = 64;

public:
    LrnGradient(LrnParams const& params, OpArgs const& args, AxisView view)
        : formula_(params),
          alpha_(params.alpha / static_cast<float>(params.size)),
          k_(params.k),
          slope_(-2 * params.beta * params.alpha / static_cast<float>(params.size)),
          back_(params.size / 2),
          ahead_((params.size - 1) / 2),
          channels_(static_cast<std::ptrdiff_t>(view.count)),
          inner_(static_cast<std::ptrdiff_t>(view.inner)),
          x_(args.src[0]),
          y_(args.src[1]),
          dy_(args.src[2]),
          dx_(args.dst) {}

    /// The channels of `pixels` pixels, at most a vector of them, the first of which lies at `at`.
    void operator()(std::size_t at, std::size_t pixels) const noexcept {
        if (back_ + ahead_ + 1 > widest) return wide(at, pixels);
        if (inner_ == 1) return neighbours(x_ + at, y_ + at, dy_ + at, dx_ + at);
        alignas(64) float parts[(pass + widest) * width];
        for (std::ptrdiff_t begin = 0; begin < channels_; begin += pass) {
            const std::ptrdiff_t end = std::min(begin + pass, channels_);
            // The windows that have channel c are those of c - ahead, ..., c + back.
            const std::ptrdiff_t first = std::max(begin - ahead_, std::ptrdiff_t{0});
            const std::ptrdiff_t last = std::min(end + back_, channels_);
            for (std::ptrdiff_t c = first; c < last; ++c) {
                const V sum = squares(at, c, pixels), dy = load_up_to<Arch>(dy_ + place(at, c), pixels);
                const V y = load_up_to<Arch>(y_ + place(at, c), pixels);
                store<Arch>(parts + (c - first) * width, dy * y / base_of(sum));
                if (c >= begin && c < end) store_up_to<Arch>(dx_ + place(at, c), formula_(dy, sum), pixels);
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
    /// Held as the forward formula holds it.
    [[nodiscard]] V base_of(V const& squares) const {
        return clamp<Arch>(fma<Arch>(squares, alpha_, k_), V(std::numeric_limits<float>::min()),
                           V(std::numeric_limits<float>::max()));
    }
    [[nodiscard]] V base_at(std::size_t at, std::ptrdiff_t c, std::size_t pixels) const {
        return base_of(squares(at, c, pixels));
    }
    /// One pixel whose channels are neighbours. What lies outside of them adds 0.
    void neighbours(const float* x, const float* y, const float* dy, float* dx) const noexcept {
        constexpr std::ptrdiff_t longer = 512;
        alignas(64) float parts[longer + widest + width];
        const auto squares_at = [&](std::ptrdiff_t c) {
            V sum(0.0F);
            for (std::ptrdiff_t i = c - back_; i <= c + ahead_; ++i) {
                const V near = load_around<Arch>(x, i, channels_, 0.0F);
                sum = fma<Arch>(near, near, sum);
            }
            return sum;
        };
        for (std::ptrdiff_t begin = 0; begin < channels_; begin += longer) {
            const std::ptrdiff_t end = std::min(begin + longer, channels_), first = begin - ahead_;
            for (std::ptrdiff_t c = first; c < end + back_; c += width) {
                const V gradient = load_around<Arch>(dy, c, channels_, 0.0F);
                const V result = load_around<Arch>(y, c, channels_, 0.0F);
                store<Arch>(parts + (c - first), gradient * result / base_of(squares_at(c)));
            }
            for (std::ptrdiff_t c = begin; c < end; c += width) {
                const auto n = static_cast<std::size_t>(end - c);
                V sum(0.0F);
                for (std::ptrdiff_t i = 0; i <= ahead_ + back_; ++i) sum += load<Arch>(parts + (c - begin) + i);
                const V direct = formula_(load_up_to<Arch>(dy + c, n), squares_at(c));
                store_up_to<Arch>(dx + c, fma<Arch>(slope_ * load_up_to<Arch>(x + c, n), sum, direct), n);
            }
        }
    }
    void finish(std::size_t at, std::ptrdiff_t c, std::size_t pixels, V const& sum) const {
        float* dst = dx_ + place(at, c);
        const V x = load_up_to<Arch>(x_ + place(at, c), pixels);
        store_up_to<Arch>(dst, fma<Arch>(slope_ * x, sum, load_up_to<Arch>(dst, pixels)), pixels);
    }
    /// Windows of more channels than there is room for: what each channel adds is worked out anew.
    void wide(std::size_t at, std::size_t pixels) const noexcept {
        for (std::ptrdiff_t c = 0; c < channels_; ++c) {
            const V dy = load_up_to<Arch>(dy_ + place(at, c), pixels);
            store_up_to<Arch>(dx_ + place(at, c), formula_(dy, squares(at, c, pixels)), pixels);
            V sum(0.0F);
            const std::ptrdiff_t first = std::max(c - ahead_, std::ptrdiff_t{0});
            for (std::ptrdiff_t i = first; i < std::min(c + back_ + 1, channels_); ++i) {
                const V y = load_up_to<Arch>(y_ + place(at, i), pixels);
                sum += load_up_to<Arch>(dy_ + place(at, i), pixels) * y / base_at(at, i, pixels);
            }
            finish(at, c, pixels, sum);
        }
    }

    Formula formula_;
    V alpha_, k_, slope_;
    std::ptrdiff_t back_, ahead_, channels_, inner_;
    const float *x_, *y_, *dy_;
    float* dx_;
};

}  // namespace detail

template <>
struct Op<LrnGradientParams> {
    static constexpr bool in_place = false;

    [[nodiscard]] static double operations(LrnGradientParams const& params, std::span<const Shape>, Shape output) {
        return (4.0 * params.lrn.size + 30) * static_cast<double>(output.size());
    }

    template <class Arch, StridedLayout L>
    static void run(LrnGradientParams const& params, OpArgs const& args) noexcept {
        const auto view = detail::channel_view<L>(args.dst_shape, args.batch);
        if (params.lrn.beta == 0.75F) {
            gradient<Arch>(detail::LrnGradient<Arch, true>(params.lrn, args, view), view, args);
        } else {
            gradient<Arch>(detail::LrnGradient<Arch, false>(params.lrn, args, view), view, args);
        }
    }

private:
    template <class Arch, class Gradient>
    static void gradient(Gradient const& each, detail::AxisView view, OpArgs const& args) noexcept {
        constexpr std::size_t width = lanes<Arch>;
        const std::size_t inner = view.inner, count = view.count, vectors = (inner + width - 1) / width;
        detail::for_ranges(args.executor, view.outer * vectors, count * std::min(width, inner),
                           [=, &each](std::size_t first, std::size_t last) {
                               for (std::size_t item = first; item < last; ++item) {
                                   const std::size_t begin = item % vectors * width;
                                   each(item / vectors * count * inner + begin, std::min(width, inner - begin));
                               }
                           });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
