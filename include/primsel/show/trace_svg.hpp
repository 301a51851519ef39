#pragma once

#include <primsel/core/finite.hpp>
#include <primsel/core/work.hpp>
#include <primsel/engine/trace.hpp>
#include <primsel/plan/print.hpp>
#include <primsel/show/xml.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::show {

/// The machine's peak rates per second on the cores that ran.
struct Limits {
    double operations = 0;  ///< floating-point operations
    double bytes = 0;       ///< read from memory
    /// Operations in bfloat16 and on bytes; 0: as many as in floats.
    double bf16_operations = 0, int8_operations = 0;

    [[nodiscard]] double operations_in(Precision precision) const {
        const double narrow = precision == Precision::bf16   ? bf16_operations
                              : precision == Precision::int8 ? int8_operations
                                                             : 0;
        return narrow > 0 ? narrow : operations;
    }
};

namespace detail {

/// Draws a trace: to_svg below.
class TracePicture {
public:
    TracePicture(Trace const& trace, Limits const& limits) : trace_(trace), limits_(limits) {
        for (TracedStep const& step : trace.steps) {
            auto kind = std::ranges::find(kinds_, step.computed_by, &Kind::name);
            if (kind == kinds_.end())
                kind = kinds_.insert(kind, Kind{.name = step.computed_by, .precision = step.precision});
            ++kind->count;
            kind->seconds += step.seconds();
            kind->operations += step.operations;
            kind->bytes += step.bytes;
        }
        std::ranges::stable_sort(kinds_, [](Kind const& a, Kind const& b) { return a.seconds > b.seconds; });
    }

    [[nodiscard]] std::string draw() {
        text(left, 22, join(milliseconds(trace_.seconds), " ms, predicted ", milliseconds(trace_.predicted), " ms"),
             "font-size=\"16\" font-weight=\"bold\"");
        text(left + width, 22,
             join(trace_.workers, trace_.workers == 1 ? " thread" : " threads", ", each step as wide as its time"),
             "text-anchor=\"end\" fill=\"#444\"");
        const double bottom = draw_lanes();
        const double end = draw_legend(bottom + 34);
        const std::string page = xml_number(left + width + 24), height = xml_number(end + 16);
        return join("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", page, "\" height=\"", height,
                    "\" viewBox=\"0 0 ", page, ' ', height,
                    "\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"11\" fill=\"#222\">\n"
                    "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
                    marks_, "</svg>\n");
    }

private:
    static constexpr double left = 64, width = 900, height = 120, top = 56;
    static constexpr std::array<std::string_view, 10> colours{"#4c9f94", "#d9b526", "#8d81cf", "#e0705f", "#5a9bc9",
                                                              "#e3953b", "#86b33e", "#d97fb4", "#a99163", "#9aa3ab"};
    struct Kind {
        std::string name{};
        Precision precision = Precision::float32;
        std::size_t count = 0;
        double seconds = 0, operations = 0, bytes = 0;
    };

    void text(double x, double y, std::string_view content, std::string_view style = {}) {
        marks_ += join("<text x=\"", xml_number(x), "\" y=\"", xml_number(y), '"', style.empty() ? "" : " ", style, '>',
                       xml_text(content), "</text>\n");
    }
    void rect(double x, double y, double w, double h, std::string_view style) {
        marks_ += join("<rect x=\"", xml_number(x), "\" y=\"", xml_number(y), "\" width=\"", xml_number(w),
                       "\" height=\"", xml_number(h), "\" ", style, "/>\n");
    }
    [[nodiscard]] std::string_view colour(std::string_view computed_by) const {
        const auto place =
            static_cast<std::size_t>(std::ranges::find(kinds_, computed_by, &Kind::name) - kinds_.begin());
        return colours[std::min(place, colours.size() - 1)];
    }
    [[nodiscard]] static std::string percent(double share) {
        return std::to_string(static_cast<int>(100 * share + 0.5)) + " %";
    }
    [[nodiscard]] double of_operations(Precision precision, double operations, double seconds) const {
        return operations / seconds / limits_.operations_in(precision);
    }
    [[nodiscard]] double of_bytes(double bytes, double seconds) const { return bytes / seconds / limits_.bytes; }

