#pragma once

#include <primsel/layer/layer.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// Batch normalisation with running statistics: (x - mean) / sqrt(variance + epsilon) * weight + bias, per channel.
/// Weights: `<name>.weight`, `.bias`, `.running_mean`, `.running_var`, each of c.
struct BatchNormParams {
    float epsilon = 1e-5F;
    /// The share of the running statistics that stays at each update of a training: ONNX's momentum, 1 - PyTorch's.
    float momentum = 0.9F;

    [[nodiscard]] static constexpr std::string_view name() { return "batch_norm"; }
    constexpr void each_field(auto const& visit) const { visit("epsilon", epsilon), visit("momentum", momentum); }
    constexpr void each_weight(Shape const& input, auto const& visit) const {
        const WeightValues variances = epsilon > 0.0F ? WeightValues::not_negative : WeightValues::positive;
        visit("weight", WeightDims{input.c}, WeightValues::finite);
        visit("bias", WeightDims{input.c}, WeightValues::finite);
        visit("running_mean", WeightDims{input.c}, WeightValues::finite);
        visit("running_var", WeightDims{input.c}, variances);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (!impossible().empty()) return Fault::impossible_parameter;
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        if (!(epsilon >= 0.0F) || !is_finite(epsilon)) return "epsilon must be finite and not negative";
        return momentum >= 0.0F && momentum <= 1.0F ? "" : "the momentum must be from 0 to 1";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(BatchNormParams const&, BatchNormParams const&) = default;
};

/// x * weight + bias, per channel. Weights: `<name>.weight` and `<name>.bias`, each of c. If `known`, it has no weights
/// and computes x * factor + shift for all channels.
struct ScaleParams {
    bool known = false;
    float factor = 1.0F, shift = 0.0F;
    /// Whether the weight and the bias are trainable. A layer that only scales has a constant bias, and one that only
    /// shifts a constant weight.
    bool trains_weight = true, trains_bias = true;

    [[nodiscard]] static constexpr std::string_view name() { return "scale"; }
    constexpr void each_field(auto const& visit) const {
        visit("known", known), visit("factor", factor), visit("shift", shift);
        visit("trains_weight", trains_weight), visit("trains_bias", trains_bias);
    }
    constexpr void each_weight(Shape const& input, auto const& visit) const {
        if (known) return;
        visit("weight", WeightDims{input.c}, WeightValues::not_nan);
        visit("bias", WeightDims{input.c}, WeightValues::not_nan);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(ScaleParams const&, ScaleParams const&) = default;
};

/// Local response normalisation across channels (Krizhevsky et al. 2012, section 3.3, with alpha divided by size as in
/// every framework): x / (k + alpha / size * sum of squares over `size` neighbouring channels) ^ beta. The window
/// reaches size / 2 channels back and (size - 1) / 2 ahead, as in PyTorch.
struct LrnParams {
    int size = 5;
    float alpha = 1e-4F;
    float beta = 0.75F;
    float k = 1.0F;

    [[nodiscard]] static constexpr std::string_view name() { return "lrn"; }
    constexpr void each_field(auto const& visit) const {
        visit("size", size), visit("alpha", alpha), visit("beta", beta), visit("k", k);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (!impossible().empty()) return Fault::impossible_parameter;
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        if (!layer::detail::is_size(size)) return "the size must be from 1 to 2^29";
        return is_finite(alpha) && is_finite(beta) && is_finite(k) ? "" : "alpha, beta and k must be finite";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(LrnParams const&, LrnParams const&) = default;
};

/// exp(x) divided by its sum along an axis; by default over each pixel's channels.
struct SoftmaxParams {
    Axis axis = Axis::c;

    [[nodiscard]] static constexpr std::string_view name() { return "softmax"; }
    constexpr void each_field(auto const& visit) const { visit("axis", axis); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(SoftmaxParams const&, SoftmaxParams const&) = default;
};

namespace layer {
/// Epsilon is a std::ratio.
template <class Epsilon>
struct BatchNormWith {
    static constexpr BatchNormParams params{as_float<Epsilon>};
};
using BatchNorm = BatchNormWith<std::ratio<1, 100'000>>;
struct Scale {
    static constexpr ScaleParams params{};
};
/// x * Factor + Shift; both are std::ratio.
template <class Factor, class Shift = std::ratio<0>>
struct ScaleBy {
    static constexpr ScaleParams params{.known = true, .factor = as_float<Factor>, .shift = as_float<Shift>};
};
template <int size = 5, class Alpha = std::ratio<1, 10'000>, class Beta = std::ratio<3, 4>, class K = std::ratio<1>>
struct Lrn {
    static constexpr LrnParams params{size, as_float<Alpha>, as_float<Beta>, as_float<K>};
};
/// Softmax along an axis: by default over each pixel's channels.
template <Axis axis>
struct SoftmaxAlong {
    static constexpr SoftmaxParams params{axis};
};
using Softmax = SoftmaxAlong<Axis::c>;
}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI
