// Groups of bars, as the paper's figures 3 and 4 have.
#pragma once

#include <string>
#include <vector>

namespace reproduce {

struct BarGroup {
    std::string name;
    std::vector<double> values;
};
/// A horizontal line across all groups.
struct Level {
    std::string name;
    double value = 0;
};

/// A picture of percents: a group of bars for each, in the order of `series`, and levels to compare with.
[[nodiscard]] std::string bars(std::string const& title, std::vector<std::string> const& series,
                               std::vector<BarGroup> const& groups, std::vector<Level> const& levels);

}  // namespace reproduce
