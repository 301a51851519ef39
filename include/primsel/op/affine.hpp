#pragma once

#include <primsel/layer/norm.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/op.hpp>

#include <algorithm>

namespace primsel::inline PRIMSEL_ABI {

namespace op::detail {

template <class Arch>
void run_affine(AxisView view, OpArgs const& args) noexcept {
    const float* src = args.src[0];
    float* dst = args.dst;
    for_channel_elements<Arch, 2>(args.executor, view, args.weights,
                                  [=](std::size_t at, std::size_t n, const Floats<Arch>* of_channel) {
                                      const Floats<Arch> x = load_up_to<Arch>(src + at, n);
                                      store_up_to<Arch>(dst + at, fma<Arch>(x, of_channel[0], of_channel[1]), n);
                                  });
}

/// Applies one factor and one shift to all channels; fast also for channels of few elements.
template <class Arch>
void run_known_affine(float factor, float shift, OpArgs const& args) noexcept {
    const float* src = args.src[0];
    float* dst = args.dst;
    const Floats<Arch> factors(factor), shifts(shift);
    for_elements<Arch>(args.executor, args.dst_shape.size() * static_cast<std::size_t>(args.batch),
                       [=](std::size_t at, std::size_t n) {
                           store_up_to<Arch>(dst + at, fma<Arch>(load_up_to<Arch>(src + at, n), factors, shifts), n);
                       });
}

/// x * factor + shift for each channel. Packed weights: the factors of all channels, then the shifts.
template <class Params>
struct AffineOp {
    static constexpr bool in_place = true;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(Params const&, std::span<const Shape>, Shape output) {
        return channel_counts<Arch>(channel_view<L>(output, 1), 2);
    }

    [[nodiscard]] static std::size_t packed_floats(Params const&, Shape input) {
        return 2 * static_cast<std::size_t>(input.c);
    }

    template <StridedLayout L>
    static void pack(Params const&, Shape input, OpWeights const& weights, float* dst) {
        float* shifts = std::ranges::copy(weights.kernel, dst).out;
        std::fill_n(shifts, input.c, 0.0F);
        std::ranges::copy(weights.bias, shifts);
    }

    template <class Arch, StridedLayout L>
    static void run(Params const&, OpArgs const& args) noexcept {
        run_affine<Arch>(channel_view<L>(args.dst_shape, args.batch), args);
    }
};

}  // namespace op::detail

/// Batch normalisation as one factor and one shift for each channel, which set-up computes from mean, variance, weight
/// and bias.
template <>
struct Op<BatchNormParams> : op::detail::AffineOp<BatchNormParams> {};

template <>
struct Op<ScaleParams> : op::detail::AffineOp<ScaleParams> {
    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(ScaleParams const& params, std::span<const Shape> inputs, Shape output) {
        if (params.known) return {.operations = 2 * static_cast<double>(output.size())};
        return op::detail::AffineOp<ScaleParams>::work<Arch, L>(params, inputs, output);
    }

    template <class Arch, StridedLayout L>
    static void run(ScaleParams const& params, OpArgs const& args) noexcept {
        if (params.known)
            op::detail::run_known_affine<Arch>(params.factor, params.shift, args);
        else
            op::detail::AffineOp<ScaleParams>::run<Arch, L>(params, args);
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
