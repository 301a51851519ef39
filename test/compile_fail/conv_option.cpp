// expect: primsel: Conv has no such option; it has Stride, Pad, Dilation, Groups and NoBias: see docs/layer/layers.md
// expect: CeilMode
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<3, 8, 8>, Conv<16, 3, NoBias>> {};
#else
struct Net : primsel::Network<Input<3, 8, 8>, Conv<16, 3, CeilMode>> {};
#endif
