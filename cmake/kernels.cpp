// All kernels, compiled once for our own programs.
#include <primsel/engine/instantiate.hpp>
#include <primsel/engine/low_precision.hpp>
#include <primsel/train/policies.hpp>

template primsel::Machine const& primsel::this_machine_in_all_precisions<primsel::default_arch>(int);
template primsel::Kernels primsel::make_kernels<primsel::AllPrimitives, primsel::default_arch, primsel::AllLayouts>();
template primsel::Kernels
primsel::make_kernels<primsel::LowPrecision::primitives, primsel::default_arch, primsel::EveryLayout>();
template primsel::Kernels primsel::make_kernels<primsel::EveryPrimitive, primsel::default_arch, primsel::EveryLayout>();
template primsel::Kernels primsel::make_kernels<primsel::TrainingPrimitives, primsel::default_arch, primsel::AllLayouts,
                                                primsel::CompileTraining>();
template primsel::Kernels
primsel::make_kernels<primsel::TrainingPrimitives, primsel::default_arch, primsel::AllLayouts>();
// For the tests of ops.
template primsel::OpTable const&
primsel::kernels::ops_in<primsel::default_arch, primsel::chw, primsel::CompileTraining>();
template primsel::OpTable const&
primsel::kernels::ops_in<primsel::default_arch, primsel::hcw, primsel::CompileTraining>();
template primsel::OpTable const&
primsel::kernels::ops_in<primsel::default_arch, primsel::hwc, primsel::CompileTraining>();
template primsel::OpTable const&
primsel::kernels::ops_in<primsel::default_arch, primsel::hwc_u8, primsel::CompileAll>();
template primsel::OpTable const&
primsel::kernels::ops_in<primsel::default_arch, primsel::hwc_bf16, primsel::CompileAll>();
