// expect: primsel: this layer's groups do not divide the channels
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<4, 8, 8>, Conv<16, 3, Groups<4>>> {};
#else
struct Net : primsel::Network<Input<3, 8, 8>, Conv<16, 3, Groups<4>>> {};
#endif
