#pragma once

#include "experiments.hpp"
#include "journal.hpp"
#include "report.hpp"

namespace reproduce {

/// Every table and figure from what experiments have found so far.
[[nodiscard]] Report compose(World const& world, Effort const& effort, Journal const& journal);

}  // namespace reproduce
