// Numbers as text, independent of the locale, unlike std::to_string, printf and streams.
#pragma once

#include <primsel/core/config.hpp>

#include <array>
#include <charconv>
#include <string>

namespace primsel::inline PRIMSEL_ABI::core {

/// Returns a number in the fewest digits that read back as the same number.
template <class Number>
[[nodiscard]] std::string exact_text(Number number) {
    std::array<char, 64> text{};
    return {text.data(), std::to_chars(text.data(), text.data() + text.size(), number).ptr};
}

/// Returns a number with `decimals` decimals, at most 30, like "%.3f" of printf.
[[nodiscard]] inline std::string fixed_text(double number, int decimals) {
    std::array<char, 400> text{};  // the largest double has 309 digits before the point
    return {text.data(),
            std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::fixed, decimals).ptr};
}

/// Returns a number with at most `digits` significant digits, at most 30, like "%.3g" of printf.
[[nodiscard]] inline std::string rounded_text(double number, int digits) {
    std::array<char, 64> text{};
    return {text.data(),
            std::to_chars(text.data(), text.data() + text.size(), number, std::chars_format::general, digits).ptr};
}

}  // namespace primsel::inline PRIMSEL_ABI::core
