#pragma once

#include <primsel/cost/machine.hpp>
#include <primsel/op/epilogue.hpp>
#include <primsel/op/table.hpp>
#include <primsel/primitive/table.hpp>
#include <primsel/tensor/transform.hpp>

#include <array>
#include <cstddef>
#include <span>
#include <string_view>
#include <utility>

namespace primsel::inline PRIMSEL_ABI {

/// A layout and what runs in it.
struct LayoutEntry {
    std::string_view name;
    /// Floats of an image.
    std::size_t (*size)(Shape);
    OpTable const* ops;
    /// Stores values that come in chw order.
    void (*from_chw)(Shape, const float* src, float* dst, ExecutorRef) noexcept;
    /// What follows a convolution that fuses nothing; null in a layout that is not strided.
    void (*epilogue)(Shape, int batch, float* data, const float* bias, const float* residual, Clamp,
                     ExecutorRef) noexcept;
};

/// The change from one layout to another.
struct TransformEntry {
    void (*run)(Shape, const float* src, float* dst, ExecutorRef) noexcept;
    /// Whether both place every element of the shape alike, so that nothing need run.
    bool (*same_placement)(Shape);
};

/// Everything that a plan may choose from, compiled for one Arch. Primitives, layouts and layout pairs are known by
/// their positions.
struct Kernels {
    std::span<const PrimitiveEntry> primitives;
    std::span<const LayoutEntry> layouts;
    std::span<const TransformEntry> transforms;
    std::string_view arch;
    /// The speeds of the machine with that Arch, measured at the first call.
    Machine const& (*machine)() = &this_machine<>;

    [[nodiscard]] TransformEntry const& transform(std::size_t from, std::size_t to) const {
        return transforms[from * layouts.size() + to];
    }
    [[nodiscard]] bool same_placement(Shape shape, std::size_t from, std::size_t to) const {
        return transform(from, to).same_placement(shape);
    }
    /// The op of a layer in a layout.
    [[nodiscard]] OpEntry const& op(AnyLayer const& layer, std::size_t layout) const {
        return (*layouts[layout].ops)[layer.index()];
    }
};

namespace detail {

template <class Arch, class L>
constexpr LayoutEntry make_layout_entry() {
    LayoutEntry entry{.name = L::name,
                      .size = [](Shape shape) { return L::size(shape); },
                      .ops = &op_table<Arch, L>,
                      .from_chw = &primsel::transform<chw, L>,
                      .epilogue = nullptr};
    if constexpr (StridedLayout<L>) entry.epilogue = &apply_epilogue<Arch, L>;
    return entry;
}

template <class From, class To>
constexpr TransformEntry make_transform_entry() {
    return {.run = &primsel::transform<From, To>, .same_placement = &primsel::same_placement<From, To>};
}

template <class Arch, class Layouts>
inline constexpr auto layout_table = []<class... L>(TypeList<L...>) {
    return std::array<LayoutEntry, sizeof...(L)>{make_layout_entry<Arch, L>()...};
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

}  // namespace detail

/// The kernels of a list of primitives and layouts for an Arch. The first layout is the one in which images come and
/// results go.
template <class Primitives, class Arch, class Layouts>
[[nodiscard]] Kernels make_kernels() {
    static_assert(is_type_list<Primitives>, "primsel: make_kernels takes a TypeList of primitives");
    static_assert(is_type_list<Layouts>, "primsel: make_kernels takes a TypeList of layouts");
    static_assert(detail::CheckLayouts<Layouts>::value);
    return {.primitives = primitive_table<Primitives, Arch, Layouts>,
            .layouts = detail::layout_table<Arch, Layouts>,
            .transforms = detail::transform_table<Layouts>,
            .arch = Arch::name(),
            .machine = &this_machine<Arch>};
}

}  // namespace primsel::inline PRIMSEL_ABI
