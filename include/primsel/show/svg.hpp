#pragma once

#include <primsel/network/graph.hpp>
#include <primsel/plan/print.hpp>
#include <primsel/show/detail/canvas.hpp>
#include <primsel/show/detail/colours.hpp>
#include <primsel/show/detail/legend.hpp>
#include <primsel/show/detail/rows.hpp>
#include <primsel/show/xml.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::show {

namespace detail {

/// Draws a plan: to_svg below.
class Picture {
public:
    Picture(Plan const& plan, Graph const& graph)
        : plan_(plan), graph_(graph), colours_(plan), width_(box_width()), rows_(graph, width_, lane, gap) {
        tops_.push_back(margin);
        double left = 0, right = 0;
        for (std::size_t row = 0; row < rows_.count(); ++row) {
            double height = 0;
            for (std::size_t i = 0; i < graph.size(); ++i) {
                if (rows_.row[i] == row) height = std::max(height, box_height(i));
            }
            heights_.push_back(height);
        }
        for (std::size_t i = 0; i < graph.size(); ++i) {
            left = std::min(left, rows_.x[i] - width_ / 2), right = std::max(right, rows_.x[i] + width_ / 2);
            slowest_ = std::max(slowest_, plan.layers[i].seconds);
        }
        for (Route const& route : rows_.routes) {
            for (const double x : route.x) left = std::min(left, x - lane), right = std::max(right, x + lane);
        }
        // Room between two rows; more where a change of layout is marked.
        std::vector<double> below(rows_.count(), 26);
        for (Route const& route : rows_.routes) {
            if (change_of(route) == Change::none) continue;
            double& room = below[marks_reader(route) ? rows_.row[route.reader] - 1 : rows_.row[route.writer]];
            room = 50;
        }
        below.back() = 60;
        for (std::size_t row = 0; row < rows_.count(); ++row) {
            tops_.push_back(tops_.back() + heights_[row] + below[row]);
        }
        shift_ = margin - left;
        legend_x_ = shift_ + right + 2 * margin;
    }

    [[nodiscard]] std::string draw() {
        for (Route const& route : rows_.routes) draw_edge(route);
        for (const std::size_t output : graph_.outputs()) draw_result(output);
        for (std::size_t i = 0; i < graph_.size(); ++i) draw_box(i);
        Legend legend(plan_, graph_, colours_, canvas_, legend_x_);
        const double bottom = std::max(legend.draw(margin), tops_.back());
        const std::string width = xml_number(legend_x_ + Legend::width + margin), height = xml_number(bottom + margin);
        return join("<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"", width, "\" height=\"", height,
                    "\" viewBox=\"0 0 ", width, ' ', height,
                    "\" font-family=\"Helvetica, Arial, 'DejaVu Sans', sans-serif\" font-size=\"11\" fill=\"#222\">\n"
                    "<title>",
                    xml_text(summary()), "</title>\n<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
                    canvas_.below, canvas_.above, "</svg>\n");
    }

private:
    static constexpr double margin = 24, gap = 18, lane = 10;
    static constexpr double character = 6.4;  // the mean width of one, at 11 units
    static constexpr std::size_t longest = 34;
    static constexpr const char* arrow = " \xe2\x86\x92 ";

    [[nodiscard]] bool is_conv(std::size_t i) const { return std::holds_alternative<ConvParams>(graph_[i].layer); }
    [[nodiscard]] double box_height(std::size_t i) const { return is_conv(i) ? 68 : 53; }
    [[nodiscard]] double top(std::size_t i) const {
        return tops_[rows_.row[i]] + (heights_[rows_.row[i]] - box_height(i)) / 2;
    }
    [[nodiscard]] double middle(std::size_t i) const { return shift_ + rows_.x[i]; }

    [[nodiscard]] std::string shape_line(std::size_t i) const {
        std::string line;
        if (const auto* conv = std::get_if<ConvParams>(&graph_[i].layer)) {
            const auto both = [](Extent e) { return join(e.h, 'x', e.w); };
            line = both(conv->kernel);
            if (conv->stride != Extent{1}) line += ", stride " + both(conv->stride);
            if (conv->dilation != Extent{1}) line += ", dilation " + both(conv->dilation);
            if (conv->groups != 1) line += ", groups " + std::to_string(conv->groups);
        } else {
            line = plan_.layers[i].kind;
        }
        return line + arrow + to_string(graph_[i].shape);
    }
    [[nodiscard]] double box_width() const {
        std::size_t most = 16;
        for (std::size_t i = 0; i < graph_.size(); ++i) {
            PlannedLayer const& layer = plan_.layers[i];
            most = std::max({most, character_count(layer.name) + 2, character_count(shape_line(i)),
                             character_count(layer.primitive)});
        }
        return character * static_cast<double>(std::min(most, longest)) + 24;
    }
    [[nodiscard]] std::string summary() const {
        return join(plan_.layers.size(), " layers, ", milliseconds(plan_.total_seconds), " ms predicted by ",
                    plan_.cost_model, ", ", plan_.optimality(), " by ", plan_.solver);
    }

