#pragma once

#include <primsel/core/config.hpp>

#include <algorithm>
#include <cstddef>
#include <numeric>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Returns the number of characters to insert, delete or replace to turn one word into the other (Levenshtein 1966).
[[nodiscard]] inline std::size_t edit_distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> row(b.size() + 1);
    std::iota(row.begin(), row.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        std::size_t diagonal = row[0];
        row[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            const std::size_t replaced = diagonal + (a[i] == b[j] ? 0 : 1);
            diagonal = row[j + 1];
            row[j + 1] = std::min({replaced, row[j] + 1, row[j + 1] + 1});
        }
    }
    return row.back();
}

/// Returns "; did you mean X?" for the name nearest to the word; an empty text if more than half of the word would have
/// to change.
[[nodiscard]] inline std::string nearest_of(std::string_view word, std::span<const std::string> names) {
    std::size_t least = (word.size() + 1) / 2 + 1;
    std::string nearest;
    if (word.size() > 256) return nearest;  // too long for a misspelled name
    for (std::string const& name : names) {
        const std::size_t far = edit_distance(word, name);
        if (far < least) least = far, nearest = name;
    }
    return nearest.empty() ? nearest : "; did you mean " + nearest + "?";
}

}  // namespace primsel::inline PRIMSEL_ABI
