// expect: primsel: this layer's padding is negative
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<3, 8, 8>, Conv<16, 3, Pad<0>>> {};
#else
struct Net : primsel::Network<Input<3, 8, 8>, Conv<16, 3, Pad<-1>>> {};
#endif
