#pragma once

#include <primsel/layer/activation.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/op.hpp>

namespace primsel::inline PRIMSEL_ABI {

template <>
struct Op<ActivationParams> {
    static constexpr bool in_place = true;

    [[nodiscard]] static double operations(ActivationParams const& params, std::span<const Shape>, Shape output) {
        const auto size = static_cast<double>(output.size());
        switch (params.kind) {
            case ActivationKind::relu:
                return size;
            case ActivationKind::relu6:
            case ActivationKind::leaky_relu:
                return 2 * size;
            case ActivationKind::hard_swish:
                return 5 * size;
            case ActivationKind::clip:
                return 2 * size;
            case ActivationKind::hard_sigmoid:
                return 4 * size;
            case ActivationKind::sqrt:
                return 10 * size;
            case ActivationKind::sigmoid:
            case ActivationKind::elu:
            case ActivationKind::tanh:
                return 20 * size;
        }
        return 0;
    }

    template <class Arch, StridedLayout L>
    static void run(ActivationParams const& params, OpArgs const& args) noexcept {
        elements<Arch>(params, args);
    }

private:
    template <class Arch>
    static void elements(ActivationParams const& params, OpArgs const& args) noexcept {
        using V = Floats<Arch>;
        const auto each = [&args](auto const& function) {
            const float* src = args.src[0];
            float* dst = args.dst;
            detail::for_elements<Arch>(args.executor, args.dst_shape.size() * static_cast<std::size_t>(args.batch),
                                       [=](std::size_t at, std::size_t n) {
                                           const V x = detail::load_up_to<Arch>(src + at, n);
                                           detail::store_up_to<Arch>(dst + at, function(x), n);
                                       });
        };
        const auto held = [&each](Clamp bounds) {
            each([low = V(bounds.low), high = V(bounds.high)](V const& x) { return clamp<Arch>(x, low, high); });
        };
        switch (params.kind) {
            case ActivationKind::relu:
                return held(relu_clamp);
            case ActivationKind::relu6:
                return held(relu6_clamp);
            case ActivationKind::leaky_relu:
                return each([slope = V(params.alpha)](V const& x) { return xsimd::select(x < V(0.0F), x * slope, x); });
            case ActivationKind::sigmoid:
                return each([](V const& x) { return V(1.0F) / (V(1.0F) + xsimd::exp(-x)); });
            case ActivationKind::elu:
                return each([alpha = V(params.alpha)](V const& x) {
                    return xsimd::select(x < V(0.0F), alpha * xsimd::expm1(x), x);
                });
            case ActivationKind::hard_sigmoid:
                return each([slope = V(params.alpha), offset = V(params.beta)](V const& x) {
                    return clamp<Arch>(fma<Arch>(slope, x, offset), V(0.0F), V(1.0F));
                });
            case ActivationKind::tanh:
                return each([](V const& x) { return xsimd::tanh(x); });
            case ActivationKind::clip:
                return held({params.alpha, params.beta});
            case ActivationKind::sqrt:
                return each([](V const& x) { return detail::square_root<Arch>(x); });
            case ActivationKind::hard_swish:
                return each([](V const& x) { return x * clamp<Arch>(x + V(3.0F), V(0.0F), V(6.0F)) * V(1.0F / 6.0F); });
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
