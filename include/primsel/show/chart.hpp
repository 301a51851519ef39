#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/show/detail/canvas.hpp>
#include <primsel/show/detail/scale.hpp>
#include <primsel/show/xml.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::show {

/// Points (x, y), joined from left to right in the order given, or each on its own. A point that is not finite leaves a
/// gap.
struct Series {
    std::string name;
    std::vector<double> x, y;
    bool joined = true;
};

/// Series over the same two axes.
struct Chart {
    std::string title, x_label;
    std::vector<Series> series;
};

namespace detail {

/// Draws charts one below the other: to_svg below.
class ChartPicture {
public:
    [[nodiscard]] std::string draw(std::span<const Chart> charts) {
        double top = 0;
        for (Chart const& chart : charts) top = draw(chart, top);
        const std::string page = xml_number(left + width + legend), height = xml_number(top);
        return join("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", page, "\" height=\"", height,
                    "\" viewBox=\"0 0 ", page, ' ', height,
                    "\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"11\" fill=\"#222\">\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
                    canvas_.below, canvas_.above, "</svg>\n");
    }

private:
    static constexpr double left = 64, width = 640, height = 240, legend = 190;
    static constexpr std::array<std::string_view, 8> colours{"#1f5fa8", "#e0705f", "#4c9f94", "#d9b526",
                                                             "#8d81cf", "#86b33e", "#d97fb4", "#5d4037"};

    [[nodiscard]] static bool is_point(Series const& series, std::size_t i) {
        return is_finite(series.x[i]) && is_finite(series.y[i]);
    }
    [[nodiscard]] static Scale scale_of(Chart const& chart, std::vector<double> Series::*values) {
        std::vector<double> shown;
        for (Series const& series : chart.series) {
            for (std::size_t i = 0; i < series.x.size(); ++i) {
                if (is_point(series, i)) shown.push_back((series.*values)[i]);
            }
        }
        return Scale(shown);
    }

    /// Returns where the next begins.
    double draw(Chart const& chart, double begin) {
        const Scale xs = scale_of(chart, &Series::x), ys = scale_of(chart, &Series::y);
        const double top = begin + 34, bottom = top + height;
        const auto x_of = [&](double x) { return left + width * xs.share(x); };
        const auto y_of = [&](double y) { return bottom - height * ys.share(y); };
        canvas_.text(left, begin + 20, chart.title, "font-size=\"14\" font-weight=\"bold\"");
        for (const double tick : ys.ticks()) {
            canvas_.path(join('M', xml_number(left), ' ', xml_number(y_of(tick)), 'h', xml_number(width)), "#e4e7ea");
            canvas_.text(left - 8, y_of(tick) + 4, ys.text(tick), "text-anchor=\"end\" fill=\"#444\"");
        }
        for (const double tick : xs.ticks()) {
            canvas_.path(join('M', xml_number(x_of(tick)), ' ', xml_number(bottom), "v4"), "#444");
            canvas_.text(x_of(tick), bottom + 16, xs.text(tick), "text-anchor=\"middle\" fill=\"#444\"");
        }
        canvas_.path(join('M', xml_number(left), ' ', xml_number(bottom), 'h', xml_number(width)), "#444");
        canvas_.text(left + width, bottom + 32, chart.x_label, "text-anchor=\"end\" fill=\"#444\"");
        double line = top + 10;
        for (std::size_t i = 0; i < chart.series.size(); ++i) {
            const std::string_view colour = colours[i % colours.size()];
            draw(chart.series[i], xs, ys, colour, x_of, y_of);
            canvas_.rect(left + width + 16, line - 9, 12, 10, join("fill=\"", colour, '"'));
            canvas_.text(left + width + 34, line, shortened(chart.series[i].name, 26));
            line += 17;
        }
        return std::max(bottom + 44, line + 8);
    }

    template <class X, class Y>
    void draw(Series const& series, Scale const& xs, Scale const& ys, std::string_view colour, X const& x_of,
              Y const& y_of) {
        std::string data;
        bool on = false;
        for (std::size_t i = 0; i < series.x.size(); ++i) {
            const bool point = is_point(series, i);
            if (point && series.joined) {
                data += join(on ? 'L' : 'M', xml_number(x_of(series.x[i])), ' ', xml_number(y_of(series.y[i])));
            }
            on = point;
            if (!point) continue;
            canvas_.above +=
                join("<g><title>", xml_text(join(series.name, ": ", xs.text(series.x[i]), ", ", ys.text(series.y[i]))),
                     "</title><circle cx=\"", xml_number(x_of(series.x[i])), "\" cy=\"", xml_number(y_of(series.y[i])),
                     "\" r=\"2.6\" fill=\"", colour, "\"/></g>\n");
        }
        if (!data.empty()) canvas_.path(data, colour);
    }

    Canvas canvas_;
};

}  // namespace detail

/// The charts as a picture, one below the other: a self-contained SVG document. Pointing at a point tells its values.
/// Throws error where a series has not as many x as y.
[[nodiscard]] inline std::string to_svg(std::span<const Chart> charts) {
    for (Chart const& chart : charts) {
        for (Series const& series : chart.series) {
            if (series.x.size() == series.y.size()) continue;
            fail("chart: series '", series.name, "' has ", series.x.size(), " x and ", series.y.size(), " y");
        }
    }
    return detail::ChartPicture().draw(charts);
}

}  // namespace primsel::inline PRIMSEL_ABI::show
