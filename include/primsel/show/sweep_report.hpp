#pragma once

#include <primsel/core/error.hpp>
#include <primsel/core/finite.hpp>
#include <primsel/core/number_text.hpp>
#include <primsel/prune/sensitivity.hpp>
#include <primsel/search/influence.hpp>
#include <primsel/search/measured_bias.hpp>
#include <primsel/search/sweep.hpp>
#include <primsel/show/chart.hpp>
#include <primsel/show/detail/scale.hpp>
#include <primsel/show/parallel_coordinates.hpp>
#include <primsel/show/sensitivity_charts.hpp>
#include <primsel/show/xml.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::show {

/// The contents of a report of a sweep.
struct SweepReport {
    std::string title;
    /// Facts that the page begins with.
    std::map<std::string, std::string> about;
    /// The sensitivity of each layer to pruning; may be empty.
    std::vector<prune::SensitivityPoint> sensitivity;
};

namespace detail {

/// Writes the page: to_html below.
class ReportPage {
public:
    ReportPage(search::Sweep const& sweep, std::span<const search::Trial> trials, SweepReport const& report)
        : sweep_(sweep), trials_(trials), report_(report), best_(search::best_of(sweep, trials)) {
        for (search::SweepGoal const& goal : sweep.goals) metrics_.push_back(goal.metric);
        for (search::MetricBound const& bound : sweep.bounds) add_metric(bound.metric);
        for (search::Trial const& trial : trials) {
            for (auto const& [name, value] : trial.metrics) add_metric(name);
        }
    }

    [[nodiscard]] std::string write() const {
        return join(
            "<!DOCTYPE html>\n<html xmlns=\"http://www.w3.org/1999/xhtml\" lang=\"en\">\n<head>\n"
            "<meta charset=\"utf-8\"/>\n<title>",
            xml_text(report_.title),
            "</title>\n<style>\nbody { font: 14px/1.45 Helvetica, Arial, 'DejaVu Sans', sans-serif; color: #222; "
            "max-width: 1100px; margin: 24px auto; padding: 0 16px; }\n"
            "table { border-collapse: collapse; } td, th { padding: 2px 10px; text-align: right; "
            "border-bottom: 1px solid #e4e7ea; }\ntd:first-child, th:first-child { text-align: left; }\n"
            ".wide { overflow-x: auto; } .chosen { font-weight: bold; } .failed { color: #a33; }\n"
            "</style>\n</head>\n<body>\n<h1>",
            xml_text(report_.title), "</h1>\n", facts(), chosen(), measured(), coordinates(), over_time(), front(),
            influence(), sensitivity(), everything(), "</body>\n</html>\n");
    }

private:
    void add_metric(std::string const& name) {
        if (std::ranges::find(metrics_, name) == metrics_.end()) metrics_.push_back(name);
    }
    [[nodiscard]] static double value_of(search::Trial const& trial, std::string const& metric) {
        const auto found = trial.metrics.find(metric);
        const bool there = trial.failure.empty() && found != trial.metrics.end();
        return there ? found->second : std::numeric_limits<double>::quiet_NaN();
    }
    [[nodiscard]] static std::string number(double value) {
        return is_finite(value) ? core::rounded_text(value, 5) : "\xe2\x80\x93";
    }
    [[nodiscard]] static std::string number(search::Value const& value) {
        const auto* real = std::get_if<double>(&value);
        return real != nullptr ? number(*real) : primsel::search::text_of(value);
    }
    [[nodiscard]] bool is_chosen(std::size_t trial) const { return std::ranges::find(best_, trial) != best_.end(); }

    [[nodiscard]] std::string facts() const {
        std::size_t failed = 0, stopped = 0;
        double seconds = 0;
        for (search::Trial const& trial : trials_) {
            failed += trial.failure.empty() ? 0 : 1;
            stopped += trial.stopped ? 1 : 0;
            seconds += trial.seconds;
        }
        std::string text = join("<p>", trials_.size(), " trials, ", number(seconds), " s in all");
        if (failed > 0) text += join("; ", failed, " failed");
        if (stopped > 0) text += join("; ", stopped, " were stopped early");
        for (search::SweepGoal const& goal : sweep_.goals) {
            text += join("; ", goal.maximize ? "most " : "least ", xml_text(goal.metric), " is looked for");
        }
        for (search::MetricBound const& bound : sweep_.bounds) {
            if (is_finite(bound.at_least)) text += join("; ", xml_text(bound.metric), " at least ", bound.at_least);
            if (is_finite(bound.at_most)) text += join("; ", xml_text(bound.metric), " at most ", bound.at_most);
        }
        text += ".</p>\n";
        if (report_.about.empty()) return text;
        text += "<table>\n";
        for (auto const& [key, value] : report_.about) {
            text += join("<tr><td>", xml_text(key), "</td><td>", xml_text(value), "</td></tr>\n");
        }
        return text + "</table>\n";
    }

