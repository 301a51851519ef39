#pragma once

#include <primsel/core/config.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// The assumed size of L2 in floats: a megabyte. Blocks of work are sized by it. It is the same on every processor,
/// because the blocks decide the bits of results.
inline constexpr int l2_floats = 256 << 10;

}  // namespace primsel::inline PRIMSEL_ABI
