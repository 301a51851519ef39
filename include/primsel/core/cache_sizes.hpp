#pragma once

#include <primsel/core/config.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// The floats that the library takes L2 to hold: a megabyte. Blocks are cut to stay in a part of it. It is the same on
/// every processor, because blocks decide the bits of results.
inline constexpr int l2_floats = 256 << 10;

}  // namespace primsel::inline PRIMSEL_ABI
