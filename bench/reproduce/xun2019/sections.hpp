// The parts of the report.
#pragma once

#include "competing.hpp"
#include "experiment.hpp"
#include "timing.hpp"

#include <report.hpp>

#include <vector>

namespace reproduce {

/// Table II's network in groups, trained step by step, and trained at once, by one seed.
struct Trained {
    Subject groups, once;
    std::vector<Judged> of_groups, of_once;
};
/// The networks that table III compares, trained by fewer images and epochs where there are weights.
struct Compared {
    Subject groups, channels, whole, thin;
    /// A quarter of the filters less: whole vectors are left.
    Subject thinner;
    std::vector<Judged> of_groups, of_channels, of_whole, of_thin;
};

void report_table_2(Report& report, Subject const& groups, Subject const& whole);
void report_figures_2_and_3(Report& report, std::vector<Trained> const& trained, Options const& options);
void report_figure_4(Report& report, Timed const& groups, Timed const& channels);
void report_forms(Report& report, Options const& options);
void report_table_3(Report& report, Compared const& compared, Timed const& groups, Options const& options);
void report_switching(Report& report, Subject const& groups, Subject const& channels);
void report_contest(Report& report, Options const& options);

}  // namespace reproduce
