#pragma once

#include <primsel/layer/all.hpp>

#include <array>
#include <cstddef>
#include <utility>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {
/// Of each alternative of AnyLayer, whether only a training step has it.
inline constexpr auto only_trains = []<std::size_t... i>(std::index_sequence<i...>) {
    return std::array<bool, sizeof...(i)>{trains<std::variant_alternative_t<i, AnyLayer>>...};
}(std::make_index_sequence<std::variant_size_v<AnyLayer>>{});
}  // namespace detail

/// Which kernels of a list are compiled: primitives by type, ops by the position of their layer in AnyLayer. Tables
/// keep a place for those that are not, which support nothing. Here: all that inference needs. KernelsFor
/// (engine/kernels_for.hpp) has those that a Network type can use.
struct CompileAll {
    template <class Primitive>
    static constexpr bool primitive = true;
    [[nodiscard]] static constexpr bool layer(std::size_t kind) { return !detail::only_trains[kind]; }
};

/// All that there is: what a step of training needs as well.
struct CompileTraining {
    template <class Primitive>
    static constexpr bool primitive = true;
    [[nodiscard]] static constexpr bool layer(std::size_t) { return true; }
};

}  // namespace primsel::inline PRIMSEL_ABI
