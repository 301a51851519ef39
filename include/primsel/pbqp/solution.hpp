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
    /// Whether it is proven that no assignment is cheaper (but for rounding, a part in 10^12).
    bool optimal = false;
    /// No assignment costs less: `cost` where that is proven, 0 where nothing is known.
    double bound = 0;
    /// How often each reduction was applied, and how many alternatives of a core node branch and bound tried.
    std::size_t r0 = 0, ri = 0, rii = 0, rn = 0, branches = 0;

    /// How far above the optimum the cost may be, at most: 0.01 is one per cent. Infinite where nothing is known.
    [[nodiscard]] double gap() const { return optimal ? 0.0 : cost / bound - 1; }
    [[nodiscard]] bool feasible() const { return cost < std::numeric_limits<double>::infinity(); }
};

}  // namespace primsel::inline PRIMSEL_ABI
