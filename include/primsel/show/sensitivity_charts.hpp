#pragma once

#include <primsel/prune/sensitivity.hpp>
#include <primsel/show/chart.hpp>

#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace primsel::inline PRIMSEL_ABI::show {

/// Returns charts of the accuracy and the predicted milliseconds over the removed share of each layer's channels; one
/// series for each layer.
[[nodiscard]] inline std::vector<Chart> sensitivity_charts(std::span<const prune::SensitivityPoint> points) {
    const prune::SensitivityPoint* whole = prune::find_point(points, "", 0);
    Chart accuracy{
        .title = "Accuracy without retraining", .x_label = "share of the layer's channels gone", .series = {}},
        time{.title = "Predicted milliseconds of a run", .x_label = "share of the layer's channels gone", .series = {}};
    std::string_view last;
    for (prune::SensitivityPoint const& point : points) {
        if (point.layer.empty()) continue;
        if (accuracy.series.empty() || point.layer != last) {
            last = point.layer;
            for (Chart* chart : {&accuracy, &time}) {
                chart->series.push_back({.name = point.layer, .x = {}, .y = {}, .joined = true});
                if (whole != nullptr) {
                    chart->series.back().x.push_back(0);
                    chart->series.back().y.push_back(chart == &accuracy ? whole->accuracy : whole->seconds * 1e3);
                }
            }
        }
        // The share that really went, as small layers cannot lose every share.
        const double gone = 1 - static_cast<double>(point.left) / static_cast<double>(point.channels);
        for (Chart* chart : {&accuracy, &time}) {
            chart->series.back().x.push_back(gone);
            chart->series.back().y.push_back(chart == &accuracy ? point.accuracy : point.seconds * 1e3);
        }
    }
    return {accuracy, time};
}

}  // namespace primsel::inline PRIMSEL_ABI::show