    /// Where an edge meets a side of a box, from the middle: the edges of a side are sorted by where they come from or
    /// go to, and one that comes straight from above or goes straight below takes the middle.
    template <class IsOurs, class FarEnd>
    [[nodiscard]] double port_of(Route const& route, double box, IsOurs const& is_ours, FarEnd const& far_end) const {
        std::size_t before = 0, count = 0;
        double origin = -1;
        std::vector<double> ends;
        for (Route const& other : rows_.routes) {
            if (!is_ours(other)) continue;
            ++count;
            const double a = far_end(other), b = far_end(route);
            before += a < b || (a == b && &other < &route);
            ends.push_back(a);
        }
        if (count < 2) return 0;
        std::ranges::sort(ends);
        for (std::size_t i = 0; i < count; ++i) {
            if (std::abs(ends[i] - box) < 1) origin = static_cast<double>(i);
        }
        if (origin < 0) origin = static_cast<double>(count - 1) / 2;
        const double spacing = std::min(30.0, 0.4 * width_ / static_cast<double>(count - 1));
        return spacing * (static_cast<double>(before) - origin);
    }
    [[nodiscard]] double start_of(Route const& route) const {
        const auto is_ours = [&](Route const& other) { return other.writer == route.writer; };
        const auto far_end = [&](Route const& r) { return r.x.empty() ? rows_.x[r.reader] : r.x[0]; };
        return middle(route.writer) + port_of(route, rows_.x[route.writer], is_ours, far_end);
    }
    [[nodiscard]] double end_of(Route const& route) const {
        const auto is_ours = [&](Route const& other) { return other.reader == route.reader; };
        const auto far_end = [&](Route const& r) { return r.x.empty() ? rows_.x[r.writer] : r.x.back(); };
        return middle(route.reader) + port_of(route, rows_.x[route.reader], is_ours, far_end);
    }

    /// Whether data changes its layout on an edge, for the first time or as a copy made for an earlier reader.
    enum class Change { none, first, shared };
    [[nodiscard]] std::string const& layout_read(Route const& route) const {
        PlannedLayer const& reader = plan_.layers[route.reader];
        return is_conv(route.reader) && route.position == 1 ? reader.out_layout : reader.in_layout;
    }
    [[nodiscard]] PlannedTransform const* transform_of(Route const& route) const {
        for (PlannedTransform const& transform : plan_.transforms) {
            const bool ours = transform.writer == plan_.layers[route.writer].name && !transform.reader.empty();
            if (ours && transform.to == layout_read(route)) return &transform;
        }
        return nullptr;
    }
    [[nodiscard]] Change change_of(Route const& route) const {
        const PlannedTransform* transform = transform_of(route);
        if (transform == nullptr) return Change::none;
        return transform->reader == plan_.layers[route.reader].name ? Change::first : Change::shared;
    }
    /// A mark stands where fewer edges meet.
    [[nodiscard]] bool marks_reader(Route const& route) const {
        const auto readers = std::ranges::count(rows_.routes, route.writer, &Route::writer);
        return std::ranges::count(rows_.routes, route.reader, &Route::reader) <= std::max<std::ptrdiff_t>(readers, 2);
    }

    /// The mark of a change of layout on an edge at x, its upper edge at y. Off the middle of a box it leans outwards,
    /// so as not to hide the edge there.
    static constexpr double mark_height = 15;
    void mark(double x, double y, double off_middle, std::string const& label, std::string_view colour) {
        const double width = 5.2 * static_cast<double>(character_count(label)) + 12;
        if (std::abs(off_middle) > 1) x += std::copysign(width / 2 - 10, off_middle);
        canvas_.rect(x - width / 2, y, width, mark_height,
                     join("rx=\"7.5\" fill=\"#fff\" stroke=\"", colour, "\" stroke-width=\"1.2\""));
        canvas_.text(x, y + 11, label, join("text-anchor=\"middle\" font-size=\"9\" fill=\"", colour, '"'));
    }
    [[nodiscard]] static std::string label(PlannedTransform const& transform, Change change) {
        const std::string layouts = transform.from + arrow + transform.to;
        return layouts + (change == Change::shared ? ", shared" : ", " + milliseconds(transform.seconds) + " ms");
    }

