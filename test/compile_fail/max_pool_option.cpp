// expect: primsel: MaxPool has no such option; it has Stride, Pad, Dilation and CeilMode: see docs/layer/layers.md
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<3, 8, 8>, MaxPool<3, Pad<1>, CeilMode>> {};
#else
struct Net : primsel::Network<Input<3, 8, 8>, MaxPool<3, Pad<1>, ExcludePad>> {};
#endif
