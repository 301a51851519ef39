#pragma once

#include <primsel/pbqp/detail/reducer.hpp>
#include <primsel/pbqp/solver.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// The reductions of Scholz and Eckstein (2002; Hames and Scholz 2006). R0, RI and RII keep the optimum. Where none of
/// them applies, RN takes the locally cheapest alternative of the node with the most neighbours. Chains and all other
/// series-parallel graphs need no RN: the solution is optimal and takes time linear in the number of nodes.
struct ReductionPbqp {
    static constexpr std::string_view name = "reduction";

    [[nodiscard]] PbqpSolution solve(PbqpProblem const& problem) const {
        pbqp::detail::Reducer reducer(problem);
        reducer.reduce();
        while (!reducer.done()) {
            reducer.reduce_many();
            reducer.reduce();
        }
        const bool optimal = reducer.counts.rn == 0;
        return pbqp::detail::finish(problem, reducer, {}, optimal);
    }
};

}  // namespace primsel::inline PRIMSEL_ABI
