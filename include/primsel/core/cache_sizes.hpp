#pragma once

#include <primsel/core/config.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// The assumed size of L2 in floats: a megabyte. Blocks of work are sized by it. It is the same on every processor,
/// because the blocks decide the bits of results. (Parts of deep products ask for the size of L1:
/// gemm::l1_holds_parts.)
inline constexpr int l2_floats = 256 << 10;

}  // namespace primsel::inline PRIMSEL_ABI
