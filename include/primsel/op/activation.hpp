#pragma once

#include <primsel/layer/activation.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/detail/gates.hpp>
#include <primsel/op/op.hpp>

#include <cmath>

namespace primsel::inline PRIMSEL_ABI {

template <>
struct Op<ActivationParams> {
    static constexpr bool in_place = true;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(ActivationParams const& params, std::span<const Shape>, Shape output) {
        const auto size = static_cast<double>(output.size());
        const double each = operations_each<Arch>(params);
        if (!(each > 0)) return {.scalars = scalars_each * size};
        // Most powers are computed one element at a time.
        return {.operations = each * size, .form = params.kind == ActivationKind::power ? "simple" : ""};
    }

    template <class Arch, StridedLayout L>
    static void run(ActivationParams const& params, OpArgs const& args) noexcept {
        elements<Arch>(params, args);
    }

private:
    /// Scalar operations that a call of the C library takes as long as.
    static constexpr double scalars_each = 12;
    /// Returns the vector operations of an element; 0 if it is computed one element at a time.
    template <class Arch>
    static double operations_each(ActivationParams const& params) {
        constexpr double of_exp = lanes<Arch> == 16 ? 12 : 20;
        switch (params.kind) {
            case ActivationKind::relu:
            case ActivationKind::abs:
            case ActivationKind::floor:
            case ActivationKind::ceil:
            case ActivationKind::round:
            case ActivationKind::truncate:
                return 1;
            case ActivationKind::relu6:
            case ActivationKind::leaky_relu:
            case ActivationKind::clip:
            case ActivationKind::thresholded_relu:
                return 2;
            case ActivationKind::hard_sigmoid:
            case ActivationKind::sign:
            case ActivationKind::shrink:
                return 4;
            case ActivationKind::hard_swish:
                return 5;
            case ActivationKind::sqrt:
            case ActivationKind::softsign:
                return 10;
            case ActivationKind::exp:
                return of_exp;
            case ActivationKind::sigmoid:
            case ActivationKind::silu:
            case ActivationKind::swish:
                return of_exp + 3;
            case ActivationKind::mish:
                return of_exp + 6;
            case ActivationKind::gelu_tanh:
                return of_exp + 7;
            case ActivationKind::softplus:
            case ActivationKind::log_sigmoid:
                return of_exp + 16;
            case ActivationKind::elu:
            case ActivationKind::selu:
            case ActivationKind::celu:
            case ActivationKind::tanh:
            case ActivationKind::log:
                return 20;
            case ActivationKind::erf:
                return 15;
            case ActivationKind::gelu:
                return 18;
            case ActivationKind::sin:
            case ActivationKind::cos:
                return 30;
            case ActivationKind::power:
                return is_simple(params.alpha) ? 2 : 0;
            default:
                return 0;
        }
    }
    static bool is_simple(float exponent) { return exponent == 2.0F || exponent == 3.0F || exponent == -1.0F; }

