#pragma once

#include <primsel/plan/precision_planner.hpp>
#include <primsel/show/chart.hpp>

#include <span>

namespace primsel::inline PRIMSEL_ABI::show {

/// Returns a chart of predicted milliseconds over the relative error in per cent: a point for each plan of
/// PrecisionPlanner::curve.
[[nodiscard]] inline Chart precision_chart(std::span<const PrecisionPlan> curve) {
    Series predicted{.name = "predicted", .x = {}, .y = {}};
    for (PrecisionPlan const& point : curve) {
        predicted.x.push_back(100 * point.error());
        predicted.y.push_back(1e3 * point.plan.total_seconds);
    }
    return {.title = "Milliseconds of a run over its error",
            .x_label = "error beside float32, per cent of the results' RMS",
            .series = {predicted}};
}

}  // namespace primsel::inline PRIMSEL_ABI::show
