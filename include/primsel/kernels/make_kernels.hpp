#pragma once

#include <primsel/core/type_list.hpp>
#include <primsel/core/work.hpp>
#include <primsel/kernels/compiled.hpp>
#include <primsel/kernels/kernels.hpp>
#include <primsel/kernels/op_table.hpp>
#include <primsel/kernels/own_layer.hpp>
#include <primsel/kernels/primitive_table.hpp>
#include <primsel/machine/measure_machine.hpp>
#include <primsel/op/epilogue.hpp>
#include <primsel/tensor/transform.hpp>

#include <array>
#include <concepts>
#include <cstddef>
#include <type_traits>

namespace primsel::inline PRIMSEL_ABI {

/// The work of transform<From, To> for one image of the shape. The form names the layout To.
template <Layout From, Layout To>
[[nodiscard]] OpCounts transform_work(Shape shape) {
    const auto size = static_cast<double>(shape.size());
    const double bytes = 8 * size;
    if (same_placement<From, To>(shape)) return {.operations = size, .bytes = bytes, .blocks = 1, .form = "copy"};
    if constexpr (tensor::moves_rows<From, To>) {
        return {.operations = size,
                .rows = 1.0 * shape.c * shape.h,
                .bytes = bytes,
                .blocks = 1.0 * shape.h,
                .form = "rows"};
    } else if constexpr (tensor::transposes<From, To>) {
        const auto c = static_cast<std::size_t>(shape.c), h = static_cast<std::size_t>(shape.h),
                   w = static_cast<std::size_t>(shape.w);
        constexpr bool planes = std::same_as<From, chw> || std::same_as<To, chw>;
        const std::size_t matrices = planes ? 1 : h, pixels = planes ? h * w : w;
        constexpr bool to_hwc = std::same_as<To, hwc>;
        OpCounts counts{.operations = size, .bytes = bytes, .form = "three"};
        if (c != 3) {
            counts = to_hwc ? transpose_counts(matrices, c, pixels, c, {"to_hwc", "to_hwc_aliased", "to_hwc_far"})
                            : transpose_counts(matrices, pixels, c, pixels,
                                               {"from_hwc", "from_hwc_aliased", "from_hwc_far"});
        }
        counts.blocks = static_cast<double>(planes ? tensor::transpose_blocks(to_hwc ? pixels : c) : h);
        return counts;
    } else if constexpr (requires { To::template transform_counts<From>(shape, To::name); }) {
        return To::template transform_counts<From>(shape, To::name);
    } else if constexpr (requires { From::template transform_counts<To>(shape, To::name); }) {
        return From::template transform_counts<To>(shape, To::name);
    } else if constexpr (TransformsFrom<To, From> || TransformsTo<From, To>) {
        // A conversion writes a few elements at a time: half the speed of a copy.
        return {.operations = size, .bytes = 2 * bytes, .form = To::name};
    } else {
        return {.scalars = size, .bytes = bytes};
    }
}

namespace kernels {

/// Returns the op_table. extern_kernels.hpp can have this function compiled elsewhere.
template <class Arch, class L, class Compiled>
OpTable const& ops_in() {
    return op_table<Arch, L, Compiled>;
}

template <class Arch, class L, class Compiled>
constexpr LayoutEntry make_layout_entry() {
    LayoutEntry entry{.name = L::name,
                      .element_bytes = sizeof(element_of<L>),
                      .size = [](Shape shape) { return L::size(shape); },
                      .ops = &ops_in<Arch, L, Compiled>,
                      .from_chw = &primsel::transform<chw, L>,
                      .epilogue = nullptr,
                      .dense = [](Shape) { return true; },
                      .needs_range = NeedsRange<L>};
    if constexpr (StridedLayout<L>) entry.dense = &is_dense<L>;
    if constexpr (requires { L::precision; }) entry.precision = L::precision;
    if constexpr (std::same_as<element_of<L>, float>) entry.epilogue = &apply_epilogue<Arch, L>;
    return entry;
}

template <class From, class To>
constexpr TransformEntry make_transform_entry() {
    return {.run = &primsel::transform<From, To>,
            .same_placement = &primsel::same_placement<From, To>,
            .work = &transform_work<From, To>};
}

template <class Arch, class Layouts, class Compiled>
inline constexpr auto layout_table = []<class... L>(TypeList<L...>) {
    return std::array<LayoutEntry, sizeof...(L)>{make_layout_entry<Arch, L, Compiled>()...};
}(Layouts{});

template <class Layouts>
inline constexpr auto transform_table = []<class... L>(TypeList<L...>) {
    std::array<TransformEntry, sizeof...(L) * sizeof...(L)> table{};
    std::size_t at = 0;
    const auto row = [&]<class From>(std::type_identity<From>) {
        ((table[at++] = make_transform_entry<From, L>()), ...);
    };
    (row(std::type_identity<L>{}), ...);
    return table;
}(Layouts{});

}  // namespace kernels

/// Returns the kernels of a list of primitives and layouts for an Arch. Images and results of a network have the first
/// layout.
template <class Primitives, class Arch, class Layouts, class Compiled = CompileAll>
[[nodiscard]] Kernels make_kernels() {
    static_assert(is_type_list<Primitives>, "primsel: make_kernels takes a TypeList of primitives");
    static_assert(is_type_list<Layouts>, "primsel: make_kernels takes a TypeList of layouts");
    static_assert(tensor::CheckLayouts<Layouts>::value);
    return {.primitives = primitive_table<Primitives, Arch, Layouts, Compiled>,
            .layouts = kernels::layout_table<Arch, Layouts, Compiled>,
            .transforms = kernels::transform_table<Layouts>,
            .arch = Arch::name(),
            .machine = &this_machine<Arch>};
}

}  // namespace primsel::inline PRIMSEL_ABI
