#pragma once

#include <primsel/core/config.hpp>
#include <primsel/layer/all.hpp>

#include <array>
#include <cstddef>
#include <utility>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

namespace kernels::detail {
/// Whether only a training step has the layers at a position in AnyLayer.
inline constexpr auto layer_trains = []<std::size_t... i>(std::index_sequence<i...>) {
    return std::array{trains<std::variant_alternative_t<i, AnyLayer>>...};
}(std::make_index_sequence<std::variant_size_v<AnyLayer>>{});
}  // namespace kernels::detail

/// Which kernels of a list are compiled: primitives by type, ops by the position of their layer in AnyLayer. Tables
/// keep a place for those that are not, which support nothing. Here: all that a trained network may need. KernelsFor
/// (engine/kernels_for.hpp) has those that a Network type can use.
struct CompileAll {
    template <class Primitive>
    static constexpr bool primitive = true;
    [[nodiscard]] static constexpr bool layer(std::size_t kind) { return !kernels::detail::layer_trains[kind]; }
};

/// And those of a training step.
struct CompileTraining {
    template <class Primitive>
    static constexpr bool primitive = true;
    [[nodiscard]] static constexpr bool layer(std::size_t) { return true; }
};

}  // namespace primsel::inline PRIMSEL_ABI
