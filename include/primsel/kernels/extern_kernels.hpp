// Opt-in, for programs of many translation units: compile all kernels in one of them.
//
// Include this header beside primsel.hpp wherever kernels are used, and in exactly one translation unit instantiate
// them:
//     template primsel::Kernels
//     primsel::make_kernels<primsel::DefaultPrimitives, primsel::default_arch, primsel::AllLayouts>();
// and, where they are used, those of AllPrimitives.
#pragma once

#include <primsel/kernels/make_kernels.hpp>
#include <primsel/primitive/all.hpp>

namespace primsel::inline PRIMSEL_ABI {

extern template Kernels make_kernels<DefaultPrimitives, default_arch, AllLayouts>();
extern template Kernels make_kernels<AllPrimitives, default_arch, AllLayouts>();

}  // namespace primsel::inline PRIMSEL_ABI
