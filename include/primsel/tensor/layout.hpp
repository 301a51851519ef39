#pragma once

#include <primsel/core/executor.hpp>
#include <primsel/core/type_list.hpp>
#include <primsel/tensor/range.hpp>
#include <primsel/tensor/shape.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <string_view>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// Says where element (c, h, w) of an image lies. A layout is an empty type with
/// - name: constexpr, and unique among the layouts used together;
/// - size(shape): the number of elements that an image occupies, padding included;
/// - offset(shape, coord): injective into [0, size(shape)).
/// It may have a member type `element`; without one, its elements are floats. With a constant `precision` it is used
/// only where PlanOptions::precision allows that type.
///
/// The layouts chw, hcw and hwc below model this concept. A user's own blocked layout may model it too: see
/// docs/tensor/layout.md.
template <class L>
concept Layout = requires(Shape shape, Coord coord) {
    { L::name } -> std::convertible_to<std::string_view>;
    { L::size(shape) } -> std::same_as<std::size_t>;
    { L::offset(shape, coord) } -> std::same_as<std::size_t>;
};

namespace tensor::detail {

template <class L>
struct ElementOf {
    using type = float;
};
template <class L>
    requires requires { typename L::element; }
struct ElementOf<L> {
    using type = typename L::element;
};

}  // namespace tensor::detail

/// The element type of images in a layout.
template <class L>
using element_of = typename tensor::detail::ElementOf<L>::type;

/// The distance in floats between neighbours along each axis.
struct Strides {
    std::size_t c = 0, h = 0, w = 0;
    friend constexpr bool operator==(Strides const&, Strides const&) = default;
};

/// A layout of floats without padding whose offset is linear in c, h and w. Its axes are nested in the same order for
/// every shape (see is_dense). The layers that are not convolutions run in these layouts.
template <class L>
concept StridedLayout = Layout<L> && std::same_as<element_of<L>, float> && requires(Shape shape) {
    { L::strides(shape) } -> std::same_as<Strides>;
};

/// Returns the distance in floats between neighbours along an axis.
[[nodiscard]] constexpr std::size_t stride(Strides const& strides, Axis axis) {
    return axis == Axis::c ? strides.c : axis == Axis::h ? strides.h : strides.w;
}

/// Returns the axes of layout L from the outermost to the innermost, along which neighbours are adjacent in memory.
template <StridedLayout L>
[[nodiscard]] constexpr std::array<Axis, 3> axis_order() {
    const Strides strides = L::strides(Shape{.c = 2, .h = 3, .w = 5});  // three extents whose strides always differ
    std::array<Axis, 3> order{Axis::c, Axis::h, Axis::w};
    const auto outer_first = [&](Axis& one, Axis& other) {
        if (stride(strides, one) < stride(strides, other)) std::swap(one, other);
    };
    outer_first(order[0], order[1]), outer_first(order[1], order[2]), outer_first(order[0], order[1]);
    return order;
}

/// Returns whether the strides of a shape leave no gap: each axis's stride is the number of elements of the axes nested
/// inside it. This holds for axes of extent 1 too. The ops rely on it.
template <StridedLayout L>
[[nodiscard]] constexpr bool is_dense(Shape shape) {
    const std::array<Axis, 3> order = axis_order<L>();
    std::size_t inside = 1;
    for (std::size_t i = order.size(); i-- > 0;) {
        if (stride(L::strides(shape), order[i]) != inside) return false;
        inside *= static_cast<std::size_t>(extent(shape, order[i]));
    }
    return L::size(shape) == inside;
}

namespace tensor::detail {
template <class L>
struct Strided {
    [[nodiscard]] static constexpr std::size_t size(Shape shape) { return shape.size(); }
    [[nodiscard]] static constexpr std::size_t offset(Shape shape, Coord at) {
        const Strides s = L::strides(shape);
        return static_cast<std::size_t>(at.c) * s.c + static_cast<std::size_t>(at.h) * s.h +
               static_cast<std::size_t>(at.w) * s.w;
    }
};
}  // namespace tensor::detail

/// Channels, then rows, then columns: PyTorch's contiguous format.
struct chw : tensor::detail::Strided<chw> {
    static constexpr std::string_view name = "chw";
    [[nodiscard]] static constexpr Strides strides(Shape shape) {
        return {shape.pixels(), static_cast<std::size_t>(shape.w), 1};
    }
};

/// Rows, then channels, then columns.
struct hcw : tensor::detail::Strided<hcw> {
    static constexpr std::string_view name = "hcw";
    [[nodiscard]] static constexpr Strides strides(Shape shape) {
        const auto w = static_cast<std::size_t>(shape.w);
        return {w, w * static_cast<std::size_t>(shape.c), 1};
    }
};

/// Rows, then columns, then channels: PyTorch's channels-last format.
struct hwc : tensor::detail::Strided<hwc> {
    static constexpr std::string_view name = "hwc";
    [[nodiscard]] static constexpr Strides strides(Shape shape) {
        const auto c = static_cast<std::size_t>(shape.c);
        return {1, c * static_cast<std::size_t>(shape.w), c};
    }
};