    [[nodiscard]] std::string table_of(std::span<const std::size_t> rows) const {
        std::string text = "<div class=\"wide\"><table>\n<tr><th>trial</th>";
        for (primsel::search::Parameter const& parameter : sweep_.space.parameters()) {
            text += join("<th>", xml_text(parameter.name()), "</th>");
        }
        for (std::string const& metric : metrics_) text += join("<th>", xml_text(metric), "</th>");
        text += "<th>s</th><th></th></tr>\n";
        for (const std::size_t row : rows) {
            search::Trial const& trial = trials_[row];
            const bool failed = !trial.failure.empty();
            text += join("<tr class=\"",
                         failed           ? "failed"
                         : is_chosen(row) ? "chosen"
                                          : "tried",
                         "\"><td>", trial.number, "</td>");
            for (search::Value const& value : trial.point.values)
                text += join("<td>", xml_text(number(value)), "</td>");
            for (std::string const& metric : metrics_) text += join("<td>", number(value_of(trial, metric)), "</td>");
            text +=
                join("<td>", number(trial.seconds), "</td><td>",
                     xml_text(failed ? trial.failure : std::string(trial.stopped ? "stopped" : "")), "</td></tr>\n");
        }
        return text + "</table></div>\n";
    }
    [[nodiscard]] std::string chosen() const {
        const std::string heading = sweep_.goals.size() > 1 ? "<h2>The front</h2>\n" : "<h2>The best trial</h2>\n";
        if (best_.empty()) return heading + "<p>No trial keeps the bounds.</p>\n";
        return heading + table_of(best_);
    }
    /// Predicted beside measured, of the trials that were.
    [[nodiscard]] std::string measured() const {
        constexpr std::size_t most_layers = 3;
        std::string rows;
        for (search::Trial const& trial : trials_) {
            if (!trial.measured) continue;
            search::TrialMeasurement const& was = *trial.measured;
            rows += join("<tr><td>", trial.number, "</td>");
            if (!was.failure.empty()) {
                rows += join("<td class=\"failed\" colspan=\"6\">", xml_text(was.failure), "</td></tr>\n");
                continue;
            }
            auto layers = was.layers;
            std::ranges::stable_sort(layers, {}, [](auto const& layer) { return -layer.second; });
            std::string longest;
            for (std::size_t i = 0; i < std::min(most_layers, layers.size()); ++i) {
                longest += join(i == 0 ? "" : ", ", layers[i].first, ' ', number(layers[i].second));
            }
            rows += join("<td>", number(was.predicted), "</td><td>", number(was.milliseconds), "</td><td>",
                         number(was.milliseconds / was.predicted), "</td><td>", number(was.images_per_second),
                         "</td><td>", xml_text(longest), "</td><td>", xml_text(was.machine), "</td></tr>\n");
        }
        if (rows.empty()) return {};
        return join(
            "<h2>Measured</h2>\n<div class=\"wide\"><table>\n<tr><th>trial</th><th>predicted ms</th><th>measured "
            "ms</th><th>measured / predicted</th><th>images/s</th><th>longest layers, ms</th><th>machine</th></tr>\n",
            rows, "</table></div>\n");
    }
    [[nodiscard]] std::string everything() const {
        std::vector<std::size_t> all(trials_.size());
        for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
        return "<h2>All trials</h2>\n" + table_of(all);
    }

    /// Parameters that change, and metrics.
    [[nodiscard]] std::string coordinates() const {
        std::vector<CoordinateAxis> axes;
        std::vector<std::size_t> parameters;
        std::vector<std::vector<double>> shares;
        for (search::Trial const& trial : trials_) shares.push_back(sweep_.space.shares_of(trial.point));
        for (std::size_t i = 0; i < sweep_.space.parameters().size(); ++i) {
            primsel::search::Parameter const& parameter = sweep_.space.parameters()[i];
            if (parameter.count() == 1) continue;
            parameters.push_back(i);
            CoordinateAxis axis{.name = parameter.name(), .ticks = {}};
            const std::size_t count = parameter.count();
            const bool each = count != 0 && count <= 8;
            for (std::size_t tick = 0; tick < (each ? count : 5); ++tick) {
                const double share = each ? parameter.share_of(parameter.nth(tick)) : static_cast<double>(tick) / 4;
                axis.ticks.emplace_back(share, number(parameter.at(share)));
            }
            axes.push_back(std::move(axis));
        }
        std::vector<Scale> scales;
        for (std::string const& metric : metrics_) {
            std::vector<double> values;
            for (search::Trial const& trial : trials_) {
                if (const double value = value_of(trial, metric); is_finite(value)) values.push_back(value);
            }
            Scale const& scale = scales.emplace_back(values);
            CoordinateAxis axis{.name = metric, .ticks = {}};
            for (const double tick : scale.ticks()) axis.ticks.emplace_back(scale.share(tick), scale.text(tick));
            axes.push_back(std::move(axis));
        }
        std::vector<CoordinateLine> lines;
        for (std::size_t i = 0; i < trials_.size(); ++i) {
            CoordinateLine line{.name = join("trial ", trials_[i].number, ": ", sweep_.space.text(trials_[i].point)),
                                .places = {},
                                .strength = 0,
                                .stands_out = is_chosen(i)};
            for (const std::size_t parameter : parameters) line.places.push_back(shares[i][parameter]);
            for (std::size_t m = 0; m < metrics_.size(); ++m) {
                const double value = value_of(trials_[i], metrics_[m]);
                line.places.push_back(is_finite(value) ? scales[m].share(value) : value);
                line.name += join(", ", metrics_[m], '=', number(value));
            }
            const double first = line.places[parameters.size()];
            if (is_finite(first)) line.strength = sweep_.goals[0].maximize ? first : 1 - first;
            lines.push_back(std::move(line));
        }
        return join("<h2>What was tried</h2>\n<p>A line a trial, the stronger the better; red: ",
                    sweep_.goals.size() > 1 ? "the front" : "the best", ".</p>\n<div class=\"wide\">",
                    parallel_coordinates(axes, lines), "</div>\n");
    }

