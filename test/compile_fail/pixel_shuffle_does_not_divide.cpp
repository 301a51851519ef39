// expect: primsel: this layer's groups do not divide the channels
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<9, 8, 8>, PixelShuffle<3>> {};
#else
struct Net : primsel::Network<Input<10, 8, 8>, PixelShuffle<3>> {};
#endif
