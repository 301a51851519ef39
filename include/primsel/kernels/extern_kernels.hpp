// For programs that define PRIMSEL_EXTERN_KERNELS: the kernels of the library's lists are compiled in one translation
// unit, which includes engine/instantiate.hpp. A program that uses AllPrimitives must instantiate them there too:
//     template primsel::Kernels
//     primsel::make_kernels<primsel::AllPrimitives, primsel::default_arch, primsel::AllLayouts>();
#pragma once

#include <primsel/kernels/make_kernels.hpp>
#include <primsel/primitive/all.hpp>

namespace primsel::inline PRIMSEL_ABI {

#ifdef PRIMSEL_EXTERN_KERNELS
extern template OpTable const& kernels::ops_in<default_arch, chw, CompileAll>();
extern template OpTable const& kernels::ops_in<default_arch, hcw, CompileAll>();
extern template OpTable const& kernels::ops_in<default_arch, hwc, CompileAll>();
extern template Kernels make_kernels<DefaultPrimitives, default_arch, AllLayouts>();
extern template Kernels make_kernels<AllPrimitives, default_arch, AllLayouts>();
#endif

}  // namespace primsel::inline PRIMSEL_ABI
