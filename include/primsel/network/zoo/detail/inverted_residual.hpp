#pragma once

#include <primsel/network/network.hpp>

#include <type_traits>

namespace primsel::inline PRIMSEL_ABI::zoo::detail {

/// A block of MobileNetV2 and MnasNet: with a shortcut wherever the shape stays the same.
template <class Path, bool same_shape>
using InvertedResidual = std::conditional_t<same_shape, layer::Named<"", layer::Residual<Path>>, Path>;

}  // namespace primsel::inline PRIMSEL_ABI::zoo::detail