    /// A lane whose bars are as high as share(step) of a limit, with a line at 100 %.
    template <class Share>
    double draw_lane(double at, std::string_view title, Share const& share) {
        double most = 1;
        for (TracedStep const& step : trace_.steps) most = std::max(most, share(step));
        most = std::min(most, 4.0);  // what lies in the caches may come much faster than from memory
        text(left, at - 6, title, "fill=\"#444\"");
        for (TracedStep const& step : trace_.steps) {
            const double high = height * std::min(share(step), most) / most;
            marks_ +=
                join("<g><title>",
                     xml_text(join(step.layer, ", ", step.computed_by, ": ", milliseconds(step.seconds()),
                                   " ms, predicted ", milliseconds(step.predicted), " ms, ", percent(share(step)))),
                     "</title>\n");
            rect(left + width * step.begin / trace_.seconds, at + height - high,
                 width * step.seconds() / trace_.seconds, high,
                 join("fill=\"", colour(step.computed_by), "\" stroke=\"#fff\" stroke-width=\"0.4\""));
            marks_ += "</g>\n";
        }
        const double line = at + height - height / most;
        marks_ += join("<path d=\"M", xml_number(left), ' ', xml_number(line), 'h', xml_number(width),
                       "\" stroke=\"#222\" stroke-dasharray=\"4 3\"/>\n<path d=\"M", xml_number(left), ' ',
                       xml_number(at + height), 'h', xml_number(width), "\" stroke=\"#222\"/>\n");
        text(left - 8, line + 4, "100 %", "text-anchor=\"end\"");
        return at + height;
    }
    double draw_lanes() {
        const double bottom = draw_lane(
            top, "operations of the direct algorithm a second, of the multiply-adds that the cores can do",
            [&](TracedStep const& step) { return of_operations(step.precision, step.operations, step.seconds()); });
        return draw_lane(bottom + 36, "images and weights read and written a second, of what memory gives",
                         [&](TracedStep const& step) { return of_bytes(step.bytes, step.seconds()); });
    }
    double draw_legend(double y) {
        const std::array<double, 5> columns{left + 300, left + 380, left + 470, left + 590, left + 720};
        const auto row = [&](std::array<std::string, 5> const& cells) {
            for (std::size_t i = 0; i < cells.size(); ++i) text(columns[i], y, cells[i], "text-anchor=\"end\"");
        };
        row({"steps", "ms", "of the time", "of the operations", "of the bandwidth"});
        for (Kind const& kind : kinds_) {
            y += 17;
            rect(left, y - 10, 14, 11, join("fill=\"", colour(kind.name), '"'));
            text(left + 22, y, kind.name);
            row({std::to_string(kind.count), milliseconds(kind.seconds), percent(kind.seconds / trace_.seconds),
                 kind.operations > 0 ? percent(of_operations(kind.precision, kind.operations, kind.seconds)) : "",
                 percent(of_bytes(kind.bytes, kind.seconds))});
        }
        return y;
    }

    Trace const& trace_;
    Limits limits_;
    std::vector<Kind> kinds_;
    std::string marks_;
};

}  // namespace detail

/// The trace as a picture, a self-contained SVG document: where the time of a run goes, and how near each step comes to
/// what bounds it. A bar a step, as wide as its time: above, as high as its share of the cores' operations a second
/// (more than 100 % for an algorithm that needs fewer than the direct one); below, as its share of the memory's
/// bandwidth (more than 100 % for what comes from the caches). A table adds them up by who computed them.
[[nodiscard]] inline std::string to_svg(Trace const& trace, Limits const& limits) {
    if (is_nan(limits.operations) || !(limits.operations > 0) || !(limits.bytes > 0))
        fail("trace: a picture needs the limits of the machine");
    return detail::TracePicture(trace, limits).draw();
}

}  // namespace primsel::inline PRIMSEL_ABI::show
