#pragma once

#include <primsel/core/config.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// What the library takes L2 to hold, in floats: a megabyte. Whatever is cut to stay there takes a part of it, found by
/// measurements; blocks, and with them the bits of results, must not depend on the processor.
inline constexpr int l2_floats = 256 << 10;

}  // namespace primsel::inline PRIMSEL_ABI
