#include "plot.hpp"

#include <primsel/core/error.hpp>
#include <primsel/core/statistics.hpp>
#include <primsel/show/xml.hpp>

#include <algorithm>
#include <cmath>
#include <cstdio>

namespace reproduce {
namespace {

namespace ps = primsel;
using ps::show::xml_number;
using ps::show::xml_text;

std::string shown(double value, int digits = 3) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.*g", digits, value);
    return text;
}

class Picture {
public:
    Picture(std::vector<std::string> const& groups, std::size_t series, Axis const& axis)
        : axis_(axis), groups_(groups.size()) {
        std::size_t longest = 0;
        for (std::string const& group : groups) longest = std::max(longest, group.size());
        wide_ = 14 + (groups.size() > 12 ? 0 : 13 * static_cast<double>(series));
        wide_ = std::max({wide_, 15.0, 560 / static_cast<double>(groups.size())});
        turned_ = static_cast<double>(longest) * 6.5 > wide_;
        bottom_ = top + height + (turned_ ? 12 + 5.2 * static_cast<double>(longest) : 22);
        draw_axis();
        for (std::size_t i = 0; i < groups.size(); ++i) {
            const double x = left + (static_cast<double>(i) + 0.5) * wide_;
            if (turned_) {
                marks_ +=
                    ps::join("<text text-anchor=\"end\" font-size=\"9\" transform=\"translate(", xml_number(x + 3), ' ',
                             xml_number(top + height + 8), ") rotate(-70)\">", xml_text(groups[i]), "</text>\n");
            } else {
                text(x, top + height + 15, groups[i], "text-anchor=\"middle\"");
            }
        }
    }

    [[nodiscard]] double x(std::size_t group, std::size_t series, std::size_t of) const {
        return left + wide_ * (static_cast<double>(group) + 0.5) + slot(of) * (static_cast<double>(series) + 0.5) -
               0.5 * slot(of) * static_cast<double>(of);
    }
    [[nodiscard]] double slot(std::size_t of) const { return (wide_ - 8) / static_cast<double>(of); }
    [[nodiscard]] double middle(std::size_t group) const { return left + wide_ * (static_cast<double>(group) + 0.5); }
    [[nodiscard]] double y(double value) const {
        value = std::clamp(value, axis_.low, axis_.high);
        const double at = axis_.logarithmic ? std::log(value / axis_.low) / std::log(axis_.high / axis_.low)
                                            : (value - axis_.low) / (axis_.high - axis_.low);
        return top + height * (1 - at);
    }
    [[nodiscard]] double base() const { return top + height; }
    [[nodiscard]] bool is_beyond(double value) const { return value > axis_.high; }

    void text(double x, double y, std::string_view content, std::string_view style) {
        marks_ += ps::join("<text x=\"", xml_number(x), "\" y=\"", xml_number(y), "\" ", style, '>', xml_text(content),
                           "</text>\n");
    }
    void rect(double x, double y, double w, double h, std::string_view style, std::string_view title) {
        marks_ +=
            ps::join("<rect x=\"", xml_number(x), "\" y=\"", xml_number(y), "\" width=\"", xml_number(w),
                     "\" height=\"", xml_number(h), "\" ", style, "><title>", xml_text(title), "</title></rect>\n");
    }
    void dot(double x, double y, std::string_view colour, std::string_view title) {
        marks_ += ps::join("<circle cx=\"", xml_number(x), "\" cy=\"", xml_number(y), "\" r=\"3\" fill=\"", colour,
                           "\" fill-opacity=\"0.85\"><title>", xml_text(title), "</title></circle>\n");
    }
    void line(double x1, double y1, double x2, double y2, std::string_view style) {
        marks_ += ps::join("<path d=\"M", xml_number(x1), ' ', xml_number(y1), 'L', xml_number(x2), ' ', xml_number(y2),
                           "\" fill=\"none\" ", style, "/>\n");
    }
    void key(std::string_view name, std::string_view colour) {
        rect(left + key_, 4, 10, 10, ps::join("fill=\"", colour, '"'), name);
        text(left + key_ + 14, 13, name, "");
        key_ += 32 + 6.3 * static_cast<double>(name.size());
    }
    [[nodiscard]] double right() const { return left + wide_ * static_cast<double>(groups_); }

    [[nodiscard]] std::string take() const {
        const std::string wide = xml_number(std::max(right(), left + key_) + 14), high = xml_number(bottom_);
        return ps::join("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", wide, "\" height=\"", high,
                        "\" viewBox=\"0 0 ", wide, ' ', high, "\" font-size=\"11\" fill=\"#222\">\n", marks_,
                        "</svg>\n");
    }

private:
    static constexpr double left = 54, top = 30, height = 220;

