#pragma once

#include <primsel/core/config.hpp>
#include <primsel/layer/all.hpp>

#include <array>
#include <cstddef>
#include <utility>
#include <variant>

namespace primsel::inline PRIMSEL_ABI {

namespace kernels::detail {
/// For each position in AnyLayer: whether only a training step has such layers.
inline constexpr auto layer_trains = []<std::size_t... i>(std::index_sequence<i...>) {
    return std::array{trains<std::variant_alternative_t<i, AnyLayer>>...};
}(std::make_index_sequence<std::variant_size_v<AnyLayer>>{});
}  // namespace kernels::detail

/// Says which kernels of a list are compiled: primitives by type, ops by the position of their layer in AnyLayer.
/// Tables keep an entry for a kernel that is not compiled, which supports nothing. CompileAll compiles all that a
/// trained network may need. KernelsFor (engine/kernels_for.hpp) compiles only what a Network type can use.
struct CompileAll {
    template <class Primitive>
    static constexpr bool primitive = true;
    [[nodiscard]] static constexpr bool layer(std::size_t kind) { return !kernels::detail::layer_trains[kind]; }
};

/// Compiles also the kernels of a training step.
struct CompileTraining {
    template <class Primitive>
    static constexpr bool primitive = true;
    [[nodiscard]] static constexpr bool layer(std::size_t) { return true; }
};

}  // namespace primsel::inline PRIMSEL_ABI