using AllLayouts = TypeList<chw, hcw, hwc>;

/// A layout L that converts images from layout Other itself, by `L::transform_from(Other{}, shape, src, dst,
/// executor)`. That function may assume nothing about the contents of dst and must zero its padding. It may take the
/// tensor's TensorRange as one more argument.
template <class L, class Other>
concept TransformsFrom = requires(Shape shape, const float* src, float* dst, ExecutorRef executor) {
    { L::transform_from(Other{}, shape, src, dst, executor) } noexcept;
} || requires(Shape shape, const float* src, float* dst, ExecutorRef executor, TensorRange range) {
    { L::transform_from(Other{}, shape, src, dst, executor, range) } noexcept;
};
/// A layout L that converts images to layout Other itself, by `L::transform_to(Other{}, shape, src, dst, executor)`,
/// perhaps with a TensorRange as one more argument.
template <class L, class Other>
concept TransformsTo = requires(Shape shape, const float* src, float* dst, ExecutorRef executor) {
    { L::transform_to(Other{}, shape, src, dst, executor) } noexcept;
} || requires(Shape shape, const float* src, float* dst, ExecutorRef executor, TensorRange range) {
    { L::transform_to(Other{}, shape, src, dst, executor, range) } noexcept;
};
/// A layout whose elements have a meaning only by the tensor's range: its transform_from(chw{}, ...) takes a
/// TensorRange. Plans use it for tensors of known ranges alone.
template <class L>
concept NeedsRange = requires(Shape shape, const float* src, float* dst, ExecutorRef executor, TensorRange range) {
    L::transform_from(chw{}, shape, src, dst, executor, range);
};

/// Returns whether two layouts place every element of the shape at the same offset, as all do for 1x1 images. A
/// transform between them is then a plain copy.
template <Layout From, Layout To>
[[nodiscard]] constexpr bool same_placement(Shape shape) {
    if constexpr (std::same_as<From, To>) return true;
    if constexpr (StridedLayout<From> && StridedLayout<To>) {
        const Strides a = From::strides(shape), b = To::strides(shape);
        return (shape.c == 1 || a.c == b.c) && (shape.h == 1 || a.h == b.h) && (shape.w == 1 || a.w == b.w);
    }
    return false;
}

namespace tensor {

template <class List>
inline constexpr bool distinct_names = true;
template <class First, class... Rest>
inline constexpr bool distinct_names<TypeList<First, Rest...>> =
    ((std::string_view(First::name) != std::string_view(Rest::name)) && ...) && distinct_names<TypeList<Rest...>>;

template <class List>
inline constexpr bool all_layouts = false;
template <class... L>
inline constexpr bool all_layouts<TypeList<L...>> = (Layout<L> && ...);
template <class List>
inline constexpr bool floats_first = true;
template <class First, class... Rest>
inline constexpr bool floats_first<TypeList<First, Rest...>> = std::same_as<element_of<First>, float>;
template <class List>
concept NamedLayouts = all_layouts<List> && distinct_names<List>;
template <class List>
concept SoundLayouts = NamedLayouts<List> && floats_first<List>;

/// Fails to compile with a message that names the missing member when L does not model Layout.
template <class L>
struct CheckLayout {
    static_assert(
        requires {
            { L::name } -> std::convertible_to<std::string_view>;
        }, "primsel: a type among the layouts has no name; see docs/tensor/layout.md");
    static_assert(
        requires(Shape shape) {
            { L::size(shape) } -> std::same_as<std::size_t>;
        }, "primsel: a type among the layouts has no size(shape) that returns std::size_t; see docs/tensor/layout.md");
    static_assert(
        requires(Shape shape, Coord coord) {
            { L::offset(shape, coord) } -> std::same_as<std::size_t>;
        },
        "primsel: a type among the layouts has no offset(shape, coord) that returns std::size_t; see "
        "docs/tensor/layout.md");
    static_assert(
        !requires { &L::strides; } ||
            requires(Shape shape) {
                { L::strides(shape) } -> std::same_as<Strides>;
            },
        "primsel: a layout's strides is no strides(shape) that returns Strides; see docs/tensor/layout.md");
    static constexpr bool value = true;
};
template <class List>
inline constexpr bool each_layout_checked = false;
template <class... L>
inline constexpr bool each_layout_checked<TypeList<L...>> = (CheckLayout<L>::value && ...);

/// Fails to compile when an entry of the list is no layout, when two have the same name, or when the first has elements
/// other than floats.
template <class List>
struct CheckLayouts {
    static_assert(each_layout_checked<List>);
    static_assert(!all_layouts<List> || NamedLayouts<List>,
                  "primsel: two of the layouts have the same name; see docs/tensor/layout.md");
    static_assert(floats_first<List>,
                  "primsel: images come and results go in the first of the layouts, which must be of floats");
    static constexpr bool value = true;
};

}  // namespace tensor

}  // namespace primsel::inline PRIMSEL_ABI
