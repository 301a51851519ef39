#pragma once

#include <primsel/core/number_text.hpp>
#include <primsel/core/printable.hpp>

#include <algorithm>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// Returns a time in milliseconds with three decimals: "1.250" for 0.00125 seconds.
[[nodiscard]] inline std::string milliseconds(double seconds) { return core::fixed_text(seconds * 1e3, 3); }

/// A table of text. Columns are as wide as their widest cell and two spaces apart; the last cell of a row is not
/// padded. Cells are made printable, since names may come from files.
class TextTable {
public:
    void add(std::vector<std::string> row) {
        for (std::string& cell : row) cell = printable(cell);
        widths_.resize(std::max(widths_.size(), row.size()), 0);
        for (std::size_t i = 0; i < row.size(); ++i) widths_[i] = std::max(widths_[i], row[i].size());
        rows_.push_back(std::move(row));
    }
    /// Returns the table as text, one line for each row.
    [[nodiscard]] std::string text() const {
        std::string out;
        for (auto const& row : rows_) {
            for (std::size_t i = 0; i < row.size(); ++i) {
                out += row[i];
                if (i + 1 < row.size()) out.append(widths_[i] - row[i].size() + 2, ' ');
            }
            out += '\n';
        }
        return out;
    }

private:
    std::vector<std::vector<std::string>> rows_;
    std::vector<std::size_t> widths_;
};

}  // namespace primsel::inline PRIMSEL_ABI
