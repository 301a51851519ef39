// All kernels, compiled once for our own programs: those that include <primsel/kernels/extern_kernels.hpp> take them
// from here.
#include <primsel/kernels/extern_kernels.hpp>

template primsel::Kernels
primsel::make_kernels<primsel::DefaultPrimitives, primsel::default_arch, primsel::AllLayouts>();
template primsel::Kernels primsel::make_kernels<primsel::AllPrimitives, primsel::default_arch, primsel::AllLayouts>();
