#include "report.hpp"

#include <primsel/core/text_table.hpp>
#include <primsel/show/xml.hpp>

#include <cstdio>

namespace reproduce {
namespace {

using ps::show::xml_text;

constexpr std::string_view dash = "\xe2\x80\x93";

constexpr std::string_view style = R"(
body { font: 15px/1.5 Helvetica, Arial, "DejaVu Sans", sans-serif; color: #222; background: #fff;
       max-width: 1180px; margin: 2em auto; padding: 0 1em; }
h1 { font-size: 1.6em; } h2 { font-size: 1.25em; margin-top: 2em; border-bottom: 1px solid #ddd; }
table { border-collapse: collapse; margin: 1em 0; font-size: 0.9em; }
caption { text-align: left; color: #555; padding-bottom: 0.3em; }
th, td { padding: 0.2em 0.7em; border-bottom: 1px solid #e8e8e8; text-align: right; }
th:first-child, td:first-child { text-align: left; } th { border-bottom: 1px solid #888; }
figure { margin: 1em 0; overflow-x: auto; } figcaption { color: #555; font-size: 0.9em; }
svg { font-family: inherit; }
)";

}  // namespace

Cell::Cell(std::optional<double> value, int decimals) : text(dash), number(value) {
    if (!value) return;
    char digits[64];
    std::snprintf(digits, sizeof(digits), "%.*f", decimals, *value);
    text = digits;
    if (text.find_first_not_of("-0.") == std::string::npos) std::erase(text, '-');  // no less than nothing
}

void Report::heading(std::string_view text) { body_ += ps::join("<h2>", xml_text(text), "</h2>\n"); }
void Report::paragraph(std::string_view text) { body_ += ps::join("<p>", xml_text(text), "</p>\n"); }

void Report::note(std::string_view text) {
    paragraph(text);
    notes_.push_back(text);
    summary_ += ps::join(text, '\n');
}

void Report::table(std::string_view id, std::string_view caption, std::vector<std::string> const& columns,
                   std::vector<Row> const& rows, bool summary) {
    body_ += ps::join("<table id=\"", xml_text(id), "\">\n<caption>", xml_text(caption), "</caption>\n<tr>");
    for (std::string const& column : columns) body_ += ps::join("<th>", xml_text(column), "</th>");
    body_ += "</tr>\n";
    ps::Json::Array lines;
    ps::TextTable printed;
    printed.add(columns);
    for (Row const& row : rows) {
        body_ += "<tr>";
        ps::Json::Array line;
        std::vector<std::string> cells;
        for (Cell const& cell : row) {
            body_ += ps::join("<td>", xml_text(cell.text), "</td>");
            line.push_back(cell.number ? ps::Json(*cell.number) : cell.text == dash ? ps::Json() : ps::Json(cell.text));
            cells.push_back(cell.text == dash ? "-" : cell.text);
        }
        body_ += "</tr>\n";
        lines.push_back(std::move(line));
        printed.add(std::move(cells));
    }
    body_ += "</table>\n";
    ps::Json::Array names;
    for (std::string const& column : columns) names.push_back(column);
    tables_.emplace_back(
        std::string(id),
        ps::Json::Object{{"caption", caption}, {"columns", std::move(names)}, {"rows", std::move(lines)}});
    if (summary) summary_ += ps::join(caption, '\n', printed.text(), '\n');
}

void Report::picture(std::string_view caption, std::string_view svg) {
    body_ += ps::join("<figure>\n", svg, "<figcaption>", xml_text(caption), "</figcaption>\n</figure>\n");
}

std::string Report::html(std::string_view title) const {
    return ps::join("<!DOCTYPE html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n<title>", xml_text(title),
                    "</title>\n<style>", style, "</style>\n</head>\n<body>\n<h1>", xml_text(title), "</h1>\n", body_,
                    "</body>\n</html>\n");
}

}  // namespace reproduce
