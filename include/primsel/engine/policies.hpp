#pragma once

#include <primsel/core/executor.hpp>
#include <primsel/core/simd.hpp>
#include <primsel/core/type_list.hpp>
#include <primsel/cost/semi_empirical.hpp>
#include <primsel/fwd.hpp>
#include <primsel/gemm/gemm_simd.hpp>
#include <primsel/kernels/extern_kernels.hpp>
#include <primsel/kernels/make_kernels.hpp>
#include <primsel/machine/measure_machine.hpp>
#include <primsel/pbqp/exact.hpp>
#include <primsel/primitive/all.hpp>
#include <primsel/tensor/layout.hpp>

#include <concepts>
#include <cstddef>
#include <span>
#include <string_view>
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
    /// The matrix product of every primitive that is built on one.
    using gemm = SimdGemm;
    /// The first is the one in which images come and results go.
    using layouts = AllLayouts;
    using cost_model = SemiEmpiricalCosts;
    /// Where costs have the machine's speeds from.
    using machine = MeasuredMachine;
    using solver = ExactPbqp;
    using executor = Sequential;
    /// Whether the first engine says on the standard error stream that it was compiled without optimisation, or for
    /// SSE2 on a machine that has more.
    static constexpr bool warns_of_slow_build = true;
};

namespace engine {

// A concept for each policy, without an error where the member is missing.
template <class P>
concept HasArch = requires { typename P::arch; };
template <class P>
concept HasPrimitives = requires { typename P::primitives; };
template <class P>
concept HasGemm = requires { typename P::gemm; };
template <class P>
concept HasLayouts = requires { typename P::layouts; };
template <class P>
concept HasCostModel = requires { typename P::cost_model; };
template <class P>
concept HasMachine = requires { typename P::machine; };
template <class P>
concept HasSolver = requires { typename P::solver; };
template <class P>
concept HasExecutor = requires { typename P::executor; };

template <class P>
concept HasInstructionSet = requires { requires InstructionSet<typename P::arch>; };
template <class P>
concept ListsPrimitives = requires { requires is_type_list<typename P::primitives>; };
template <class P>
concept Multiplies = requires { requires Gemm<typename P::gemm>; };
template <class P>
concept ListsLayouts = requires { requires is_type_list<typename P::layouts>; };
template <class P>
concept ModelsCosts = requires { requires CostModel<typename P::cost_model>; };
template <class P>
concept MakesCostModel = requires { requires std::default_initializable<typename P::cost_model>; };
template <class P>
concept KnowsSpeeds = requires {
    { P::machine::template speeds<typename P::arch>(1) } -> std::same_as<Machine const&>;
};
template <class P>
concept Solves = requires { requires Solver<typename P::solver>; };
template <class P>
concept MakesSolver = requires { requires std::default_initializable<typename P::solver>; };
template <class P>
concept Executes = requires { requires Executor<typename P::executor>; };
template <class P>
concept MovesExecutor = requires { requires std::move_constructible<typename P::executor>; };

template <class P>
concept CompletePolicies = HasArch<P> && HasPrimitives<P> && HasGemm<P> && HasLayouts<P> && HasCostModel<P> &&
                           HasMachine<P> && HasSolver<P> && HasExecutor<P>;
template <class P>
concept SoundPolicies =
    CompletePolicies<P> && HasInstructionSet<P> && ListsPrimitives<P> && Multiplies<P> && ListsLayouts<P> &&
    ModelsCosts<P> && KnowsSpeeds<P> && Solves<P> && Executes<P> && MovesExecutor<P> && (P::primitives::size > 0) &&
    (P::layouts::size > 0) && tensor::SoundLayouts<typename P::layouts>;

// Each says which member of a user's type is missing.
template <class M>
struct CheckCostModel {
    static_assert(
        requires {
            { M::name } -> std::convertible_to<std::string_view>;
        }, "primsel: Policies::cost_model has no name; see docs/cost/cost_model.md");
    template <class Query>
    static constexpr bool predicts = requires(M& model, Kernels const& kernels, std::span<const Query> queries,
                                              std::span<double> seconds) { model.predict(kernels, queries, seconds); };
    static_assert(predicts<ConvQuery>,
                  "primsel: Policies::cost_model has no predict(kernels, span of ConvQuery, span of seconds); see "
                  "docs/cost/cost_model.md");
    static_assert(predicts<TransformQuery>,
                  "primsel: Policies::cost_model has no predict(kernels, span of TransformQuery, span of seconds); see "
                  "docs/cost/cost_model.md");
    static_assert(predicts<OpQuery>,
                  "primsel: Policies::cost_model has no predict(kernels, span of OpQuery, span of seconds); see "
                  "docs/cost/cost_model.md");
    static constexpr bool value = true;
};
template <class G>
struct CheckGemm {
    static_assert(
        requires { FixedString("-") + G::id; },
        "primsel: Policies::gemm has no id, a FixedString; see docs/primitive/gemm.md");
    static_assert(
        requires(int size, std::size_t workers) {
            { G::template scratch_floats<default_arch>(size, size, size, workers) } -> std::same_as<std::size_t>;
        },
        "primsel: Policies::gemm has no scratch_floats<Arch>(m, n, k, workers) that returns std::size_t; see "
        "docs/primitive/gemm.md");
    static_assert(
        requires(GemmArgs const& args) {
            { G::template run<default_arch>(args) } noexcept;
        }, "primsel: Policies::gemm has no noexcept run<Arch>(args); see docs/primitive/gemm.md");
    static_assert(
        requires(int size) {
            { G::template work<default_arch>(size, size, size) } -> std::same_as<Work>;
        }, "primsel: Policies::gemm has no work<Arch>(m, n, k) that returns Work; see docs/primitive/gemm.md");
    static constexpr bool value = true;
};
template <class S>
struct CheckSolver {
    static_assert(
        requires {
            { S::name } -> std::convertible_to<std::string_view>;
        }, "primsel: Policies::solver has no name; see docs/pbqp/solver.md");
    static_assert(
        requires(S const& solver, PbqpProblem const& problem) {
            { solver.solve(problem) } -> std::same_as<PbqpSolution>;
        }, "primsel: Policies::solver has no const solve(problem) that returns PbqpSolution; see docs/pbqp/solver.md");
    static constexpr bool value = true;
};
template <class E>
struct CheckExecutor {
    static_assert(
        requires(E executor) {
            { executor.concurrency() } noexcept -> std::convertible_to<std::size_t>;
        }, "primsel: Policies::executor has no noexcept concurrency(), its workers; see docs/core/executor.md");
    static_assert(
        requires(E executor, std::size_t blocks, BlockFunction function) {
            { executor.parallel_for(blocks, function) } noexcept;
        },
        "primsel: Policies::executor has no noexcept parallel_for(std::size_t, BlockFunction); see "
        "docs/core/executor.md");
    static constexpr bool value = true;
};
template <class P>
consteval bool check_members() {
    if constexpr (HasGemm<P>) static_assert(CheckGemm<typename P::gemm>::value);
    if constexpr (HasCostModel<P>) static_assert(CheckCostModel<typename P::cost_model>::value);
    if constexpr (HasSolver<P>) static_assert(CheckSolver<typename P::solver>::value);
    if constexpr (HasExecutor<P>) static_assert(CheckExecutor<typename P::executor>::value);
    return true;
}

/// Says at the user's policies which of them is missing, or does not model its concept.
template <class P>
struct CheckPolicies {
    static_assert(HasArch<P>, "primsel: Policies::arch is missing; see docs/engine/policies.md");
    static_assert(HasPrimitives<P>, "primsel: Policies::primitives is missing; see docs/engine/policies.md");
    static_assert(HasGemm<P>, "primsel: Policies::gemm is missing; see docs/engine/policies.md");
    static_assert(HasLayouts<P>, "primsel: Policies::layouts is missing; see docs/engine/policies.md");
    static_assert(HasCostModel<P>, "primsel: Policies::cost_model is missing; see docs/engine/policies.md");
    static_assert(HasMachine<P>, "primsel: Policies::machine is missing; see docs/engine/policies.md");
    static_assert(HasSolver<P>, "primsel: Policies::solver is missing; see docs/engine/policies.md");
    static_assert(HasExecutor<P>, "primsel: Policies::executor is missing; see docs/engine/policies.md");

