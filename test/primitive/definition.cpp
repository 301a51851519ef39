// The definition of convolution, which is most of what tests of primitives compute: optimised where they are not.
#include <primsel/primitive/reference.hpp>

template void primsel::reference_convolution<double>(primsel::ConvShape const&, const float*, const float*,
                                                     const float*, const float*, primsel::Clamp, double*);
