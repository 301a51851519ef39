#pragma once

#include <primsel/core/config.hpp>

#include <cstddef>

namespace primsel::inline PRIMSEL_ABI {

/// Which kernels of a list are compiled: primitives by type, ops by the position of their layer in AnyLayer. Tables
/// keep a place for those that are not, which support nothing. Here: all of them. KernelsFor (engine/kernels_for.hpp)
/// has those that a Network type can use.
struct CompileAll {
    template <class Primitive>
    static constexpr bool primitive = true;
    [[nodiscard]] static constexpr bool layer(std::size_t) { return true; }
};

}  // namespace primsel::inline PRIMSEL_ABI