    template <class Arch>
    static void elements(ActivationParams const& params, OpArgs const& args) noexcept {
        using V = Floats<Arch>;
        const auto each = [&args](auto const& function) {
            const float* src = args.src[0];
            float* dst = args.dst;
            op::detail::for_ranges(args.executor, args.dst_shape.size() * static_cast<std::size_t>(args.batch), 1,
                                   [=](std::size_t at, std::size_t last) {
                                       // A local copy stays in registers, although dst might alias it.
                                       const auto apply = function;
                                       // g++ loads each constant of a long function again for every pass of this loop.
                                       for (; on_arm && at + 4 * V::size <= last; at += 4 * V::size) {
                                           V x[4];
                                           op::detail::load_four<Arch>(src + at, x);
                                           PRIMSEL_UNROLL
                                           for (V& one : x) one = apply(one);
                                           op::detail::store_four<Arch>(dst + at, x);
                                       }
                                       for (; at < last; at += V::size) {
                                           const V x = op::detail::load_up_to<Arch>(src + at, last - at);
                                           op::detail::store_up_to<Arch>(dst + at, apply(x), last - at);
                                       }
                                   });
        };
        const auto held = [&each](Clamp bounds) {
            each([low = V(bounds.low), high = V(bounds.high)](V const& x) { return clamp<Arch>(x, low, high); });
        };
        // slope * x above zero, scale * (exp(rate * x) - 1) below.
        const auto exponential = [&each](float slope, float scale, float rate) {
            each([slope = V(slope), scale = V(scale), rate = V(rate)](V const& x) {
                const V below = scale * exp_minus_one<Arch>(min<Arch>(V(0.0F), x) * rate);
                return xsimd::select(x < V(0.0F), below, slope * x);
            });
        };
        switch (params.kind) {
            case ActivationKind::relu:
                return held(relu_clamp);
            case ActivationKind::relu6:
                return held(relu6_clamp);
            case ActivationKind::leaky_relu:
                return each([slope = V(params.alpha)](V const& x) { return xsimd::select(x < V(0.0F), x * slope, x); });
            case ActivationKind::sigmoid:
                return each([](V const& x) { return quotient<Arch>(V(1.0F), V(1.0F) + exp<Arch>(-x)); });
            case ActivationKind::elu:
                return exponential(1.0F, params.alpha, 1.0F);
            case ActivationKind::hard_sigmoid:
                return each([slope = V(params.alpha), offset = V(params.beta)](V const& x) {
                    return clamp<Arch>(fma<Arch>(slope, x, offset), V(0.0F), V(1.0F));
                });
            case ActivationKind::tanh:
                return each([](V const& x) { return op::detail::hyperbolic_tangent<Arch>(x); });
            case ActivationKind::clip:
                return held({params.alpha, params.beta});
            case ActivationKind::sqrt:
                return each([](V const& x) { return square_root<Arch>(x); });
            case ActivationKind::hard_swish:
                return each([](V const& x) { return x * clamp<Arch>(x + V(3.0F), V(0.0F), V(6.0F)) * V(1.0F / 6.0F); });
            case ActivationKind::exp:
                return each([](V const& x) { return exp<Arch>(x); });
            case ActivationKind::log:
                return each([](V const& x) { return log<Arch>(x); });
            case ActivationKind::abs:
                return each([](V const& x) { return xsimd::abs(x); });
            case ActivationKind::sign:
                return each([](V const& x) {
                    const V below = xsimd::select(x < V(0.0F), V(-1.0F), x);
                    return xsimd::select(x > V(0.0F), V(1.0F), below);
                });
            case ActivationKind::floor:
                return each([](V const& x) { return xsimd::floor(x); });
            case ActivationKind::ceil:
                return each([](V const& x) { return xsimd::ceil(x); });
            case ActivationKind::round:
                return each([](V const& x) { return nearest_integer<Arch>(x); });
            case ActivationKind::truncate:
                return each([](V const& x) { return xsimd::trunc(x); });
            case ActivationKind::erf:
                return each([](V const& x) { return op::detail::error_function<Arch>(x); });
            case ActivationKind::sin:
                return each([](V const& x) { return op::detail::sine<Arch, 0>(x); });
            case ActivationKind::cos:
                return each([](V const& x) { return op::detail::sine<Arch, 1>(x); });
            case ActivationKind::softplus:
                return each([](V const& x) { return op::detail::softplus<Arch>(x); });
            case ActivationKind::silu:
                return each([](V const& x) { return quotient<Arch>(x, V(1.0F) + exp<Arch>(-x)); });
            case ActivationKind::mish:
                return each([](V const& x) {
                    const V n = op::detail::mish_term<Arch>(x);
                    return x * quotient<Arch>(n, n + V(2.0F));
                });
            case ActivationKind::gelu:
                return each([](V const& x) {
                    return V(0.5F) * x * (V(1.0F) + op::detail::error_function<Arch>(x * V(op::detail::root_of_half)));
                });
            case ActivationKind::gelu_tanh:
                return each([](V const& x) {
                    return quotient<Arch>(x, V(1.0F) + exp<Arch>(-op::detail::gelu_tanh_exponent<Arch>(x)));
                });
            case ActivationKind::softsign:
                return each([](V const& x) { return quotient<Arch>(x, V(1.0F) + xsimd::abs(x)); });
            case ActivationKind::log_sigmoid:
                return each([](V const& x) { return -op::detail::softplus<Arch>(-x); });
            case ActivationKind::swish:
                return each([negative = V(-params.alpha)](V const& x) {
                    return quotient<Arch>(x, V(1.0F) + exp<Arch>(negative * x));
                });
            case ActivationKind::selu:
                return exponential(params.beta, params.alpha * params.beta, 1.0F);
            case ActivationKind::celu:
                return exponential(1.0F, params.alpha, 1.0F / params.alpha);
            case ActivationKind::thresholded_relu:
                return each([alpha = V(params.alpha)](V const& x) { return xsimd::select(x <= alpha, V(0.0F), x); });
            case ActivationKind::shrink:
                return each([bias = V(params.alpha), above = V(params.beta), below = V(-params.beta)](V const& x) {
                    const V outside = xsimd::select(x <= above, V(0.0F), x - bias);
                    return xsimd::select(x < below, x + bias, outside);
                });
            case ActivationKind::power:
                if (params.alpha == 2.0F) return each([](V const& x) { return x * x; });
                if (params.alpha == 3.0F) return each([](V const& x) { return x * x * x; });
                if (params.alpha == -1.0F) return each([](V const& x) { return quotient<Arch>(V(1.0F), x); });
                return each([exponent = params.alpha](V const& x) {
                    return op::detail::lane_by_lane<Arch>(x, V(exponent),
                                                          [](float a, float b) { return std::pow(a, b); });
                });
            default:
                // Rare in networks, so computed one element at a time.
                return each([function = scalar(params.kind)](V const& x) {
                    return op::detail::lane_by_lane<Arch>(x, x, [=](float a, float) { return function(a); });
                });
        }
    }

    using Scalar = float (*)(float);
    static Scalar scalar(ActivationKind kind) noexcept {
        switch (kind) {
            case ActivationKind::tan:
                return [](float x) { return std::tan(x); };
            case ActivationKind::asin:
                return [](float x) { return std::asin(x); };
            case ActivationKind::acos:
                return [](float x) { return std::acos(x); };
            case ActivationKind::atan:
                return [](float x) { return std::atan(x); };
            case ActivationKind::sinh:
                return [](float x) { return std::sinh(x); };
            case ActivationKind::cosh:
                return [](float x) { return std::cosh(x); };
            case ActivationKind::asinh:
                return [](float x) { return std::asinh(x); };
            case ActivationKind::acosh:
                return [](float x) { return std::acosh(x); };
            default:
                return [](float x) { return std::atanh(x); };
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
