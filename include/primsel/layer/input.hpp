#pragma once

#include <primsel/layer/layer.hpp>

namespace primsel::inline PRIMSEL_ABI {

struct InputParams {
    Shape shape;

    [[nodiscard]] static constexpr std::string_view name() { return "input"; }
    constexpr void each_field(auto const& visit) const { visit("shape", shape); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (!inputs.empty()) return Fault::wrong_input_count;
        if (!impossible().empty()) return Fault::impossible_parameter;
        return within_bounds(shape) ? Fault::none : Fault::too_large;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        return layer::detail::is_size(shape) ? "" : "each extent of the shape must be from 1 to 2^29";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape>) const { return shape; }
    friend constexpr bool operator==(InputParams const&, InputParams const&) = default;
};

/// Values that are the same for every image. Weight: `<name>.value`, of c x h x w; that of a parameter is `<name>`, as
/// a module's own parameters are named in PyTorch.
struct ConstantParams {
    Shape shape;
    bool parameter = false;

    [[nodiscard]] static constexpr std::string_view name() { return "constant"; }
    constexpr void each_field(auto const& visit) const { visit("shape", shape), visit("parameter", parameter); }
    /// The weight is called as the layer where it is trained, `<name>.value` where it is given.
    [[nodiscard]] constexpr std::string_view weight_name() const { return parameter ? "" : "value"; }
    constexpr void each_weight(Shape const&, auto const& visit) const {
        visit(weight_name(), WeightDims{shape.c, shape.h, shape.w},
              parameter ? WeightValues::finite : WeightValues::any);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return InputParams{shape}.check(inputs);
    }
    [[nodiscard]] constexpr std::string_view impossible() const { return InputParams{shape}.impossible(); }
    [[nodiscard]] constexpr Shape output(std::span<const Shape>) const { return shape; }
    friend constexpr bool operator==(ConstantParams const&, ConstantParams const&) = default;
};

namespace layer {
/// The image: channels, height, width.
template <int C, int H, int W>
struct Input {
    static constexpr InputParams params{Shape{.c = C, .h = H, .w = W}};
};
/// Trained values that are the same for every image, one branch of a Sum or Product. Weight: `<name>`, of c x h x w.
template <int C, int H = 1, int W = 1>
struct Parameter {
    static constexpr ConstantParams params{.shape = {.c = C, .h = H, .w = W}, .parameter = true};
};
}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI
