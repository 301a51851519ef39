// Figure 5 on a simulated Odroid XU3, and days under a governor beside others.
#pragma once

#include <report.hpp>

#include <vector>

namespace xun2019 {

/// Accuracies: of the four configurations.
void report_figure_5(reproduce::Report& report, std::vector<double> const& accuracies);
void report_days(reproduce::Report& report, std::vector<double> const& accuracies);

}  // namespace xun2019
