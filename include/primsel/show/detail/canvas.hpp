#pragma once

#include <primsel/core/error.hpp>
#include <primsel/show/xml.hpp>

#include <string>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI::show::detail {

/// Shapes and texts as SVG.
struct Canvas {
    /// Lines; boxes and texts, which hide them.
    std::string below, above;

    void text(double x, double y, std::string_view content, std::string_view style = {}) {
        above += join("<text x=\"", xml_number(x), "\" y=\"", xml_number(y), '"', style.empty() ? "" : " ", style, '>',
                      xml_text(content), "</text>\n");
    }
    void rect(double x, double y, double width, double height, std::string_view style) {
        above += join("<rect x=\"", xml_number(x), "\" y=\"", xml_number(y), "\" width=\"", xml_number(width),
                      "\" height=\"", xml_number(height), "\" ", style, "/>\n");
    }
    /// A line.
    void path(std::string_view data, std::string_view colour) {
        below += join("<path d=\"", data, "\" fill=\"none\" stroke=\"", colour, "\" stroke-width=\"1.8\"/>\n");
    }
    /// The head of an arrow that points down at (x, y).
    void head(double x, double y, std::string_view colour) {
        below +=
            join("<path d=\"M", xml_number(x - 3.5), ' ', xml_number(y - 7), "h7l-3.5 7z\" fill=\"", colour, "\"/>\n");
    }
    /// From one place to another below it, leaving and arriving downwards.
    [[nodiscard]] static std::string curve(double from_x, double from_y, double to_x, double to_y) {
        const std::string half = xml_number((from_y + to_y) / 2);
        return join('C', xml_number(from_x), ' ', half, ' ', xml_number(to_x), ' ', half, ' ', xml_number(to_x), ' ',
                    xml_number(to_y));
    }
};

}  // namespace primsel::inline PRIMSEL_ABI::show::detail
