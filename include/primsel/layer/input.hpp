#pragma once

#include <primsel/layer/layer.hpp>

namespace primsel::inline PRIMSEL_ABI {

struct InputParams {
    Shape shape;

    [[nodiscard]] static constexpr std::string_view name() { return "input"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (!inputs.empty()) return Fault::wrong_input_count;
        return shape.c < 1 || shape.h < 1 || shape.w < 1 ? Fault::impossible_parameter : Fault::none;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape>) const { return shape; }
    friend constexpr bool operator==(InputParams const&, InputParams const&) = default;
};

/// Values that are the same for every image. Weight: `<name>.value`, of c x h x w.
struct ConstantParams {
    Shape shape;

    [[nodiscard]] static constexpr std::string_view name() { return "constant"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        return InputParams{shape}.check(inputs);
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape>) const { return shape; }
    friend constexpr bool operator==(ConstantParams const&, ConstantParams const&) = default;
};

namespace layer {
/// The image: channels, height, width.
template <int C, int H, int W>
struct Input {
    static constexpr InputParams params{Shape{.c = C, .h = H, .w = W}};
};
}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI
