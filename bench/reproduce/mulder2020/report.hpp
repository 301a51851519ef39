#pragma once

#include <primsel/io/json.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reproduce {

namespace ps = primsel;

/// Text, or a number with so many decimals; a dash where it is not known (yet).
struct Cell {
    std::string text;
    std::optional<double> number;

    // NOLINTBEGIN(google-explicit-constructor): rows are written as {"Intel", value}
    Cell(std::string value) : text(std::move(value)) {}
    Cell(std::string_view value) : text(value) {}
    Cell(const char* value) : text(value) {}
    Cell(std::optional<double> value, int decimals = 2);
    // NOLINTEND(google-explicit-constructor)
};
using Row = std::vector<Cell>;

/// A document that is written as HTML with its numbers beside it in JSON, and a part of it as text.
class Report {
public:
    void heading(std::string_view text);
    void paragraph(std::string_view text);
    /// A paragraph that the summary has, too, as has the JSON's list of notes.
    void note(std::string_view text);
    /// `id` is its name in the JSON; those of the summary are in the text too.
    void table(std::string_view id, std::string_view caption, std::vector<std::string> const& columns,
               std::vector<Row> const& rows, bool summary = false);
    void picture(std::string_view caption, std::string_view svg);

    [[nodiscard]] std::string html(std::string_view title) const;
    [[nodiscard]] ps::Json::Object const& tables() const { return tables_; }
    [[nodiscard]] ps::Json::Array const& notes() const { return notes_; }
    [[nodiscard]] std::string const& summary() const { return summary_; }

private:
    std::string body_, summary_;
    ps::Json::Object tables_;
    ps::Json::Array notes_;
};

}  // namespace reproduce
