// Tables of our own trainer and engine, from what reproduce_perf4sight2021_own measured.
#pragma once

#include "report.hpp"

#include <string>

namespace reproduce {

/// Reports those of the tables networks.csv, strategies.csv and subnets.csv that the folder has.
void own_tables(Report& report, std::string const& folder);

}  // namespace reproduce
