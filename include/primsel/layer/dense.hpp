#pragma once

#include <primsel/layer/activation.hpp>
#include <primsel/layer/option.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// A fully connected layer of k outputs. Weights: `<name>.weight`, of k x (c * h * w) in chw order, and `<name>.bias`,
/// of k. It flattens its input itself. Output: k x 1 x 1.
struct DenseParams {
    int k = 1;
    bool bias = true;

    [[nodiscard]] static constexpr std::string_view name() { return "dense"; }
    constexpr void each_field(auto const& visit) const { visit("k", k), visit("bias", bias); }
    constexpr void each_weight(Shape const& input, auto const& visit) const {
        visit("weight", WeightDims{k, static_cast<std::int64_t>(input.size())}, WeightValues::finite);
        if (bias) visit("bias", WeightDims{k}, WeightValues::finite);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (!impossible().empty()) return Fault::impossible_parameter;
        if (inputs.size() != 1) return Fault::wrong_input_count;
        const Shape in = inputs[0];
        if (bounded_product({in.c, in.h, in.w}) > max_extent) return Fault::too_large;
        return bounded_product({k, in.c, in.h, in.w}) <= max_floats ? Fault::none : Fault::too_large;
    }
    [[nodiscard]] constexpr std::string_view impossible() const {
        return layer::detail::is_size(k) ? "" : "k, the number of outputs, must be from 1 to 2^29";
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape>) const { return {.c = k, .h = 1, .w = 1}; }
    friend constexpr bool operator==(DenseParams const&, DenseParams const&) = default;
};

/// A fully connected layer of k outputs on each row: the product of rows and a matrix, as import makes of MatMul and
/// Gemm by a constant. Weights: `<name>.weight`, of w x k, and `<name>.bias`, of k. Output: c x h x k.
struct DenseRowsParams {
    int k = 1;
    bool bias = true;

    [[nodiscard]] static constexpr std::string_view name() { return "dense_rows"; }
    constexpr void each_field(auto const& visit) const { visit("k", k), visit("bias", bias); }
    constexpr void each_weight(Shape const& input, auto const& visit) const {
        visit("weight", WeightDims{input.w, k}, WeightValues::any);
        if (bias) visit("bias", WeightDims{k}, WeightValues::any);
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (!impossible().empty()) return Fault::impossible_parameter;
        if (inputs.size() != 1) return Fault::wrong_input_count;
        const Shape in = inputs[0];
        const bool fits = bounded_product({k, in.w}) <= max_floats && bounded_product({in.c, in.h, k}) <= max_floats;
        return fits && k <= max_extent ? Fault::none : Fault::too_large;
    }
    [[nodiscard]] constexpr std::string_view impossible() const { return DenseParams{.k = k}.impossible(); }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        return {.c = inputs[0].c, .h = inputs[0].h, .w = k};
    }
    friend constexpr bool operator==(DenseRowsParams const&, DenseRowsParams const&) = default;
};

namespace layer {
/// Options: NoBias.
template <int K, class... Options>
struct Dense {
private:
    static constexpr void apply(DenseParams& params, NoBias) { params.bias = false; }
    template <class Other>
    static constexpr void apply(DenseParams&, Other) {
        static_assert(sizeof(Other) == 0, "primsel: Dense has no such option; it has NoBias: see docs/layer/layers.md");
    }

public:
    static constexpr DenseParams params = [] {
        DenseParams result{.k = K};
        (apply(result, Options{}), ...);
        return result;
    }();
};
}  // namespace layer

}  // namespace primsel::inline PRIMSEL_ABI
