#pragma once

#include <primsel/core/config.hpp>

#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// "major.minor.patch"
inline constexpr std::string_view version = PRIMSEL_VERSION;

}  // namespace primsel::inline PRIMSEL_ABI