    void draw_edge(Route const& route) {
        const std::string before = colours_.layout(plan_.layers[route.writer].out_layout);
        const std::string after = colours_.layout(layout_read(route));
        const Change change = change_of(route);
        const bool at_reader = change != Change::none && marks_reader(route);
        const bool at_writer = change != Change::none && !at_reader;
        double x = start_of(route), y = top(route.writer) + box_height(route.writer);
        const double end_x = end_of(route), end_y = top(route.reader);
        double arrival = end_y - 3;
        if (at_reader) {
            arrival = tops_[rows_.row[route.reader]] - 10 - mark_height;
            canvas_.path(join('M', xml_number(end_x), ' ', xml_number(arrival), 'V', xml_number(end_y - 3)), after);
            mark(end_x, arrival, end_x - middle(route.reader), label(*transform_of(route), change), after);
        }
        if (at_writer) {
            const double mark_y = tops_[rows_.row[route.writer]] + heights_[rows_.row[route.writer]] + 6;
            canvas_.path(join('M', xml_number(x), ' ', xml_number(y), 'V', xml_number(mark_y)), before);
            mark(x, mark_y, x - middle(route.writer), label(*transform_of(route), change), after);
            y = mark_y + mark_height;
        }
        std::string data = join('M', xml_number(x), ' ', xml_number(y));
        std::size_t row = rows_.row[route.writer] + 1;
        for (const double lane_x : route.x) {
            data += Canvas::curve(std::exchange(x, shift_ + lane_x), y, shift_ + lane_x, tops_[row]);
            y = tops_[row] + heights_[row];
            data += 'V' + xml_number(y);
            ++row;
        }
        data += Canvas::curve(x, y, end_x, arrival);
        canvas_.path(data, at_writer ? after : before);
        canvas_.head(end_x, end_y, after);
    }

    void draw_result(std::size_t last) {
        const double x = middle(last), y = top(last) + box_height(last), end = tops_.back() - 14;
        const std::string colour = colours_.layout(plan_.layers[last].out_layout);
        canvas_.path(join('M', xml_number(x), ' ', xml_number(y), 'V', xml_number(end - 3)), colour);
        for (PlannedTransform const& transform : plan_.transforms) {
            if (transform.reader.empty() && transform.writer == graph_[last].name)
                mark(x, y + 9, 0, label(transform, Change::first), "#444");
        }
        canvas_.head(x, end, colour);
        canvas_.text(x, end + 13, "result: " + to_string(graph_[last].shape), "text-anchor=\"middle\"");
    }

    void draw_box(std::size_t i) {
        PlannedLayer const& layer = plan_.layers[i];
        const double x = middle(i) - width_ / 2, y = top(i), height = box_height(i), stripe = 7;
        const bool one_layout = layer.in_layout == layer.out_layout;
        canvas_.above += join("<g><title>", xml_text(plan_.explain(layer.name)), "</title>\n");
        canvas_.rect(x, y, width_, height,
                     join("fill=\"", colours_.primitive(layer.primitive), "\" stroke=\"#555\" stroke-width=\"0.8\""));
        canvas_.rect(x, y, stripe, height, join("fill=\"", colours_.layout(layer.out_layout), '"'));
        if (!one_layout) canvas_.rect(x, y, stripe, height / 2, join("fill=\"", colours_.layout(layer.in_layout), '"'));
        const double text_x = x + stripe + 6, right = x + width_ - 6;
        const auto fitting = static_cast<std::size_t>((width_ - 24) / character + 0.5);
        double line = y + 15;
        canvas_.text(text_x, line, shortened(layer.name, fitting - 2), "font-weight=\"bold\"");
        canvas_.text(text_x, line += 14, shortened(shape_line(i), fitting), "fill=\"#444\" font-size=\"10\"");
        if (is_conv(i)) canvas_.text(text_x, line += 15, shortened(layer.primitive, fitting));
        canvas_.text(text_x, line += 15, one_layout ? layer.in_layout : layer.in_layout + arrow + layer.out_layout,
                     "fill=\"#444\" font-size=\"10\"");
        if (layer.seconds > 0) {
            canvas_.text(right, line, milliseconds(layer.seconds) + " ms", "text-anchor=\"end\" font-weight=\"bold\"");
            const double bar = (width_ - stripe) * layer.seconds / slowest_;
            canvas_.rect(x + stripe, y + height - 4, bar, 4, "fill=\"#333\" fill-opacity=\"0.55\"");
        }
        canvas_.above += "</g>\n";
    }

    Plan const& plan_;
    Graph const& graph_;
    Colours colours_;
    double width_;
    Rows rows_;
    std::vector<double> tops_, heights_;  // of the rows
    double shift_ = 0, legend_x_ = 0, slowest_ = 0;
    Canvas canvas_;
};

}  // namespace detail

/// The plan as a picture of its network, a self-contained SVG document: a box a layer, coloured by primitive, below
/// those it reads; stripes and edges coloured by layout, changes of layout marked on them; a legend with the totals.
/// Pointing at a box explains its choice. The graph is the simplified one that the plan was made for; throws error when
/// its layers are not the plan's.
[[nodiscard]] inline std::string to_svg(Plan const& plan, Graph const& graph) {
    bool same = plan.layers.size() == graph.size() && graph.size() > 0;
    for (std::size_t i = 0; same && i < graph.size(); ++i) same = plan.layers[i].name == graph[i].name;
    if (!same) fail("plan: the picture needs the simplified graph that the plan was made for");
    return detail::Picture(plan, graph).draw();
}

}  // namespace primsel::inline PRIMSEL_ABI::show
