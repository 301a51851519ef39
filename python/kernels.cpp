// The kernels of the bindings, for one instruction set.
#include <primsel/engine/instantiate.hpp>
#include <primsel/engine/low_precision.hpp>
#include <primsel/train/policies.hpp>

template primsel::Machine const& primsel::this_machine_in_all_precisions<primsel::default_arch>(int);
template primsel::Kernels
primsel::make_kernels<primsel::LowPrecision::primitives, primsel::default_arch, primsel::EveryLayout>();
template primsel::Kernels primsel::make_kernels<primsel::TrainingPrimitives, primsel::default_arch, primsel::AllLayouts,
                                                primsel::CompileTraining>();
template primsel::Kernels
primsel::make_kernels<primsel::TrainingPrimitives, primsel::default_arch, primsel::AllLayouts>();