    static_assert(!HasArch<P> || HasInstructionSet<P>,
                  "primsel: Policies::arch is not an instruction set that this translation unit is compiled for; see "
                  "docs/engine/policies.md");
    static_assert(!HasPrimitives<P> || ListsPrimitives<P>,
                  "primsel: Policies::primitives is not a TypeList; see docs/primitive/primitive.md");
    static_assert(!HasLayouts<P> || ListsLayouts<P>,
                  "primsel: Policies::layouts is not a TypeList; see docs/tensor/layout.md");
    static_assert(!HasMachine<P> || !HasInstructionSet<P> || KnowsSpeeds<P>,
                  "primsel: Policies::machine has no speeds<Arch>(int) that returns a Machine; see "
                  "docs/engine/policies.md");
    static_assert(check_members<P>());
    static_assert(!Executes<P> || MovesExecutor<P>,
                  "primsel: Policies::executor cannot be moved; see docs/core/executor.md");

    static constexpr bool has_primitives = [] {
        if constexpr (ListsPrimitives<P>) return P::primitives::size > 0;
        return true;
    }();
    static_assert(has_primitives, "primsel: Policies::primitives is empty");
    static constexpr bool has_layouts = [] {
        if constexpr (ListsLayouts<P>) return P::layouts::size > 0 && tensor::CheckLayouts<typename P::layouts>::value;
        return true;
    }();
    static_assert(has_layouts, "primsel: Policies::layouts is empty");
    static constexpr bool value = true;
};

/// The same for planners that make the model or the solver themselves.
template <class P>
struct CheckOwnModel {
    static_assert(MakesCostModel<P>,
                  "primsel: Policies::cost_model has no default constructor: hand one over, Predict{model}; see "
                  "docs/engine/planner.md");
    static constexpr bool value = true;
};
template <class P>
struct CheckOwnSolver {
    static_assert(MakesSolver<P>,
                  "primsel: Policies::solver has no default constructor: hand one over, Predict{model, solver}; see "
                  "docs/engine/planner.md");
    static constexpr bool value = true;
};

/// The policies that an engine goes on with after one of these messages, lest others follow.
struct FewPolicies : DefaultPolicies {
    using primitives = TypeList<DirectSum2d>;
};
template <class P>
using ChosenPolicies = std::conditional_t<SoundPolicies<P>, P, FewPolicies>;

/// A primitive with another matrix product, if it is built on one.
template <class P, class G>
struct WithGemm {
    using type = P;
};
template <class P, class G>
    requires requires { typename P::template with_gemm<G>; }
struct WithGemm<P, G> {
    using type = typename P::template with_gemm<G>;
};

/// A list of primitives with another matrix product. The library's own leaves the list as it is, and so a list may name
/// another one for some of its primitives.
template <class G, class List>
struct ListWithGemm;
template <class G, class... P>
struct ListWithGemm<G, TypeList<P...>> {
    using type = TypeList<typename WithGemm<P, G>::type...>;
};
template <class... P>
struct ListWithGemm<SimdGemm, TypeList<P...>> {
    using type = TypeList<P...>;
};

}  // namespace engine

/// Everything that an engine with those policies may choose from; what is compiled of it, see KernelsFor.
template <class Policies, class Compiled = CompileAll>
[[nodiscard]] Kernels policy_kernels() {
    using Arch = typename Policies::arch;
    Kernels kernels =
        make_kernels<typename engine::ListWithGemm<typename Policies::gemm, typename Policies::primitives>::type, Arch,
                     typename Policies::layouts, Compiled>();
    kernels.machine = &Policies::machine::template speeds<Arch>;
    return kernels;
}

}  // namespace primsel::inline PRIMSEL_ABI
