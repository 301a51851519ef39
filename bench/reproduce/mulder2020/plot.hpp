// Pictures for the report: SVG without scripts.
#pragma once

#include <array>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace reproduce {

/// A colour for each series, readable on white.
inline constexpr std::array<std::string_view, 12> colours{"#9aa3ab", "#e3953b", "#d9b526", "#5a9bc9",
                                                          "#8d81cf", "#c0392b", "#2e8b6f", "#3d4f9e",
                                                          "#b0509a", "#4d8f6f", "#b0577f", "#56606a"};

struct Axis {
    std::string title;
    /// Values beyond are drawn at the end.
    double low, high;
    bool logarithmic = false;
};

struct Series {
    std::string name;
    std::string_view colour;
    /// One for each group; nothing where there is none.
    std::vector<std::optional<double>> values;
};
enum class Mark { bar, dot };
/// Values of each series beside each other in each group, as bars or dots.
[[nodiscard]] std::string draw_groups(std::vector<std::string> const& groups, std::vector<Series> const& series,
                                      Axis const& axis, Mark mark);

struct Spread {
    std::string name;
    std::string_view colour;
    /// Those of each group; empty where there are none.
    std::vector<std::vector<double>> values;
};
struct Line {
    std::string name;
    double value;
};
/// Boxes from quartile to quartile with the median within, whiskers to the least and the most; dotted lines across.
[[nodiscard]] std::string draw_boxes(std::vector<std::string> const& groups, std::vector<Spread> const& series,
                                     Axis const& axis, std::vector<Line> const& lines);

}  // namespace reproduce
