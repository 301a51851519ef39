#pragma once

#include <primsel/core/config.hpp>

#include <array>
#include <charconv>
#include <span>
#include <string>

namespace primsel::inline PRIMSEL_ABI::detail {

/// Numbers with four digits each, as C++ initializes an array with them: "{1, 0.25}".
[[nodiscard]] inline std::string initializer(std::span<const double> values) {
    std::string text = "{";
    for (const double value : values) {
        std::array<char, 32> digits{};
        const auto end =
            std::to_chars(digits.data(), digits.data() + digits.size(), value, std::chars_format::general, 4).ptr;
        text.append(text.size() == 1 ? "" : ", ").append(digits.data(), end);
    }
    return text + "}";
}

}  // namespace primsel::inline PRIMSEL_ABI::detail
