#pragma once

#include <primsel/core/config.hpp>

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

namespace core {

/// Returns the length in bytes of the UTF-8 sequence (RFC 3629) at the start of the text; 0 if there is none.
[[nodiscard]] inline std::size_t utf8_length(std::string_view text) {
    const auto byte = [&](std::size_t i) {
        return i < text.size() ? static_cast<unsigned>(static_cast<unsigned char>(text[i])) : 0U;
    };
    const unsigned first = byte(0), second = byte(1);
    const auto continues = [&](std::size_t i) { return (byte(i) & 0xc0U) == 0x80U; };
    if (first < 0x80) return text.empty() ? 0 : 1;
    if (first >= 0xc2 && first <= 0xdf) return continues(1) ? 2 : 0;
    if (first >= 0xe0 && first <= 0xef) {
        const bool overlong = first == 0xe0 && second < 0xa0, surrogate = first == 0xed && second > 0x9f;
        return continues(1) && continues(2) && !overlong && !surrogate ? 3 : 0;
    }
    if (first >= 0xf0 && first <= 0xf4) {
        const bool outside = (first == 0xf0 && second < 0x90) || (first == 0xf4 && second > 0x8f);
        return continues(1) && continues(2) && continues(3) && !outside ? 4 : 0;
    }
    return 0;
}

/// Returns the character that a complete UTF-8 sequence encodes.
[[nodiscard]] inline std::uint32_t utf8_character(std::string_view sequence) {
    const auto bits = [&](std::size_t i) {
        return static_cast<std::uint32_t>(static_cast<unsigned char>(sequence[i]));
    };
    if (sequence.size() == 1) return bits(0);
    std::uint32_t character = bits(0) & (0x7fU >> sequence.size());
    for (std::size_t i = 1; i < sequence.size(); ++i) character = character << 6U | (bits(i) & 0x3fU);
    return character;
}

/// Returns whether a character makes a terminal do something, such as moving the cursor, or changes the order of other
/// text: Unicode's control characters, line separators and marks of direction.
[[nodiscard]] constexpr bool is_control(std::uint32_t character) {
    return character < 0x20 || (character >= 0x7f && character < 0xa0) || character == 0x61c ||
           (character >= 0x200e && character <= 0x200f) || (character >= 0x2028 && character <= 0x202e) ||
           (character >= 0x2066 && character <= 0x2069);
}

/// Calls `plain` with each UTF-8 sequence that is text, `control` with each control character, and `byte` with each
/// byte that is not UTF-8.
template <class Plain, class Control, class Byte>
void for_each_character(std::string_view text, Plain const& plain, Control const& control, Byte const& byte) {
    while (!text.empty()) {
        const std::size_t length = utf8_length(text);
        const std::string_view sequence = text.substr(0, length);
        if (length == 0)
            byte(static_cast<unsigned char>(text[0]));
        else if (const std::uint32_t character = utf8_character(sequence); is_control(character))
            control(character);
        else
            plain(sequence);
        text.remove_prefix(length == 0 ? 1 : length);
    }
}

inline void append_hex(std::string& text, std::uint32_t value, int digits) {
    for (int i = digits - 1; i >= 0; --i) text += "0123456789abcdef"[value >> (4U * static_cast<unsigned>(i)) & 15U];
}

}  // namespace core

/// Returns the text on one line and safe for a terminal, even if it comes from a file. Control characters are replaced
/// by their C++ escapes ("
/// ", "\x1b", "\u202e"), bytes that are not UTF-8 by "\xff" and the like. Other text stays as it is, as does text that
/// was made printable before.
[[nodiscard]] inline std::string printable(std::string_view text) {
    std::string out;
    out.reserve(text.size());
    const auto escape = [&out](const char* prefix, std::uint32_t value, int digits) {
        out += prefix;
        core::append_hex(out, value, digits);
    };
    core::for_each_character(
        text, [&](std::string_view sequence) { out += sequence; },
        [&](std::uint32_t character) {
            if (character == '\n')
                out += "\\n";
            else if (character == '\t')
                out += "\\t";
            else if (character < 0x80)
                escape("\\x", character, 2);
            else
                escape("\\u", character, 4);
        },
        [&](unsigned char byte) { escape("\\x", byte, 2); });
    return out;
}

}  // namespace primsel::inline PRIMSEL_ABI
