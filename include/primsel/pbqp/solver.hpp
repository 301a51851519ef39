#pragma once

#include <primsel/pbqp/problem.hpp>
#include <primsel/pbqp/solution.hpp>

#include <concepts>
#include <string_view>

namespace primsel::inline PRIMSEL_ABI {

/// Assigns an alternative to every node of a problem at the least cost it can find, and says whether that is proven
/// optimal. A solver is deterministic: of equal alternatives it takes the lower number.
///
/// A minimal model:
///     struct First {
///         static constexpr std::string_view name = "first";
///         primsel::PbqpSolution solve(primsel::PbqpProblem const& problem) const {
///             std::vector<std::size_t> choice(problem.node_count(), 0);
///             return {.choice = choice, .cost = problem.cost(choice)};
///         }
///     };
template <class S>
concept Solver = requires(S const& solver, PbqpProblem const& problem) {
    { S::name } -> std::convertible_to<std::string_view>;
    { solver.solve(problem) } -> std::same_as<PbqpSolution>;
};

}  // namespace primsel::inline PRIMSEL_ABI
