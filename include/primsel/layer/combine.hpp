#pragma once

#include <primsel/layer/activation.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// The sum of two or more inputs of one shape.
struct AddParams {
    [[nodiscard]] static constexpr std::string_view name() { return "add"; }
    static constexpr void each_field(auto const&) {}
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

/// Concatenates one or more inputs along an axis. Their other extents must be equal.
struct ConcatParams {
    Axis axis = Axis::c;

    [[nodiscard]] static constexpr std::string_view name() { return "concat"; }
    constexpr void each_field(auto const& visit) const { visit("axis", axis); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.empty()) return Fault::wrong_input_count;
        for (Shape shape : inputs) {
            extent(shape, axis) = extent(inputs[0], axis);
            if (shape != inputs[0]) return Fault::sizes_differ;
        }
        std::int64_t sum = 0;
        for (Shape const& shape : inputs) sum += extent(shape, axis);
        if (sum > max_extent) return Fault::too_large;
        return within_bounds(output(inputs)) ? Fault::none : Fault::too_large;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        Shape sum = inputs[0];
        for (Shape const& shape : inputs.subspan(1)) extent(sum, axis) += extent(shape, axis);
        return sum;
    }
    friend constexpr bool operator==(ConcatParams const&, ConcatParams const&) = default;
};

enum class BinaryKind {
    add,
    subtract,
    multiply,
    divide,
    prelu,
    power,
    minimum,
    maximum,
    modulo,
    remainder,
    equal,
    greater,
    greater_or_equal,
    keep,
};

/// An elementwise function of two inputs a and b. Along each of c, h and w their extents are equal, or one of them is 1
/// and is broadcast.
/// - prelu: a where a >= 0, a * b elsewhere;
/// - power: a to the power of b;
/// - minimum, maximum: NaN where a or b is NaN;
/// - modulo: the remainder of a / b with the sign of b;
/// - remainder: the remainder of a / b with the sign of a;
/// - equal, greater, greater_or_equal: 1 where the comparison of a with b holds, 0 elsewhere;
/// - keep: b where a is not 0, 0 elsewhere, even where b is NaN or infinite.
struct BinaryParams {
    BinaryKind kind = BinaryKind::add;

    [[nodiscard]] constexpr std::string_view name() const {
        constexpr std::string_view names[] = {"broadcast_add", "subtract", "multiply",         "divide", "prelu",
                                              "power",         "minimum",  "maximum",          "modulo", "remainder",
                                              "equal",         "greater",  "greater_or_equal", "keep"};
        return names[static_cast<std::size_t>(kind)];
    }
    constexpr void each_field(auto const& visit) const { visit("kind", kind); }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 2) return Fault::wrong_input_count;
        for (const Axis axis : {Axis::c, Axis::h, Axis::w}) {
            const int a = extent(inputs[0], axis), b = extent(inputs[1], axis);
            if (a != b && a != 1 && b != 1) return Fault::shapes_differ;
        }
        return within_bounds(output(inputs)) ? Fault::none : Fault::too_large;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        const Shape a = inputs[0], b = inputs[1];
        return {.c = a.c == 1 ? b.c : a.c, .h = a.h == 1 ? b.h : a.h, .w = a.w == 1 ? b.w : a.w};
    }
    friend constexpr bool operator==(BinaryParams const&, BinaryParams const&) = default;
};

/// Batched matrix product. Each channel of an input is an h x w matrix; the output's channel is the first input's
/// matrix times the second's: c x m x k and c x k x n give c x m x n. An input with one channel is broadcast.
struct MatMulParams {
    [[nodiscard]] static constexpr std::string_view name() { return "matmul"; }
    static constexpr void each_field(auto const&) {}
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 2) return Fault::wrong_input_count;
        const Shape a = inputs[0], b = inputs[1];
        if (a.w != b.h || (a.c != b.c && a.c != 1 && b.c != 1)) return Fault::shapes_differ;
        return within_bounds(output(inputs)) ? Fault::none : Fault::too_large;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        const Shape a = inputs[0], b = inputs[1];
        return {.c = a.c == 1 ? b.c : a.c, .h = a.h, .w = b.w};
    }
    friend constexpr bool operator==(MatMulParams const&, MatMulParams const&) = default;
};

}  // namespace primsel::inline PRIMSEL_ABI
