#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/show/detail/canvas.hpp>
#include <primsel/show/xml.hpp>

#include <algorithm>
#include <cstddef>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::show {

/// One vertical axis. Positions on it run from 0 at the bottom to 1 at the top.
struct CoordinateAxis {
    std::string name;
    /// Positions and their labels.
    std::vector<std::pair<double, std::string>> ticks;
};
/// A line through all axes, with a position on each; NaN leaves a gap.
struct CoordinateLine {
    std::string name;
    std::vector<double> places;
    /// From 0, pale, to 1; lines that stand out are drawn above all others.
    double strength = 1;
    bool stands_out = false;
};

/// Returns parallel coordinates as a self-contained SVG document. Pointing at a line shows its name. Throws error if a
/// line does not have one position for each axis.
[[nodiscard]] inline std::string parallel_coordinates(std::span<const CoordinateAxis> axes,
                                                      std::span<const CoordinateLine> lines) {
    constexpr double left = 70, top = 44, height = 260, below = 24, apart = 150;
    const double width = 2 * left + apart * static_cast<double>(axes.empty() ? 0 : axes.size() - 1);
    const auto x_of = [&](std::size_t axis) { return left + apart * static_cast<double>(axis); };
    const auto y_of = [&](double place) { return top + height * (1 - std::clamp(place, 0.0, 1.0)); };
    detail::Canvas canvas;
    std::string ordinary, outstanding;
    for (CoordinateLine const& line : lines) {
        if (line.places.size() != axes.size()) {
            fail("parallel coordinates: line '", line.name, "' has ", line.places.size(), " places on ", axes.size(),
                 " axes");
        }
        std::string data;
        bool on = false;
        for (std::size_t axis = 0; axis < axes.size(); ++axis) {
            const bool is_place = is_finite(line.places[axis]);
            if (is_place) {
                data += join(on ? 'L' : 'M', xml_number(x_of(axis)), ' ', xml_number(y_of(line.places[axis])));
            }
            on = is_place;
        }
        if (data.empty()) continue;
        const double opacity = 0.15 + 0.6 * std::clamp(line.strength, 0.0, 1.0);
        (line.stands_out ? outstanding : ordinary) +=
            join("<path d=\"", data, "\" fill=\"none\" stroke=\"", line.stands_out ? "#e0705f" : "#1f5fa8",
                 "\" stroke-width=\"", line.stands_out ? "2.4" : "1.3", "\" stroke-opacity=\"",
                 xml_number(line.stands_out ? 1 : opacity), "\"><title>", xml_text(line.name), "</title></path>\n");
    }
    for (std::size_t axis = 0; axis < axes.size(); ++axis) {
        const double x = x_of(axis);
        canvas.path(join('M', xml_number(x), ' ', xml_number(top), 'v', xml_number(height)), "#444");
        // Names of neighbours stand at two heights, so that they have room.
        canvas.text(x, axis % 2 == 0 ? 16 : 32, detail::shortened(axes[axis].name, 40),
                    "text-anchor=\"middle\" font-weight=\"bold\"");
        for (auto const& [place, label] : axes[axis].ticks) {
            canvas.path(join('M', xml_number(x - 4), ' ', xml_number(y_of(place)), "h8"), "#444");
            canvas.text(x - 7, y_of(place) + 4, detail::shortened(label, 12), "text-anchor=\"end\" fill=\"#444\"");
        }
    }
    const std::string page = xml_number(width), tall = xml_number(top + height + below);
    return join("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", page, "\" height=\"", tall, "\" viewBox=\"0 0 ",
                page, ' ', tall,
                "\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"11\" fill=\"#222\">\n"
                "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
                ordinary, canvas.below, outstanding, canvas.above, "</svg>\n");
}

}  // namespace primsel::inline PRIMSEL_ABI::show
