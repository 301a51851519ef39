// expect: primsel: this layer's stride is below 1
#include <primsel/network/network.hpp>

using namespace primsel::layer;

#ifdef PRIMSEL_TEST_FIXED
struct Net : primsel::Network<Input<3, 8, 8>, Conv<16, 3, Stride<1>>> {};
#else
struct Net : primsel::Network<Input<3, 8, 8>, Conv<16, 3, Stride<0>>> {};
#endif
