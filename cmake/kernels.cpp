// All kernels, compiled once for our own programs.
#include <primsel/engine/instantiate.hpp>

template primsel::Kernels primsel::make_kernels<primsel::AllPrimitives, primsel::default_arch, primsel::AllLayouts>();
