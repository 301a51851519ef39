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

/// The inputs one after the other along an axis.
struct ConcatParams {
    Axis axis = Axis::c;

    [[nodiscard]] static constexpr std::string_view name() { return "concat"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.empty()) return Fault::wrong_input_count;
        for (Shape shape : inputs) {
            extent(shape, axis) = extent(inputs[0], axis);
            if (shape != inputs[0]) return Fault::sizes_differ;
        }
        return Fault::none;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        Shape sum = inputs[0];
        for (Shape const& shape : inputs.subspan(1)) extent(sum, axis) += extent(shape, axis);
        return sum;
    }
    friend constexpr bool operator==(ConcatParams const&, ConcatParams const&) = default;
};

enum class BinaryKind { add, subtract, multiply, divide, prelu };

/// An elementwise function of two inputs a and b. Along each of c, h and w they are equally long, or one of them has a
/// single element there that meets all of the other's. prelu: a where a >= 0, a * b elsewhere.
struct BinaryParams {
    BinaryKind kind = BinaryKind::add;

    [[nodiscard]] constexpr std::string_view name() const {
        switch (kind) {
            case BinaryKind::add:
                return "broadcast_add";
            case BinaryKind::subtract:
                return "subtract";
            case BinaryKind::multiply:
                return "multiply";
            case BinaryKind::divide:
                return "divide";
            case BinaryKind::prelu:
                return "prelu";
        }
        return "";
    }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 2) return Fault::wrong_input_count;
        for (const Axis axis : {Axis::c, Axis::h, Axis::w}) {
            const int a = extent(inputs[0], axis), b = extent(inputs[1], axis);
            if (a != b && a != 1 && b != 1) return Fault::shapes_differ;
        }
        return Fault::none;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        const Shape a = inputs[0], b = inputs[1];
        return {.c = a.c == 1 ? b.c : a.c, .h = a.h == 1 ? b.h : a.h, .w = a.w == 1 ? b.w : a.w};
    }
    friend constexpr bool operator==(BinaryParams const&, BinaryParams const&) = default;
};

/// Matrix products: of each h x w matrix of the first input, one a channel, with that of the second. An input with one
/// channel meets all of the other's.
struct MatMulParams {
    [[nodiscard]] static constexpr std::string_view name() { return "matmul"; }
    [[nodiscard]] constexpr Fault check(std::span<const Shape> inputs) const {
        if (inputs.size() != 2) return Fault::wrong_input_count;
        const Shape a = inputs[0], b = inputs[1];
        return a.w != b.h || (a.c != b.c && a.c != 1 && b.c != 1) ? Fault::shapes_differ : Fault::none;
    }
    [[nodiscard]] constexpr Shape output(std::span<const Shape> inputs) const {
        const Shape a = inputs[0], b = inputs[1];
        return {.c = a.c == 1 ? b.c : a.c, .h = a.h, .w = b.w};
    }
    friend constexpr bool operator==(MatMulParams const&, MatMulParams const&) = default;
};

}  // namespace primsel::inline PRIMSEL_ABI
