// Numbers as text, the same in every locale: what std::to_string, printf and streams write depends on the program's.
#pragma once

#include <primsel/core/config.hpp>

#include <array>
#include <charconv>
#include <string>

namespace primsel::inline PRIMSEL_ABI::core {

/// A number in the fewest digits that read back as the same.
template <class Number>
[[nodiscard]] std::string exact_text(Number number) {
    std::array<char, 64> text{};
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

/// A number with so many decimals, at most 30, as "%.3f" of printf.
[[nodiscard]] inline std::string fixed_text(double number, int decimals) {
    std::array<char, 400> text{};  // the largest has 309 digits before the point
    return {text.data(),
            std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed, decimals).ptr};
}

/// A number with at most so many significant digits, at most 30, as "%.3g" of printf.
[[nodiscard]] inline std::string rounded_text(double number, int digits) {
    std::array<char, 64> text{};
    return {text.data(),
            std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::general, digits).ptr};
}

}  // namespace primsel::inline PRIMSEL_ABI::core
