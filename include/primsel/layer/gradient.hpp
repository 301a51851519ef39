// Gradients: what a training step computes from the gradient of a layer's result, dy. Each gives the gradient of that
// layer's input, of the input's shape.
#pragma once

#include <primsel/core/visit.hpp>
#include <primsel/layer/activation.hpp>
#include <primsel/layer/detection.hpp>
#include <primsel/layer/norm.hpp>
#include <primsel/layer/pool.hpp>
#include <primsel/layer/recurrent.hpp>
#include <primsel/layer/reshape.hpp>
#include <primsel/layer/sampling.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

namespace layer::detail {

inline constexpr std::string_view impossible_shape = "each extent of the shape must be from 1 to 2^29";

/// Checks the gradient of a layer that reads one image of the given shape, where the gradient needs dy alone.
template <class Params>
[[nodiscard]] constexpr Fault check_gradient(Params const& layer, Shape const& input, std::span<const Shape> inputs) {
    if (inputs.size() != 1) return Fault::wrong_input_count;
    if (!is_size(input) || !layer.impossible().empty()) return Fault::impossible_parameter;
    if (!within_bounds(input)) return Fault::too_large;
    if (const Fault fault = layer.check({&input, 1}); fault != Fault::none) return fault;
    return inputs[0] == layer.output({&input, 1}) ? Fault::none : Fault::shapes_differ;
}

}  // namespace layer::detail

/// The gradient of a pooling of images of the given shape. Inputs for a maximum: x, y, dy, where y is the pooling of x;
/// of an average: dy alone. The gradient of a maximum goes to the first of the window's elements that equal it, row by
/// row, as in PyTorch.
struct PoolGradientParams {
    PoolParams pool{};
    Shape input{};
    static constexpr bool training = true;

    [[nodiscard]] static constexpr std::string_view name() { return "pool_gradient"; }
    constexpr void each_field(auto const& visit) const { visit("pool", pool), visit("input", input); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        const bool max = pool.kind == PoolKind::max;
        if (inputs.size() != (max ? 3U : 1U)) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        if (!within_bounds(input)) return Fault::too_large;
        if (const Fault fault = pool.check({&input, 1}); fault != Fault::none) return fault;
        const Shape pooled = pool.output({&input, 1});
        if (inputs.back() != pooled || (max && (inputs[0] != input || inputs[1] != pooled))) {
            return Fault::shapes_differ;
        }
        return Fault::none;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        return layer::detail::is_size(input) ? pool.impossible() : layer::detail::impossible_shape;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape>) const { return input; }
    friend constexpr bool operator==(PoolGradientParams const&, PoolGradientParams const&) = default;
};

/// The gradient of a global pooling of images of the given shape. Inputs as for PoolGradientParams.
struct GlobalPoolGradientParams {
    PoolKind kind = PoolKind::average;
    Shape input{};
    static constexpr bool training = true;

    [[nodiscard]] static constexpr std::string_view name() { return "global_pool_gradient"; }
    constexpr void each_field(auto const& visit) const { visit("kind", kind), visit("input", input); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        const bool max = kind == PoolKind::max;
        if (inputs.size() != (max ? 3U : 1U)) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        if (!within_bounds(input)) return Fault::too_large;
        const Shape pooled{.c = input.c, .h = 1, .w = 1};
        if (inputs.back() != pooled || (max && (inputs[0] != input || inputs[1] != pooled))) {
            return Fault::shapes_differ;
        }
        return Fault::none;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        return layer::detail::is_size(input) ? "" : layer::detail::impossible_shape;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape>) const { return input; }
    friend constexpr bool operator==(GlobalPoolGradientParams const&, GlobalPoolGradientParams const&) = default;
};

/// The gradient of an elementwise function. Inputs: v and dy, of one shape, where v is the function's result if
/// from_result says so, else its input. Where the function has a kink the derivative is PyTorch's: that of relu at 0 is
/// 0.
struct ActivationGradientParams {
    ActivationParams activation{};
    static constexpr bool training = true;

