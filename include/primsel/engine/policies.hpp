#pragma once

#include <primsel/core/executor.hpp>
#include <primsel/cost/pretrained.hpp>
#include <primsel/fwd.hpp>
#include <primsel/pbqp/exact.hpp>
#include <primsel/primitive/all.hpp>

namespace primsel::inline PRIMSEL_ABI {

/// The choices behind an Engine. Inherit and override line by line:
///     struct Laptop : primsel::DefaultPolicies {
///         using primitives = primsel::AllPrimitives;
///         using executor = primsel::OpenMP;
///     };
struct DefaultPolicies {
    /// The instruction set: no wider than what the translation unit is compiled for.
    using arch = default_arch;
    using primitives = DefaultPrimitives;
    /// The first is the one in which images come and results go.
    using layouts = AllLayouts;
    using cost_model = DefaultCostModel;
    using solver = ExactPbqp;
    using executor = Sequential;
};

namespace detail {

/// Says at the user's policies which of them does not model its concept.
template <class P>
struct CheckPolicies {
    static_assert(CostModel<typename P::cost_model>,
                  "primsel: Policies::cost_model is not a CostModel; see docs/cost/cost_model.md");
    static_assert(Solver<typename P::solver>, "primsel: Policies::solver is not a Solver; see docs/pbqp/solver.md");
    static_assert(Executor<typename P::executor>,
                  "primsel: Policies::executor is not an Executor; see docs/core/executor.md");
    static_assert(P::primitives::size > 0, "primsel: Policies::primitives is empty");
    static_assert(P::layouts::size > 0, "primsel: Policies::layouts is empty");
    static constexpr bool value = true;
};

}  // namespace detail

}  // namespace primsel::inline PRIMSEL_ABI
