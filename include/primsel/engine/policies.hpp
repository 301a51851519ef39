#pragma once

#include <primsel/core/executor.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/core/type_list.hpp>
#include <primsel/cost/analytical.hpp>
#include <primsel/fwd.hpp>
#include <primsel/pbqp/exact.hpp>
#include <primsel/primitive/all.hpp>
#include <primsel/tensor/layout.hpp>

#include <concepts>
#include <type_traits>

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
    using cost_model = Analytical;
    using solver = ExactPbqp;
    using executor = Sequential;
};

namespace detail {

// What is asked of each policy, without an error where the member is missing.
template <class P>
concept HasArch = requires { typename P::arch; };
template <class P>
concept HasPrimitives = requires { typename P::primitives; };
template <class P>
concept HasLayouts = requires { typename P::layouts; };
template <class P>
concept HasCostModel = requires { typename P::cost_model; };
template <class P>
concept HasSolver = requires { typename P::solver; };
template <class P>
concept HasExecutor = requires { typename P::executor; };

template <class P>
concept HasInstructionSet = requires { requires InstructionSet<typename P::arch>; };
template <class P>
concept ListsPrimitives = requires { requires is_type_list<typename P::primitives>; };
template <class P>
concept ListsLayouts = requires { requires is_type_list<typename P::layouts>; };
template <class P>
concept ModelsCosts = requires { requires CostModel<typename P::cost_model>; };
template <class P>
concept MakesCostModel = requires { requires std::default_initializable<typename P::cost_model>; };
template <class P>
concept Solves = requires { requires Solver<typename P::solver>; };
template <class P>
concept MakesSolver = requires { requires std::default_initializable<typename P::solver>; };
template <class P>
concept Executes = requires { requires Executor<typename P::executor>; };
template <class P>
concept MovesExecutor = requires { requires std::move_constructible<typename P::executor>; };

template <class P>
concept CompletePolicies =
    HasArch<P> && HasPrimitives<P> && HasLayouts<P> && HasCostModel<P> && HasSolver<P> && HasExecutor<P>;
template <class P>
concept SoundPolicies = CompletePolicies<P> && HasInstructionSet<P> && ListsPrimitives<P> && ListsLayouts<P> &&
                        ModelsCosts<P> && Solves<P> && Executes<P> && MovesExecutor<P> && (P::primitives::size > 0) &&
                        (P::layouts::size > 0) && SoundLayouts<typename P::layouts>;

/// Says at the user's policies which of them is missing, or does not model its concept.
template <class P>
struct CheckPolicies {
    static_assert(HasArch<P>, "primsel: Policies::arch is missing; see docs/engine/policies.md");
    static_assert(HasPrimitives<P>, "primsel: Policies::primitives is missing; see docs/engine/policies.md");
    static_assert(HasLayouts<P>, "primsel: Policies::layouts is missing; see docs/engine/policies.md");
    static_assert(HasCostModel<P>, "primsel: Policies::cost_model is missing; see docs/engine/policies.md");
    static_assert(HasSolver<P>, "primsel: Policies::solver is missing; see docs/engine/policies.md");
    static_assert(HasExecutor<P>, "primsel: Policies::executor is missing; see docs/engine/policies.md");

    static_assert(!HasArch<P> || HasInstructionSet<P>,
                  "primsel: Policies::arch is not an instruction set that this translation unit is compiled for; see "
                  "docs/engine/policies.md");
    static_assert(!HasPrimitives<P> || ListsPrimitives<P>,
                  "primsel: Policies::primitives is not a TypeList; see docs/primitive/primitive.md");
    static_assert(!HasLayouts<P> || ListsLayouts<P>,
                  "primsel: Policies::layouts is not a TypeList; see docs/tensor/layout.md");
    static_assert(!HasCostModel<P> || ModelsCosts<P>,
                  "primsel: Policies::cost_model is not a CostModel; see docs/cost/cost_model.md");
    static_assert(!HasSolver<P> || Solves<P>, "primsel: Policies::solver is not a Solver; see docs/pbqp/solver.md");
    static_assert(!HasExecutor<P> || Executes<P>,
                  "primsel: Policies::executor is not an Executor; see docs/core/executor.md");
    static_assert(!Executes<P> || MovesExecutor<P>,
                  "primsel: Policies::executor cannot be moved; see docs/core/executor.md");

    static constexpr bool has_primitives = [] {
        if constexpr (ListsPrimitives<P>) return P::primitives::size > 0;
        return true;
    }();
    static_assert(has_primitives, "primsel: Policies::primitives is empty");
    static constexpr bool has_layouts = [] {
        if constexpr (ListsLayouts<P>) return P::layouts::size > 0 && CheckLayouts<typename P::layouts>::value;
        return true;
    }();
    static_assert(has_layouts, "primsel: Policies::layouts is empty");
    static constexpr bool value = true;
};

/// The same for an engine that makes its plan itself, and the model and solver for it.
template <class P>
struct CheckPlanningPolicies {
    static_assert(MakesCostModel<P>,
                  "primsel: Policies::cost_model has no default constructor; see docs/cost/cost_model.md");
    static_assert(MakesSolver<P>, "primsel: Policies::solver has no default constructor; see docs/pbqp/solver.md");
    static constexpr bool value = true;
};

/// What an engine goes on with after one of these messages, lest others follow.
struct FewPolicies : DefaultPolicies {
    using primitives = TypeList<DirectSum2d>;
};
template <class P>
using ChosenPolicies = std::conditional_t<SoundPolicies<P>, P, FewPolicies>;

}  // namespace detail

}  // namespace primsel::inline PRIMSEL_ABI
