#pragma once

#include <primsel/core/csv.hpp>
#include <primsel/core/error.hpp>
#include <primsel/io/line_file.hpp>

#include <algorithm>
#include <concepts>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// The format of a CSV table: `columns` is the header line, line(row) gives a row as a line of text, and read(cells,
/// row) sets the row from a line's cells and returns whether they are one.
template <class Format>
concept TableFormat = requires(typename Format::Row row, std::vector<std::string> const& cells) {
    { Format::columns } -> std::convertible_to<std::string_view>;
    { Format::line(std::as_const(row)) } -> std::convertible_to<std::string>;
    { Format::read(cells, row) } -> std::same_as<bool>;
};

/// Reads the rows of a CSV text; adds its lines "# key: value" to `about`. Throws error, naming the file and the line,
/// if the columns or a row do not fit the format. An empty text has no rows.
template <TableFormat Format>
[[nodiscard]] std::vector<typename Format::Row> parse_table(std::string const& name, std::string_view text,
                                                            std::map<std::string, std::string>& about) {
    core::CsvLines lines(text, about);
    std::string_view line;
    if (!lines.next(line)) return {};
    if (line != Format::columns) fail(name, ":", lines.number(), ": expected the columns ", Format::columns);
    std::vector<typename Format::Row> rows;
    while (lines.next(line)) {
        typename Format::Row row;
        if (!Format::read(core::cells_of(line), row))
            fail(name, ":", lines.number(), ": is no line of ", Format::columns);
        rows.push_back(std::move(row));
    }
    return rows;
}

/// A CSV file that grows: append() writes a row at once, and the rows are read when the file is opened again.
template <TableFormat Format>
class TableFile {
public:
    using Row = typename Format::Row;
    using About = std::map<std::string, std::string>;

    /// Opens or creates the file. `about` tells what its rows belong to, as lines "# key: value". Throws error if the
    /// file is no such table, its `about` differs, or it cannot be written.
    TableFile(std::string const& path, About const& about) : file_(path) {
        const std::string_view text = file_.text(), whole = text.substr(0, file_.whole());
        About found;
        rows_ = parse_table<Format>(path, whole, found);
        if (whole.find(Format::columns) == std::string_view::npos) {
            std::string header;
            for (auto const& [key, value] : about) header += join("# ", key, ": ", value, '\n');
            header += join(Format::columns, '\n');
            if (!io::is_torn_header(text, header)) fail(path, ": is no table of ", Format::columns);
            if (!std::ranges::includes(about, found)) fail(path, ": cannot append to it: it is of something else");
            file_.cut(0);
            file_.append(header);
            return;
        }
        for (auto const& [key, value] : about) {
            const auto other = found.find(key);
            const std::string there = other == found.end() ? "not known" : other->second;
            if (there != value) fail(path, ": cannot append to it: its ", key, " is ", there, ", here ", value);
        }
        file_.cut(whole.size());
    }

    /// The rows that the file had when it was opened, and those appended since.
    [[nodiscard]] std::vector<Row> const& rows() const { return rows_; }
    /// Appends a row. Throws error if it would not read back, or cannot be written.
    void append(Row const& row) {
        const std::string line = Format::line(row);
        Row again;
        if (line.find_first_of("\n\r#") != std::string::npos || !Format::read(core::cells_of(line), again)) {
            fail(file_.path(), ": ", line, " would not read back as a line of ", Format::columns);
        }
        file_.append(line + '\n');
        rows_.push_back(row);
    }

private:
    LineFile file_;
    std::vector<Row> rows_;
};

}  // namespace primsel::inline PRIMSEL_ABI
