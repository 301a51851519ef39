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
    /// Infinite when the solver found no assignment that is allowed.
    double cost = std::numeric_limits<double>::infinity();
    /// Whether it is proven that no assignment is cheaper.
    bool optimal = false;
    /// How often each reduction was applied, and how many assignments of a core node branch and bound tried.
    std::size_t r0 = 0, ri = 0, rii = 0, rn = 0, branches = 0;

    [[nodiscard]] bool feasible() const { return cost < std::numeric_limits<double>::infinity(); }
};

}  // namespace primsel::inline PRIMSEL_ABI
