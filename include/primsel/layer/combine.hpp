#pragma once

#include <primsel/layer/activation.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// The sum of two or more inputs of one shape.
struct AddParams {
    /// Set by simplify.
    Clamp clamp{};

    [[nodiscard]] static constexpr std::string_view name() { return "add"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() < 2) return Fault::wrong_input_count;
        for (Shape const& shape : inputs) {
            if (shape != inputs[0]) return Fault::shapes_differ;
        }
        return Fault::none;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const { return inputs[0]; }
    friend constexpr bool operator==(AddParams const&, AddParams const&) = default;
};

/// The channels of the inputs, one input after the other.
struct ConcatParams {
    [[nodiscard]] static constexpr std::string_view name() { return "concat"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.empty()) return Fault::wrong_input_count;
        for (Shape const& shape : inputs) {
            if (shape.h != inputs[0].h || shape.w != inputs[0].w) return Fault::sizes_differ;
        }
        return Fault::none;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        Shape sum = inputs[0];
        for (Shape const& shape : inputs.subspan(1)) sum.c += shape.c;
        return sum;
    }
    friend constexpr bool operator==(ConcatParams const&, ConcatParams const&) = default;
};

}  // namespace primsel::inline PRIMSEL_ABI
