#pragma once

#include <primsel/layer/training.hpp>
#include <primsel/op/detail/channel_pieces.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>
#include <cstddef>
#include <limits>

namespace primsel::inline PRIMSEL_ABI {

namespace op::detail {

/// The vectors of a normalisation's values, one for each channel.
template <class Arch>
struct NormalizedChannels {
    using V = Floats<Arch>;
    V mean, inverse, factor, shift;

    /// Loads the factors of n channels from c on, or those of channel c in all lanes if n is 0.
    PRIMSEL_INLINE void of(OpArgs const& args, float epsilon, std::size_t c, std::size_t n) {
        const float *statistics = args.src[1], *variances = statistics + args.src_shape[0].c;
        mean = channel_values<Arch>(statistics, c, n);
        inverse = quotient<Arch>(V(1.0F), square_root<Arch>(channel_values<Arch>(variances, c, n) + V(epsilon)));
        factor = inverse * channel_values<Arch>(args.src[2], c, n);
        shift = channel_values<Arch>(args.src[3], c, n);
    }
    /// Every pass uses this expression, so that the gradient's clamp sees the same rounding as the result's.
    PRIMSEL_INLINE V operator()(V const& x) const { return fma<Arch>(x - mean, factor, shift); }
};

/// Passes a gradient through a clamp where the result is strictly between the bounds.
template <class Arch>
class PassedByClamp {
    using V = Floats<Arch>;

public:
    template <class Params>
    explicit PassedByClamp(Params const& params) : clamped_(params.has_clamp), low_(params.low), high_(params.high) {}
    /// Calls f(pass), where pass(normalized, dy) is the part of dy that passes. The test for a clamp is outside of
    /// loops.
    template <class F>
    PRIMSEL_INLINE void visit(F const& f) const {
        if (clamped_) {
            f([passed = *this](V const& normalized, V const& dy) { return passed.held(normalized, dy); });
        } else {
            f([](V const&, V const& dy) { return dy; });
        }
    }

private:
    PRIMSEL_INLINE V held(V const& normalized, V const& dy) const {
        if constexpr (lanes<Arch> == 16) {
            // Loaded into a register first: a masked load would wait for its mask.
            const V above = xsimd::select(normalized > low_, in_register<Arch>(dy), V(0.0F));
            return xsimd::select(normalized < high_, above, V(0.0F));
        } else {
            return xsimd::select((normalized > low_) & (normalized < high_), dy, V(0.0F));
        }
    }

    bool clamped_;
    V low_, high_;
};

/// Calls each(at, n, values) for vectors that cover the view, with the Values of the vector's channels. values.of(c, m)
/// loads them once for many pixels.
template <class Arch, class Values, class F>
void for_channel_values(ExecutorRef executor, AxisView view, Values const& start, F const& f) noexcept {
    constexpr std::size_t width = lanes<Arch>, tile = 512;
    const std::size_t channels = view.count, inner = view.inner;
    if (inner > 1) {
        for_ranges(executor, view.outer * channels, inner, [=, &start, &f](std::size_t first, std::size_t last) {
            const F each = f;
            Values values = start;
            for (std::size_t row = first; row < last; ++row) {
                values.of(row % channels, 0);
                for (std::size_t i = 0; i < inner; i += width) each(row * inner + i, inner - i, values);
            }
        });
        return;
    }
    for_ranges(executor, view.outer, channels, [=, &start, &f](std::size_t first, std::size_t last) {
        const F each = f;
        Values values[tile / width];
        for (std::size_t begin = 0; begin < channels; begin += tile) {
            const std::size_t count = std::min(tile, channels - begin);
            for (std::size_t i = 0; i < count; i += width) {
                values[i / width] = start;
                values[i / width].of(begin + i, count - i);
            }
            for (std::size_t pixel = first; pixel < last; ++pixel) {
                const std::size_t at = pixel * channels + begin;
                for (std::size_t i = 0; i < count; i += width) each(at + i, count - i, values[i / width]);
            }
        }
    });
}

/// The c sums of dy' and the c sums of dy' * xhat.
template <class Arch>
class NormalizeSums {
    using V = Floats<Arch>;

public:
    NormalizeSums(NormalizeSumsParams const& params, OpArgs const& args, std::size_t c, std::size_t n)
        : x_(args.src[0]),
          dy_(args.src[4]),
          dst_(args.dst + c),
          count_(static_cast<std::size_t>(args.src_shape[0].c)),
          channels_(std::max(n, std::size_t{1})),
          passed_(params) {
        for (std::size_t v = 0; v * lanes<Arch> < channels_; ++v) {
            const std::size_t from = v * lanes<Arch>;
            values_[v].of(args, params.epsilon, c + from, n == 0 ? 0 : n - from);
        }
    }
    static constexpr std::size_t passes = 1;
    void begin(std::size_t) { sums_.clear(); }
    void add(std::size_t, ChannelPiece const& piece) {
        // Copied, because g++ would reload the members after every prefetch.
        NormalizedChannels<Arch> values[group_vectors<Arch>];
        PRIMSEL_UNROLL
        for (std::size_t v = 0; v < group_vectors<Arch>; ++v) values[v] = values_[v];
        passed_.visit([&, x = x_, dy = dy_, next = piece.next](auto const& pass) {
            sums_.add(piece, [&](std::size_t at, std::size_t n, std::size_t v, V* terms) {
                const V input = load_and_prefetch<Arch>(x + at, n, next);
                terms[0] = pass(values[v](input), load_and_prefetch<Arch>(dy + at, n, next));
                terms[1] = terms[0] * ((input - values[v].mean) * values[v].inverse);
            });
        });
    }
    void end(std::size_t, ChannelPiece const& piece) {
        double sums[2][channel_group];
        sums_.get(piece.one_channel, sums);
        for (std::size_t i = 0; i < channels_; ++i) sum_[i] += sums[0][i], products_[i] += sums[1][i];
    }
    void finish() {
        for (std::size_t i = 0; i < channels_; ++i) {
            dst_[i] = static_cast<float>(sum_[i]), dst_[count_ + i] = static_cast<float>(products_[i]);
        }
    }

private:
    const float *x_, *dy_;
    float* dst_;
    std::size_t count_, channels_;
    PassedByClamp<Arch> passed_;
    VectorSums<Arch, 2> sums_;
    NormalizedChannels<Arch> values_[group_vectors<Arch>] = {};
    double sum_[channel_group] = {}, products_[channel_group] = {};
};

}  // namespace op::detail

template <>
struct Op<NormalizeParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(NormalizeParams const&, std::span<const Shape> inputs, Shape output) {
        return op::element_counts<L>(4 * static_cast<double>(output.size()), inputs, output);
    }

    template <class Arch, StridedLayout L>
    static void run(NormalizeParams const& params, OpArgs const& args) noexcept {
        normalize<Arch>(params, op::detail::channel_view<L>(args.dst_shape, args.batch), args);
    }

private:
    template <class Arch>
    struct Values : op::detail::NormalizedChannels<Arch> {
        const OpArgs* args = nullptr;
        float epsilon = 0;
        PRIMSEL_INLINE void of(std::size_t c, std::size_t n) {
            op::detail::NormalizedChannels<Arch>::of(*args, epsilon, c, n);
        }
    };

    template <class Arch>
    static void normalize(NormalizeParams const& params, op::detail::AxisView view, OpArgs const& args) noexcept {
        using V = Floats<Arch>;
        Values<Arch> start{};
        start.args = &args, start.epsilon = params.epsilon;
        op::detail::for_channel_values<Arch>(
            args.executor, view, start,
            [x = args.src[0], dst = args.dst, low = V(args.clamp.low), high = V(args.clamp.high)](
                std::size_t at, std::size_t n, Values<Arch> const& of_channels) {
                const V result = of_channels(op::detail::load_up_to<Arch>(x + at, n));
                op::detail::store_up_to<Arch>(dst + at, clamp<Arch>(result, low, high), n);
            });
    }
};

template <>
struct Op<NormalizeSumsParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(NormalizeSumsParams const&, std::span<const Shape> inputs, Shape output) {
        return op::element_counts<L>(8 * static_cast<double>(inputs[0].size()), inputs, output);
    }

    template <class Arch, StridedLayout L>
    static void run(NormalizeSumsParams const& params, OpArgs const& args) noexcept {
        op::detail::for_channel_pieces(args.executor, op::detail::channel_view<L>(args.src_shape[0], args.batch),
                                       [&params, &args](std::size_t c, std::size_t n) {
                                           return op::detail::NormalizeSums<Arch>(params, args, c, n);
                                       });
    }
};

/// Computed as a product and sum of dy' and another of x - mean.
template <>
struct Op<NormalizeGradientParams> {
    static constexpr bool in_place = false;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(NormalizeGradientParams const&, std::span<const Shape> inputs, Shape output) {
        return op::element_counts<L>(8 * static_cast<double>(output.size()), inputs, output);
    }

    template <class Arch, StridedLayout L>
    static void run(NormalizeGradientParams const& params, OpArgs const& args) noexcept {
        gradient<Arch>(params, op::detail::channel_view<L>(args.dst_shape, args.batch), args);
    }

private:
    template <class Arch>
    struct Values : op::detail::NormalizedChannels<Arch> {
        Floats<Arch> slope{}, offset{};
        const OpArgs* args = nullptr;
        float epsilon = 0, each = 0;
        PRIMSEL_INLINE void of(std::size_t c, std::size_t n) {
            op::detail::NormalizedChannels<Arch>::of(*args, epsilon, c, n);
            const Floats<Arch> share = this->factor * Floats<Arch>(-each);
            const float* sums = args->src[5];
            offset = share * op::detail::channel_values<Arch>(sums, c, n);
            slope = share * this->inverse * op::detail::channel_values<Arch>(sums + args->src_shape[0].c, c, n);
        }
    };

    template <class Arch>
    static void gradient(NormalizeGradientParams const& params, op::detail::AxisView view,
                         OpArgs const& args) noexcept {
        using V = Floats<Arch>;
        Values<Arch> start{};
        start.args = &args, start.epsilon = params.epsilon;
        start.each = static_cast<float>(1.0 / static_cast<double>(view.outer * view.inner));
        op::detail::PassedByClamp<Arch>(params).visit([&](auto const& pass) {
            op::detail::for_channel_values<Arch>(
                args.executor, view, start,
                [x = args.src[0], dy = args.src[4], dst = args.dst, pass](std::size_t at, std::size_t n,
                                                                          Values<Arch> const& of_channels) {
                    const V input = op::detail::load_up_to<Arch>(x + at, n);
                    const V gradient = pass(of_channels(input), op::detail::load_up_to<Arch>(dy + at, n));
                    const V mean_part = fma<Arch>(input - of_channels.mean, of_channels.slope, of_channels.offset);
                    op::detail::store_up_to<Arch>(dst + at, fma<Arch>(gradient, of_channels.factor, mean_part), n);
                });
        });
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
