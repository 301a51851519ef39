#pragma once

#include <cstdlib>
#include <string_view>

/// Whether PRIMSEL_QUICK asks for fewer shapes, as an emulator and sanitizers need.
[[nodiscard]] inline bool quick() {
    const char* value = std::getenv("PRIMSEL_QUICK");
    return value != nullptr && std::string_view(value) != "0";
}
