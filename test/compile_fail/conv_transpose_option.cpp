// expect: primsel: ConvTranspose has no such option; it has Stride, Pad, OutputPad, Dilation, Groups and NoBias: see
// docs
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<3, 8, 8>, ConvTranspose<16, 3, OutputPad<1>, Stride<2>>> {};
#else
struct Net : primsel::Network<Input<3, 8, 8>, ConvTranspose<16, 3, ExcludePad, Stride<2>>> {};
#endif
