#pragma once

#include <primsel/layer/input.hpp>
#include <primsel/network/graph.hpp>
#include <primsel/plan/print.hpp>
#include <primsel/show/detail/canvas.hpp>
#include <primsel/show/detail/colours.hpp>

#include <algorithm>
#include <cstddef>
#include <map>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::show::detail {

/// The legend of a picture: the plan's totals, and what the colours stand for.
class Legend {
public:
    static constexpr double width = 330;

    /// x: its left edge.
    Legend(Plan const& plan, Graph const& graph, Colours const& colours, Canvas& canvas, double x)
        : plan_(plan), graph_(graph), colours_(colours), canvas_(canvas), x_(x) {}

    /// From `top` down. Returns its lower edge.
    double draw(double top) {
        std::map<std::string, Share> used;
        Share others, moves;
        for (PlannedLayer const& layer : plan_.layers) {
            if (!layer.primitive.empty()) used[layer.primitive].add(layer.seconds);
            if (layer.primitive.empty() && layer.kind != InputParams::name()) others.add(layer.seconds);
        }
        for (PlannedTransform const& transform : plan_.transforms) moves.add(transform.seconds);
        std::vector<std::pair<std::string, Share>> primitives(used.begin(), used.end());
        std::ranges::stable_sort(primitives,
                                 [](auto const& a, auto const& b) { return a.second.seconds > b.second.seconds; });

        double y = top + 14;
        canvas_.text(x_, y, milliseconds(plan_.total_seconds) + " ms", "font-size=\"20\" font-weight=\"bold\"");
        canvas_.text(x_, y += 20,
                     "predicted by " + plan_.cost_model + " for " + std::to_string(graph_.batch()) +
                         (graph_.batch() == 1 ? " image" : " images"));
        canvas_.text(x_, y += 15, plan_.optimality() + " by " + plan_.solver);
        canvas_.text(x_, y += 15, shortened(plan_.key.cpu, 52), "fill=\"#444\"");
        canvas_.text(x_, y += 15, plan_.key.arch + ", primsel " + plan_.key.version, "fill=\"#444\"");

        const auto swatch = [&](std::string const& colour) {
            canvas_.rect(x_, y - 10, 16, 12, join("fill=\"", colour, "\" stroke=\"#555\" stroke-width=\"0.6\""));
        };
        heading(y += 30, "primitives");
        for (auto const& [id, share] : primitives) {
            y += 18;
            swatch(colours_.primitive(id));
            entry(y, shortened(id, 32), share);
        }
        y += 18;
        swatch(colours_.primitive({}));
        entry(y, "other layers", others);

        heading(y += 30, "layouts: stripe and edges");
        for (auto const& [name, colour] : colours_.layouts()) {
            y += 18;
            swatch(colour);
            canvas_.text(x_ + 24, y, name);
        }
        y += 18;
        canvas_.rect(x_, y - 9, 16, 10, "rx=\"5\" fill=\"#fff\" stroke=\"#444\"");
        entry(y, "changes of layout", moves);
        canvas_.text(x_, y += 30, "black bars: seconds, relative to the slowest layer", "fill=\"#444\"");
        return y;
    }

private:
    static constexpr const char* times = "\xc3\x97";

    struct Share {
        std::size_t count = 0;
        double seconds = 0;
        void add(double more) { ++count, seconds += more; }
    };
    /// A line of the legend: what, how many, how long in all.
    void entry(double y, std::string_view what, Share const& share) {
        canvas_.text(x_ + 24, y, what);
        canvas_.text(x_ + 240, y, times + std::to_string(share.count), "text-anchor=\"end\" fill=\"#444\"");
        canvas_.text(x_ + width, y, milliseconds(share.seconds) + " ms", "text-anchor=\"end\"");
    }
    void heading(double y, std::string_view what) { canvas_.text(x_, y, what, "font-weight=\"bold\""); }

    Plan const& plan_;
    Graph const& graph_;
    Colours const& colours_;
    Canvas& canvas_;
    double x_;
};

}  // namespace primsel::inline PRIMSEL_ABI::show::detail
