#pragma once

#include <primsel/core/number_text.hpp>

#include <span>
#include <string>

namespace primsel::inline PRIMSEL_ABI::learn::detail {

/// Numbers with four digits each, as C++ initializes an array with them: "{1, 0.25}".
[[nodiscard]] inline std::string initializer(std::span<const double> values) {
    std::string text = "{";
    for (const double value : values) {
        text.append(text.size() == 1 ? "" : ", ").append(core::rounded_text(value, 4));
    }
    return text + "}";
}

}  // namespace primsel::inline PRIMSEL_ABI::learn::detail
