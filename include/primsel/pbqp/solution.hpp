#pragma once

#include <primsel/core/config.hpp>

#include <cstddef>
#include <limits>
#include <vector>

namespace primsel::inline PRIMSEL_ABI {

/// An assignment and how it was found.
struct PbqpSolution {
    /// The alternative of each node.
    std::vector<std::size_t> choice;
    /// The cost of `choice`; infinite when the solver found no permitted assignment.
    double cost = std::numeric_limits<double>::infinity();
    /// True if no assignment is proven to be cheaper, up to rounding (a relative 1e-12).
    bool optimal = false;
    /// A lower bound on the cost of all assignments: `cost` if that is proven optimal, 0 if nothing is known.
    double bound = 0;
    /// The number of times each reduction was applied, and the number of alternatives that branch and bound tried.
    std::size_t r0 = 0, ri = 0, rii = 0, rn = 0, branches = 0;

    /// Returns an upper bound on how far the cost exceeds the optimum: 0.01 is one per cent. Infinite if nothing is
    /// known.
    [[nodiscard]] double gap() const { return optimal ? 0.0 : cost / bound - 1; }
    [[nodiscard]] bool feasible() const { return cost < std::numeric_limits<double>::infinity(); }
};

}  // namespace primsel::inline PRIMSEL_ABI