    [[nodiscard]] std::string over_time() const {
        std::vector<Chart> charts;
        for (search::SweepGoal const& goal : sweep_.goals) {
            Series each{.name = "trials", .x = {}, .y = {}, .joined = false},
                best{.name = "best until then", .x = {}, .y = {}};
            double least = std::numeric_limits<double>::infinity();
            for (std::size_t i = 0; i < trials_.size(); ++i) {
                const double value = value_of(trials_[i], goal.metric);
                each.x.push_back(static_cast<double>(i + 1)), each.y.push_back(value);
                if (!search::outcome_of_trial(sweep_, trials_[i]).feasible()) continue;
                least = std::min(least, goal.maximize ? -value : value);
                best.x.push_back(static_cast<double>(i + 1)), best.y.push_back(goal.maximize ? -least : least);
            }
            charts.push_back({.title = goal.metric, .x_label = "trials done", .series = {each, best}});
        }
        return "<h2>Over time</h2>\n" + to_svg(charts);
    }

    /// The front of two goals, or of one goal and the first other metric.
    [[nodiscard]] std::string front() const {
        if (metrics_.size() < 2) return {};
        std::string const &x = metrics_[0], &y = metrics_[1];
        Series tried{.name = "trials", .x = {}, .y = {}, .joined = false},
            chosen{.name = sweep_.goals.size() > 1 ? "front" : "best", .x = {}, .y = {}};
        for (search::Trial const& trial : trials_) {
            tried.x.push_back(value_of(trial, x)), tried.y.push_back(value_of(trial, y));
        }
        for (const std::size_t i : best_) {
            chosen.x.push_back(value_of(trials_[i], x)), chosen.y.push_back(value_of(trials_[i], y));
        }
        const std::array charts{Chart{.title = y + " over " + x, .x_label = x, .series = {tried, chosen}}};
        return join("<h2>", xml_text(y), " over ", xml_text(x), "</h2>\n", to_svg(charts));
    }

    [[nodiscard]] std::string influence() const {
        std::string text =
            "<h2>What matters</h2>\n<p>Rank correlation with the metric, and importance to a forest that predicts it "
            "(all together 1).</p>\n<table>\n<tr><th>parameter</th>";
        std::vector<std::vector<search::Influence>> all;
        for (std::string const& metric : metrics_) {
            all.push_back(search::trial_influences(sweep_.space, trials_, metric, sweep_.seed));
            text += join("<th>", xml_text(metric), ": correlation</th><th>importance</th><th></th>");
        }
        text += "</tr>\n";
        for (std::size_t i = 0; i < sweep_.space.parameters().size(); ++i) {
            if (sweep_.space.parameters()[i].count() == 1) continue;
            text += join("<tr><td>", xml_text(sweep_.space.parameters()[i].name()), "</td>");
            for (std::vector<search::Influence> const& of : all) {
                text += join("<td>", number(of[i].correlation), "</td><td>", number(of[i].importance),
                             "</td><td><svg xmlns=\"http://www.w3.org/2000/svg\" width=\"80\" height=\"10\"><rect "
                             "height=\"10\" fill=\"#1f5fa8\" width=\"",
                             xml_number(80 * of[i].importance), "\"/></svg></td>");
            }
            text += "</tr>\n";
        }
        return text + "</table>\n";
    }

    [[nodiscard]] std::string sensitivity() const {
        if (report_.sensitivity.empty()) return {};
        return "<h2>Sensitivity of the layers</h2>\n" + to_svg(sensitivity_charts(report_.sensitivity));
    }

    search::Sweep const& sweep_;
    std::span<const search::Trial> trials_;
    SweepReport const& report_;
    std::vector<std::size_t> best_;
    std::vector<std::string> metrics_;
};

}  // namespace detail

/// One page of HTML, also XML, that stands alone: the trials chosen, parallel coordinates, what was tried over time,
/// the front, what matters, sensitivity where it is given, and all trials. Throws error where the sweep has no goal, or
/// a trial is of another space.
[[nodiscard]] inline std::string to_html(search::Sweep const& sweep, std::span<const search::Trial> trials,
                                         SweepReport const& report) {
    if (sweep.goals.empty()) fail("sweep report: there is no goal");
    for (search::Trial const& trial : trials) sweep.space.check(trial.point);
    return detail::ReportPage(sweep, trials, report).write();
}

}  // namespace primsel::inline PRIMSEL_ABI::show
