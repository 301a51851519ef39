#include "bars.hpp"

#include <primsel/core/error.hpp>
#include <primsel/show/xml.hpp>

#include <algorithm>
#include <array>
#include <cstdio>
#include <string_view>

namespace reproduce {
namespace {

namespace ps = primsel;

constexpr std::array<std::string_view, 4> colours{"#1f5fa8", "#e0705f", "#4c9f94", "#d9b526"};
constexpr double left = 50, top = 40, width = 560, height = 220;

std::string text(double x, double y, std::string_view words, std::string_view style = "") {
    return ps::join("<text x=\"", ps::show::xml_number(x), "\" y=\"", ps::show::xml_number(y), "\" ", style, '>',
                    ps::show::xml_text(words), "</text>\n");
}
std::string percent(double value) {
    std::array<char, 16> text{};
    std::snprintf(text.data(), text.size(), "%.1f", value);
    return text.data();
}

}  // namespace

std::string bars(std::string const& title, std::vector<std::string> const& series, std::vector<BarGroup> const& groups,
                 std::vector<Level> const& levels) {
    double most = 1;
    for (BarGroup const& group : groups) {
        for (const double value : group.values) most = std::max(most, value);
    }
    for (Level const& level : levels) most = std::max(most, level.value);
    const auto y_of = [&](double value) { return top + height * (1 - value / (1.1 * most)); };
    std::string body = text(left, 22, title, "font-size=\"14\" font-weight=\"bold\"");
    const double group_width = width / static_cast<double>(std::max<std::size_t>(groups.size(), 1));
    for (std::size_t g = 0; g < groups.size(); ++g) {
        const double begin = left + group_width * static_cast<double>(g);
        const double bar = 0.8 * group_width / static_cast<double>(std::max<std::size_t>(groups[g].values.size(), 1));
        for (std::size_t i = 0; i < groups[g].values.size(); ++i) {
            const double value = groups[g].values[i], x = begin + 0.1 * group_width + bar * static_cast<double>(i);
            body += ps::join("<rect x=\"", ps::show::xml_number(x), "\" y=\"", ps::show::xml_number(y_of(value)),
                             "\" width=\"", ps::show::xml_number(0.92 * bar), "\" height=\"",
                             ps::show::xml_number(top + height - y_of(value)), "\" fill=\"",
                             colours[i % colours.size()], "\"/>\n");
            body += text(x + 0.46 * bar, y_of(value) - 3, percent(value), "text-anchor=\"middle\" font-size=\"9\"");
        }
        body += text(begin + 0.5 * group_width, top + height + 16, groups[g].name, "text-anchor=\"middle\"");
    }
    for (Level const& level : levels) {
        body += ps::join("<path d=\"M", ps::show::xml_number(left), ' ', ps::show::xml_number(y_of(level.value)), 'h',
                         ps::show::xml_number(width), "\" stroke=\"#444\" stroke-dasharray=\"5 4\" fill=\"none\"/>\n");
        body += text(left + width + 6, y_of(level.value) + 4, level.name + " " + percent(level.value));
    }
    double line = top + height + 36, x = left;
    for (std::size_t i = 0; i < series.size(); ++i) {
        body += ps::join("<rect x=\"", ps::show::xml_number(x), "\" y=\"", ps::show::xml_number(line - 9),
                         "\" width=\"12\" height=\"10\" fill=\"", colours[i % colours.size()], "\"/>\n");
        body += text(x + 17, line, series[i]);
        x += 190;
    }
    return ps::join(
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"800\" height=\"310\" viewBox=\"0 0 800 310\" "
        "font-family=\"Helvetica, Arial, sans-serif\" font-size=\"11\" fill=\"#222\">\n<path "
        "d=\"M0 0h800v310H0z\" fill=\"#fff\"/>\n",
        body, "</svg>\n");
}

}  // namespace reproduce
