// expect: primsel: the branches that meet here differ where neither has a single element
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<8, 8, 8>, Gated<GlobalAvgPool, Conv<8, 1>>> {};
#else
struct Net : primsel::Network<Input<8, 8, 8>, Gated<GlobalAvgPool, Conv<4, 1>>> {};
#endif
