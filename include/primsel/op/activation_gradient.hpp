#pragma once

#include <primsel/layer/gradient.hpp>
#include <primsel/op/detail/elements.hpp>
#include <primsel/op/detail/gates.hpp>
#include <primsel/op/op.hpp>

#include <cmath>

namespace primsel::inline PRIMSEL_ABI {

/// In terms of y, the function's result, where ActivationGradientParams::from_result; else of its input x.
template <>
struct Op<ActivationGradientParams> {
    static constexpr bool in_place = true;

    template <class Arch, StridedLayout L>
    [[nodiscard]] static OpCounts work(ActivationGradientParams const& params, std::span<const Shape> inputs,
                                       Shape output) {
        const bool simple = ActivationGradientParams::from_result(params.activation) ||
                            params.activation.kind == ActivationKind::hard_swish;
        return op::element_counts<L>((simple ? 3 : 40) * static_cast<double>(output.size()), inputs, output);
    }

    template <class Arch, StridedLayout L>
    static void run(ActivationGradientParams const& params, OpArgs const& args) noexcept {
        elements<Arch>(params.activation, args);
    }

private:
    template <class Arch>
    static void elements(ActivationParams const& params, OpArgs const& args) noexcept {
        using V = Floats<Arch>;
        const auto each = [&args](auto const& gradient) {
            const float *values = args.src[0], *dy = args.src[1];
            float* dst = args.dst;
            op::detail::for_elements<Arch>(
                args.executor, args.dst_shape.size() * static_cast<std::size_t>(args.batch),
                [=](std::size_t at, std::size_t n) {
                    // In a register: a masked load would wait for its mask.
                    const V gradients = in_register<Arch>(op::detail::load_up_to<Arch>(dy + at, n));
                    const V result = gradient(op::detail::load_up_to<Arch>(values + at, n), gradients);
                    op::detail::store_up_to<Arch>(dst + at, result, n);
                });
        };
        const auto inside = [&each](float low, float high, float slope) {
            each([low = V(low), high = V(high), slope = V(slope)](V const& y, V const& dy) {
                return xsimd::select(y > low, xsimd::select(y < high, dy * slope, V(0.0F)), V(0.0F));
            });
        };
        // The function is slope * x above zero and scale * (exp(rate * x) - 1) below.
        const auto exponential = [&](float slope, float scale, float rate) {
            const V above(slope), below(scale), inner(rate);
            if (ActivationGradientParams::from_result(params)) {
                return each([=](V const& y, V const& dy) {
                    return xsimd::select(y > V(0.0F), dy * above, dy * ((y + below) * inner));
                });
            }
            each([=](V const& x, V const& dy) {
                return xsimd::select(x > V(0.0F), dy * above, dy * (below * inner) * exp<Arch>(inner * x));
            });
        };
        switch (params.kind) {
            case ActivationKind::relu:
                return each([](V const& y, V const& dy) { return xsimd::select(y > V(0.0F), dy, V(0.0F)); });
            case ActivationKind::relu6:
                return inside(0.0F, 6.0F, 1.0F);
            case ActivationKind::clip:
                return inside(params.alpha, params.beta, 1.0F);
            case ActivationKind::hard_sigmoid:
                return inside(0.0F, 1.0F, params.alpha);
            case ActivationKind::leaky_relu:
                return each([slope = V(params.alpha)](V const& v, V const& dy) {
                    return xsimd::select(v > V(0.0F), dy, dy * slope);
                });
            case ActivationKind::elu:
                return exponential(1.0F, params.alpha, 1.0F);
            case ActivationKind::selu:
                return exponential(params.beta, params.alpha * params.beta, 1.0F);
            case ActivationKind::celu:
                return exponential(1.0F, params.alpha, 1.0F / params.alpha);
            case ActivationKind::sigmoid:
                return each([](V const& y, V const& dy) { return dy * y * (V(1.0F) - y); });
            case ActivationKind::tanh:
                return each([](V const& y, V const& dy) { return dy * (V(1.0F) - y * y); });
            case ActivationKind::sqrt:
                return each([](V const& y, V const& dy) { return quotient<Arch>(dy, y + y); });
            case ActivationKind::exp:
                return each([](V const& y, V const& dy) { return dy * y; });
            case ActivationKind::tan:
                return each([](V const& y, V const& dy) { return dy * (V(1.0F) + y * y); });
            default:
                return of_input<Arch>(params, each);
        }
    }

