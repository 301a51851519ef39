#pragma once

#include "experiments.hpp"
#include "journal.hpp"
#include "report.hpp"

namespace cli::reproduce {

/// Every table and figure from what experiments have found so far.
[[nodiscard]] Report compose(World const& world, Effort const& effort, Journal const& journal);

}  // namespace cli::reproduce
