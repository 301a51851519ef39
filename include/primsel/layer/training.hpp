// Layers that only a training step has: trainable parameters, normalisation by the statistics of the batch, and sums
// over the batch. A layer with of_batch has one result for the whole batch, not one an image. Vectors of the batch have
// the shape n x 1 x 1, which every layout stores alike.
#pragma once

#include <primsel/layer/input.hpp>
#include <primsel/layer/layer.hpp>

#include <cstdint>
#include <limits>

namespace primsel::inline PRIMSEL_ABI {

/// A tensor that the caller owns and may change between runs. No inputs. Output: its shape, of the batch.
struct ParameterParams {
    Shape shape{};
    static constexpr bool training = true, of_batch = true;

    [[nodiscard]] static constexpr std::string_view name() { return "parameter"; }
    constexpr void each_field(auto const& visit) const { visit("shape", shape); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return InputParams{shape}.check(inputs);
    }
    [[nodiscard]] constexpr std::string_view impossible() const { return InputParams{shape}.impossible(); }
    [[nodiscard]] constexpr Shape output(std::span<const Shape>) const { return shape; }
    friend constexpr bool operator==(ParameterParams const&, ParameterParams const&) = default;
};

/// Repeats a vector of the batch for each image. Input: a parameter, n x 1 x 1 of the batch. Output: n x 1 x 1 an
/// image.
struct RepeatParams {
    static constexpr bool training = true;

    [[nodiscard]] static constexpr std::string_view name() { return "repeat"; }
    static constexpr void each_field(auto const&) {}
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        return inputs[0].pixels() == 1 ? Fault::none : Fault::shapes_differ;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(RepeatParams const&, RepeatParams const&) = default;
};

/// The mean of each channel over all pixels of all images, then the variance of each, divided by their number: 2c x 1
/// x 1 of the batch. Input: x.
struct BatchStatisticsParams {
    static constexpr bool training = true, of_batch = true;

    [[nodiscard]] static constexpr std::string_view name() { return "batch_statistics"; }
    static constexpr void each_field(auto const&) {}
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 1) return Fault::wrong_input_count;
        return inputs[0].c <= max_extent / 2 ? Fault::none : Fault::too_large;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = 2 * inputs[0].c, .h = 1, .w = 1};
    }
    friend constexpr bool operator==(BatchStatisticsParams const&, BatchStatisticsParams const&) = default;
};

namespace layer::detail {

/// Checks the first `count` of these inputs of a normalisation: x, statistics, gamma, beta, dy, sums.
[[nodiscard]] constexpr Fault check_normalize(std::span<const Shape> inputs, std::size_t count) {
    if (inputs.size() != count) return Fault::wrong_input_count;
    const Shape x = inputs[0];
    if (x.c > max_extent / 2) return Fault::too_large;
    const Shape of_channels{.c = x.c, .h = 1, .w = 1}, two_of_channels{.c = 2 * x.c, .h = 1, .w = 1};
    if (inputs[1] != two_of_channels || inputs[2] != of_channels || inputs[3] != of_channels) {
        return Fault::shapes_differ;
    }
    if ((count > 4 && inputs[4] != x) || (count > 5 && inputs[5] != two_of_channels)) return Fault::shapes_differ;
    return Fault::none;
}
[[nodiscard]] constexpr std::string_view impossible_epsilon(float epsilon) {
    return epsilon >= 0.0F && is_finite(epsilon) ? "" : "epsilon must be finite and not negative";
}

}  // namespace layer::detail

/// Batch normalisation by the statistics of the batch: (x - mean) / sqrt(variance + epsilon) * gamma + beta, per
/// channel; a clamp may follow. Inputs: x, statistics (2c), gamma (c), beta (c), the latter three of the batch.
struct NormalizeParams {
    float epsilon = 1e-5F;
    static constexpr bool training = true;

    [[nodiscard]] static constexpr std::string_view name() { return "normalize"; }
    constexpr void each_field(auto const& visit) const { visit("epsilon", epsilon); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (!impossible().empty()) return Fault::impossible_parameter;
        return layer::detail::check_normalize(inputs, 4);
    }
    [[nodiscard]] constexpr std::string_view impossible() const { return layer::detail::impossible_epsilon(epsilon); }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(NormalizeParams const&, NormalizeParams const&) = default;
};

/// The gradients of a normalisation's beta and gamma: 2c x 1 x 1 of the batch, c sums of dy', then c sums of dy' * (x -
/// mean) / sqrt(variance + epsilon), over all pixels of all images. Inputs: those of the normalisation, then dy, the
/// gradient of its result after the clamp; dy' is dy where the result lies strictly between low and high, elsewhere 0.
struct NormalizeSumsParams {
    float epsilon = 1e-5F;
    /// Whether a clamp to [low, high] follows the normalisation; if not, dy' is dy.
    bool has_clamp = false;
    float low = 0.0F, high = std::numeric_limits<float>::infinity();
    static constexpr bool training = true, of_batch = true;

    [[nodiscard]] static constexpr std::string_view name() { return "normalize_sums"; }
    constexpr void each_field(auto const& visit) const {
        visit("epsilon", epsilon), visit("has_clamp", has_clamp), visit("low", low), visit("high", high);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (!impossible().empty()) return Fault::impossible_parameter;
        return layer::detail::check_normalize(inputs, 5);
    }
    [[nodiscard]] constexpr std::string_view impossible() const { return layer::detail::impossible_epsilon(epsilon); }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = 2 * inputs[0].c, .h = 1, .w = 1};
    }
    friend constexpr bool operator==(NormalizeSumsParams const&, NormalizeSumsParams const&) = default;
};

/// The gradient of a normalisation's x, through the statistics as well (Ioffe and Szegedy 2015): gamma / sqrt(variance
/// + epsilon) * (dy' - sum of dy' / N - xhat * sum of dy' * xhat / N) for N = images * h * w. Inputs: those of the
/// sums, then the sums (2c, of the batch). dy' as there.
struct NormalizeGradientParams {
    float epsilon = 1e-5F;
    /// As NormalizeSumsParams.
    bool has_clamp = false;
    float low = 0.0F, high = std::numeric_limits<float>::infinity();
    static constexpr bool training = true;

    [[nodiscard]] static constexpr std::string_view name() { return "normalize_gradient"; }
    constexpr void each_field(auto const& visit) const {
        visit("epsilon", epsilon), visit("has_clamp", has_clamp), visit("low", low), visit("high", high);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (!impossible().empty()) return Fault::impossible_parameter;
        return layer::detail::check_normalize(inputs, 6);
    }
    [[nodiscard]] constexpr std::string_view impossible() const { return layer::detail::impossible_epsilon(epsilon); }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(NormalizeGradientParams const&, NormalizeGradientParams const&) = default;
};

/// The sum of each channel over all pixels of all images, c x 1 x 1 of the batch: of dy, the gradient of a bias.
struct ChannelSumParams {
    static constexpr bool training = true, of_batch = true;

    [[nodiscard]] static constexpr std::string_view name() { return "channel_sum"; }
    static constexpr void each_field(auto const&) {}
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = inputs[0].c, .h = 1, .w = 1};
    }
    friend constexpr bool operator==(ChannelSumParams const&, ChannelSumParams const&) = default;
};

/// Dropout as it trains (Srivastava et al. 2014), scaled as in PyTorch: 0 with probability rate, x / (1 - rate)
/// otherwise. Inputs: x, and a seed of the batch, 2 x 1 x 1, two integers from 0 to 2^24 - 1 as floats. What is dropped
/// depends on the seed, the stream, the image's place in the run and the element's place in chw order alone: the layer
/// applied to dy is its own gradient.
struct RandomDropoutParams {
    float rate = 0.5F;
    /// Layers of a graph that are to drop independently have different streams.
    std::uint32_t stream = 0;
    static constexpr bool training = true;

    [[nodiscard]] static constexpr std::string_view name() { return "random_dropout"; }
    constexpr void each_field(auto const& visit) const { visit("rate", rate), visit("stream", stream); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 2) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        return inputs[1] == Shape{.c = 2, .h = 1, .w = 1} ? Fault::none : Fault::shapes_differ;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        return rate >= 0.0F && rate <= 1.0F ? "" : "the rate must be from 0 to 1";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(RandomDropoutParams const&, RandomDropoutParams const&) = default;
};

}  // namespace primsel::inline PRIMSEL_ABI
