// The example of section IV-D: operating points that keep a budget of time.
#pragma once

#include <report.hpp>

#include <vector>

namespace xun2019 {

/// Accuracies: of the four configurations.
void report_budget(reproduce::Report& report, std::vector<double> const& accuracies);

}  // namespace xun2019
