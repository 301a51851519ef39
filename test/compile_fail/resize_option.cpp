// expect: primsel: Resize and Upsample have no such option; they have Bilinear and AlignCorners: see
// docs/layer/layers.md
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<3, 8, 8>, Upsample<2, Bilinear>> {};
#else
struct Net : primsel::Network<Input<3, 8, 8>, Upsample<2, CeilMode>> {};
#endif
