// For programs of many translation units. Define PRIMSEL_EXTERN_KERNELS for the whole program, as an option of the
// compiler, and include this header in exactly one translation unit: it compiles for all others the default kernels,
// what engines of DefaultPolicies have in common, and zoo::graph(). Without the definition each engine compiles what
// its network needs.
#pragma once

#ifndef PRIMSEL_EXTERN_KERNELS
#error "primsel: engine/instantiate.hpp is for programs that define PRIMSEL_EXTERN_KERNELS"
#endif

#include <primsel/engine/engine.hpp>
#include <primsel/gemm/multiply.hpp>
#include <primsel/kernels/make_kernels.hpp>
#include <primsel/network/zoo/by_name.hpp>

namespace primsel::inline PRIMSEL_ABI {

template OpTable const& kernels::ops_in<default_arch, chw, CompileAll>();
template OpTable const& kernels::ops_in<default_arch, hcw, CompileAll>();
template OpTable const& kernels::ops_in<default_arch, hwc, CompileAll>();
template void gemm::multiply<default_arch>(GemmArgs const&) noexcept;
template Machine const& this_machine<default_arch>(int);
template Machine machine::with_threads<default_arch>(Machine);
template double measured_peak<default_arch>();
template Kernels make_kernels<DefaultPrimitives, default_arch, AllLayouts>();
template engine::detail::EngineOf<DefaultPolicies, CompileAll>::EngineOf(Graph const&, Weights const&,
                                                                         PlanOptions const&, Sequential);
template Graph zoo::graph<zoo::AllNetworks>(std::string_view, int);
template Graph zoo::graph<zoo::Table4>(std::string_view, int);

}  // namespace primsel::inline PRIMSEL_ABI
