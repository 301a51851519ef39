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

/// Normalises sets of elements of an image by their statistics: (x - mean) / sqrt(variance + epsilon) of each set,
/// then, if asked for, times a tensor, plus a tensor, which have the extents of x along the axes of a set and 1 along
/// others. simplify makes it of the layers that an instance, group, layer or RMS normalisation consists of. Inputs: x,
/// then the factors if `scales`, then the summands if `shifts`.
struct StandardizeParams {
    /// The axes along which elements belong to the same set.
    bool along_c = false, along_h = false, along_w = false;
    /// The number of groups of channels, each of which is a set of its own; more than 1 only along all axes.
    int groups = 1;
    float epsilon = 1e-5F;
    /// If false, the mean is taken to be 0, and the variance is the mean square.
    bool centres = true;
    bool scales = false, shifts = false;

    [[nodiscard]] static constexpr std::string_view name() { return "standardize"; }
    constexpr void each_field(auto const& visit) const {
        visit("along_c", along_c), visit("along_h", along_h), visit("along_w", along_w), visit("groups", groups);
        visit("epsilon", epsilon), visit("centres", centres), visit("scales", scales), visit("shifts", shifts);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1 + (scales ? 1U : 0U) + (shifts ? 1U : 0U)) return Fault::wrong_input_count;
        if (!impossible().empty() || inputs[0].c % groups != 0) return Fault::impossible_parameter;
        if ((scales || shifts) && !may_have_tensors(inputs[0])) return Fault::impossible_parameter;
        for (Shape const& tensor : inputs.subspan(1)) {
            if (tensor != set_shape(inputs[0])) return Fault::shapes_differ;
        }
        return Fault::none;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        if (!along_c && !along_h && !along_w) return "there must be an axis along which elements belong together";
        if (groups < 1) return "there must be a group of channels";
        if (groups > 1 && !(along_c && along_h && along_w)) return "groups of channels must be along all axes";
        return epsilon >= 0.0F && is_finite(epsilon) ? "" : "epsilon must be finite and not negative";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    /// Returns whether there may be factors and summands: a set is the whole image or a line along one axis.
    [[nodiscard]] constexpr bool may_have_tensors(Shape image) const {
        const Shape set = set_shape(image);
        const int axes = (set.c > 1 ? 1 : 0) + (set.h > 1 ? 1 : 0) + (set.w > 1 ? 1 : 0);
        return groups == 1 && (axes == 1 || set == image);
    }
    /// Returns the extents of a set of the image, where channels are not in groups.
    [[nodiscard]] constexpr Shape set_shape(Shape image) const {
        return {.c = along_c ? image.c : 1, .h = along_h ? image.h : 1, .w = along_w ? image.w : 1};
    }
    friend constexpr bool operator==(StandardizeParams const&, StandardizeParams const&) = default;
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