    /// Whether the function has a derivative that is not 0 everywhere.
    [[nodiscard]] static constexpr bool differentiable(ActivationKind kind) {
        switch (kind) {
            case ActivationKind::sign:
            case ActivationKind::floor:
            case ActivationKind::ceil:
            case ActivationKind::round:
            case ActivationKind::truncate:
                return false;
            default:
                return true;
        }
    }
    /// Whether the derivative can be computed from the function's result, so that its input need not be kept.
    [[nodiscard]] static constexpr bool from_result(ActivationParams const& params) {
        switch (params.kind) {
            case ActivationKind::relu:
            case ActivationKind::relu6:
            case ActivationKind::clip:
            case ActivationKind::sigmoid:
            case ActivationKind::hard_sigmoid:
            case ActivationKind::tanh:
            case ActivationKind::sqrt:
            case ActivationKind::exp:
            case ActivationKind::tan:
                return true;
            case ActivationKind::leaky_relu:
            case ActivationKind::elu:
            case ActivationKind::celu:
                return params.alpha > 0.0F;  // a result keeps the sign of its input
            case ActivationKind::selu:
                return params.alpha > 0.0F && params.beta > 0.0F;
            default:
                return false;
        }
    }
    [[nodiscard]] static constexpr std::string_view name() { return "activation_gradient"; }
    constexpr void each_field(auto const& visit) const { visit("activation", activation); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 2) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        return inputs[0] == inputs[1] ? Fault::none : Fault::shapes_differ;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        return differentiable(activation.kind) ? "" : "a function of steps has no gradient";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(ActivationGradientParams const&, ActivationGradientParams const&) = default;
};

/// The gradient of a local response normalisation. Inputs: x, y, dy, of one shape.
struct LrnGradientParams {
    LrnParams lrn{};
    static constexpr bool training = true;

    [[nodiscard]] static constexpr std::string_view name() { return "lrn_gradient"; }
    constexpr void each_field(auto const& visit) const { visit("lrn", lrn); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 3) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        return inputs[0] == inputs[1] && inputs[0] == inputs[2] ? Fault::none : Fault::shapes_differ;
    }
    [[nodiscard]] constexpr std::string_view impossible() const { return lrn.impossible(); }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(LrnGradientParams const&, LrnGradientParams const&) = default;
};

/// The gradient of a softmax: y * (dy - sum of y * dy along the axis). Inputs: y, dy, of one shape.
struct SoftmaxGradientParams {
    SoftmaxParams softmax{};
    static constexpr bool training = true;

    [[nodiscard]] static constexpr std::string_view name() { return "softmax_gradient"; }
    constexpr void each_field(auto const& visit) const { visit("softmax", softmax); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 2) return Fault::wrong_input_count;
        return inputs[0] == inputs[1] ? Fault::none : Fault::shapes_differ;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(SoftmaxGradientParams const&, SoftmaxGradientParams const&) = default;
};

/// The gradient of AsStrided on an image of the given shape: each element of the image gets the sum of dy over the
/// places that read it. Input: dy.
struct AsStridedGradientParams {
    AsStridedParams strided{};
    Shape input{};
    static constexpr bool training = true;

    [[nodiscard]] static constexpr std::string_view name() { return "as_strided_gradient"; }
    constexpr void each_field(auto const& visit) const { visit("strided", strided), visit("input", input); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return layer::detail::check_gradient(strided, input, inputs);
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        return layer::detail::is_size(input) ? strided.impossible() : layer::detail::impossible_shape;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape>) const { return input; }
    friend constexpr bool operator==(AsStridedGradientParams const&, AsStridedGradientParams const&) = default;
};

/// The gradient of Resize on an image of the given shape. Input: dy.
struct ResizeGradientParams {
    ResizeParams resize{};
    Shape input{};
    static constexpr bool training = true;

    [[nodiscard]] static constexpr std::string_view name() { return "resize_gradient"; }
    constexpr void each_field(auto const& visit) const { visit("resize", resize), visit("input", input); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return layer::detail::check_gradient(resize, input, inputs);
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        return layer::detail::is_size(input) ? resize.impossible() : layer::detail::impossible_shape;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape>) const { return input; }
    friend constexpr bool operator==(ResizeGradientParams const&, ResizeGradientParams const&) = default;
};

/// The parameters of a layer that reads or changes elements at the places that an input names.
struct PlacedLayer {
    std::variant<GatherParams, ScatterParams, GridSampleParams, RoiAlignParams> params{};

    [[nodiscard]] constexpr std::string_view name() const {
        return core::visit([](auto const& of) { return std::string_view(of.name()); }, params);
    }
    constexpr void each_field(auto const& visit) const {
        visit("layer", static_cast<int>(params.index()));
        core::visit([&](auto const& of) { of.each_field(visit); }, params);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return core::visit([&](auto const& of) { return of.check(inputs); }, params);
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return core::visit([&](auto const& of) { return of.output(inputs); }, params);
    }
    friend constexpr bool operator==(PlacedLayer const&, PlacedLayer const&) = default;
};

/// The gradient of an input of such a layer. Inputs: those of the layer, then dy; the first of them, of the given
/// shape, is left out where its values do not matter (see reads_image). Each element of the image gets the sum of dy
/// over the places that read it, each change the dy of the element that it makes. Of a maximum or minimum, dy goes to
/// the first that equals it.
struct PlacedGradientParams {
    PlacedLayer layer{};
    Shape image{};
    /// The number of the input.
    int of = 0;
    static constexpr bool training = true;

    [[nodiscard]] static constexpr std::string_view name() { return "placed_gradient"; }
    constexpr void each_field(auto const& visit) const {
        visit("layer", layer), visit("image", image), visit("of", of);
    }
    /// Whether the gradient depends on the values of the first input.
    [[nodiscard]] constexpr bool reads_image() const {
        if (const auto* scatter = std::get_if<ScatterParams>(&layer.params)) {
            return scatter->kind != ScatterKind::replace && scatter->kind != ScatterKind::add;
        }
        const auto* align = std::get_if<RoiAlignParams>(&layer.params);
        return align != nullptr ? align->kind == PoolKind::max : of > 0;
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        const std::size_t count =
            std::holds_alternative<GatherParams>(layer.params) || std::holds_alternative<GridSampleParams>(layer.params)
                ? 2
                : 3;
        if (inputs.size() != count + (reads_image() ? 1 : 0)) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        if (!within_bounds(image)) return Fault::too_large;
        const ReadShapes read(*this, inputs);
        if (reads_image() && inputs[0] != image) return Fault::shapes_differ;
        if (const Fault fault = layer.check(read.shapes()); fault != Fault::none) return fault;
        return inputs.back() == layer.output(read.shapes()) ? Fault::none : Fault::shapes_differ;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        if (!layer::detail::is_size(image)) return layer::detail::impossible_shape;
        // Row numbers and boxes have no gradient.
        const bool exists = of == 0 || (of == 1 && std::holds_alternative<GridSampleParams>(layer.params)) ||
                            (of == 2 && std::holds_alternative<ScatterParams>(layer.params));
        return exists ? "" : "the input has no gradient";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return of == 0 ? image : inputs[static_cast<std::size_t>(of) - (reads_image() ? 0 : 1)];
    }
    friend constexpr bool operator==(PlacedGradientParams const&, PlacedGradientParams const&) = default;

private:
    /// The shapes of the layer's own inputs.
    struct ReadShapes {
        std::array<Shape, 3> all{};
        std::size_t count = 0;
        constexpr ReadShapes(PlacedGradientParams const& of, std::span<const Shape> inputs) {
            all[count++] = of.image;
            for (std::size_t i = of.reads_image() ? 1 : 0; i + 1 < inputs.size(); ++i) all[count++] = inputs[i];
        }
        [[nodiscard]] constexpr std::span<const Shape> shapes() const { return {all.data(), count}; }
    };
};

/// The gradients of a recurrent layer that reads its weights. Inputs: those of the layer, then dy. The result's channel
/// of a step has a row for each sequence. First, gate by gate, dx: the gradients of what the gates get. A gru's row
/// goes on with n columns: if the layer resets the product, the gradients of the product of h of its last gate, else
/// the gated state r * h. The last n columns are h before the step. The gradients of the weights are products of these.
/// One more channel has the gradients of the first h, of the first cell, and of the peepholes, as far as there are any,
/// of n, n and 3 * n columns, for each sequence.
struct RecurrentGradientParams {
    RecurrentParams recurrent{.reads_weights = true};
    static constexpr bool training = true;

    [[nodiscard]] static constexpr std::string_view name() { return "recurrent_gradient"; }
    constexpr void each_field(auto const& visit) const { visit("recurrent", recurrent); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != recurrent.input_count() + 1) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        const std::span<const Shape> read = inputs.first(inputs.size() - 1);
        if (const Fault fault = recurrent.check(read); fault != Fault::none) return fault;
        if (inputs.back() != recurrent.output(read)) return Fault::shapes_differ;
        const Shape in = inputs[0];
        return within_bounds(in.c + std::int64_t{1}, in.h, in.w + std::int64_t{2} * recurrent.hidden(in))
                   ? Fault::none
                   : Fault::too_large;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        return recurrent.reads_weights ? recurrent.impossible() : "the layer must read its weights";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        const Shape in = inputs[0];
        const int further = recurrent.kind == RecurrentKind::gru ? 2 : 1;
        return {.c = in.c + 1, .h = in.h, .w = in.w + further * recurrent.hidden(in)};
    }
    friend constexpr bool operator==(RecurrentGradientParams const&, RecurrentGradientParams const&) = default;
};

}  // namespace primsel::inline PRIMSEL_ABI
