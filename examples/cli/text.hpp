// What several commands print.
#pragma once

#include <primsel/io/json.hpp>

#include <cstddef>
#include <cstdio>
#include <string>
#include <string_view>

namespace cli {

namespace ps = primsel;

inline void print(std::string_view text) { std::fwrite(text.data(), 1, text.size(), stdout); }
/// The one object that --json promises.
inline void print_json(ps::Json const& json) { print(to_string(json, 2) + '\n'); }

/// "12.3 MB", of 1000 each as disks and weights are counted.
[[nodiscard]] inline std::string megabytes(std::size_t bytes) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.2f MB", static_cast<double>(bytes) * 1e-6);
    return text;
}

}  // namespace cli
