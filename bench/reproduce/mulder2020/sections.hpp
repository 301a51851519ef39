#pragma once

#include "findings.hpp"
#include "report.hpp"

namespace reproduce {

// The report's sections: each adds a table or figure, with its heading.

// model_sections.cpp: of models on the machine that they learnt from.
void table_2(Findings const& found, Report& report);
void figures_4_and_5(Findings const& found, Report& report);
void figure_6(Findings const& found, Report& report);
void table_4(Findings const& found, Report& report);
void figure_7(Findings const& found, Report& report);

// transfer_sections.cpp: of models on another machine.
void figure_8(Findings const& found, Report& report);
void figures_9_and_10(Findings const& found, Report& report);
void refined(Findings const& found, Report& report);
void table_5(Findings const& found, Report& report);

}  // namespace reproduce
