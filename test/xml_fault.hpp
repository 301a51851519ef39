#pragma once

#include <algorithm>
#include <map>
#include <string>
#include <string_view>
#include <vector>

/// The first thing that makes a text no well-formed XML element, or nothing. Knows what pictures need: elements,
/// attributes in double quotes, text with the predefined entities.
inline std::string xml_fault(std::string_view text) {
    std::vector<std::string> open;
    const auto check_content = [](std::string_view content) {
        for (std::size_t i = 0; i < content.size(); ++i) {
            const auto code = static_cast<unsigned char>(content[i]);
            if (code < 0x20 && code != '\n' && code != '\t') return false;
            if (content[i] == '<') return false;
            if (content[i] != '&') continue;
            const std::string_view entity = content.substr(i, content.find(';', i) + 1 - i);
            if (entity != "&amp;" && entity != "&lt;" && entity != "&gt;" && entity != "&quot;") return false;
        }
        return true;
    };
    bool any = false;
    while (!text.empty()) {
        const std::size_t tag = std::min(text.find('<'), text.size());
        if (!check_content(text.substr(0, tag))) return "content: " + std::string(text.substr(0, tag));
        if (open.empty() && text.substr(0, tag).find_first_not_of(" \n") != std::string_view::npos)
            return "text outside";
        text.remove_prefix(tag);
        if (text.empty()) break;
        const std::size_t end = text.find('>');
        if (end == std::string_view::npos) return "a tag without an end";
        std::string_view inside = text.substr(1, end - 1);
        text.remove_prefix(end + 1);
        if (inside.starts_with('/')) {
            if (open.empty() || open.back() != inside.substr(1)) return "closes " + std::string(inside);
            open.pop_back();
            continue;
        }
        if (open.empty() && any) return "two elements";
        any = true;
        const bool closed = inside.ends_with('/');
        if (closed) inside.remove_suffix(1);
        const std::size_t name_end = std::min(inside.find(' '), inside.size());
        if (!closed) open.emplace_back(inside.substr(0, name_end));
        std::map<std::string, int> names;
        for (inside.remove_prefix(name_end); !inside.empty();) {
            const std::size_t equals = inside.find("=\"");
            if (inside[0] != ' ' || equals == std::string_view::npos) return "attribute: " + std::string(inside);
            if (++names[std::string(inside.substr(1, equals - 1))] > 1) return "an attribute twice";
            const std::size_t quote = inside.find('"', equals + 2);
            if (quote == std::string_view::npos || !check_content(inside.substr(equals + 2, quote - equals - 2)))
                return "attribute: " + std::string(inside);
            inside.remove_prefix(quote + 1);
        }
    }
    return open.empty() && any ? "" : "not closed";
}
