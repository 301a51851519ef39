#pragma once

#include <primsel/core/error.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

namespace detail {

inline constexpr std::string_view base64_digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

/// The value of each character; 64 of what is no digit.
inline constexpr auto base64_values = [] {
    std::array<std::uint8_t, 256> values{};
    values.fill(64);
    for (std::size_t i = 0; i < base64_digits.size(); ++i) {
        values[static_cast<unsigned char>(base64_digits[i])] = static_cast<std::uint8_t>(i);
    }
    return values;
}();

}  // namespace detail

/// Bytes as text (RFC 4648, section 4), padded to whole groups of four characters.
[[nodiscard]] inline std::string to_base64(std::span<const std::byte> bytes) {
    std::string text;
    text.reserve((bytes.size() + 2) / 3 * 4);
    for (std::size_t at = 0; at < bytes.size(); at += 3) {
        const std::size_t count = std::min<std::size_t>(3, bytes.size() - at);
        std::uint32_t group = 0;
        for (std::size_t i = 0; i < 3; ++i) {
            group = group << 8U | (i < count ? std::to_integer<std::uint32_t>(bytes[at + i]) : 0U);
        }
        for (std::size_t i = 0; i < 4; ++i) {
            text += i <= count ? detail::base64_digits[(group >> (18 - 6 * i)) & 63U] : '=';
        }
    }
    return text;
}

/// The bytes of such a text; `name` is what errors call it. Throws error for anything else.
[[nodiscard]] inline std::vector<std::byte> from_base64(std::string_view name, std::string_view text) {
    if (text.size() % 4 != 0) fail(name, ": base64 of ", text.size(), " characters, no multiple of 4");
    std::vector<std::byte> bytes;
    bytes.reserve(text.size() / 4 * 3);
    for (std::size_t at = 0; at < text.size(); at += 4) {
        const bool last = at + 4 == text.size();
        const std::size_t padding = last ? (text[at + 2] == '=' ? 2U : text[at + 3] == '=' ? 1U : 0U) : 0U;
        std::uint32_t group = 0;
        for (std::size_t i = 0; i < 4; ++i) {
            const std::uint8_t value = detail::base64_values[static_cast<unsigned char>(text[at + i])];
            const bool filler = i >= 4 - padding;
            if (filler ? text[at + i] != '=' : value == 64) {
                fail(name, ": no digit of base64 at character ", at + i);
            }
            group = group << 6U | (filler ? 0U : value);
        }
        for (std::size_t i = 0; i < 3 - padding; ++i) {
            bytes.push_back(static_cast<std::byte>((group >> (16 - 8 * i)) & 255U));
        }
    }
    return bytes;
}

}  // namespace primsel::inline PRIMSEL_ABI