    template <class Arch, class Each>
    static void of_input(ActivationParams const& params, Each const& each) noexcept {
        using V = Floats<Arch>;
        switch (params.kind) {
            case ActivationKind::hard_swish:
                return each([](V const& x, V const& dy) {
                    const V between = dy * fma<Arch>(x, V(1.0F / 3), V(0.5F));
                    const V above = xsimd::select(x < V(3.0F), between, dy);
                    return xsimd::select(x > V(-3.0F), above, V(0.0F));
                });
            case ActivationKind::log:
                return each([](V const& x, V const& dy) { return quotient<Arch>(dy, x); });
            case ActivationKind::abs:
                return each([](V const& x, V const& dy) {
                    return xsimd::select(x > V(0.0F), dy, xsimd::select(x < V(0.0F), -dy, V(0.0F)));
                });
            case ActivationKind::erf:  // 2 / sqrt(pi) * exp(-x^2)
                return each([](V const& x, V const& dy) { return dy * V(1.128379167F) * exp<Arch, false>(-(x * x)); });
            case ActivationKind::softplus:
                return each([](V const& x, V const& dy) { return quotient<Arch>(dy, V(1.0F) + exp<Arch>(-x)); });
            case ActivationKind::silu:
                return each([](V const& x, V const& dy) { return dy * op::detail::gate_slope<Arch>(x, x, V(1.0F)); });
            case ActivationKind::swish:
                return each([alpha = V(params.alpha)](V const& x, V const& dy) {
                    return dy * op::detail::gate_slope<Arch>(x, alpha * x, alpha);
                });
            case ActivationKind::softsign:
                return each([](V const& x, V const& dy) {
                    const V share = quotient<Arch>(V(1.0F), V(1.0F) + xsimd::abs(x));
                    return dy * share * share;
                });
            case ActivationKind::log_sigmoid:
                return each([](V const& x, V const& dy) { return quotient<Arch>(dy, V(1.0F) + exp<Arch>(x)); });
            case ActivationKind::thresholded_relu:
                return each([alpha = V(params.alpha)](V const& x, V const& dy) {
                    return xsimd::select(x > alpha, dy, V(0.0F));
                });
            case ActivationKind::shrink:
                return each([above = V(params.beta), below = V(-params.beta)](V const& x, V const& dy) {
                    return xsimd::select(x < below, dy, xsimd::select(x > above, dy, V(0.0F)));
                });
            case ActivationKind::gelu_tanh:
                return each([](V const& x, V const& dy) {
                    const V slope = fma<Arch>(x * x, V(3 * 0.071354816F), V(1.5957691F));
                    return dy * op::detail::gate_slope<Arch>(x, op::detail::gelu_tanh_exponent<Arch>(x), slope);
                });
            case ActivationKind::mish:  // the gate g = n / (n + 2) has the slope (1 - g^2) * sigmoid(x)
                return each([](V const& x, V const& dy) {
                    const V n = op::detail::mish_term<Arch>(x), gate = quotient<Arch>(n, n + V(2.0F));
                    return dy * fma<Arch>(x, quotient<Arch>(V(1.0F) - gate * gate, V(1.0F) + exp<Arch>(-x)), gate);
                });
            case ActivationKind::gelu:
                return each([](V const& x, V const& dy) {
                    const V share =
                        V(0.5F) * (V(1.0F) + op::detail::error_function<Arch>(x * V(op::detail::root_of_half)));
                    return dy *
                           fma<Arch>(x * V(op::detail::density_at_zero), exp<Arch, false>(V(-0.5F) * x * x), share);
                });
            case ActivationKind::sin:
                return each([](V const& x, V const& dy) { return dy * op::detail::sine<Arch, 1>(x); });
            case ActivationKind::cos:
                return each([](V const& x, V const& dy) { return -dy * op::detail::sine<Arch, 0>(x); });
            case ActivationKind::atan:
                return each([](V const& x, V const& dy) { return quotient<Arch>(dy, V(1.0F) + x * x); });
            case ActivationKind::atanh:
                return each([](V const& x, V const& dy) { return quotient<Arch>(dy, V(1.0F) - x * x); });
            case ActivationKind::asin:
                return each(
                    [](V const& x, V const& dy) { return quotient<Arch>(dy, square_root<Arch>(V(1.0F) - x * x)); });
            case ActivationKind::acos:
                return each(
                    [](V const& x, V const& dy) { return -quotient<Arch>(dy, square_root<Arch>(V(1.0F) - x * x)); });
            case ActivationKind::asinh:
                return each(
                    [](V const& x, V const& dy) { return quotient<Arch>(dy, square_root<Arch>(x * x + V(1.0F))); });
            case ActivationKind::acosh:
                return each(
                    [](V const& x, V const& dy) { return quotient<Arch>(dy, square_root<Arch>(x * x - V(1.0F))); });
            case ActivationKind::power:
                if (params.alpha == 2.0F) return each([](V const& x, V const& dy) { return dy * (x + x); });
                if (params.alpha == 3.0F) return each([](V const& x, V const& dy) { return dy * (V(3.0F) * x * x); });
                return each([exponent = params.alpha](V const& x, V const& dy) {
                    return dy * op::detail::lane_by_lane<Arch>(x, V(exponent), [](float a, float b) {
                               return b == 0.0F ? 0.0F : b * std::pow(a, b - 1.0F);
                           });
                });
            default:
                // Rare in networks: element by element.
                return each([function = scalar(params.kind)](V const& x, V const& dy) {
                    return dy * op::detail::lane_by_lane<Arch>(x, x, [=](float a, float) { return function(a); });
                });
        }
    }

    using Scalar = float (*)(float);
    static Scalar scalar(ActivationKind kind) noexcept {
        switch (kind) {
            case ActivationKind::sinh:
                return [](float x) { return std::cosh(x); };
            default:  // cosh
                return [](float x) { return std::sinh(x); };
        }
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
