// The reader of comma-separated text, for datasets and samples.
#pragma once

#include <primsel/core/number_text.hpp>
#include <primsel/core/read_number.hpp>

#include <charconv>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::core {

/// Splits a text at each separator; the last piece has no separator behind it.
class Pieces {
public:
    Pieces(std::string_view text, char separator) : rest_(text), separator_(separator) {}
    [[nodiscard]] bool next(std::string_view& piece) {
        if (done_) return false;
        const std::size_t end = rest_.find(separator_);
        piece = rest_.substr(0, end);
        done_ = end == std::string_view::npos;
        rest_.remove_prefix(done_ ? rest_.size() : end + 1);
        return true;
    }

private:
    std::string_view rest_;
    char separator_;
    bool done_ = false;
};

/// Iterates over the lines of a CSV text that have cells and skips empty ones. The text of each line that begins with
/// '#' ("# key: value") is appended to `about`. Quoted cells are not supported.
class CsvLines {
public:
    CsvLines(std::string_view text, std::map<std::string, std::string>& about)
        : end_(text.data() + text.size()), lines_(text, '\n'), about_(about) {}

    [[nodiscard]] bool next(std::string_view& line) {
        while (lines_.next(line)) {
            ++number_;
            whole_ = line.data() + line.size() < end_;
            while (line.ends_with('\r')) line.remove_suffix(1);
            if (line.empty()) continue;
            if (!line.starts_with('#')) return true;
            const std::size_t colon = line.find(": ");
            if (colon != std::string_view::npos && colon > 2) {
                about_.emplace(line.substr(2, colon - 2), line.substr(colon + 2));
            }
        }
        return false;
    }
    /// Returns the number of the last line read, starting at 1.
    [[nodiscard]] std::size_t number() const { return number_; }
    /// Returns whether the last line ends with a newline and so was not cut short.
    [[nodiscard]] bool whole() const { return whole_; }

private:
    const char* end_;
    Pieces lines_;
    std::size_t number_ = 0;
    bool whole_ = false;
    std::map<std::string, std::string>& about_;
};

[[nodiscard]] inline std::vector<std::string> cells_of(std::string_view line) {
    std::vector<std::string> cells;
    Pieces pieces(line, ',');
    for (std::string_view cell; pieces.next(cell);) cells.emplace_back(cell);
    return cells;
}

}  // namespace primsel::inline PRIMSEL_ABI::core
