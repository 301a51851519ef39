#include "text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <numeric>

namespace cli {
namespace {

[[noreturn]] void fail_to_print() { ps::fail("cannot write to the standard output: ", std::strerror(errno)); }

void write(std::string_view text) {
    if (std::fwrite(text.data(), 1, text.size(), stdout) != text.size()) fail_to_print();
}

/// How many characters must be added, left out, changed or swapped with their neighbour to make one word of the other
/// (Damerau 1964, with the restriction that no swapped pair changes again).
std::size_t distance(std::string_view a, std::string_view b) {
    std::vector<std::size_t> before, last, current(b.size() + 1);
    std::iota(current.begin(), current.end(), std::size_t{0});
    for (std::size_t i = 0; i < a.size(); ++i) {
        before = last;
        last = current;
        current[0] = i + 1;
        for (std::size_t j = 0; j < b.size(); ++j) {
            current[j + 1] =
                std::min({last[j + 1] + 1, current[j] + 1, last[j] + (a[i] == b[j] ? std::size_t{0} : std::size_t{1})});
            if (i > 0 && j > 0 && a[i] == b[j - 1] && a[i - 1] == b[j]) {
                current[j + 1] = std::min(current[j + 1], before[j - 1] + 1);
            }
        }
    }
    return current.back();
}

}  // namespace

void print(std::string_view lines) {
    std::string text;
    while (!lines.empty()) {
        const std::size_t end = lines.find('\n');
        text += ps::printable(lines.substr(0, end));
        if (end != std::string_view::npos) text += '\n';
        lines.remove_prefix(end == std::string_view::npos ? lines.size() : end + 1);
    }
    write(text);
}

void warn(std::string const& text) { std::fprintf(stderr, "primsel: warning: %s\n", ps::printable(text).c_str()); }

void print_json(ps::Json const& json) { write(to_string(json, 2, ps::JsonStrings::any) + '\n'); }

void finish_printing() {
    if (std::fflush(stdout) != 0) fail_to_print();
}

std::string megabytes(std::size_t bytes) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.2f MB", static_cast<double>(bytes) * 1e-6);
    return text;
}

std::string did_you_mean(std::string_view word, std::vector<std::string> const& names) {
    // A third of the characters may be wrong; of very short words one.
    std::size_t least = std::max(word.size() / 3, std::size_t{1}) + 1;
    std::string nearest;
    // Names of files are longer than any that is meant.
    if (word.size() > 64) return nearest;
    for (std::string const& name : names) {
        const std::size_t far = distance(word, name);
        if (far < least && far < name.size()) least = far, nearest = name;
    }
    return nearest.empty() ? nearest : "did you mean " + nearest + "? ";
}

std::string list_of_names(std::vector<std::string> const& names) {
    std::string text;
    for (std::string const& name : names) text += (text.empty() ? "" : ", ") + name;
    return text;
}

}  // namespace cli
