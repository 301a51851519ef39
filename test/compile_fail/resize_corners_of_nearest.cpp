// expect: primsel: AlignCorners goes with Bilinear: see docs/layer/layers.md
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<3, 8, 8>, Resize<9, Bilinear, AlignCorners>> {};
#else
struct Net : primsel::Network<Input<3, 8, 8>, Resize<9, AlignCorners>> {};
#endif
