#pragma once

#include <primsel/core/config.hpp>
#include <primsel/core/number_text.hpp>
#include <primsel/core/printable.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI::show {

/// The text as XML 1.0 may hold it between tags and in attributes: markup is escaped, what no XML may hold becomes the
/// replacement character.
[[nodiscard]] inline std::string xml_text(std::string_view text) {
    std::string out;
    while (!text.empty()) {
        const std::size_t length = core::utf8_length(text);
        const std::string_view part = text.substr(0, length);
        const bool control = length == 1 && static_cast<unsigned char>(part[0]) < 0x20 && part != "\n" && part != "\t";
        if (part == "&") {
            out += "&amp;";
        } else if (part == "<") {
            out += "&lt;";
        } else if (part == ">") {
            out += "&gt;";
        } else if (part == "\"") {
            out += "&quot;";
        } else if (length == 0 || control || part == "\xef\xbf\xbe" || part == "\xef\xbf\xbf") {
            out += "\xef\xbf\xbd";
        } else {
            out += part;
        }
        text.remove_prefix(length == 0 ? 1 : length);
    }
    return out;
}

namespace detail {

/// Characters of a text; a byte that is not UTF-8 counts as one.
[[nodiscard]] inline std::size_t character_count(std::string_view text) {
    std::size_t count = 0;
    for (; !text.empty(); ++count) text.remove_prefix(core::utf8_length(text) == 0 ? 1 : core::utf8_length(text));
    return count;
}

/// The first `count` characters.
[[nodiscard]] inline std::string_view first_characters(std::string_view text, std::size_t count) {
    std::size_t bytes = 0;
    for (; count > 0 && bytes < text.size(); --count) {
        const std::size_t length = core::utf8_length(text.substr(bytes));
        bytes += length == 0 ? 1 : length;
    }
    return text.substr(0, bytes);
}

/// At most `most` characters: where there are more, the middle gives way to an ellipsis.
[[nodiscard]] inline std::string shortened(std::string_view text, std::size_t most) {
    const std::size_t count = character_count(text);
    if (count <= most || most < 3) return std::string(text);
    const std::size_t tail = most / 2;
    const std::string_view kept = first_characters(text, most - 1 - tail);
    return std::string(kept) + "\xe2\x80\xa6" + std::string(text.substr(first_characters(text, count - tail).size()));
}

}  // namespace detail

/// Formats a coordinate with one decimal.
[[nodiscard]] inline std::string xml_number(double value) { return core::fixed_text(value, 1); }

}  // namespace primsel::inline PRIMSEL_ABI::show