    void draw_axis() {
        std::vector<double> ticks;
        if (axis_.logarithmic) {
            for (double power = std::pow(10, std::floor(std::log10(axis_.low))); power <= axis_.high; power *= 10) {
                for (const double digit : {1.0, 2.0, 5.0}) ticks.push_back(power * digit);
            }
        } else {
            double step = std::pow(10, std::floor(std::log10(axis_.high - axis_.low)));
            while ((axis_.high - axis_.low) / step < 4) step /= 2;
            for (double at = axis_.low; at <= axis_.high * 1.0001; at += step) ticks.push_back(at);
        }
        for (const double tick : ticks) {
            if (tick < axis_.low * 0.999 || tick > axis_.high * 1.001) continue;
            line(left, y(tick), right(), y(tick), "stroke=\"#e4e4e4\"");
            text(left - 6, y(tick) + 4, shown(tick), "text-anchor=\"end\" fill=\"#555\"");
        }
        line(left, base(), right(), base(), "stroke=\"#222\"");
        marks_ += ps::join("<text text-anchor=\"middle\" fill=\"#555\" transform=\"translate(13 ",
                           xml_number(top + height / 2), ") rotate(-90)\">", xml_text(axis_.title), "</text>\n");
    }

    Axis const& axis_;
    std::size_t groups_;
    double wide_ = 0, bottom_ = 0, key_ = 0;
    bool turned_ = false;
    std::string marks_;
};

}  // namespace

std::string draw_groups(std::vector<std::string> const& groups, std::vector<Series> const& series, Axis const& axis,
                        Mark mark) {
    Picture picture(groups, series.size(), axis);
    for (std::size_t s = 0; s < series.size(); ++s) {
        picture.key(series[s].name, series[s].colour);
        for (std::size_t group = 0; group < groups.size(); ++group) {
            if (!series[s].values[group]) continue;
            const double value = *series[s].values[group], y = picture.y(value);
            const std::string title = ps::join(groups[group], ", ", series[s].name, ": ", shown(value));
            if (mark == Mark::dot) {
                picture.dot(picture.middle(group), y, series[s].colour, title);
                continue;
            }
            const double slot = picture.slot(series.size()), x = picture.x(group, s, series.size()) - slot / 2;
            picture.rect(x, y, slot - 1, std::max(picture.base() - y, 0.6), ps::join("fill=\"", series[s].colour, '"'),
                         title);
            if (picture.is_beyond(value)) {
                picture.text(x + slot / 2, y - 3, shown(value, 2),
                             "text-anchor=\"middle\" font-size=\"8\" fill=\"#555\"");
            }
        }
    }
    return picture.take();
}

std::string draw_boxes(std::vector<std::string> const& groups, std::vector<Spread> const& series, Axis const& axis,
                       std::vector<Line> const& lines) {
    Picture picture(groups, series.size(), axis);
    for (Line const& one : lines) {
        picture.line(picture.x(0, 0, series.size()) - 12, picture.y(one.value), picture.right(), picture.y(one.value),
                     "stroke=\"#222\" stroke-dasharray=\"2 3\"");
        picture.text(picture.right(), picture.y(one.value) - 3, one.name,
                     "text-anchor=\"end\" font-size=\"9\" fill=\"#555\"");
    }
    for (std::size_t s = 0; s < series.size(); ++s) {
        picture.key(series[s].name, series[s].colour);
        for (std::size_t group = 0; group < groups.size(); ++group) {
            auto const& values = series[s].values[group];
            if (values.empty()) continue;
            const double slot = picture.slot(series.size()), x = picture.x(group, s, series.size()),
                         half = std::max(slot / 2 - 1.5, 1.5);
            const auto at = [&](double share) { return picture.y(ps::quantile(values, share)); };
            const std::string stroke = ps::join("stroke=\"", series[s].colour, '"');
            picture.line(x, at(0), x, at(1), stroke);
            picture.rect(x - half, at(0.75), 2 * half, std::max(at(0.25) - at(0.75), 0.6),
                         ps::join("fill=\"", series[s].colour, "\" fill-opacity=\"0.55\" ", stroke),
                         ps::join(groups[group], ", ", series[s].name, ": median ", shown(ps::quantile(values, 0.5)),
                                  ", quartiles ", shown(ps::quantile(values, 0.25)), " and ",
                                  shown(ps::quantile(values, 0.75)), ", of ", values.size()));
            picture.line(x - half, at(0.5), x + half, at(0.5), "stroke=\"#111\" stroke-width=\"1.6\"");
        }
    }
    return picture.take();
}

}  // namespace reproduce
