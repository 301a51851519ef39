#pragma once

#include <primsel/layer/activation.hpp>
#include <primsel/layer/option.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// A fully connected layer of k outputs. Weights: `<name>.weight`, of k x (c * h * w) in chw order, and `<name>.bias`,
/// of k. An image is read as it is: no flatten is needed before it.
struct DenseParams {
    int k = 1;
    bool bias = true;
    /// Set by simplify.
    Clamp clamp{};

    [[nodiscard]] static constexpr std::string_view name() { return "dense"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (k < 1) return Fault::impossible_parameter;
        return inputs.size() == 1 ? Fault::none : Fault::wrong_input_count;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape>) const { return {.c = k, .h = 1, .w = 1}; }
    friend constexpr bool operator==(DenseParams const&, DenseParams const&) = default;
};

namespace layer {
/// Options: NoBias.
template <int K, class... Options>
struct Dense {
    static constexpr DenseParams params = [] {
        DenseParams result{.k = K};
        ((void)(std::same_as<Options, NoBias> && (result.bias = false, true)), ...);
        return result;
    }();
};
}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI
